"""Progress: a bar where there is a terminal, plain lines where not, and reports through a pipe."""

from __future__ import annotations

import io
import os

import pytest

from leasehold.core.clock import NANOSECONDS, ManualClock
from leasehold.core.progress import PipedProgress, ProgressBar, Report, told


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1_790_000_000 * NANOSECONDS)


def test_a_terminal_gets_a_bar_in_place(clock: ManualClock) -> None:
    """Each report overwrites the one before; the end is a line of its own, and so is an interruption."""
    stream = Terminal()
    with ProgressBar("cooking", stream=stream, clock=clock) as bar:
        bar.show(0.0)
        clock.advance(seconds=10)
        bar.show(0.5, "3 pots")
        bar.interrupt()
        bar.show(0.9)
    text = stream.getvalue()
    assert text.count("\r") == 3
    assert "50% 3 pots, 10 s left" in text
    assert text.split("\n")[-2] == "cooking: done in 10 s"
    assert text.count("\n") == 3


def test_elsewhere_a_line_comes_now_and_then(clock: ManualClock) -> None:
    """A log gets a line every ten seconds, not one for every report."""
    stream = io.StringIO()
    with ProgressBar("cooking", stream=stream, clock=clock) as bar:
        for step in range(100):
            bar.show(step / 100, f"{step} pots")
            clock.advance(nanoseconds=NANOSECONDS // 2)
    lines = stream.getvalue().splitlines()
    assert len(lines) == 6
    assert lines[0].startswith("cooking: 0% 0 pots")
    assert lines[-1] == "cooking: done in 50 s"


def test_what_is_told_through_a_pipe_is_read_back(clock: ManualClock) -> None:
    """A reader learns titles and shares, a few times a second at most, and that the work is done."""
    reader, writer = os.pipe()
    with PipedProgress("cooking", writer, stream=io.StringIO(), clock=clock) as bar:
        bar.show(0.25, "one pot")
        bar.show(0.26, "too soon")
        clock.advance(seconds=1)
        bar.show(0.5, "two pots")
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        reports = [told(line) for line in pipe]
    assert reports == [Report("cooking", 0.25, "one pot"), Report("cooking", 0.5, "two pots"), Report("cooking", 1.0)]


def test_a_reader_that_is_gone_does_not_stop_the_work(clock: ManualClock) -> None:
    """Nobody listens any more: the work goes on."""
    reader, writer = os.pipe()
    os.close(reader)
    with PipedProgress("cooking", writer, stream=io.StringIO(), clock=clock) as bar:
        bar.show(0.5)
    os.close(writer)


@pytest.mark.parametrize("line", [b"", b"listening on http://h:1\n", b"\x01", b"\x01title\x1fmuch\x1f\n", b"\x01a\n"])
def test_other_lines_are_no_reports(line: bytes) -> None:
    """A ready line, and what makes no sense, is not taken for progress."""
    assert told(line) is None
