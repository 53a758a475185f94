"""The devnet's own market through the indexer: every figure equals what the chain answers at the same height."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import aiohttp
import psycopg
import pytest

from leasehold.chain.client.contracts import smart_query
from leasehold.chain.client.nodes import Nodes
from leasehold.chain.client.rpc import RpcNode
from leasehold.core.clock import NANOSECONDS, ManualClock, SystemClock
from leasehold.core.settings import Database, Listen, Settings
from leasehold.core.settings import Devnet as DevnetSettings
from leasehold.devnet.chain import Devnet
from leasehold.devnet.market.history import simulate
from leasehold.devnet.market.market import Market
from leasehold.devnet.service import serving
from leasehold.indexer.audit import audit
from leasehold.indexer.ingest import Ingest
from leasehold.storage import migrations

HOURS = 14
NOW = 1_800_000_000


@asynccontextmanager
async def _market(url: str, seed: int) -> AsyncIterator[tuple[Settings, Nodes, int]]:
    settings = Settings(
        listen=Listen(rpc=0, lcd=0, grpc=0, control=0),
        database=Database(url=url),
        devnet=DevnetSettings(seed=seed % 1000 + 1, seal="demand", block_interval_ms=0, market=True, history_days=1),
    )
    clock = ManualClock(NOW * NANOSECONDS)
    begin = (NOW - HOURS * 3600) * NANOSECONDS
    devnet = Devnet.open(settings, None, clock=clock, genesis_time_ns=begin, durable=False)
    try:
        market = Market(devnet, start=begin // NANOSECONDS)
        simulate(devnet, market, NOW)
        async with serving(devnet, settings, clock) as endpoints, aiohttp.ClientSession() as session:
            yield settings, Nodes([RpcNode(endpoints.rpc, session)], SystemClock()), devnet.node.height
    finally:
        devnet.close()


@pytest.mark.simulation
async def test_the_index_of_a_market_equals_the_chain_at_the_same_height(database: str, seed: int) -> None:
    """Positions, pools, lenders, prices, coins and supply agree at the head; hourly rows agree at their heights."""
    await migrations.apply(database, schema="indexer", migrations=migrations.of_package("leasehold.indexer"))
    async with _market(database, seed) as (settings, nodes, height):
        ingest = Ingest(replace(settings), nodes, SystemClock())
        await asyncio.wait_for(ingest.run(until=height), 120)
        assert (ingest.divergences, ingest.orphans, ingest.progress.quarantined) == (0, 0, 0)
        report = await audit(settings, nodes)
        assert report.differences == [], report.table()
        assert report.compared["positions"] > 0
        assert report.compared["lenders"] > 0
        await _hourly_rows_agree(database, nodes)


async def _hourly_rows_agree(database: str, nodes: Nodes) -> None:
    figures = ("amount", "principal", "overdue_margin", "overdue_interest", "due_margin", "due_interest")
    query: str = (
        f"SELECT p.lease, h.height, {', '.join('p.' + name for name in figures)}"
        " FROM indexer.position_hours p JOIN indexer.hours h USING (hour) ORDER BY md5(p.lease || h.height) LIMIT 40"
    )
    async with await psycopg.AsyncConnection.connect(database) as connection:
        rows = await (await connection.execute(query.encode())).fetchall()
        pools = await (
            await connection.execute(
                "SELECT pool, height, balance, principal, interest, receipts FROM indexer.pool_hours"
                " JOIN indexer.hours USING (hour) ORDER BY md5(pool || height) LIMIT 20"
            )
        ).fetchall()
    assert rows
    for lease, height, *indexed in rows:
        state = (await smart_query(nodes, lease, {"state": {}}, height))["opened"]
        names = ("amount", "principal_due", "overdue_margin", "overdue_interest", "due_margin", "due_interest")
        assert [int(value) for value in indexed] == [int(state[name]["amount"]) for name in names]
    for pool, height, *indexed in pools:
        answer = await smart_query(nodes, pool, {"lpp_balance": []}, height)
        names = ("balance", "total_principal_due", "total_interest_due", "balance_nlpn")
        assert [int(value) for value in indexed] == [int(answer[name]["amount"]) for name in names]
