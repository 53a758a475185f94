"""Memory given back after many have left: what an allocator keeps for the next crowd may never be needed again."""

from __future__ import annotations

import asyncio
import ctypes
from collections.abc import Callable

# So many fewer than there were are worth the few milliseconds it takes.
MANY = 500
SETTLE_SECONDS = 1.0


def give_back() -> None:
    """Return free memory to the system, where the C library can."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


class Relief:
    """Watches a count and, some time after it has fallen far from where it was, acts once."""

    def __init__(
        self, act: Callable[[], None] = give_back, *, many: int = MANY, settle: float = SETTLE_SECONDS
    ) -> None:
        self._act = act
        self._many = many
        self._settle = settle
        self._peak = 0
        self._timer: asyncio.TimerHandle | None = None

    def now(self, count: int) -> None:
        """Note how many there are."""
        if count > self._peak:
            self._peak = count
        elif self._timer is None and self._peak - count >= self._many and count <= self._peak // 2:
            self._timer = asyncio.get_running_loop().call_later(self._settle, self._relieve)

    def _relieve(self) -> None:
        self._timer = None
        self._peak = 0
        self._act()
