"""The devnet's clock: another clock's time, moved."""

from __future__ import annotations

from leasehold.core.clock import NANOSECONDS, Clock, SystemClock


class DevnetClock:
    """Goes as fast as the clock beneath, from wherever it was set."""

    def __init__(self, base: Clock | None = None) -> None:
        self._base = base or SystemClock()
        self._offset_ns = 0

    def now_ns(self) -> int:
        return self._base.now_ns() + self._offset_ns

    def monotonic(self) -> float:
        return self._base.monotonic()

    def advance(self, seconds: int) -> None:
        """Move forward, or with a negative number back."""
        self._offset_ns += seconds * NANOSECONDS

    def set(self, now_ns: int) -> None:
        """Say what time it is now."""
        self._offset_ns = now_ns - self._base.now_ns()

    def not_before(self, now_ns: int) -> None:
        """Be at least this late: a chain that was taken ahead of time stays ahead after a restart."""
        if self.now_ns() < now_ns:
            self.set(now_ns)
