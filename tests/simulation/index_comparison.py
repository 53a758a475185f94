"""Compares an index with the ground truth, table by table; returns what differs, in words."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import psycopg
from simulated_chain import CHAIN_ID, HOUR, SECOND, Truth

UNIT = 10**18
EPOCH = date(1970, 1, 1)


def scaled(value: Decimal | None) -> int | None:
    """A USD figure of the index as an integer of 10^-18."""
    if value is None:
        return None
    numerator, denominator = value.as_integer_ratio()
    whole, rest = divmod(numerator * UNIT, denominator)
    assert rest == 0, f"{value} has more than 18 decimals"
    return whole


def hour_of(moment: datetime) -> int:
    return int(moment.timestamp()) // (HOUR // SECOND)


def differences(url: str, truth: Truth, schema: str = "indexer") -> list[str]:
    """Every table that does not hold exactly what it should."""
    with psycopg.connect(url, options=f"-c search_path={schema} -c timezone=UTC") as connection:
        compare = _Comparison(connection)
        compare.everything(truth)
        return compare.found


class _Comparison:
    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection
        self.found: list[str] = []

    def _rows(self, query: str) -> list[tuple[Any, ...]]:
        statement: Any = query
        return self._connection.execute(statement).fetchall()

    def _sets(self, name: str, indexed: set[Any], expected: set[Any]) -> None:
        for label, some in (("missing", expected - indexed), ("too many", indexed - expected)):
            if some:
                self.found.append(f"{name}: {len(some)} {label}, e.g. {sorted(some, key=repr)[0]}")

    def _maps(self, name: str, indexed: Mapping[Any, Any], expected: Mapping[Any, Any]) -> None:
        self._sets(f"{name} keys", set(indexed), set(expected))
        wrong = [key for key in expected if key in indexed and indexed[key] != expected[key]]
        if wrong:
            key = min(wrong, key=repr)
            self.found.append(f"{name}: {len(wrong)} differ, e.g. {key}: {indexed[key]} is not {expected[key]}")

    def everything(self, truth: Truth) -> None:
        self._chain(truth)
        self._leases(truth)
        self._pools(truth)
        self._rollups(truth)
        self._hours(truth)

    def _chain(self, truth: Truth) -> None:
        blocks = {
            (h, x.hex().upper(), t, e)
            for h, x, t, e in self._rows("SELECT height, hash, tx_count, event_count FROM blocks")
        }
        self._sets("blocks", blocks, set(truth.blocks))
        height, block_hash, _, _ = truth.blocks[-1]
        cursor = self._rows(
            "SELECT chain_id, height, encode(hash, 'hex'), blocks, txs, events, quarantined FROM cursor"
        )
        expected = (CHAIN_ID, height, block_hash.lower(), height, truth.txs, truth.events, len(truth.quarantine))
        self._sets("cursor", set(cursor), {expected})
        raw = self._rows("SELECT count(*), min(height), max(height) FROM raw_blocks")[0]
        self._sets("raw_blocks", {raw}, {(height, 1, height)})
        messages = "SELECT height, tx, message, inner_message, type, sender, receiver FROM messages"
        self._sets("messages", set(self._rows(messages)), truth.messages)
        involved = "SELECT address, kind, height, tx, message, inner_message FROM account_messages"
        self._sets("account_messages", set(self._rows(involved)), truth.account_messages)
        self._sets("quarantine", set(self._rows("SELECT height, tx, part FROM quarantine")), truth.quarantine)
        outbox = self._rows("SELECT lease, kind, height FROM outbox")
        self._sets("outbox", set(outbox), truth.outbox)
        if len(outbox) != len(truth.outbox):
            self.found.append("outbox: a notification is queued twice")
        votes = {(p, v): o for p, v, o in self._rows("SELECT proposal, voter, option FROM votes")}
        self._maps("votes", votes, truth.votes)
        staking = "SELECT height, tx, delegator, kind, amount::text FROM staking_activity"
        self._sets("staking", {(*row[:4], int(row[4])) for row in self._rows(staking)}, truth.staking)
        taken: dict[str, tuple[int, int]] = {}
        for _, _, delegator, kind, amount in truth.staking:
            if kind == "withdraw":
                times, sum_so_far = taken.get(delegator, (0, 0))
                taken[delegator] = (times + 1, sum_so_far + amount)
        stakers = self._rows("SELECT address, withdrawals, rewards FROM stakers")
        self._maps("stakers", {address: (times, int(rewards)) for address, times, rewards in stakers}, taken)

    def _leases(self, truth: Truth) -> None:
        rows = self._rows(
            "SELECT height, tx, event, lease, kind, payment, payment_usd, principal_after, amount_after"
            " FROM position_events"
        )
        indexed = {
            (h, t, e): (lease, kind, None if p is None else int(p), scaled(usd), int(after), int(amount))
            for h, t, e, lease, kind, p, usd, after, amount in rows
        }
        self._maps("position_events", indexed, truth.position_events)
        rows = self._rows(
            "SELECT lease, owner, status, asset, loan, loan_rate, principal, amount, interest_paid_ns, margin_paid_ns,"
            " downpayment_usd, loan_usd, repaid_usd, liquidations, close_kind, collected_usd, opened_amount,"
            " realized_pnl_usd FROM positions"
        )
        positions = {}
        for row in rows:
            lease, owner, status, asset, loan, rate, principal, amount, interest_paid, margin_paid, *rest = row
            down, lent, repaid, liquidations, kind, collected, bought, pnl = rest
            positions[lease] = (
                owner, status, asset, int(loan), rate, int(principal), int(amount), interest_paid, margin_paid,
                scaled(down) or 0, scaled(lent) or 0, scaled(repaid), liquidations, kind, scaled(collected),
                int(bought or 0), scaled(pnl),
            )  # fmt: skip
        expected = {}
        for lease in truth.leases.values():
            pnl = None if lease.collected_usd is None else lease.collected_usd - lease.down_usd - lease.repaid_usd
            expected[lease.address] = (
                lease.owner, lease.status, "" if lease.status == "opening" else lease.asset, lease.loan, lease.rate,
                lease.principal, lease.amount, lease.interest_paid, lease.margin_paid, lease.down_usd, lease.loan_usd,
                lease.repaid_usd, lease.liquidations, lease.close_kind, lease.collected_usd, lease.bought, pnl,
            )  # fmt: skip
        self._maps("positions", positions, expected)

    def _pools(self, truth: Truth) -> None:
        rows = self._rows("SELECT height, tx, event, kind, pool, lender, amount, receipts, usd, closes FROM pool_flows")
        flows = {
            (h, t, e): (kind, pool, lender, int(amount), int(receipts), scaled(usd), closes)
            for h, t, e, kind, pool, lender, amount, receipts, usd, closes in rows
        }
        self._maps("pool_flows", flows, truth.pool_flows)
        rows = self._rows("SELECT lender, pool, receipts, deposited, withdrawn FROM lenders")
        lenders = {(lender, pool): [int(value) for value in rest] for lender, pool, *rest in rows}
        self._maps("lenders", lenders, truth.lenders)
        rows = self._rows("SELECT height, tx, event, kind, amount, usd FROM treasury_flows")
        treasury = {(h, t, e): (kind, int(amount), scaled(usd)) for h, t, e, kind, amount, usd in rows}
        self._maps("treasury_flows", treasury, truth.treasury_flows)
        balances = {(a, d): int(n) for a, d, n in self._rows("SELECT address, denom, amount FROM balances") if n}
        self._maps("balances", balances, {key: amount for key, amount in truth.balances.items() if amount})

    def _rollups(self, truth: Truth) -> None:
        totals = {name: scaled(usd) for name, usd in self._rows("SELECT name, usd FROM totals")}
        self._maps("totals", {n: v for n, v in totals.items() if v}, {n: v for n, v in truth.totals.items() if v})
        names = ["opened_usd", "opened_loans_usd", "closed_loans_usd", "repaid_usd", "market_closed_usd"]
        names += ["liquidated_usd", "deposited_usd", "withdrawn_usd", "profit_usd", "rewards_usd"]
        days = {}
        for day, *values in self._rows(f"SELECT day, {', '.join(names)} FROM days"):
            for name, value in zip(names, values, strict=True):
                if value:
                    days[(day - EPOCH).days, name] = scaled(value)
        self._maps("days", days, {key: value for key, value in truth.days.items() if value})
        months = {((EPOCH + timedelta(days=day)).replace(day=1), address) for day, address in truth.wallets}
        self._sets("active_wallets", set(self._rows("SELECT month, address FROM active_wallets")), months)
        counts: dict[date, int] = {}
        for month, _ in months:
            counts[month] = counts.get(month, 0) + 1
        self._maps("months", dict(self._rows("SELECT month, wallets FROM months")), counts)

    def _hours(self, truth: Truth) -> None:
        rows = self._rows(
            "SELECT lease, hour, amount, principal, overdue_margin, overdue_interest, due_margin, due_interest,"
            " value_usd, debt_usd, pnl_usd FROM position_hours"
        )
        indexed = {
            (lease, hour_of(hour)): (*(int(v) for v in values[:6]), *(scaled(v) for v in values[6:]))
            for lease, hour, *values in rows
        }
        self._maps("position_hours", indexed, truth.position_hours)
        rows = self._rows("SELECT pool, hour, balance, principal, interest, receipts, supplied_usd FROM pool_hours")
        pools = {
            (pool, hour_of(hour)): (*(int(v) for v in values[:4]), scaled(values[4])) for pool, hour, *values in rows
        }
        self._maps("pool_hours", pools, truth.pool_hours)
        rows = self._rows(
            "SELECT protocol, ticker, start, open, high, low, close, points FROM price_candles WHERE minutes = 60"
        )
        candles = {
            (protocol, ticker, hour_of(start)): [*(scaled(v) for v in values), points]
            for protocol, ticker, start, *values, points in rows
        }
        self._maps("price_candles", candles, truth.candles)
