"""An index that begins in the middle of a chain agrees with the chain from there on."""

from __future__ import annotations

import aiohttp
import psycopg
import pytest
from devnet_history import NOW, History, opened
from table_comparison import compared_rows

from leasehold.chain.client.errors import PrunedHistory
from leasehold.chain.client.nodes import Nodes
from leasehold.chain.client.rpc import RpcNode
from leasehold.core.clock import NANOSECONDS, ManualClock, SystemClock
from leasehold.core.settings import Database, Index, Settings
from leasehold.devnet.rpc.server import RpcServer
from leasehold.indexer.audit import audit
from leasehold.indexer.ingest import Ingest
from leasehold.indexer.rebuild import Rebuild
from leasehold.storage import migrations

# Rows that a late beginning must hold exactly as an index of the whole chain does; some figures it can't know.
LATER = {
    "blocks": "height",
    "txs": "height",
    "events": "height",
    "messages": "height",
    "pool_flows": "height",
    "pool_hours": "height of hour",
    "position_hours": "height of hour",
    "treasury_flows": "height",
    "staking_activity": "height",
}
UNKNOWN = {"position_hours": {"pnl_usd"}, "pool_hours": {"borrow_rate"}}


@pytest.mark.simulation
async def test_an_index_from_the_middle_agrees_with_the_chain(database: str, history: History) -> None:
    """Living leases, lenders, prices and proposals are read at the first height; audit, hours and a rebuild agree."""
    devnet = opened(history.seed, history.folder, ManualClock(NOW * NANOSECONDS))
    start = history.height * 2 // 3
    settings = Settings(database=Database(url=database), index=Index(start_height=start))
    await migrations.apply(database, schema="indexer", migrations=migrations.of_package("leasehold.indexer"))
    try:
        async with RpcServer(devnet.node, port=0) as rpc, aiohttp.ClientSession() as session:
            nodes = Nodes([RpcNode(f"http://127.0.0.1:{rpc.port}", session)], SystemClock())
            for until in (start, history.height):
                ingest = Ingest(settings, nodes, SystemClock())
                await ingest.run(until=until)
                report = await audit(settings, nodes)
                assert report.differences == [], report.table()
                assert report.compared["lenders"] > 0
                assert report.compared["positions"] > 0
            assert ingest.divergences == 0
            _agrees(database, history.truth.tables, start)
            await Rebuild(settings).run()
            assert (await audit(settings, nodes)).differences == []
            _agrees(database, history.truth.tables, start)
    finally:
        devnet.close()


def _agrees(database: str, truth: dict[str, list[dict[str, object]]], start: int) -> None:
    heights = {row["hour"]: row["height"] for row in truth["hours"]}
    with psycopg.connect(database, options="-c search_path=indexer -c timezone=UTC") as connection:
        for table, place in LATER.items():
            expected = [
                row
                for row in truth[table]
                if (row["height"] if place == "height" else heights[row["hour"]]) >= start  # type: ignore[operator,index]
            ]
            assert compared_rows(connection, table, expected, UNKNOWN.get(table, set())) == []


@pytest.mark.simulation
async def test_a_pruned_node_names_the_first_height_it_has(database: str, history: History) -> None:
    """Without a start height the error says which one there could be; with it the index begins and agrees."""
    devnet = opened(history.seed, history.folder, ManualClock(NOW * NANOSECONDS))
    await migrations.apply(database, schema="indexer", migrations=migrations.of_package("leasehold.indexer"))
    pruned = history.height // 2
    devnet.node.store.hide(pruned)
    devnet.app.state.floor = pruned
    settings = Settings(database=Database(url=database))
    try:
        async with RpcServer(devnet.node, port=0) as rpc, aiohttp.ClientSession() as session:
            nodes = Nodes([RpcNode(f"http://127.0.0.1:{rpc.port}", session)], SystemClock())
            with pytest.raises(PrunedHistory) as caught:
                await Ingest(settings, nodes, SystemClock()).run(until=history.height)
            assert caught.value.first_available == pruned
            assert str(pruned) in str(caught.value)
            settings = Settings(database=Database(url=database), index=Index(start_height=pruned))
            await Ingest(settings, nodes, SystemClock()).run(until=history.height)
            report = await audit(settings, nodes)
            assert [one for one in report.differences if one.what != "prices"] == [], report.table()
    finally:
        devnet.close()
