"""Rebuilding from raw blocks: the same tables, no node asked, nobody notified twice, a running indexer goes on."""

from __future__ import annotations

import asyncio

import aiohttp
import psycopg
import pytest
from index_comparison import differences
from simulated_chain import Scenario
from static_feed import StaticFeed

from leasehold.chain.client.nodes import Nodes
from leasehold.chain.client.rpc import RpcNode
from leasehold.core.clock import SystemClock
from leasehold.core.errors import NotReady
from leasehold.core.settings import ChainNodes, Database, Settings
from leasehold.indexer.follow import Pace
from leasehold.indexer.ingest import Ingest
from leasehold.indexer.rebuild import Rebuild
from leasehold.storage import migrations

PACE = Pace(batch_blocks=30, poll_seconds=0.02)


async def _index(url: str, scenario: Scenario, until: int, feed: StaticFeed) -> None:
    settings = Settings(database=Database(url=url), chain=ChainNodes(admin_contract=scenario.admin))
    async with aiohttp.ClientSession() as session:
        nodes = Nodes([RpcNode(feed.url, session)], SystemClock())
        await Ingest(settings, nodes, SystemClock(), pace=PACE).run(until=until)


def _settings(url: str) -> Settings:
    return Settings(database=Database(url=url))


@pytest.mark.simulation
async def test_a_rebuild_makes_the_same_tables_without_asking_a_node(database: str, seed: int) -> None:
    """All projections come out as the ground truth says, what was delivered stays delivered, the cursor stays put."""
    scenario = Scenario(seed)
    scenario.advance(120)
    feed = StaticFeed(scenario.blocks)
    feed.queries = scenario.query
    await migrations.apply(database, schema="indexer", migrations=migrations.of_package("leasehold.indexer"))
    async with feed.serving():
        await _index(database, scenario, 120, feed)
    async with await psycopg.AsyncConnection.connect(database, autocommit=True) as connection:
        await connection.execute("UPDATE indexer.outbox SET delivered_at = time")
        # Whatever was wrong in the projections is gone afterwards.
        await connection.execute("UPDATE indexer.positions SET amount = amount + 1")
        await connection.execute("DELETE FROM indexer.pool_flows")
        asked = feed.requests
        rebuilt = await Rebuild(_settings(database), batch_blocks=50).run()
        assert feed.requests == asked
        waiting = await connection.execute("SELECT count(*) FROM indexer.outbox WHERE delivered_at IS NULL")
        generation = await connection.execute("SELECT generation FROM indexer.cursor")
        assert await waiting.fetchone() == (0,)
        assert await generation.fetchone() == (1,)
    assert (rebuilt.height, rebuilt.quarantined) == (120, len(scenario.truth.quarantine))
    assert await asyncio.to_thread(differences, database, scenario.truth) == []


@pytest.mark.simulation
async def test_a_running_indexer_continues_in_the_rebuilt_tables(database: str, seed: int) -> None:
    """Indexing goes on during a rebuild and after it, nothing is lost or doubled, and readers never see less."""
    scenario = Scenario(seed + 1)
    scenario.advance(160)
    feed = StaticFeed(scenario.blocks, latest=60)
    feed.queries = scenario.query
    await migrations.apply(database, schema="indexer", migrations=migrations.of_package("leasehold.indexer"))
    async with feed.serving(), asyncio.TaskGroup() as tasks:
        await _index(database, scenario, 60, feed)
        indexing = tasks.create_task(_index(database, scenario, 160, feed))
        rebuilding = tasks.create_task(Rebuild(_settings(database), batch_blocks=10).run())
        reading = tasks.create_task(_read(database, indexing))
        for latest in range(61, 161):
            await asyncio.sleep(0.005)
            await feed.grow(latest)
        await asyncio.wait_for(rebuilding, 60)
        await asyncio.wait_for(indexing, 60)
        assert await reading > 0
    assert await asyncio.to_thread(differences, database, scenario.truth) == []


async def _read(url: str, indexing: asyncio.Task[None]) -> int:
    """A reader that asks all the time; returns how often, or raises when it saw a gap, a step back or an error."""
    asked = seen = 0
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        while not indexing.done():
            found = await connection.execute(
                "SELECT c.height, (SELECT count(*) FROM indexer.blocks), (SELECT max(height) FROM indexer.txs)"
                " FROM indexer.cursor c"
            )
            row = await found.fetchone()
            assert row is not None
            assert row[0] == row[1] >= seen
            assert row[2] <= row[0]
            asked, seen = asked + 1, row[0]
            await asyncio.sleep(0.002)
    return asked


async def test_without_raw_blocks_there_is_nothing_to_rebuild(database: str) -> None:
    """An empty index is left as it is, with an error that says why."""
    await migrations.apply(database, schema="indexer", migrations=migrations.of_package("leasehold.indexer"))
    with pytest.raises(NotReady):
        await Rebuild(_settings(database)).run()
