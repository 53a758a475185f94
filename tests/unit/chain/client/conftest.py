"""Lets the tests of the node client use the static feed of the simulation."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "simulation"))
