"""Processes killed without warning: the indexer and PostgreSQL come back, and nothing is lost, doubled or wrong."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
from pathlib import Path

import pytest
from index_comparison import differences
from simulated_chain import Scenario
from static_feed import StaticFeed

from leasehold.storage import migrations
from leasehold.storage.embedded import EmbeddedServer

BLOCKS = 250


async def _started(url: str, feed: StaticFeed, scenario: Scenario) -> asyncio.subprocess.Process:
    script = Path(__file__).with_name("index_process.py")
    arguments = (url, feed.url, scenario.admin, str(BLOCKS))
    return await asyncio.create_subprocess_exec(
        sys.executable, str(script), *arguments, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
    )


@pytest.mark.simulation
async def test_killing_the_indexer_and_postgres_costs_only_time(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    """SIGKILL hits the indexer, then PostgreSQL under it, again and again; the tables end up as the truth says."""
    randomness = random.Random(seed)
    scenario = Scenario(seed)
    scenario.advance(BLOCKS)
    feed = StaticFeed(scenario.blocks)
    feed.queries = scenario.query
    feed.fault = lambda: "slow" if randomness.random() < 0.3 else None
    server = EmbeddedServer(tmp_path_factory.mktemp("killed"), durable=True)
    server.start()
    try:
        url = server.url()
        await migrations.apply(url, schema="indexer", migrations=migrations.of_package("leasehold.indexer"))
        async with feed.serving():
            for _ in range(3):
                indexer = await _started(url, feed, scenario)
                await asyncio.sleep(randomness.uniform(0.6, 1.2))
                if indexer.returncode is None:
                    indexer.kill()
                await indexer.wait()
            indexer = await _started(url, feed, scenario)
            await asyncio.sleep(randomness.uniform(0.6, 1.0))
            assert server._process is not None
            os.kill(server._process.pid, signal.SIGKILL)
            await asyncio.to_thread(server._process.wait)
            await asyncio.to_thread(server.start)
            async with asyncio.timeout(60):
                assert await indexer.wait() == 0
        assert await asyncio.to_thread(differences, url, scenario.truth) == []
    finally:
        server.stop()
