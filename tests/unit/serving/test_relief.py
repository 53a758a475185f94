"""Memory is given back after many have left, once, and not while they come and go."""

from __future__ import annotations

import asyncio
import ctypes

import pytest

from leasehold.serving import relief
from leasehold.serving.relief import Relief, give_back


def counting(many: int = 10) -> tuple[Relief, list[int]]:
    acted: list[int] = []
    return Relief(lambda: acted.append(1), many=many, settle=0.0), acted


async def test_it_acts_once_after_many_have_left() -> None:
    """When most of a crowd is gone it acts, once for all who leave in a moment, and again for the next crowd."""
    watch, acted = counting()
    for _ in range(2):
        for count in [*range(1, 31), *range(30, -1, -1)]:
            watch.now(count)
        await asyncio.sleep(0.01)
    assert acted == [1, 1]


async def test_coming_and_going_is_left_alone() -> None:
    """Neither a few who leave nor a large crowd that becomes a little smaller is worth the work."""
    watch, acted = counting()
    for count in [*range(1, 9), *range(8, -1, -1), *range(1, 101), *range(100, 60, -1)]:
        watch.now(count)
    await asyncio.sleep(0.01)
    assert acted == []


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
