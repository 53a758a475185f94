"""Refreshers as a graph: each runs when what it needs is there, then on blocks, timers and changes of what it needs.

A failure keeps the last good value and is tried again after a growing, jittered pause; it never stops the others.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from graphlib import TopologicalSorter

from leasehold.core import logging
from leasehold.core.clock import Clock
from leasehold.core.errors import ConfigurationError, LeaseholdError
from leasehold.core.metrics import Metrics

_FIRST_PAUSE = 0.2
_LONGEST_PAUSE = 30.0
_log = logging.get("refresh")


@dataclass(slots=True, eq=False)
class Refresher:
    """One piece of background work. `work` says whether its result changed; `every` seconds it runs anyway.

    With `on_block` it also runs after each new block; with `follows` whenever something it needs has changed; one that
    is `urgent` waits for no turn. `source` says to people where its data come from.
    """

    name: str
    work: Callable[[], Awaitable[bool]]
    needs: tuple[str, ...] = ()
    every: float = 60.0
    on_block: bool = False
    follows: bool = True
    seconds: float = 20.0
    source: str = "memory"
    urgent: bool = False
    warm: asyncio.Event = field(default_factory=asyncio.Event)
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    failures: int = 0
    runs: int = 0
    error: str | None = None


class Graph:
    """The refreshers of a service."""

    def __init__(
        self,
        refreshers: Iterable[Refresher],
        *,
        clock: Clock,
        metrics: Metrics,
        chance: random.Random | None = None,
        turn: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """`turn` is waited for before each refresh that is not urgent."""
        self.refreshers = {refresher.name: refresher for refresher in refreshers}
        unknown = {n for r in self.refreshers.values() for n in r.needs} - set(self.refreshers)
        if unknown:
            raise ConfigurationError(f"refreshers need unknown ones: {sorted(unknown)}")
        # Raises on a cycle, which would wait for itself for ever.
        self.order = tuple(TopologicalSorter({r.name: r.needs for r in self.refreshers.values()}).static_order())
        self._clock = clock
        self._chance = chance or random.Random()
        self._turn = turn
        self._outcomes = metrics.counter("refreshes", "Refreshes by outcome", ("refresher", "outcome"))
        self._seconds = metrics.histogram("refresh_seconds", "Time a refresh took", ("refresher",))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keep everything fresh for as long as the context lasts."""
        tasks = [asyncio.create_task(self._keep(self.refreshers[name]), name=f"refresh-{name}") for name in self.order]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def block(self) -> None:
        """Tell the graph of a new block."""
        for refresher in self.refreshers.values():
            if refresher.on_block:
                refresher.wake.set()

    def poke(self, name: str) -> None:
        """Run a refresher soon."""
        self.refreshers[name].wake.set()

    async def settled(self) -> None:
        """Wait until everything has run successfully at least once."""
        for refresher in self.refreshers.values():
            await refresher.warm.wait()

    async def run(self, refresher: Refresher) -> bool:
        """One refresh; says whether it succeeded."""
        started = self._clock.monotonic()
        try:
            async with asyncio.timeout(refresher.seconds):
                changed = await refresher.work()
        except (LeaseholdError, TimeoutError) as error:
            self._failed(refresher, str(error) or type(error).__name__)
            return False
        except Exception as error:  # noqa: BLE001 - a bug in one refresher must not stop it or the others for good
            _log.error("refresher broke", refresher=refresher.name, exc_info=error)
            self._failed(refresher, type(error).__name__)
            return False
        refresher.failures = 0
        refresher.runs += 1
        refresher.error = None
        self._outcomes.labels(refresher.name, "good").inc()
        self._seconds.labels(refresher.name).observe(self._clock.monotonic() - started)
        first = not refresher.warm.is_set()
        refresher.warm.set()
        if changed and not first:
            self._tell_followers(refresher.name)
        return True

    async def _keep(self, refresher: Refresher) -> None:
        for name in refresher.needs:
            await self.refreshers[name].warm.wait()
        while True:
            if self._turn is not None and not refresher.urgent:
                await self._turn()
            # Whoever asked for it while it waited gets this one.
            refresher.wake.clear()
            good = await self.run(refresher)
            await self._rest(refresher, refresher.every if good else self._pause(refresher))

    async def _rest(self, refresher: Refresher, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await refresher.wake.wait()
        except TimeoutError:
            return

    def _pause(self, refresher: Refresher) -> float:
        doubled: float = _FIRST_PAUSE * 2 ** min(refresher.failures - 1, 10)
        pause = min(_LONGEST_PAUSE, doubled, refresher.every)
        return pause * (0.75 + self._chance.random() / 2)

    def _failed(self, refresher: Refresher, reason: str) -> None:
        refresher.failures += 1
        refresher.error = reason
        self._outcomes.labels(refresher.name, "failed").inc()
        level = _log.warning if refresher.failures in (1, 10, 100) else _log.debug
        level("not refreshed", refresher=refresher.name, error=reason, failures=refresher.failures)

    def _tell_followers(self, name: str) -> None:
        for other in self.refreshers.values():
            if other.follows and name in other.needs:
                other.wake.set()
