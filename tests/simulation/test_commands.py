"""The commands about an index: audit finds what is wrong, quarantine lists it and replays it after a fix."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import aiohttp
import psycopg
import pytest
from click.testing import CliRunner, Result
from devnet_history import NOW, History, opened
from index_comparison import differences
from simulated_chain import Scenario
from static_feed import StaticFeed

from leasehold.chain.client.nodes import Nodes
from leasehold.chain.client.rpc import RpcNode
from leasehold.cli.main import cli
from leasehold.core.clock import NANOSECONDS, ManualClock, SystemClock
from leasehold.core.settings import ChainNodes, Database, Settings
from leasehold.devnet.rpc.server import RpcServer
from leasehold.indexer.ingest import Ingest
from leasehold.protocol import events
from leasehold.storage import migrations


async def _run(*arguments: str, home: Path, **assignments: str) -> Result:
    """A command in a thread of its own, while the node answers in this one."""
    given = [word for key, value in assignments.items() for word in ("--set", f"{key.replace('__', '.')}={value}")]
    command = [*arguments, "--home", str(home), *given]
    return await asyncio.to_thread(CliRunner(env={"LEASEHOLD_SEEDS": None}).invoke, cli, command)


@pytest.mark.simulation
async def test_audit_passes_a_true_index_and_names_what_is_wrong_in_another(
    database: str, history: History, tmp_path: Path
) -> None:
    """Exit code 0 and a table of what was compared; with a figure changed behind its back 1, and the figure."""
    devnet = opened(history.seed, history.folder, ManualClock(NOW * NANOSECONDS))
    await migrations.apply(database, schema="indexer", migrations=migrations.of_package("leasehold.indexer"))
    try:
        async with RpcServer(devnet.node, port=0) as rpc, aiohttp.ClientSession() as session:
            url = f"http://127.0.0.1:{rpc.port}"
            nodes = Nodes([RpcNode(url, session)], SystemClock())
            await Ingest(Settings(database=Database(url=database)), nodes, SystemClock()).run(until=history.height)
            where = {"database__url": database, "chain__rpc_urls": url}
            good = await _run("audit", home=tmp_path, **where)
            assert good.exit_code == 0, good.output
            for what in ("positions", "pools", "lenders", "prices", "coins", "supply", "hours"):
                assert f"{what} " in good.output
            with psycopg.connect(database) as connection:
                connection.execute("UPDATE indexer.balances SET amount = amount + 1 WHERE address = 'supply'")
                connection.execute("UPDATE indexer.pool_hours SET interest = interest + 1")
                connection.execute("UPDATE indexer.lenders SET receipts = receipts + 5 WHERE receipts > 0")
            bad = await _run("audit", home=tmp_path, **where)
            assert bad.exit_code == 1
            assert "supply ulsh supply: indexed" in bad.output
            assert "receipts: indexed" in bad.output
            assert "total_interest_due: indexed" in bad.output
    finally:
        devnet.close()


@pytest.mark.simulation
async def test_what_is_in_quarantine_is_listed_and_replayed_after_a_fix(
    database: str, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A release that can't read deposits sets them aside; the next one replays, and all tables are right."""
    scenario = Scenario(seed)
    scenario.advance(60)
    feed = StaticFeed(scenario.blocks)
    feed.queries = scenario.query
    await migrations.apply(database, schema="indexer", migrations=migrations.of_package("leasehold.indexer"))
    parse = events.parse

    def broken(kind: str, attributes: Any) -> Any:
        if kind == "wasm-lp-deposit":
            raise events.MalformedEvent("this release does not know deposits")
        return parse(kind, attributes)

    settings = Settings(database=Database(url=database), chain=ChainNodes(admin_contract=scenario.admin))
    async with feed.serving(), aiohttp.ClientSession() as session:
        nodes = Nodes([RpcNode(feed.url, session)], SystemClock())
        with monkeypatch.context() as patched:
            patched.setattr(events, "parse", broken)
            await Ingest(settings, nodes, SystemClock()).run(until=60)
    listed = await _run("quarantine", "list", home=tmp_path, database__url=database)
    assert "this release does not know deposits" in listed.output
    set_aside = int(listed.output.splitlines()[-1].split()[0])
    assert set_aside > len(scenario.truth.quarantine)
    replayed = await _run("quarantine", "replay", home=tmp_path, database__url=database)
    assert f"{set_aside} in quarantine before, {len(scenario.truth.quarantine)} after" in replayed.output
    assert await asyncio.to_thread(differences, database, scenario.truth) == []
    rebuilt = await _run("quarantine", "rebuild", home=tmp_path, database__url=database)
    assert "rebuilt 60 blocks up to height 60" in rebuilt.output
