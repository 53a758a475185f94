"""Queries behind live routes read little, however long the history."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import md5, sha256
from typing import Any

import psycopg
import pytest
from tests.unit.data_api.large_index import ACCOUNT, LEASE, POOL, PROTOCOL, fill
from tests.unit.data_api.served_history import own_database

from leasehold.data_api import (
    currency,
    health,
    lease,
    liquidity,
    market,
    meta,
    metrics,
    pnl,
    position,
    protocol,
    treasury,
    txs,
    wallet,
)
from leasehold.storage import migrations
from leasehold.storage.embedded import EmbeddedServer

BLOCKS = 60_000
FEW = 3000
LATE = datetime(2025, 1, 5, 3, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
HASH = bytes.fromhex("00" * 32)
OPENING = lease.sql.opening
ALL_KINDS = [1, 2, 3, 4, 5, 6]
CALLS = list(txs.CALLS)
# Contracts that were called for a while, long ago to lately, and an account that acts once in a thousand blocks.
SHORT_LIVED = ["chain1" + sha256(str(n).encode()).hexdigest()[:58] for n in range(20, BLOCKS // 500)]
SELDOM = "chain1" + md5(b"3").hexdigest() + "qqqqqq"

# Every query of every route, with arguments that make it work hardest: an account with many rows, a busy lease.
QUERIES: dict[str, tuple[str, tuple[Any, ...]]] = {
    "protocols": (protocol.sql.protocols, ()),
    "currencies": (currency.sql.currencies, ()),
    "leases": (lease.sql.leases.replace("{opening}", OPENING), (ACCOUNT, 0, 10)),
    "leases page": (lease.sql.leases.replace("{opening}", OPENING), (ACCOUNT, 400, 100)),
    "leases-search": (lease.sql.leases_search, (ACCOUNT, 0, 10, "")),
    "leases-search text": (lease.sql.leases_search, (ACCOUNT, 0, 10, "nowhere")),
    "ls-opening": (lease.sql.story.replace("{opening}", OPENING), (LEASE,)),
    "ls-opening batch": (lease.sql.briefs.replace("{opening}", OPENING), ([LEASE, "nobody"],)),
    "ls-loan-closing": (lease.sql.ls_loan_closing, (ACCOUNT, 0, 10)),
    "liquidations from": (lease.sql.liquidations, (EPOCH, LATE)),
    "interest-repayments from": (lease.sql.interest_repayments, (EPOCH, LATE)),
    "historically-opened from": (lease.with_openings(lease.sql.historically_opened), (EPOCH, LATE)),
    "historically-repaid from": (lease.sql.historically_repaid, (EPOCH, LATE)),
    "historically-liquidated from": (lease.sql.historically_liquidated, (EPOCH, LATE)),
    "leases-monthly": (lease.sql.leases_monthly, (EPOCH, EPOCH)),
    "leased-assets": (lease.sql.leased_assets, (None,)),
    "leased-assets of one": (lease.sql.leased_assets, (PROTOCOL,)),
    "lease-value-stats": (lease.sql.lease_value_stats, ()),
    "loans-by-token": (lease.sql.loans_by_token, ()),
    "loans-granted": (lease.sql.loans_granted, ()),
    "historical-lenders from": (liquidity.sql.historical_lenders, (EPOCH, LATE)),
    "current-lenders": (liquidity.sql.current_lenders, ()),
    "pools": (liquidity.sql.pools, ()),
    "pools optimal": (liquidity.sql.optimal, ()),
    "lp-withdraw": (liquidity.sql.lp_withdraw, (HASH,)),
    "utilization-level from": (liquidity.sql.utilization_level, (EPOCH, LATE, POOL)),
    "pool-rates from": (liquidity.sql.rates, (EPOCH, LATE, POOL)),
    "total-value-locked": (metrics.sql.total_value_locked, ()),
    "total-tx-value": (metrics.sql.total_tx_value, ()),
    "supplied-funds": (metrics.sql.supplied_funds, ()),
    "borrowed": (metrics.sql.borrowed, ()),
    "borrowed of one": (metrics.sql.borrowed_of, (POOL,)),
    "open-interest": (metrics.sql.open_interest, ()),
    "open-position-value": (metrics.sql.open_position_value, ()),
    "supplied-borrowed-history": (metrics.sql.supplied_borrowed_history, (EPOCH, EPOCH)),
    "supplied-borrowed-history of one": (metrics.sql.supplied_borrowed_history_of, (EPOCH, EPOCH, POOL)),
    "total-value-locked-series": (metrics.sql.total_value_locked_series, (EPOCH, EPOCH)),
    "monthly-active-wallets": (metrics.sql.monthly_active_wallets, (EPOCH, EPOCH)),
    "revenue": (treasury.sql.revenue, ()),
    "revenue-series": (treasury.sql.revenue_series, (EPOCH, EPOCH)),
    "distributed": (treasury.sql.distributed, (6,)),
    "buyback from": (treasury.sql.buyback.replace("{decimals}", "6"), (EPOCH, LATE)),
    "buyback-total": (treasury.sql.buyback_total, (6,)),
    "incentives-pool": (treasury.sql.incentives_pool, (6, "ulsh")),
    "reserve-covers from": (treasury.sql.reserve_covers, (EPOCH, LATE)),
    "position-opens": (lease.with_openings(position.sql.position_opens), (ACCOUNT, 0, 10)),
    "position-debt-value": (position.sql.position_debt_value, (ACCOUNT, EPOCH)),
    "position-buckets": (position.sql.position_buckets, ()),
    "daily-positions": (position.sql.daily_positions, (EPOCH, EPOCH)),
    "open-positions-by-token": (position.sql.open_positions_by_token, ()),
    "realized-pnl": (pnl.sql.realized_pnl, (ACCOUNT,)),
    "realized-pnl-stats": (pnl.sql.realized_pnl_stats, ()),
    "realized-pnl-wallet from": (pnl.sql.realized_pnl_wallet, (EPOCH, LATE)),
    "unrealized-pnl": (pnl.sql.unrealized_pnl, ()),
    "pnl-over-time": (pnl.sql.pnl_over_time, (LEASE, EPOCH)),
    "earnings": (wallet.sql.earnings, (ACCOUNT, 6)),
    "unrealized-pnl-by-address": (wallet.sql.unrealized_pnl, (ACCOUNT,)),
    "history-stats": (wallet.sql.account, (ACCOUNT,)),
    "staking-activity": (wallet.sql.staking_activity, (ACCOUNT, 0, 10)),
    "staking-earnings": (wallet.sql.staking_earnings, (ACCOUNT, 6)),
    "lease-signals": (wallet.sql.lease_signals, (ACCOUNT, 0, 10)),
    "txs": (txs.ALL, (ACCOUNT, 0, 10, ALL_KINDS, 2**62)),
    "txs deep": (txs.ALL, (ACCOUNT, 100, 100, ALL_KINDS, 2**62)),
    "txs filter": (txs.ALL, (ACCOUNT, 0, 50, [2], 2**62)),
    "txs called": (txs.CALLED, (ACCOUNT, 0, 10, [1], 2**62, CALLS, [LEASE])),
    "txs called, all contracts": (txs.CALLED, (ACCOUNT, 0, 10, [], 2**62, CALLS, [POOL, LEASE, *SHORT_LIVED[::5]])),
    "txs called once": (txs.CALLED, (ACCOUNT, 0, 10, [], 2**62, CALLS, SHORT_LIVED[-1:])),
    "txs called never": (txs.CALLED, (ACCOUNT, 0, 10, [], 2**62, CALLS, [POOL, "nobody"])),
    "txs called by one of few": (txs.CALLED, (SELDOM, 0, 10, [], 2**62, CALLS, [POOL, LEASE])),
    "height_at": (txs.sql.height_at, (LATE,)),
    "prices": (market.sql.prices, (None, None)),
    "price points": (market.sql.price_points, (PROTOCOL, "BTC", 60, EPOCH)),
    "has_currency": (market.sql.has_currency, (PROTOCOL, "BTC")),
    "blocks": (meta.sql.blocks, ()),
    "block": (meta.sql.block, (77,)),
    "latest": (meta.sql.latest, ()),
    "coverage": (meta.sql.coverage, ()),
    "ready": (health.sql.cursor, ()),
}  # fmt: skip

# Queries that give one row for each row they look at: lists without pages, as long as what they tell of.
WHOLE: dict[str, tuple[str, tuple[Any, ...]]] = {
    "positions": (position.sql.positions, ()),
    "lease-markets": (market.sql.lease_markets, ()),
    "realized-pnl-data": (pnl.sql.realized_pnl_data, (ACCOUNT,)),
    "liquidations": (lease.sql.liquidations, (EPOCH, EPOCH)),
    "historically-opened": (lease.with_openings(lease.sql.historically_opened), (EPOCH, EPOCH)),
    "historically-repaid": (lease.sql.historically_repaid, (EPOCH, EPOCH)),
    "historical-lenders": (liquidity.sql.historical_lenders, (EPOCH, EPOCH)),
    "realized-pnl-wallet": (pnl.sql.realized_pnl_wallet, (EPOCH, EPOCH)),
    "interest-repayments": (lease.sql.interest_repayments, (EPOCH, EPOCH)),
    "buyback": (treasury.sql.buyback.replace("{decimals}", "6"), (EPOCH, EPOCH)),
    "reserve-covers": (treasury.sql.reserve_covers, (EPOCH, EPOCH)),
}  # fmt: skip
PAGES = ("leases", "leases-search", "ls-loan-closing", "position-opens", "lease-signals")
# Openings of 24 hours, which lease-markets counts, at one in twelve seconds.
OPENINGS = 7200
# Reads every block, but only where some are missing, and then once.
EXCEPTIONAL = {meta.sql.gaps}


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


def _nodes(plan: dict[str, Any]) -> set[str]:
    return {plan["Node Type"]}.union(*(_nodes(child) for child in plan.get("Plans", ())))


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_read_in_its_order(large: str, name: str) -> None:
    """The first page of an account is the first entries of an index: nothing is sorted, little more is read."""
    query, arguments = QUERIES[name]
    with psycopg.connect(large, options="-c jit=off") as connection:
        plan = _explained(connection, query, arguments, windowed=False)
    assert not {"Sort", "Incremental Sort"} & _nodes(plan), json.dumps(plan, indent=1)[:3000]
    assert _rows_read(plan) <= 2 * plan["Actual Rows"]


@pytest.mark.parametrize("name", WHOLE)
def test_a_list_reads_what_it_tells(large: str, name: str) -> None:
    """A list without pages looks at no more than its own rows and what belongs to each."""
    query, arguments = WHOLE[name]
    with psycopg.connect(large, options="-c jit=off") as connection:
        plan = _explained(connection, query, arguments, windowed=True)
    told = OPENINGS if name == "lease-markets" else plan["Actual Rows"]
    # A row, its position, protocol and currency; a list of events passes over those of other kinds.
    assert _rows_read(plan) <= FEW + 5 * told, json.dumps(plan, indent=1)[:3000]


def test_every_query_is_looked_at() -> None:
    """No named query of a route is without a plan test."""
    looked_at = {query for query, _ in (*QUERIES.values(), *WHOLE.values())}
    modules = (currency, health, lease, liquidity, market, meta, metrics, pnl, position, protocol, treasury, wallet)
    for module in modules:
        for name in module.sql:
            query = lease.with_openings(module.sql[name]).replace("{opening}", OPENING).replace("{decimals}", "6")
            query = query.replace("{shown}", wallet.sql.shown)
            parts = (OPENING, lease.sql.opened, wallet.sql.shown)
            assert query in looked_at or query in EXCEPTIONAL or query in parts, f"{module.__name__}: {name}"
