"""Memory given back after many have left: what is kept for the next crowd may never be needed again."""

from __future__ import annotations

import asyncio
import ctypes
import gc
from collections.abc import Callable

# So many fewer than there were are worth the tens of milliseconds it takes.
MANY = 500
SETTLE_SECONDS = 1.0


def give_back() -> None:
    """Return free memory to the system: the interpreter's, and the C library's where it can."""
    # Nothing is left to collect, but it empties the free lists, whose few objects keep whole arenas.
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def _later(seconds: float, call: Callable[[], None]) -> object:
    return asyncio.get_running_loop().call_later(seconds, call)


class Relief:
    """Watches a count and, when it has fallen far from where it was and is steady again, acts once."""

    def __init__(
        self,
        act: Callable[[], None] = give_back,
        *,
        many: int = MANY,
        later: Callable[[float, Callable[[], None]], object] = _later,
    ) -> None:
        """`later` calls something after so many seconds."""
        self._act = act
        self._many = many
        self._later = later
        self._count = 0
        self._peak = 0
        self._waiting = False

    def now(self, count: int) -> None:
        """Note how many there are."""
        self._count = count
        if count > self._peak:
            self._peak = count
        elif not self._waiting and self._far_below():
            self._wait()

    def _far_below(self) -> bool:
        return self._peak - self._count >= self._many and self._count <= self._peak // 2

    def _wait(self) -> None:
        before = self._count
        self._waiting = True
        self._later(SETTLE_SECONDS, lambda: self._look(before))

    def _look(self, before: int) -> None:
        self._waiting = False
        if not self._far_below():
            return
        if self._count != before:
            self._wait()
            return
        self._peak = self._count
        self._act()
