"""Memory is given back after many have left, once, and not while they come and go."""

from __future__ import annotations

import asyncio
import ctypes
from collections.abc import Callable

import pytest

from leasehold.serving import relief
from leasehold.serving.relief import Relief, give_back


class Watched:
    """A relief whose timers the test lets go off."""

    def __init__(self) -> None:
        self.acted = 0
        self.timers: list[Callable[[], None]] = []
        self.relief = Relief(self._act, many=10, later=lambda seconds, call: self.timers.append(call))

    def _act(self) -> None:
        self.acted += 1

    def counts(self, *counts: int) -> None:
        for count in counts:
            self.relief.now(count)

    def fire(self) -> None:
        """Let the timers that are set go off."""
        due, self.timers = self.timers, []
        for call in due:
            call()


def test_it_acts_once_after_many_have_left() -> None:
    """When most of a crowd is gone it acts once they are steady, and again for the next crowd."""
    watched = Watched()
    for crowd in (1, 2):
        watched.counts(*range(1, 31), *range(30, -1, -1))
        while watched.timers:
            watched.fire()
        assert watched.acted == crowd


def test_coming_and_going_is_left_alone() -> None:
    """Neither a few who leave nor a large crowd that becomes a little smaller is worth the work."""
    watched = Watched()
    watched.counts(*range(1, 9), *range(8, -1, -1), *range(1, 101), *range(100, 60, -1))
    assert watched.timers == []


def test_it_waits_until_the_last_have_left() -> None:
    """While they are still leaving nothing is done; when that is over, it is."""
    watched = Watched()
    watched.counts(100, 40)
    for count in range(39, -1, -1):
        watched.counts(count)
        watched.fire()
        assert watched.acted == 0
    watched.fire()
    assert (watched.acted, watched.timers) == (1, [])


def test_those_who_come_back_need_the_memory() -> None:
    """A crowd that is back by the time it would act is left alone."""
    watched = Watched()
    watched.counts(100, 10, 90)
    watched.fire()
    assert (watched.acted, watched.timers) == (0, [])


async def test_an_event_loop_lets_it_go_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """By default the running loop's timers are used."""
    monkeypatch.setattr(relief, "SETTLE_SECONDS", 0.0)
    acted = asyncio.Event()
    watch = Relief(acted.set, many=10)
    for count in (100, 0):
        watch.now(count)
    await asyncio.wait_for(acted.wait(), 60)


def test_giving_back_is_possible_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """The C library is asked for it where it can do it, and nothing happens where it can't."""
    asked: list[int] = []

    class Library:
        def malloc_trim(self, keep: int) -> None:
            asked.append(keep)

    for library, expected in ((Library(), [0]), (object(), [])):
        asked.clear()
        monkeypatch.setattr(relief.ctypes, "CDLL", lambda name, found=library: found)
        give_back()
        assert asked == expected
    monkeypatch.undo()
    assert ctypes.CDLL(None) is not None
    give_back()
