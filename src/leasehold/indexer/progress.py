"""Progress for people: a bar on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

from typing import TextIO

from leasehold.core.clock import Clock

_WIDTH = 30
_BAR_SECONDS = 0.2
_LINE_SECONDS = 10.0
# Within this many blocks of the head there is nothing to wait for, hence nothing to show.
_NEAR = 20


class ProgressDisplay:
    """Shows how far a catch-up is, how fast it goes and how long it will take."""

    def __init__(self, stream: TextIO, clock: Clock) -> None:
        self._stream = stream
        self._clock = clock
        self._bar = stream.isatty()
        self._shown = clock.monotonic()
        self._mark: tuple[float, int] | None = None
        self._drawn = False

    def update(self, height: int, target: int) -> None:
        """Take note of a commit; shows something when it is time to."""
        now = self._clock.monotonic()
        if self._mark is None:
            self._mark = (now, height)
            return
        if target - height <= _NEAR:
            self._finish(height)
            self._mark = (now, height)
            return
        if now - self._shown < (_BAR_SECONDS if self._bar else _LINE_SECONDS):
            return
        started, first = self._mark
        rate = (height - first) / (now - started) if now > started else 0.0
        text = describe(height, target, rate)
        if self._bar:
            filled = _WIDTH * height // target
            self._stream.write(f"\r[{'#' * filled}{'.' * (_WIDTH - filled)}] {text}\x1b[K")
            self._drawn = True
        else:
            self._stream.write(f"indexing: {text}\n")
        self._stream.flush()
        self._shown = now

    def _finish(self, height: int) -> None:
        if self._drawn:
            self._stream.write(f"\r[{'#' * _WIDTH}] caught up at {height}\x1b[K\n")
            self._stream.flush()
            self._drawn = False


def describe(height: int, target: int, rate: float) -> str:
    """Height, target, percent, blocks a second and time left, in words."""
    left = "unknown"
    if rate > 0:
        minutes, seconds = divmod(int((target - height) / rate), 60)
        hours, minutes = divmod(minutes, 60)
        left = f"{hours}:{minutes:02d}:{seconds:02d}"
    return f"{height} of {target} ({100 * height // target} %), {rate:.0f} blocks/s, {left} left"
