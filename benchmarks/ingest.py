"""How fast blocks become durable rows: a feed of static bytes, the indexer, and PostgreSQL on one machine.

    python -m benchmarks.ingest [--blocks 20000] [--growth 100000] [--batch 200]

Blocks have 3.4 transactions and 14 events on average, fsync and synchronous_commit are on. Prints

- backfill: blocks/s, events/s, rows/s, and the CPU per block of the indexer and of PostgreSQL, beside the public
  indexer's marks (804 blocks/s, 0.6 ms and 1.1 ms; it writes 4.5 rows for such a block);
- growth: one index taken from 1,000 blocks to a hundred times as many; the time of a block at both ends, and the memory
  with its slope carried on to a million blocks (`--growth 1000000` goes there: about twenty minutes);
- the head: a block every 100 ms over the WebSocket, how long until it is committed, and how many it falls behind;
- outages: a node that is read from the beginning goes away, comes back as many blocks ahead, and the rate of catching
  up is compared with that of the blocks before, several times: what else the machine does disturbs both alike.

Exit code 1 when an aim is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import psycopg
import uvloop
from benchmarks._ingest_feed import FeedProcess, feeding

from leasehold.chain.client.hints import follow_hints
from leasehold.chain.client.nodes import Nodes
from leasehold.chain.client.rpc import RpcNode
from leasehold.core import logging
from leasehold.core.clock import SystemClock
from leasehold.core.settings import ChainNodes, Database, Settings
from leasehold.indexer.follow import Pace
from leasehold.indexer.ingest import Ingest
from leasehold.indexer.writer import Batch
from leasehold.storage import migrations
from leasehold.storage.embedded import ROLE, EmbeddedServer

# What is looked at on either end of a growing index, in blocks.
WINDOW = 2_000
MOST_MEMORY = 300.0
HEAD_BLOCKS, HEAD_SECONDS = 150, 0.1
OUTAGES, OUTAGE_BLOCKS, OUTAGE_SECONDS = 5, 2_000, 2.0


def show(name: str, value: str, aim: str = "", reached: bool = True) -> bool:
    """Print a figure; returns whether it reached its aim."""
    print(f"{name:<40} {value:>18}   {aim}{'' if reached else '  MISSED'}", flush=True)
    return reached


def cpu_of_tree(root: int) -> float:
    """CPU seconds of a process and all below it, ended children included."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                parents[int(entry.name)] = int(fields[1])
                ticks[int(entry.name)] = sum(int(field) for field in fields[11:15])
    total = 0
    for process, used in ticks.items():
        above = process
        while above not in (root, 0):
            above = parents.get(above, 0)
        total += used if above == root else 0
    return total / os.sysconf("SC_CLK_TCK")


def memory() -> float:
    """Resident memory of this process in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


@dataclass(slots=True)
class Mark:
    """Where things stood when a height was committed."""

    height: int
    wall: float
    own: float
    server: float
    memory: float


@dataclass
class Bench:
    """One database and one feed."""

    server: EmbeddedServer
    feed: FeedProcess
    batch: int
    marks: list[Mark] = field(default_factory=list)

    def mark(self, height: int) -> Mark:
        assert self.server._process is not None
        spent = cpu_of_tree(self.server._process.pid)
        made = Mark(height, time.perf_counter(), time.process_time(), spent, memory())
        self.marks.append(made)
        return made

    def ingest(self, url: str, session: aiohttp.ClientSession, node: str = "", **options: object) -> Ingest:
        settings = Settings(database=Database(url=url), chain=ChainNodes(admin_contract=self.feed.admin))
        nodes = Nodes([RpcNode(node or self.feed.url, session)], SystemClock())
        pace = Pace(batch_blocks=self.batch, poll_seconds=0.05)
        return Ingest(settings, nodes, SystemClock(), pace=pace, **options)  # type: ignore[arg-type]

    @contextmanager
    def database(self, name: str) -> Iterator[str]:
        """An empty index for as long as the context lasts."""
        with psycopg.connect(self.server.url(database="postgres", owner=True), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} OWNER {ROLE}".encode())
            try:
                yield self.server.url(database=name)
            finally:
                connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


async def migrated(url: str) -> None:
    await migrations.apply(url, schema="indexer", migrations=migrations.of_package("leasehold.indexer"))


async def backfill(bench: Bench, count: int) -> bool:
    """Index everything there is; returns whether the mark is reached."""
    with bench.database("backfill") as url:
        await migrated(url)
        async with aiohttp.ClientSession() as session:
            indexer = bench.ingest(url, session)
            before = bench.mark(0)
            await indexer.run(until=count)
            after = bench.mark(count)
    wall, progress = after.wall - before.wall, indexer.progress
    rate = count / wall
    good = show("backfill", f"{rate:,.0f} blocks/s", "aim 1,000, mark 804", rate >= 804)
    show("", f"{progress.events / wall:,.0f} events/s")
    show("", f"{progress.rows / wall:,.0f} rows/s", f"{progress.rows / count:.1f} a block")
    show("CPU of the indexer", f"{(after.own - before.own) / count * 1000:.2f} ms/block", "mark 0.6 ms")
    show("CPU of PostgreSQL", f"{(after.server - before.server) / count * 1000:.2f} ms/block", "mark 1.1 ms")
    return good


async def growth(bench: Bench, count: int) -> bool:
    """One index from little to a hundred times as much: time per block and memory at both ends."""
    small = count // 100
    every = max(count // 20, WINDOW)
    wanted = sorted({small, small + WINDOW, count - WINDOW, count, *range(every, count, every)})
    bench.marks.clear()

    def committed(batch: Batch) -> None:
        if wanted and batch.height >= wanted[0]:
            bench.mark(batch.height)
            while wanted and wanted[0] <= batch.height:
                wanted.pop(0)

    with bench.database("growth") as url:
        await migrated(url)
        async with aiohttp.ClientSession() as session:
            await bench.ingest(url, session, on_commit=committed).run(until=count)
        with psycopg.connect(url) as connection:
            found = connection.execute("SELECT sum(n_live_tup) FROM pg_stat_user_tables").fetchone()
    rows = float(found[0] or 0) if found else 0.0
    marks = bench.marks
    early, late = _span(marks, small), _span(marks, count - WINDOW)
    ratio, worked = late[0] / early[0], late[1] / early[1]
    show(f"a block at {small:,} blocks", f"{early[0]:.2f} ms", f"CPU {early[1]:.2f} ms, indexer and PostgreSQL")
    show(f"a block at {count:,} blocks", f"{late[0]:.2f} ms", f"CPU {late[1]:.2f} ms, {rows:,.0f} rows")
    good = show(
        "growth with 100 times the rows", f"{ratio:.2f} x", f"aim 1.20, CPU {worked:.2f} x", max(ratio, worked) < 1.2
    )
    settled = [mark for mark in marks if mark.height >= count // 4]
    first, last = settled[0], settled[-1]
    slope = (last.memory - first.memory) / (last.height - first.height)
    carried = last.memory + max(slope, 0.0) * max(1_000_000 - last.height, 0)
    show(f"memory at {last.height:,} blocks", f"{last.memory:.0f} MB", f"{slope * 1_000_000:+.1f} MB a million blocks")
    return show("memory at a million blocks", f"{carried:.0f} MB", "aim 300 MB", carried < MOST_MEMORY) and good


def _span(marks: list[Mark], height: int) -> tuple[float, float]:
    """Milliseconds a block, by the clock and by the processors, in the window that begins at a height."""
    first = next(mark for mark in marks if mark.height >= height)
    last = next((mark for mark in marks if mark.height >= first.height + WINDOW), marks[-1])
    blocks = last.height - first.height
    spent = last.own + last.server - first.own - first.server
    return (last.wall - first.wall) / blocks * 1000, spent / blocks * 1000


async def head(bench: Bench) -> bool:
    """A block every 100 ms: how long after it was announced it is committed."""
    from simulated_chain import Scenario
    from static_feed import StaticFeed

    scenario = Scenario(1)
    scenario.advance(HEAD_BLOCKS + 20)
    feed = StaticFeed(scenario.blocks, latest=20)
    feed.queries = scenario.query
    announced: dict[int, float] = {}
    lags: list[float] = []
    behind = [0]

    def committed(batch: Batch) -> None:
        for height in range(batch.first_height, batch.height + 1):
            if height in announced:
                lags.append((time.perf_counter() - announced[height]) * 1000)
                behind.append(feed.latest - batch.height)

    with bench.database("head") as url:
        await migrated(url)
        async with feed.serving(), aiohttp.ClientSession() as session:
            bench.feed.admin = scenario.admin
            indexer = bench.ingest(url, session, feed.url, on_commit=committed)
            nodes = Nodes([RpcNode(feed.url, session)], SystemClock())
            hints = asyncio.create_task(follow_hints(nodes, session, indexer.follower.announce, silence_seconds=30))
            running = asyncio.create_task(indexer.run(until=HEAD_BLOCKS + 20))
            await asyncio.sleep(1.0)
            for height in range(21, HEAD_BLOCKS + 21):
                announced[height] = time.perf_counter()
                await feed.grow(height)
                await asyncio.sleep(HEAD_SECONDS)
            await running
            hints.cancel()
            await asyncio.gather(hints, return_exceptions=True)
    lags.sort()
    median, late = statistics.median(lags), lags[int(len(lags) * 0.99)]
    good = show("lag at the head, median", f"{median:.1f} ms", "aim 100 ms", median < 100)
    good = show("lag at the head, 99 of 100", f"{late:.1f} ms", "aim 100 ms", late < 100) and good
    return show("blocks behind when committing", f"{max(behind)}", "aim 1", max(behind) <= 1) and good


class Commits:
    """When each height was committed."""

    def __init__(self) -> None:
        self.at: dict[int, float] = {}
        self._more = asyncio.Event()

    def note(self, batch: Batch) -> None:
        self.at[batch.height] = time.perf_counter()
        self._more.set()

    async def reach(self, height: int) -> tuple[float, float]:
        """Wait for a height: seconds until the next commit from now on, and blocks a second after that one."""
        begun = time.perf_counter()
        while height not in self.at:
            self._more.clear()
            await self._more.wait()
        first = min(one for one, at in self.at.items() if at > begun)
        return self.at[first] - begun, (height - first) / (self.at[height] - self.at[first])


async def outages(bench: Bench) -> bool:
    """A node goes away and comes back far ahead, time after time; catching up is a backfill."""
    commits = Commits()
    last = 2 * OUTAGES * OUTAGE_BLOCKS
    plain, caught, waits = [], [], []
    with bench.database("outage") as url:
        await migrated(url)
        async with aiohttp.ClientSession() as session:
            indexer = bench.ingest(url, session, on_commit=commits.note)
            bench.feed.tell("latest", 1)
            running = asyncio.create_task(indexer.run(until=last))
            for height in range(OUTAGE_BLOCKS, last, 2 * OUTAGE_BLOCKS):
                bench.feed.tell("latest", height)
                plain.append((await commits.reach(height))[1])
                bench.feed.tell("is_away", True)
                await asyncio.sleep(OUTAGE_SECONDS)
                bench.feed.tell("latest", height + OUTAGE_BLOCKS)
                bench.feed.tell("is_away", False)
                waited, rate = await commits.reach(height + OUTAGE_BLOCKS)
                waits.append(waited)
                caught.append(rate)
            await running
    shares = [one / other for one, other in zip(caught, plain, strict=True)]
    share = statistics.median(shares)
    show("first commit when a node is back", f"{statistics.median(waits):.2f} s", f"at most {max(waits):.2f} s")
    return show(
        "catching up after an outage",
        f"{statistics.median(caught):,.0f} blocks/s",
        f"{share:.2f} of backfill, aim 0.80 (each time: {', '.join(f'{one:.2f}' for one in shares)})",
        share >= 0.8,
    )


async def everything(bench: Bench, blocks: int, grown: int) -> bool:
    good = await backfill(bench, blocks)
    if grown:
        good = await growth(bench, grown) and good
    good = await outages(bench) and good
    return await head(bench) and good


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=int, default=20_000, help="blocks of the backfill")
    parser.add_argument("--growth", type=int, default=100_000, help="blocks of the growing index; 0 leaves it out")
    parser.add_argument("--batch", type=int, default=200, help="most blocks in a transaction")
    options = parser.parse_args(arguments)
    logging.configure(service="bench", level="error")
    with (
        feeding(max(options.blocks, options.growth, 2 * OUTAGES * OUTAGE_BLOCKS)) as feed,
        tempfile.TemporaryDirectory(prefix="leasehold-bench-") as folder,
    ):
        Path(folder).chmod(0o755)
        server = EmbeddedServer(Path(folder), durable=True)
        server.start()
        try:
            print(f"blocks of {feed.block_bytes:,} bytes, batches of {options.batch}, fsync on", flush=True)
            bench = Bench(server, feed, options.batch)
            return 0 if uvloop.run(everything(bench, options.blocks, options.growth)) else 1
        finally:
            server.stop()


if __name__ == "__main__":
    sys.exit(main())
