"""Lets the tests of the indexer use the static feed of the simulation."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "simulation"))
