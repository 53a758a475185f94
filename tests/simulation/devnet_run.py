"""Runs a real development chain and real indexer processes while things go wrong, and compares every table.

The node seals live blocks, restarts from its folder, drops sockets and answers slowly; a proxy loses, garbles and
doubles what it says; indexers and PostgreSQL are killed with SIGKILL. What is right is computed from the chain alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import os
import random
import shutil
import signal
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from devnet_history import Bystanders, History, opened
from devnet_reader import ChainReader
from devnet_truth import Truth
from faulty_proxy import FaultyProxy
from index_process import DIVERGED, Assignment, ended, started
from table_comparison import differences

from leasehold.chain.client.errors import QueryFailed
from leasehold.core.clock import ManualClock
from leasehold.core.errors import LeaseholdError
from leasehold.core.settings import Database, Settings
from leasehold.devnet.chain import Devnet
from leasehold.devnet.market.live import LiveMarket
from leasehold.devnet.market.standing import Rates
from leasehold.devnet.rpc.server import RpcServer
from leasehold.indexer.audit import audit
from leasehold.indexer.follow import Pace
from leasehold.indexer.rebuild import Rebuild
from leasehold.storage import migrations
from leasehold.storage.embedded import EmbeddedServer

PATIENCE = 300.0
LIVELY = Rates(openings=900, managements=900, lendings=400, stakings=300, session_seconds=0, feed_seconds=60)


@dataclass
class Report:
    """What a run did and what it found wrong."""

    seed: int
    market: int
    height: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)
    diverged: bool = False

    @property
    def is_good(self) -> bool:
        return not self.differences and not self.diverged


class LiveNode:
    """A devnet that goes on from a history's folder and can be restarted."""

    def __init__(self, history: History, folder: Path, chance: random.Random) -> None:
        self._seed = history.seed
        self._folder = folder
        self._chance = chance
        self.clock = ManualClock()
        shutil.copytree(history.folder, folder)
        self.devnet = self._open()
        self.chain = ChainReader(self.devnet)
        registry = self.devnet.registry
        memo: dict[int, Any] = {id(history.truth.chain): self.chain, id(registry): registry}
        self.truth: Truth = copy.deepcopy(history.truth, memo)

    def _open(self) -> Devnet:
        devnet = opened(self._seed, self._folder, self.clock)
        self.clock.set(devnet.node.time_ns)
        self.live = LiveMarket.resume(devnet, self.clock)
        self.live.market.quicken(LIVELY)
        self.live.attach()
        self._bystanders = Bystanders(self.live.market, self._chance, often=0.3)
        return devnet

    async def start(self) -> str:
        """Serve; returns the address."""
        self.rpc = RpcServer(self.devnet.node, port=0)
        await self.rpc.start()
        return f"http://127.0.0.1:{self.rpc.port}"

    async def stop(self) -> None:
        for connection in list(self.rpc._connections):
            connection.abort()
        await self.rpc.stop()

    async def restart(self) -> str:
        """Go down, without a word to anybody, and come back from what is on disk; returns the new address."""
        await self.stop()
        self.devnet.close()
        await asyncio.sleep(self._chance.choice([0, 0.05]))
        self.devnet = self._open()
        self.chain.reopened(self.devnet)
        # Elsewhere: on a busy machine the port may be another's by now, and the proxy is what clients know.
        return await self.start()

    def seal(self) -> None:
        """One more block, some seconds or minutes later."""
        step = self._chance.choice([5, 5, 5, 10, 60, 700])
        self.clock.advance(seconds=step)
        for tx in self._bystanders.txs(self.devnet.app.context()):
            # What the mempool does not take, such as a second one of the same account, is not on the chain.
            with contextlib.suppress(LeaseholdError):
                self.devnet.node.submit(tx)
        self.devnet.node.seal()


class DevnetRun:
    """One seeded run over a history; `server` is this run's to kill."""

    def __init__(
        self, history: History, seed: int, server: EmbeddedServer, folder: Path, *, must: frozenset[str] = frozenset()
    ) -> None:
        self.chance = random.Random(seed)
        self.report = Report(seed, history.seed)
        self.server = server
        self.must = must
        self.node = LiveNode(history, folder, random.Random(f"node/{seed}"))
        self.blocks = history.height + self.chance.randint(8, 25)
        trouble = self.chance.choice([0.0, 0.03, 0.15])
        self.proxy = FaultyProxy(random.Random(f"proxy/{seed}"), trouble=trouble, doubled=self.chance.random())
        self._database = f"run_{seed}"
        self._done = asyncio.Event()

    async def run(self) -> Report:
        """Index a growing chain through all troubles and compare every table."""
        self._administer(f"CREATE DATABASE {self._database} OWNER leasehold")
        url = self.server.url(database=self._database)
        await migrations.apply(url, schema="indexer", migrations=migrations.of_package("leasehold.indexer"))
        try:
            async with self.proxy.serving():
                self.proxy.target = await self.node.start()
                async with asyncio.TaskGroup() as tasks:
                    growing = tasks.create_task(self._grow())
                    await asyncio.wait_for(self._indexers(url), PATIENCE)
                    await growing
                await self._judge(url)
                await self.node.stop()
        finally:
            self.node.devnet.close()
            self._administer(f"DROP DATABASE {self._database} WITH (FORCE)")
        self.report.faults += self.proxy.seen
        return self.report

    def _administer(self, statement: str) -> None:
        with psycopg.connect(self.server.url(database="postgres", owner=True), autocommit=True) as connection:
            connection.execute(statement.encode())

    # What goes on meanwhile.

    async def _grow(self) -> None:
        """Seal the live blocks; sockets break and the node restarts on the way."""
        while self.node.devnet.node.height < self.blocks:
            self.node.seal()
            await asyncio.sleep(self.chance.choice([0, 0.001, 0.02]))
            roll = self.chance.random()
            if roll < 0.04:
                self.report.faults["node subscribers dropped"] += self.node.rpc.drop_subscribers()
            elif roll < 0.08:
                await self.proxy.drop_sockets()
            elif roll < 0.12:
                self.report.faults["node slow"] += 1
                self.node.rpc.delay_answers(self.chance.choice([0, 0.05]))
            elif roll < 0.14 or self._due("node restart"):
                self.report.faults["node restart"] += 1
                self.proxy.target = await self.node.restart()
        self.node.rpc.delay_answers(0)

    def _due(self, fault: str) -> bool:
        return fault in self.must and not self.report.faults[fault]

    async def _indexers(self, url: str) -> None:
        """One indexer process after the other; each but the last is killed wherever it happens to be."""
        kills = self.chance.choice([0, 1, 1, 3])
        if "indexer killed" in self.must:
            kills = max(kills, 1)
        for _ in range(kills):
            process = started(self._assignment(url))
            if await ended(process, self.chance.uniform(0.02, 0.6)):
                break
            if process.pid is not None:
                os.kill(process.pid, signal.SIGKILL)
            process.join()
            self.report.faults["indexer killed"] += 1
        process = started(self._assignment(url))
        if self.chance.random() < 0.2 or "postgres killed" in self.must:
            await ended(process, self.chance.uniform(0.05, 0.6))
            await self._kill_postgres()
        while not await ended(process, 0.5):
            pass
        if process.exitcode not in (0, DIVERGED):
            self.report.differences.append(f"the indexer ended with {process.exitcode}")
        self.report.diverged = process.exitcode == DIVERGED

    def _assignment(self, url: str) -> Assignment:
        pace = Pace(
            batch_blocks=self.chance.choice([1, 7, 60, 200]),
            request_blocks=self.chance.choice([1, 5]),
            requests=self.chance.choice([1, 4, 8]),
            poll_seconds=0.05,
        )
        return Assignment(url, self.proxy.url, self.blocks, pace)

    async def _kill_postgres(self) -> None:
        process = self.server._process
        assert process is not None
        self.report.faults["postgres killed"] += 1
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        await asyncio.sleep(self.chance.choice([0, 0.1]))
        # Not in another thread: the server ends with the thread that started it.
        self.server.start()

    # The judgement.

    async def _judge(self, url: str) -> None:
        truth = self.node.truth
        truth.follow(self.blocks)
        self.report.height = self.blocks
        found = differences(url, truth.complete())
        settings = Settings(database=Database(url=url))
        reader = _InProcess(self.node.devnet)
        found += [str(one) for one in (await audit(settings, reader)).differences]
        if self.chance.random() < 0.15:
            self.report.faults["rebuild"] += 1
            await Rebuild(settings, batch_blocks=self.chance.choice([20, 200])).run()
            found += [f"rebuilt: {one}" for one in differences(url, truth.complete())]
        self.report.differences += found


class _InProcess:
    """State queries put to the chain directly."""

    def __init__(self, devnet: Devnet) -> None:
        self._devnet = devnet

    async def abci_query(self, path: str, data: bytes, height: int = 0) -> bytes:
        answer = self._devnet.app.query(path, data, height, False)
        if answer.code:
            raise QueryFailed(answer.log, query_code=answer.code, upstream="in process")
        return answer.value


def seeded_run(
    history: History, seed: int, server: EmbeddedServer, folder: Path, *, must: frozenset[str] = frozenset()
) -> Report:
    """Run one seed to the end."""
    return asyncio.run(DevnetRun(history, seed, server, folder, must=must).run())
