"""Ingest: what is being written is finished before it ends, and what it says about itself is true."""

from __future__ import annotations

import asyncio

import aiohttp
import psycopg
import pytest
from simulated_chain import Scenario
from static_feed import StaticFeed

from leasehold.chain.client.nodes import Nodes
from leasehold.chain.client.rpc import RpcNode
from leasehold.core.clock import ManualClock, SystemClock
from leasehold.core.metrics import Metrics
from leasehold.core.settings import ChainNodes, Database, Index, Settings
from leasehold.indexer.follow import Pace
from leasehold.indexer.ingest import Ingest
from leasehold.indexer.service import IndexerService
from leasehold.indexer.writer import Batch
from leasehold.storage import migrations


def _node(session: aiohttp.ClientSession, url: str = "http://127.0.0.1:1") -> Nodes:
    return Nodes([RpcNode(url, session)], SystemClock())


async def test_draining_waits_for_the_batch_that_is_being_written(
    database: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Told to stop in the middle of a write, the indexer commits it as a whole and nothing after it."""
    scenario = Scenario(seed)
    scenario.advance(30)
    feed = StaticFeed(scenario.blocks)
    feed.queries = scenario.query
    await migrations.apply(database, schema="indexer", migrations=migrations.of_package("leasehold.indexer"))
    settings = Settings(database=Database(url=database), chain=ChainNodes(admin_contract=scenario.admin))
    async with feed.serving(), aiohttp.ClientSession() as session:
        ingest = Ingest(settings, _node(session, feed.url), SystemClock(), pace=Pace(batch_blocks=10))
        begun, allowed = asyncio.Event(), asyncio.Event()
        write = ingest.writer.write

        async def held(batch: Batch) -> None:
            begun.set()
            await allowed.wait()
            await write(batch)

        monkeypatch.setattr(ingest.writer, "write", held)
        running = asyncio.create_task(ingest.run())
        await begun.wait()
        draining = asyncio.create_task(ingest.drain(10))
        await asyncio.sleep(0.05)
        assert not draining.done()
        allowed.set()
        await draining
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    with psycopg.connect(database) as connection:
        heights = connection.execute(
            "SELECT c.height, count(b.height), max(b.height) FROM indexer.cursor c, indexer.blocks b GROUP BY 1"
        ).fetchone()
    assert heights is not None
    assert heights[0] == heights[1] == heights[2]
    assert heights[0] % 10 == 0


async def test_the_service_is_not_ready_while_it_lags_and_says_by_how_much(database: str) -> None:
    """Above the configured lag /ready is false; both /ready and the gauge tell the blocks that are missing."""
    settings = Settings(database=Database(url=database), index=Index(ready_lag_blocks=5))
    async with aiohttp.ClientSession() as session:
        service = IndexerService(settings, ManualClock(10**18), Metrics(), _node(session))
        assert service.readiness().status == "not_ready"
        service.ingest.progress.height, service.ingest.progress.time_ns = 100, 10**18 - 7 * 10**9
        service.ingest.follower.announce(106)
        late = service.readiness()
        assert (late.status, late.lag_blocks, late.target, late.lag_seconds) == ("not_ready", 6, 106, 7)
        service.ingest.progress.height = 101
        assert (service.readiness().status, service.readiness().lag_blocks) == ("ready", 5)
