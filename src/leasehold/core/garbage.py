"""The cyclic garbage collector, kept out of the way of work that makes many objects and next to no cycles."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def rare_collections() -> Iterator[None]:
    """Look for cycles rarely, and never among the objects that were there before; all as it was afterwards."""
    thresholds = gc.get_threshold()
    outermost = not gc.get_freeze_count()
    gc.freeze()
    gc.set_threshold(50_000, 50, 100)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        if outermost:
            gc.unfreeze()
