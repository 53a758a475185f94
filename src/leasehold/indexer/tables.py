"""The rows of a batch before they are written: appended, replaced or added up, table by table.

Money in USD and prices are integers of 10^-18 USD until they reach PostgreSQL.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from leasehold.core.money import units

USD_DECIMALS = 18
USD_UNIT: int = 10**USD_DECIMALS

_KEY = {"height": "int8", "tx": "int4", "event": "int4"}
_MESSAGE_KEY = {"height": "int8", "tx": "int4", "message": "int2", "inner_message": "int2"}

# Appended by COPY. `usd` marks a numeric column whose values are integers of 10^-18 USD.
APPENDED: dict[str, dict[str, str]] = {
    "blocks": {
        "height": "int8",
        "hash": "bytea",
        "time": "timestamptz",
        "proposer": "bytea",
        "tx_count": "int4",
        "event_count": "int4",
    },
    "raw_blocks": {"height": "int8", "content": "bytea"},
    "txs": {
        "height": "int8",
        "tx": "int4",
        "hash": "bytea",
        "code": "int4",
        "gas_wanted": "int8",
        "gas_used": "int8",
        "fee_amount": "numeric",
        "fee_denom": "text",
        "memo": "text",
        "time": "timestamptz",
    },
    "messages": {
        **_MESSAGE_KEY,
        "type": "text",
        "sender": "text",
        "receiver": "text",
        "value": "bytea",
        "rewards": "text",
    },
    "account_messages": {"address": "text", "kind": "int2", **_MESSAGE_KEY},
    "events": {**_KEY, "type": "text", "contract": "text", "attributes": "text"},
    "lookups": {"height": "int8", "kind": "text", "content": "text"},
    "quarantine": {
        "height": "int8",
        "tx": "int4",
        "part": "text",
        "ordinal": "int4",
        "reason": "text",
        "bytes": "bytea",
        "time": "timestamptz",
    },
    "change_log": {"height": "int8", "ordinal": "int4", "topic": "text", "key": "text", "payload": "text"},
    "outbox": {
        "lease": "text",
        "kind": "text",
        "height": "int8",
        "owner": "text",
        "payload": "text",
        "time": "timestamptz",
    },
    "position_events": {
        **_KEY,
        "lease": "text",
        "owner": "text",
        "protocol": "text",
        "kind": "text",
        "time": "timestamptz",
        "tx_hash": "bytea",
        "payment": "numeric",
        "payment_ticker": "text",
        "payment_usd": "usd",
        "sold": "numeric",
        "sold_ticker": "text",
        "sold_usd": "usd",
        "overdue_margin": "numeric",
        "overdue_interest": "numeric",
        "due_margin": "numeric",
        "due_interest": "numeric",
        "principal": "numeric",
        "change": "numeric",
        "interest_usd": "usd",
        "margin_usd": "usd",
        "principal_usd": "usd",
        "loan_close": "bool",
        "cause": "text",
        "ltv": "int4",
        "ltv_healthy": "int4",
        "asset_price": "usd",
        "lpn_price": "usd",
        "principal_after": "numeric",
        "amount_after": "numeric",
        "debt_after_usd": "usd",
        "liquidation_price_after": "usd",
    },
    "lease_signals": {
        **_KEY,
        "lease": "text",
        "owner": "text",
        "kind": "text",
        "asset": "text",
        "level": "int2",
        "ltv": "int4",
        "strategy": "text",
        "time": "timestamptz",
        "tx_hash": "bytea",
    },
    "reserve_covers": {
        **_KEY,
        "lease": "text",
        "protocol": "text",
        "amount": "numeric",
        "ticker": "text",
        "usd": "usd",
        "time": "timestamptz",
        "tx_hash": "bytea",
    },
    "pool_flows": {
        **_KEY,
        "kind": "text",
        "pool": "text",
        "protocol": "text",
        "lender": "text",
        "amount": "numeric",
        "ticker": "text",
        "receipts": "numeric",
        "price": "usd",
        "usd": "usd",
        "closes": "bool",
        "time": "timestamptz",
        "tx_hash": "bytea",
    },
    "treasury_flows": {
        **_KEY,
        "kind": "text",
        "protocol": "text",
        "pool": "text",
        "amount": "numeric",
        "price": "usd",
        "usd": "usd",
        "time": "timestamptz",
        "tx_hash": "bytea",
    },
    "reward_claims": {
        **_MESSAGE_KEY,
        "lender": "text",
        "pool": "text",
        "amount": "numeric",
        "usd": "usd",
        "time": "timestamptz",
    },
    "price_feeds": {
        "oracle": "text",
        **_MESSAGE_KEY,
        "feeder": "text",
        "time_ns": "int8",
        "prices": "text",
    },
    "staking_activity": {
        **_MESSAGE_KEY,
        "delegator": "text",
        "kind": "text",
        "validator": "text",
        "source_validator": "text",
        "amount": "numeric",
        "denom": "text",
        "usd": "usd",
        "time": "timestamptz",
        "tx_hash": "bytea",
    },
    "transfers": {
        **_MESSAGE_KEY,
        "ordinal": "int2",
        "kind": "text",
        "sender": "text",
        "receiver": "text",
        "amount": "numeric",
        "denom": "text",
        "time": "timestamptz",
    },
    "hours": {
        "hour": "timestamptz",
        "height": "int8",
        "open_positions": "int4",
        "position_usd": "usd",
        "open_interest_usd": "usd",
        "unrealized_pnl_usd": "usd",
        "supplied_usd": "usd",
        "borrowed_usd": "usd",
        "tvl_usd": "usd",
        "treasury": "numeric",
        "treasury_usd": "usd",
    },
    "pool_hours": {
        "pool": "text",
        "hour": "timestamptz",
        "protocol": "text",
        "is_active": "bool",
        "balance": "numeric",
        "principal": "numeric",
        "interest": "numeric",
        "receipts": "numeric",
        "lpn_price": "usd",
        "supplied_usd": "usd",
        "borrowed_usd": "usd",
        "utilization": "usd",
        "borrow_rate": "int4",
        "lending_rate": "usd",
        "min_utilization": "int4",
        "optimal_utilization": "int4",
    },
    "position_hours": {
        "lease": "text",
        "hour": "timestamptz",
        "owner": "text",
        "protocol": "text",
        "asset": "text",
        "lpn": "text",
        "amount": "numeric",
        "principal": "numeric",
        "overdue_margin": "numeric",
        "overdue_interest": "numeric",
        "due_margin": "numeric",
        "due_interest": "numeric",
        "asset_price": "usd",
        "lpn_price": "usd",
        "value_usd": "usd",
        "debt_usd": "usd",
        "principal_usd": "usd",
        "pnl_usd": "usd",
        "liquidation_price": "usd",
    },
    "account_hours": {"owner": "text", "hour": "timestamptz", "position_usd": "usd", "debt_usd": "usd"},
}

# Rows replaced as a whole under their key.
REPLACED: dict[str, tuple[str, ...]] = {
    "protocols": ("name",),
    "platform": ("one",),
    "currencies": ("ticker",),
    "currency_protocols": ("ticker", "protocol"),
    "balances": ("address", "denom"),
    "pools": ("pool",),
    "positions": ("lease",),
    "lenders": ("lender", "pool"),
    "prices_current": ("protocol", "ticker"),
    "proposals": ("id",),
    "votes": ("proposal", "voter"),
}

# Rows whose numbers are added to what is there; every other column takes the newest value.
SUMMED: dict[str, tuple[str, ...]] = {
    "days": ("day",),
    "months": ("month",),
    "asset_totals": ("protocol", "asset"),
    "totals": ("name",),
    "accounts": ("address",),
    "stakers": ("address",),
}


def ten(power: int) -> int:
    """Ten to a power that is not negative."""
    return int(10**power)


def usd_text(value: int) -> str:
    """Decimal text of an integer of 10^-18 USD."""
    return format(units(value, USD_DECIMALS), "f")


def usd_decimal(value: int) -> Decimal:
    """Decimal of an integer of 10^-18 USD."""
    return units(value, USD_DECIMALS)


def instant(time_ns: int) -> datetime:
    """Block time as PostgreSQL keeps it: microseconds, UTC."""
    seconds, rest = divmod(time_ns, 1_000_000_000)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest // 1000)


@dataclass(slots=True)
class Rows:
    """Everything a batch of blocks changes."""

    appended: dict[str, list[tuple[Any, ...]]] = field(default_factory=dict)
    replaced: dict[str, dict[tuple[Any, ...], dict[str, Any]]] = field(default_factory=dict)
    summed: dict[str, dict[tuple[Any, ...], dict[str, Any]]] = field(default_factory=dict)
    candles: dict[tuple[str, str, int, datetime], list[int]] = field(default_factory=dict)
    wallets: dict[tuple[datetime, str], datetime] = field(default_factory=dict)

    def append(self, table: str, row: tuple[Any, ...]) -> None:
        """A new row of an appended table, columns in order."""
        rows = self.appended.get(table)
        if rows is None:
            rows = self.appended[table] = []
        rows.append(row)

    def append_named(self, table: str, values: Mapping[str, Any]) -> None:
        """A new row of an appended table from named values; those not named are null."""
        self.append(table, tuple(map(values.get, APPENDED[table])))

    def replace(self, table: str, row: dict[str, Any]) -> None:
        """The newest state of a row."""
        key = tuple(row[column] for column in REPLACED[table])
        self.replaced.setdefault(table, {})[key] = row

    def add(self, table: str, key: tuple[Any, ...], updated_at: datetime, **amounts: int) -> None:
        """Amounts to add to a row; those ending in `_usd` are integers of 10^-18 USD."""
        rows = self.summed.setdefault(table, {})
        row = rows.get(key)
        if row is None:
            row = rows[key] = dict(zip(SUMMED[table], key, strict=True))
        for name, amount in amounts.items():
            row[name] = row.get(name, 0) + amount
        row["updated_at"] = updated_at

    def scrub(self) -> None:
        """Take NULs out of every text."""
        for rows in self.appended.values():
            rows[:] = [
                tuple(value.replace("\x00", "") if isinstance(value, str) else value for value in row) for row in rows
            ]
        for group in (self.replaced, self.summed):
            for keyed in group.values():
                for row in keyed.values():
                    for name, value in row.items():
                        if isinstance(value, str):
                            row[name] = value.replace("\x00", "")

    def count(self) -> int:
        """Rows that will be written."""
        groups = (self.appended, self.replaced, self.summed)
        return sum(len(rows) for group in groups for rows in group.values()) + len(self.candles)
