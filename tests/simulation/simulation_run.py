"""Runs an indexer against a seeded history while things go wrong, and compares its tables with the ground truth."""

from __future__ import annotations

import asyncio
import contextlib
import random
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import psycopg
from index_comparison import differences
from simulated_chain import Scenario
from static_feed import StaticFeed

from leasehold.chain.client.hints import follow_hints
from leasehold.chain.client.nodes import Nodes
from leasehold.chain.client.rpc import RpcNode, Timeouts
from leasehold.core.clock import SystemClock
from leasehold.core.settings import ChainNodes, Database, Settings
from leasehold.indexer.follow import Pace
from leasehold.indexer.ingest import Ingest
from leasehold.storage import migrations


@dataclass
class Report:
    """What a run did and what it found wrong."""

    seed: int
    blocks: int
    kills: int = 0
    terminations: int = 0
    node_restarts: int = 0
    faults: dict[str, int] = field(default_factory=dict)
    differences: list[str] = field(default_factory=list)
    divergences: int = 0


async def _quick(seconds: float) -> None:
    await asyncio.sleep(min(seconds, 0.01))


class Simulation:
    """One seeded run."""

    def __init__(self, seed: int, url: str, *, blocks: int = 100) -> None:
        self.random = random.Random(seed)
        self.url = url
        self.scenario = Scenario(seed)
        self.scenario.advance(blocks)
        self.report = Report(seed, blocks)
        self.feed = StaticFeed(self.scenario.blocks, latest=self.random.randint(0, blocks // 2))
        self.feed.queries = self.scenario.query
        self.feed.announce_doubly = self.random.random() < 0.5
        self.feed.batch_limit = self.random.choice([4, 10, 100])
        self.feed.fault = self._fault
        self._trouble = self.random.choice([0.0, 0.05, 0.3])
        self._stopped = asyncio.Event()

    def _fault(self) -> str | None:
        if self.random.random() >= self._trouble:
            return None
        fault = self.random.choice(["drop", "slow", "garbage", "error"])
        self.report.faults[fault] = self.report.faults.get(fault, 0) + 1
        return fault

    async def run(self) -> Report:
        """Index the whole history through all troubles and compare."""
        await migrations.apply(self.url, schema="indexer", migrations=migrations.of_package("leasehold.indexer"))
        async with self.feed.serving() as feed:
            port = int(feed.url.rpartition(":")[2])
        async with asyncio.TaskGroup() as tasks:
            node = tasks.create_task(self._node(port))
            killer = tasks.create_task(self._terminator())
            try:
                await asyncio.wait_for(self._indexers(), 120)
            finally:
                self._stopped.set()
                node.cancel()
                killer.cancel()
        # Connections that were dropped need a moment to finish closing before the loop ends.
        await asyncio.sleep(0.02)
        self.report.differences = await asyncio.to_thread(differences, self.url, self.scenario.truth)
        return self.report

    async def _node(self, port: int) -> None:
        """A node that grows, drops sockets and restarts."""
        while True:
            async with self.feed.serving(port):
                for _ in range(self.random.randint(5, 60)):
                    await asyncio.sleep(self.random.choice([0, 0.001, 0.01]))
                    if self.feed.latest < self.report.blocks:
                        step = self.random.choice([1, 1, 1, 5, 40])
                        await self.feed.grow(min(self.feed.latest + step, self.report.blocks))
                    if self.random.random() < 0.03:
                        await self.feed.drop_sockets()
                    self.feed.results_lag = self.random.choice([0, 0, 0, 1]) * int(
                        self.feed.latest < self.report.blocks
                    )
                if self.feed.latest >= self.report.blocks:
                    self.feed.results_lag = 0
                    await asyncio.sleep(self.random.choice([0, 0.2, 0.5]))
            self.report.node_restarts += 1
            await asyncio.sleep(self.random.choice([0, 0.02]))

    async def _terminator(self) -> None:
        """Somebody ends the indexer's database connection now and then."""
        while self.random.random() < 0.7:
            await asyncio.sleep(self.random.uniform(0.02, 0.3))
            statement = (
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND application_name = 'leasehold indexer bulk'"
            )
            async with await psycopg.AsyncConnection.connect(self.url, autocommit=True) as connection:
                ended = await connection.execute(statement)
                self.report.terminations += len(await ended.fetchall())

    async def _indexers(self) -> None:
        """One indexer after the other; each but the last is killed wherever it happens to be."""
        for _ in range(self.random.randint(0, 6)):
            indexer = asyncio.create_task(self._index())
            await asyncio.wait({indexer}, timeout=self.random.uniform(0.01, 0.5))
            if indexer.done():
                break
            indexer.cancel()
            self.report.kills += 1
            with contextlib.suppress(asyncio.CancelledError):
                await indexer
        await self._index()

    async def _index(self) -> None:
        settings = Settings(database=Database(url=self.url), chain=ChainNodes(admin_contract=self.scenario.admin))
        pace = Pace(
            batch_blocks=self.random.choice([1, 3, 20, 60]),
            request_blocks=self.random.choice([1, 5]),
            requests=self.random.choice([1, 4]),
            poll_seconds=0.02,
        )
        clock = SystemClock()
        async with aiohttp.ClientSession() as session:
            node = RpcNode(self.feed.url, session, timeouts=Timeouts(connect=1, answer=5))
            nodes = Nodes([node], clock)
            ingest = Ingest(settings, nodes, clock, pause=_quick, pace=pace)
            hints = asyncio.create_task(
                follow_hints(nodes, session, ingest.follower.announce, silence_seconds=1, pause=_quick)
            )
            try:
                await ingest.run(until=self.report.blocks)
                self.report.divergences += ingest.divergences
            finally:
                hints.cancel()
                await asyncio.gather(hints, return_exceptions=True)


def simulate(seed: int, url: str, **options: Any) -> Report:
    """Run one seed to the end."""
    return asyncio.run(Simulation(seed, url, **options).run())
