"""Lets the tests of this folder import its modules, and gives them a market to look at."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

sys.path.insert(0, str(Path(__file__).parent))

if TYPE_CHECKING:
    from devnet_history import History


@pytest.fixture(scope="session")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    """The history of a small market, made once; its chain must not grow."""
    from devnet_history import told

    return told(int(os.environ["LEASEHOLD_SEED"]), tmp_path_factory.mktemp("market") / "chain", hours=3)
