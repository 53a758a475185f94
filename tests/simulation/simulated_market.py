"""The models of a made-up chain: coins, markets, leases, and the tables that an index of it must hold."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from leasehold.chain.registry import registry
from leasehold.core.addresses import encode

PREFIX, NATIVE, NATIVE_TICKER = "chain", "ulsh", "LSH"
CHAIN_ID = "static-1"
START_NS = 1_735_689_600_000_000_000 + 123_456_789
SECOND = 1_000_000_000
HOUR = 3600 * SECOND
YEAR = 365 * 24 * HOUR
UNIT = 10**18
MARGIN, DUE_PERIOD, MAX_LTV, BASE, OPTIMAL, ADDON = 40, 30 * 24 * HOUR, 900, 60, 700, 20
TYPES = registry("leasehold")


def account(name: str) -> str:
    return encode(PREFIX, hashlib.sha256(name.encode()).digest()[:20])


def contract(name: str) -> str:
    return encode(PREFIX, hashlib.sha256(name.encode()).digest())


def interest(rate: int, principal: int, period: int) -> int:
    return principal * rate // 1000 * period // YEAR


@dataclass
class Coin:
    ticker: str
    denom: str
    decimals: int
    group: str


@dataclass
class Market:
    """One protocol: its contracts, currencies, newest prices (quote per amount, in the root) and pool."""

    name: str
    lpn: str
    stable: str
    coins: dict[str, Coin]
    tree: list[tuple[str, int, str | None]]
    assets: list[str]
    fed: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    sampled_at: int = 0
    receipts: int = 0
    principal: int = 0
    interest: int = 0
    annual: tuple[int, int] = (0, 1)
    updated: int = 0
    newest_rate: int = 0

    def address(self, role: str) -> str:
        return contract(f"{self.name}/{role}")

    def decimals(self, ticker: str) -> int:
        return self.coins[ticker].decimals

    def yearly(self) -> int:
        return self.principal * self.annual[0] // self.annual[1]

    def interest_due(self, now: int) -> int:
        return 0 if self.principal == 0 else self.interest + self.yearly() * (now - self.updated) // YEAR

    def in_root(self, ticker: str) -> tuple[int, int] | None:
        """(amount, quote) of a ticker in the root currency."""
        parents = {child: parent for child, _, parent in self.tree}
        amount, quote = 1, 1
        while (parent := parents[ticker]) is not None:
            if (ticker, parent) not in self.fed:
                return None
            leg = self.fed[ticker, parent]
            amount, quote, ticker = amount * leg[0], quote * leg[1], parent
        return amount, quote

    def price(self, ticker: str) -> int | None:
        """USD of a whole token in 10^-18, floored."""
        of = self.in_root(ticker)
        stable = self.in_root(self.stable)
        if of is None or stable is None:
            return None
        amount, quote = of[0] * stable[1], of[1] * stable[0]
        shift = self.decimals(ticker) - self.decimals(self.stable)
        scaled = quote * UNIT * 10 ** max(shift, 0)
        return scaled // (amount * 10 ** max(-shift, 0))

    def usd(self, ticker: str, amount: int) -> int:
        price = self.price(ticker)
        assert price is not None
        return amount * price // 10 ** self.decimals(ticker)


@dataclass
class Lease:
    address: str
    owner: str
    market: Market
    asset: str
    loan: int
    rate: int
    down: int
    down_ticker: str
    start: int
    principal: int
    interest_paid: int
    margin_paid: int
    amount: int = 0
    open_in: int = 0
    status: str = "opening"
    down_usd: int = 0
    loan_usd: int = 0
    repaid_usd: int = 0
    liquidations: int = 0
    close_kind: str | None = None
    collected_usd: int | None = None
    finish_in: int = 0
    bought: int = 0

    def due(self, now: int) -> dict[str, int]:
        margin = interest(MARGIN, self.principal, now - self.margin_paid)
        loan = interest(self.rate, self.principal, now - self.interest_paid)
        late_margin = late_loan = 0
        if now - self.margin_paid >= DUE_PERIOD:
            late_margin = interest(MARGIN, self.principal, now - self.margin_paid - DUE_PERIOD)
            late_loan = interest(self.rate, self.principal, max(now - DUE_PERIOD - self.interest_paid, 0))
        return {
            "overdue_margin": late_margin,
            "overdue_interest": late_loan,
            "due_margin": margin - late_margin,
            "due_interest": loan - late_loan,
        }


@dataclass
class Truth:
    """What the index must hold after the last block."""

    blocks: list[tuple[int, str, int, int]] = field(default_factory=list)
    messages: set[tuple[Any, ...]] = field(default_factory=set)
    account_messages: set[tuple[Any, ...]] = field(default_factory=set)
    position_events: dict[tuple[int, int, int], tuple[Any, ...]] = field(default_factory=dict)
    pool_flows: dict[tuple[int, int, int], tuple[Any, ...]] = field(default_factory=dict)
    treasury_flows: dict[tuple[int, int, int], tuple[Any, ...]] = field(default_factory=dict)
    outbox: set[tuple[str, str, int]] = field(default_factory=set)
    quarantine: set[tuple[int, int, str]] = field(default_factory=set)
    leases: dict[str, Lease] = field(default_factory=dict)
    lenders: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    balances: dict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))
    totals: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    days: dict[tuple[int, str], int] = field(default_factory=lambda: defaultdict(int))
    wallets: set[tuple[int, str]] = field(default_factory=set)
    votes: dict[tuple[int, str], str] = field(default_factory=dict)
    staking: set[tuple[Any, ...]] = field(default_factory=set)
    position_hours: dict[tuple[str, int], tuple[int, ...]] = field(default_factory=dict)
    pool_hours: dict[tuple[str, int], tuple[int, ...]] = field(default_factory=dict)
    candles: dict[tuple[str, str, int], list[int]] = field(default_factory=dict)
    events: int = 0
    txs: int = 0
