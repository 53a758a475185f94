"""The indexer as a service: ready when it has caught up, gone when told to stop, honest about its quarantine."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import aiohttp
import psycopg
import pytest
from simulated_chain import Scenario
from static_feed import StaticFeed

from leasehold.core.clock import ManualClock, SystemClock
from leasehold.core.errors import NotReady
from leasehold.core.service_context import ServiceContext
from leasehold.core.settings import ChainNodes, Database, Listen, Settings
from leasehold.indexer import quarantine
from leasehold.indexer.audit import loaded_world
from leasehold.indexer.rebuild import Rebuild
from leasehold.indexer.retention import prune
from leasehold.indexer.service import serve
from leasehold.indexer.tables import instant


async def _eventually(session: aiohttp.ClientSession, url: str, status: int) -> dict[str, object]:
    for _ in range(400):
        async with session.get(url) as response:
            body: dict[str, object] = await response.json()
            if response.status == status:
                return body
        await asyncio.sleep(0.02)
    raise AssertionError(f"{url} never answered {status}: {body}")


async def test_a_fresh_database_is_migrated_indexed_and_reported(database: str, tmp_path: Path, seed: int) -> None:
    """With nothing but an empty database and a node the service becomes ready, falls behind, and stops when told."""
    scenario = Scenario(seed)
    scenario.advance(60)
    feed = StaticFeed(scenario.blocks, latest=40)
    feed.queries = scenario.query
    lines: asyncio.Queue[str] = asyncio.Queue()
    stop = asyncio.Event()
    async with feed.serving(), aiohttp.ClientSession() as session:
        settings = Settings(
            database=Database(url=database),
            chain=ChainNodes(rpc_urls=(feed.url,), admin_contract=scenario.admin),
            listen=Listen(indexer=0),
        )
        context = ServiceContext(settings=settings, home=tmp_path, ready=lines.put_nowait)
        running = asyncio.create_task(serve(context, ManualClock(scenario.now + 5 * 10**9), stop))
        url = (await lines.get()).rpartition(" ")[2]
        ready = await _eventually(session, f"{url}/ready", 200)
        assert ready["lag_blocks"] == 0
        await feed.grow(60)
        for _ in range(400):
            ready = await _eventually(session, f"{url}/ready", 200)
            if ready["height"] == 60:
                break
            await asyncio.sleep(0.02)
        assert (ready["height"], ready["lag_seconds"]) == (60, 5)
        async with session.get(f"{url}/metrics") as response:
            assert "leasehold_index_height 60.0" in await response.text()
        stop.set()
        async with asyncio.timeout(60):
            await running
    await _quarantine_is_listed(database, scenario)
    await _raw_data_can_go(database, settings, scenario)


async def _quarantine_is_listed(database: str, scenario: Scenario) -> None:
    found = await quarantine.listed(database)
    assert {(item.height, item.tx, item.part) for item in found} == scenario.truth.quarantine
    assert all(item.reason and item.data for item in found)


async def _raw_data_can_go(database: str, settings: Settings, scenario: Scenario) -> None:
    """Raw rows beyond their age go, projections stay, and a rebuild says why it can't."""
    middle = instant(scenario.now) - timedelta(hours=1)
    dropped = await prune(database, days=1, now=middle + timedelta(days=1))
    assert 0 < dropped < 60
    async with await psycopg.AsyncConnection.connect(database) as connection:
        for table in ("raw_blocks", "events"):
            text: bytes = f"SELECT coalesce(min(height), 61) > {dropped} FROM indexer.{table}".encode()
            assert await (await connection.execute(text)).fetchone() == (True,)
        blocks = await (await connection.execute("SELECT count(*) FROM indexer.blocks")).fetchone()
        assert blocks == (60,)
    with pytest.raises(NotReady, match="retention_days"):
        await Rebuild(settings).run()


async def test_nothing_is_dropped_without_a_limit(database: str) -> None:
    """Zero days keep everything, and don't even ask the database."""
    assert await prune("postgresql://nowhere.invalid/x", days=0, now=instant(SystemClock().now_ns())) == 0


async def test_an_empty_index_is_an_empty_world(database: str) -> None:
    """State loaded from fresh tables knows nothing and stands at height 0."""
    from leasehold.storage import migrations

    await migrations.apply(database, schema="indexer", migrations=migrations.of_package("leasehold.indexer"))
    world = await loaded_world(database, Settings())
    assert (world.height, world.positions, world.knowledge.platform) == (0, {}, None)
