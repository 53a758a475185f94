"""Everything the projections remember between blocks; equal, at any cursor, to what PostgreSQL holds."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from leasehold.indexer.knowledge import LPP, Knowledge, Protocol
from leasehold.indexer.oracles import Oracle, worth
from leasehold.indexer.positions import LeasePosition
from leasehold.protocol.pool import PoolTotals

# Whose "balance" of a denom is everything there is of it.
SUPPLY = "supply"


@dataclass(slots=True)
class PoolState:
    """A pool's loans and receipts, and the rate of its newest lease in permille."""

    pool: str
    protocol: str
    totals: PoolTotals
    newest_rate: int = 0

    def row(self, updated_at: datetime) -> dict[str, Any]:
        totals = self.totals
        return {
            "pool": self.pool,
            "protocol": self.protocol,
            "principal": totals.principal,
            "interest": totals.interest,
            "annual": totals.annual,
            "rate_of": totals.rate_of,
            "updated_ns": totals.updated,
            "receipts": totals.receipts,
            "newest_rate": self.newest_rate,
            "updated_at": updated_at,
        }


@dataclass(slots=True)
class LenderState:
    """A lender in a pool, over all time."""

    lender: str
    pool: str
    joined_at: datetime
    receipts: int = 0
    deposited: int = 0
    withdrawn: int = 0
    deposited_usd: int = 0
    withdrawn_usd: int = 0
    rewards: int = 0

    def row(self, updated_at: datetime) -> dict[str, Any]:
        return {
            "lender": self.lender,
            "pool": self.pool,
            "receipts": self.receipts,
            "deposited": self.deposited,
            "withdrawn": self.withdrawn,
            "deposited_usd": self.deposited_usd,
            "withdrawn_usd": self.withdrawn_usd,
            "rewards": self.rewards,
            "joined_at": self.joined_at,
            "updated_at": updated_at,
        }


@dataclass(slots=True)
class ProposalState:
    """A governance proposal."""

    id: int
    proposer: str
    messages: str
    status: str
    submitted_at: datetime
    voting_at: datetime | None = None
    ended_at: datetime | None = None
    voters: set[str] = field(default_factory=set)

    def row(self, updated_at: datetime) -> dict[str, Any]:
        return {
            "id": self.id,
            "proposer": self.proposer,
            "messages": self.messages,
            "status": self.status,
            "submitted_at": self.submitted_at,
            "voting_at": self.voting_at,
            "ended_at": self.ended_at,
            "votes": len(self.voters),
            "updated_at": updated_at,
        }


@dataclass(slots=True)
class World:
    """The living state: positions that are not final, pools, lenders, balances, oracles, proposals."""

    knowledge: Knowledge
    positions: dict[str, LeasePosition] = field(default_factory=dict)
    pools: dict[str, PoolState] = field(default_factory=dict)
    lenders: dict[tuple[str, str], LenderState] = field(default_factory=dict)
    balances: dict[tuple[str, str], int] = field(default_factory=dict)
    oracles: dict[str, Oracle] = field(default_factory=dict)
    proposals: dict[int, ProposalState] = field(default_factory=dict)
    watched: set[str] = field(default_factory=set)
    configured: set[str] = field(default_factory=set)
    height: int = 0
    time_ns: int = 0

    def learn(self, protocol: Protocol) -> None:
        """Take in a new or changed protocol."""
        self.knowledge.learn(protocol)
        oracle = self.oracles.get(protocol.name)
        if oracle is None:
            self.oracles[protocol.name] = Oracle(protocol)
        else:
            oracle.protocol = protocol
            oracle.changed()
        pool = protocol.contracts.get(LPP)
        if pool is not None and pool not in self.pools:
            self.pools[pool] = PoolState(pool, protocol.name, PoolTotals())
        self.refresh()

    def refresh(self) -> None:
        """Recompute which contracts are followed."""
        self.watched = self.knowledge.watched()
        self.configured = self.knowledge.configured()

    def price(self, protocol: Protocol, ticker: str, now_ns: int) -> int | None:
        """USD (10^-18) of a whole token by a protocol's oracle."""
        return self.oracles[protocol.name].in_usd(ticker, now_ns)

    def usd(self, protocol: Protocol, ticker: str, amount: int, now_ns: int) -> int | None:
        """USD (10^-18) of a base-unit amount by a protocol's oracle."""
        currency = protocol.currencies.get(ticker)
        if currency is None:
            return None
        return worth(amount, self.price(protocol, ticker, now_ns), currency.decimal_digits)

    def native_price(self, now_ns: int, preferred: Protocol | None = None) -> int | None:
        """USD (10^-18) of a whole native token: by the given protocol, else by the first active one by name."""
        native = self.knowledge.native
        active = [p for _, p in sorted(self.knowledge.protocols.items()) if p.is_active and p is not preferred]
        for protocol in ([preferred] if preferred is not None else []) + active:
            found = self.price(protocol, native, now_ns)
            if found is not None:
                return found
        return None

    def balance(self, address: str, denom: str) -> int:
        """Coins of a followed contract."""
        return self.balances.get((address, denom), 0)
