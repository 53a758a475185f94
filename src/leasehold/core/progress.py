"""Progress of long work: a bar on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TextIO

from leasehold.core.clock import Clock, SystemClock

_WIDTH = 30
_LINE_SECONDS = 10.0


class ProgressBar:
    """Shows a share done with a count of things; use it as a context."""

    def __init__(self, title: str, *, stream: TextIO | None = None, clock: Clock | None = None) -> None:
        self._title = title
        self._stream = stream or sys.stderr
        self._clock = clock or SystemClock()
        self._start = self._clock.monotonic()
        self._last = 0.0
        self._drawn = False

    def __enter__(self) -> ProgressBar:
        return self

    def show(self, share: float, detail: str = "") -> None:
        """Tell how far the work is: `share` from 0 to 1, and a few words."""
        now = self._clock.monotonic()
        passed = now - self._start
        left = f", {passed / share - passed:.0f} s left" if share > 0.02 else ""
        if self._stream.isatty():
            done = int(share * _WIDTH)
            bar = "█" * done + "░" * (_WIDTH - done)
            self._stream.write(f"\r{self._title} {bar} {share:4.0%} {detail}{left}   ")
            self._drawn = True
        elif now - self._last >= _LINE_SECONDS:
            self._last = now
            self._stream.write(f"{self._title}: {share:.0%} {detail}{left}\n")
        self._stream.flush()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        end = "\n" if self._drawn else ""
        if error is None:
            seconds = self._clock.monotonic() - self._start
            end += f"{self._title}: done in {seconds:.0f} s\n"
        self._stream.write(end)
        self._stream.flush()
