"""Which hours lie between two blocks."""

from __future__ import annotations

from itertools import pairwise

from leasehold.indexer.hours import HOUR_NS, LONGEST_GAP, hours_between


def between(before: int, after: int) -> list[int]:
    return [int(hour.timestamp()) // 3600 for hour in hours_between(before, after)]


def test_an_hour_belongs_to_the_last_block_not_after_it() -> None:
    """A block on the hour is that hour's own; the hour is complete only when a later block comes."""
    assert between(10 * HOUR_NS - 1, 10 * HOUR_NS) == []
    assert between(10 * HOUR_NS, 10 * HOUR_NS + 1) == [10]
    assert between(10 * HOUR_NS - 1, 10 * HOUR_NS + 1) == [10]
    assert between(10 * HOUR_NS + 1, 10 * HOUR_NS + 2) == []


def test_consecutive_intervals_cover_every_hour_once() -> None:
    """However blocks are spaced, no hour is missed or doubled."""
    times = [HOUR_NS * n // 7 for n in range(35, 400, 3)]
    hours = [hour for before, after in pairwise(times) for hour in between(before, after)]
    assert hours == list(range(hours[0], hours[-1] + 1))


def test_a_chain_that_stood_still_gets_its_latest_hours_only() -> None:
    """A gap of weeks makes rows for the last two days of it."""
    assert between(HOUR_NS, 1000 * HOUR_NS) == list(range(1000 - LONGEST_GAP, 1000))


def test_there_are_no_hours_before_the_first_block() -> None:
    """An empty index begins with its first block, not in 1970."""
    assert between(0, 5 * HOUR_NS) == []
