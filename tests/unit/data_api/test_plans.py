"""Queries behind live routes read little, however long the history."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from tests.unit.data_api.large_index import ACCOUNT, LEASE, POOL, PROTOCOL, fill
from tests.unit.data_api.served_history import own_database

from leasehold.data_api import lease, liquidity, market, meta, pnl, position, txs, wallet
from leasehold.storage import migrations
from leasehold.storage.embedded import EmbeddedServer

BLOCKS = 60_000
FEW = 3000
LATE = datetime(2025, 1, 5, 3, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
HASH = bytes.fromhex("00" * 32)
OPENING = lease.sql.opening

QUERIES: dict[str, tuple[str, tuple[Any, ...]]] = {
    "leases": (lease.sql.leases.replace("{opening}", OPENING), (ACCOUNT, 0, 10)),
    "leases page": (lease.sql.leases.replace("{opening}", OPENING), (ACCOUNT, 40, 100)),
    "leases-search": (lease.sql.leases_search, (ACCOUNT, 0, 10, "")),
    "ls-opening": (lease.sql.story.replace("{opening}", OPENING), (LEASE,)),
    "ls-opening batch": (lease.sql.briefs.replace("{opening}", OPENING), ([LEASE, "nobody"],)),
    "ls-loan-closing": (lease.sql.ls_loan_closing, (ACCOUNT, 0, 10)),
    "liquidations from": (lease.sql.liquidations, (EPOCH, LATE)),
    "interest-repayments from": (lease.sql.interest_repayments, (EPOCH, LATE)),
    "historically-opened from": (lease.sql.historically_opened, (EPOCH, LATE)),
    "historically-repaid from": (lease.sql.historically_repaid, (EPOCH, LATE)),
    "historical-lenders from": (liquidity.sql.historical_lenders, (EPOCH, LATE)),
    "realized-pnl-wallet from": (pnl.sql.realized_pnl_wallet, (EPOCH, LATE)),
    "lp-withdraw": (liquidity.sql.lp_withdraw, (HASH,)),
    "utilization-level from": (liquidity.sql.utilization_level, (EPOCH, LATE, POOL)),
    "position-opens": (position.sql.position_opens, (ACCOUNT, 0, 10)),
    "position-debt-value": (position.sql.position_debt_value, (ACCOUNT, EPOCH)),
    "realized-pnl": (pnl.sql.realized_pnl, (ACCOUNT,)),
    "realized-pnl-data": (pnl.sql.realized_pnl_data, (ACCOUNT,)),
    "pnl-over-time": (pnl.sql.pnl_over_time, (LEASE, EPOCH)),
    "earnings": (wallet.sql.earnings, (ACCOUNT, 6)),
    "unrealized-pnl-by-address": (wallet.sql.unrealized_pnl, (ACCOUNT,)),
    "history-stats": (wallet.sql.account, (ACCOUNT,)),
    "staking-activity": (wallet.sql.staking_activity, (ACCOUNT, 0, 10)),
    "lease-signals": (wallet.sql.lease_signals, (ACCOUNT, 0, 10)),
    "txs": (txs.sql.txs, (ACCOUNT, 0, 10, [1, 2, 3, 4, 5, 6], [], [], 2**62)),
    "txs deep": (txs.sql.txs, (ACCOUNT, 100, 100, [1, 2, 3, 4, 5, 6], [], [], 2**62)),
    "txs filter": (txs.sql.txs, (ACCOUNT, 0, 50, [2], [], [], 2**62)),
    "height_at": (txs.sql.height_at, (LATE,)),
    "prices": (market.sql.price_points, (PROTOCOL, "BTC", 60, EPOCH)),
    "blocks": (meta.sql.blocks, ()),
    "block": (meta.sql.block, (77,)),
}  # fmt: skip


@pytest.fixture(scope="module")
def large(postgres: EmbeddedServer) -> Iterator[str]:
    """An index of four days at six seconds a block."""
    with own_database(postgres, "data_api_large") as url:
        for schema in ("indexer", "data_api"):
            found = migrations.of_package(f"leasehold.{schema}")
            asyncio.run(migrations.apply(url, schema=schema, migrations=found))
        fill(url, BLOCKS)
        yield url


def _rows_read(plan: dict[str, Any]) -> int:
    """Rows that the scans of a plan looked at, those they threw away included."""
    loops = plan["Actual Loops"]
    read = 0
    if "Scan" in plan["Node Type"] and "Relation Name" in plan:
        read = round((plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0)) * loops)
    return read + sum(_rows_read(child) for child in plan.get("Plans", ()))


def _explained(
    connection: psycopg.Connection, query: str, arguments: tuple[Any, ...], windowed: bool
) -> dict[str, Any]:
    # As the service does: prepared; windows get a plan of their own, all else one for all arguments.
    prepare: Any = f"PREPARE asked AS {query}"
    connection.execute(prepare)
    mode: Any = "custom" if windowed else "generic"
    connection.execute(f"SET plan_cache_mode = force_{mode}_plan")
    marks = f"({', '.join(['%s'] * len(arguments))})" if arguments else ""
    statement: Any = f"EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE asked {marks}"
    # Arguments of EXECUTE are literals.
    with psycopg.ClientCursor(connection) as cursor:
        (found,) = cursor.execute(statement, arguments).fetchall()[0]
    document = json.loads(found) if isinstance(found, str) else found
    plan: dict[str, Any] = document[0]["Plan"]
    return plan


@pytest.mark.parametrize("name", QUERIES)
def test_a_live_query_reads_little(large: str, name: str) -> None:
    """Of hundreds of thousands of rows at most a few thousand are looked at."""
    query, arguments = QUERIES[name]
    with psycopg.connect(large, options="-c jit=off") as connection:
        plan = _explained(connection, query, arguments, name.endswith("from"))
    assert _rows_read(plan) <= FEW, json.dumps(plan, indent=1)[:3000]
