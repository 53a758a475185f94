"""Progress of long work: a bar on a terminal, a plain line now and then elsewhere.

A process that works for another tells that one too: in lines on a pipe, which `told` reads back.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from types import TracebackType
from typing import NamedTuple, TextIO

from leasehold.core.clock import Clock, SystemClock

_WIDTH = 30
_LINE_SECONDS = 10.0
_PIPE_SECONDS = 0.2
_MARK, _BETWEEN = b"\x01", "\x1f"


class Report(NamedTuple):
    """How far some work is: `share` from 0 to 1."""

    title: str
    share: float
    detail: str = ""


def told(line: bytes) -> Report | None:
    """The report that a line of a pipe carries; None for a line that is something else."""
    if not line.startswith(_MARK):
        return None
    title, share, detail = (*line[1:].decode(errors="replace").rstrip("\n").split(_BETWEEN), "", "", "")[:3]
    try:
        return Report(title, min(1.0, max(0.0, float(share))), detail)
    except ValueError:
        return None


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

    def interrupt(self) -> None:
        """Leave the line of the bar, so that something else can be written."""
        if self._drawn:
            self._stream.write("\n")
            self._stream.flush()
            self._drawn = False

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        end = "\n" if self._drawn else ""
        if error is None:
            seconds = self._clock.monotonic() - self._start
            end += f"{self._title}: done in {seconds:.0f} s\n"
        self._stream.write(end)
        self._stream.flush()


class PipedProgress(ProgressBar):
    """Progress that is shown here and told to whoever reads a pipe."""

    def __init__(
        self, title: str, descriptor: int, *, stream: TextIO | None = None, clock: Clock | None = None
    ) -> None:
        super().__init__(title, stream=stream, clock=clock)
        self._descriptor = descriptor
        self._told = -_PIPE_SECONDS

    def show(self, share: float, detail: str = "") -> None:
        super().show(share, detail)
        now = self._clock.monotonic()
        if now - self._told >= _PIPE_SECONDS:
            self._told = now
            self._tell(share, detail)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        if error is None:
            self._tell(1.0, "")

    def _tell(self, share: float, detail: str) -> None:
        line = _MARK + _BETWEEN.join((self._title, f"{share:.4f}", detail)).encode() + b"\n"
        with suppress(OSError):  # whoever listened is gone; the work goes on
            os.write(self._descriptor, line)
