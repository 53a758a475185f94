"""Progress for people."""

from __future__ import annotations

import io

from leasehold.core.clock import ManualClock
from leasehold.indexer.progress import ProgressDisplay, describe


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_words_say_height_share_speed_and_time_left() -> None:
    """A quarter done at 100 blocks a second leaves 75 seconds."""
    assert describe(2500, 10_000, 100.0) == "2500 of 10000 (25 %), 100 blocks/s, 0:01:15 left"
    assert describe(1, 10, 0.0).endswith("unknown left")


def test_without_a_terminal_there_is_a_plain_line_now_and_then() -> None:
    """One line every ten seconds, none near the head."""
    stream, clock = io.StringIO(), ManualClock()
    display = ProgressDisplay(stream, clock)
    for step in range(25):
        display.update(step * 100, 10_000)
        clock.advance(seconds=1)
    assert stream.getvalue().count("\n") == 2
    display.update(9_999, 10_000)
    assert stream.getvalue().count("\n") == 2


def test_on_a_terminal_a_bar_is_redrawn_and_finished() -> None:
    """The bar stays on its line until the head is reached."""
    stream, clock = Terminal(), ManualClock()
    display = ProgressDisplay(stream, clock)
    display.update(0, 1000)
    clock.advance(seconds=1)
    display.update(500, 1000)
    assert "\n" not in stream.getvalue()
    assert "[###############...............]" in stream.getvalue()
    display.update(1000, 1000)
    assert stream.getvalue().endswith("caught up at 1000\x1b[K\n")
