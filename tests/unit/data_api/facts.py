"""What the simulated chain says, added up here in plain Python: nothing of the indexer or of its SQL is used."""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from simulated_chain import HOUR, Lease, Market, Scenario

from leasehold.core.clock import parse_rfc3339

UNIT = 10**18
DAY = 24 * HOUR


def plain(value: int, decimals: int = 18) -> str:
    """An integer of 10^-decimals in plain notation without trailing zeros."""
    sign, digits = ("-", -value) if value < 0 else ("", value)
    whole, rest = divmod(digits, 10**decimals)
    fraction = f"{rest:0{decimals}d}".rstrip("0") if decimals else ""
    return f"{sign}{whole}.{fraction}" if fraction else f"{sign}{whole}"


def instant(time_ns: int) -> str:
    """RFC 3339 with none, three or six digits of a second."""
    moment = datetime.fromtimestamp(time_ns // 10**9, UTC)
    micros = time_ns % 10**9 // 1000
    fraction = "" if micros == 0 else f".{micros // 1000:03d}" if micros % 1000 == 0 else f".{micros:06d}"
    return moment.strftime("%Y-%m-%dT%H:%M:%S") + fraction + "Z"


class Facts:
    """Everything the routes tell, from the raw history."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.truth = scenario.truth

    @cached_property
    def times(self) -> dict[int, int]:
        """Nanoseconds of every block."""
        return {
            block.height: parse_rfc3339(json.loads(block.block)["block"]["header"]["time"])
            for block in self.scenario.blocks
        }

    @cached_property
    def last_hour(self) -> int:
        """Number of the newest hour that ended."""
        return max(hour for _, hour in self.truth.pool_hours)

    @cached_property
    def markets(self) -> dict[str, Market]:
        return {market.name: market for market in self.scenario.markets}

    def market_of(self, pool: str) -> Market:
        return next(market for market in self.scenario.markets if market.address("lpp") == pool)

    @staticmethod
    def is_short(market: Market) -> bool:
        return market.lpn != market.stable

    def label(self, market: Market) -> str:
        return market.lpn + (" (Short)" if self.is_short(market) else "")

    def events(self, *kinds: str) -> list[tuple[tuple[int, int, int], tuple[Any, ...]]]:
        """Money events of some kinds, newest first."""
        found = [(key, row) for key, row in self.truth.position_events.items() if row[1] in kinds]
        return sorted(found, reverse=True)

    @cached_property
    def opened(self) -> dict[str, tuple[int, int, int]]:
        """Where each lease was opened."""
        return {row[0]: key for key, row in self.truth.position_events.items() if row[1] == "open"}

    @cached_property
    def closed(self) -> dict[str, tuple[int, int, int]]:
        """Where the loan of each closed lease was closed: its last payment."""
        found: dict[str, tuple[int, int, int]] = {}
        for key, row in self.truth.position_events.items():
            lease = self.truth.leases[row[0]]
            if lease.close_kind is not None and row[1] in ("repay", "market-close", "liquidation"):
                found[row[0]] = max(found.get(row[0], key), key)
        return found

    def newest_first(self, leases: dict[str, tuple[int, int, int]]) -> list[Lease]:
        """Leases by the time of where they are, newest first, equal times by address."""
        ordered = sorted(leases, key=lambda lease: (-self.times[leases[lease][0]], lease))
        return [self.truth.leases[lease] for lease in ordered]

    def now_open(self) -> dict[str, tuple[int, ...]]:
        """Positions of the newest hour."""
        return {lease: row for (lease, hour), row in self.truth.position_hours.items() if hour == self.last_hour}

    def by_token(self, column: int, name: Any) -> dict[str, int]:
        """Sum of a column of the newest hour's positions by a name of their lease."""
        sums: dict[str, int] = defaultdict(int)
        for address, row in self.now_open().items():
            sums[name(self.truth.leases[address])] += row[column]
        return dict(sums)

    def price_at(self, market: Market, hour: int) -> int:
        """USD of a whole LPN at an hour, from what the pool's value is worth: exact only as a ratio."""
        balance, principal, interest, _, usd = self.truth.pool_hours[market.address("lpp"), hour]
        return usd * 10 ** market.decimals(market.lpn) // (balance + principal + interest)

    def pnl(self, lease: Lease) -> int:
        assert lease.collected_usd is not None
        return lease.collected_usd - lease.down_usd - lease.repaid_usd
