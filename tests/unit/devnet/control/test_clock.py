"""The devnet's clock."""

from __future__ import annotations

from leasehold.core.clock import NANOSECONDS, ManualClock
from leasehold.devnet.control.clock import DevnetClock


def test_it_goes_on_from_where_it_was_set() -> None:
    """Set or advanced, it keeps the pace of the clock beneath."""
    base = ManualClock(100 * NANOSECONDS)
    clock = DevnetClock(base)
    assert clock.now_ns() == 100 * NANOSECONDS
    clock.advance(50)
    base.advance(seconds=1)
    assert clock.now_ns() == 151 * NANOSECONDS
    clock.set(10 * NANOSECONDS)
    base.advance(seconds=2)
    assert clock.now_ns() == 12 * NANOSECONDS


def test_not_before_never_takes_time_back() -> None:
    """It only ever moves forward to what is asked."""
    clock = DevnetClock(ManualClock(100))
    clock.not_before(50)
    assert clock.now_ns() == 100
    clock.not_before(500)
    assert clock.now_ns() == 500
