"""The graph of refreshers."""

from __future__ import annotations

import asyncio
import random

import pytest

from leasehold.app_api.refresh import Graph, Refresher
from leasehold.core.clock import SystemClock
from leasehold.core.errors import ConfigurationError, UpstreamFailure
from leasehold.core.metrics import Metrics


def graph_of(*refreshers: Refresher) -> Graph:
    return Graph(refreshers, clock=SystemClock(), metrics=Metrics())


class Work:
    """Counts its runs and fails as often as told."""

    def __init__(self, log: list[str], name: str, *, failures: int = 0, error: Exception | None = None) -> None:
        self.log = log
        self.name = name
        self.failures = failures
        self.error = error or UpstreamFailure("down", upstream="x")

    async def __call__(self) -> bool:
        if self.failures:
            self.failures -= 1
            raise self.error
        self.log.append(self.name)
        return True


async def test_warm_up_is_ordered() -> None:
    """Nothing runs before everything it needs has succeeded once, even when that takes a few tries."""
    log: list[str] = []
    graph = graph_of(
        Refresher("c", Work(log, "c"), ("b",)),
        Refresher("b", Work(log, "b"), ("a",)),
        Refresher("a", Work(log, "a", failures=2)),
    )
    async with asyncio.timeout(60), graph.running():
        await graph.settled()
    assert log == ["a", "b", "c"]


async def test_a_failure_stops_nobody_else() -> None:
    """A refresher that fails, or has a bug, is tried again while the others go on."""
    log: list[str] = []
    broken = Refresher("broken", Work(log, "broken", failures=2, error=KeyError("bug")))
    graph = graph_of(broken, Refresher("good", Work(log, "good")))
    async with asyncio.timeout(60), graph.running():
        await graph.settled()
        assert broken.failures == 0
    assert log[0] == "good"
    assert "broken" in log


async def test_blocks_and_changes_wake_what_follows_them() -> None:
    """A block wakes what runs on blocks; a change wakes what needs it; nothing else moves."""
    log: list[str] = []
    graph = graph_of(
        Refresher("prices", Work(log, "prices"), on_block=True),
        Refresher("assets", Work(log, "assets"), ("prices",)),
        Refresher("still", Work(log, "still"), ("prices",), follows=False),
    )
    async with asyncio.timeout(60), graph.running():
        await graph.settled()
        log.clear()
        graph.block()
        while "assets" not in log:  # noqa: ASYNC110 - the work under test keeps a log, no event
            await asyncio.sleep(0.01)
    assert log == ["prices", "assets"]


async def test_only_what_is_urgent_waits_for_no_turn() -> None:
    """While something more important is under way, refreshes wait."""
    log: list[str] = []
    turn = asyncio.Event()

    async def waited() -> None:
        await turn.wait()

    refreshers = (Refresher("urgent", Work(log, "urgent"), urgent=True), Refresher("other", Work(log, "other")))
    graph = Graph(refreshers, clock=SystemClock(), metrics=Metrics(), turn=waited)
    async with asyncio.timeout(60), graph.running():
        await refreshers[0].warm.wait()
        await asyncio.sleep(0.05)
        assert log == ["urgent"]
        turn.set()
        await graph.settled()
    assert log == ["urgent", "other"]


async def test_time_alone_wakes_too() -> None:
    """Without blocks or changes a refresher runs again after its seconds."""
    log: list[str] = []
    async with asyncio.timeout(60), graph_of(Refresher("timed", Work(log, "timed"), every=0.02)).running():
        while len(log) < 3:  # noqa: ASYNC110 - the work under test keeps a log, no event
            await asyncio.sleep(0.01)


def test_pauses_after_failures_grow_and_are_jittered() -> None:
    """Each failure doubles the pause up to half a minute or the usual rest, give or take a quarter by chance."""
    refresher = Refresher("a", Work([], "a"), every=20.0)
    pauses: dict[int, list[float]] = {}
    for seed in range(20):
        graph = Graph([refresher], clock=SystemClock(), metrics=Metrics(), chance=random.Random(seed))
        for failures in range(1, 15):
            refresher.failures = failures
            pauses.setdefault(failures, []).append(graph._pause(refresher))
    for failures, found in pauses.items():
        middle = min(20.0, 0.2 * 2 ** (failures - 1))
        assert all(0.75 * middle <= pause <= 1.25 * middle for pause in found)
        assert len(set(found)) > 10


async def test_work_that_hangs_is_given_up() -> None:
    """A refresh has a time limit and counts as failed after it."""

    async def hang() -> bool:
        await asyncio.sleep(60)
        return True

    stuck = Refresher("stuck", hang, seconds=0.05)
    graph = graph_of(stuck)
    assert await graph.run(stuck) is False
    assert (stuck.failures, stuck.error) == (1, "TimeoutError")


def test_a_graph_that_can_not_start_is_refused() -> None:
    """Unknown needs and cycles are found before anything runs."""
    with pytest.raises(ConfigurationError, match="nobody"):
        graph_of(Refresher("a", Work([], "a"), ("nobody",)))
    with pytest.raises(ValueError):
        graph_of(Refresher("a", Work([], "a"), ("b",)), Refresher("b", Work([], "b"), ("a",)))
