"""What the indexer knows about the platform: protocols, their contracts, currencies and terms."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec

from leasehold.protocol.currencies import Currency
from leasehold.protocol.oracle import Edge, PriceConfig
from leasehold.protocol.pool import BorrowRate

LEASER, LPP, ORACLE, PROFIT, RESERVE = "leaser", "lpp", "oracle", "profit", "reserve"
ROLES = (LEASER, LPP, ORACLE, PROFIT, RESERVE)


class Terms(msgspec.Struct, frozen=True):
    """Parameters of a protocol's contracts that later events depend on; rates in permille, periods in ns."""

    base_rate: int
    optimal_utilization: int
    addon_rate: int
    min_utilization: int
    margin: int
    due_period: int
    max_ltv: int
    min_feeders: int
    sample_period_secs: int
    samples_number: int
    discount_factor: int
    feeders: tuple[str, ...]
    tree: tuple[tuple[str, int, str | None], ...]

    @property
    def borrow_rate(self) -> BorrowRate:
        return BorrowRate(self.base_rate, self.optimal_utilization, self.addon_rate)

    @property
    def price_config(self) -> PriceConfig:
        return PriceConfig(self.min_feeders, self.sample_period_secs, self.samples_number, self.discount_factor)

    @property
    def edges(self) -> list[Edge]:
        return [Edge(*edge) for edge in self.tree]


@dataclass(slots=True)
class Protocol:
    """One sub-protocol; `contracts` by role."""

    name: str
    network: str | None
    dex: str | None
    lpn: str
    stable: str
    contracts: dict[str, str]
    currencies: dict[str, Currency]
    terms: Terms
    first_seen: datetime
    deprecated: datetime | None = None

    @property
    def is_active(self) -> bool:
        return self.deprecated is None

    @property
    def position_type(self) -> str:
        """Long when the lent currency is the stable one."""
        return "Long" if self.lpn == self.stable else "Short"

    @property
    def label(self) -> str:
        """Name of the pool as lists show it."""
        return self.lpn if self.lpn == self.stable else f"{self.lpn} (Short)"

    @property
    def lpn_denom(self) -> str:
        return self.currencies[self.lpn].bank_symbol

    def decimals(self, ticker: str) -> int:
        return self.currencies[ticker].decimal_digits

    def row(self) -> dict[str, Any]:
        """The protocol as its table keeps it."""
        return {
            "name": self.name,
            "network": self.network,
            "dex": self.dex,
            "position_type": self.position_type,
            "lpn": self.lpn,
            "stable": self.stable,
            "label": self.label,
            **{role: self.contracts.get(role) for role in ROLES},
            "is_active": self.is_active,
            "first_seen_at": self.first_seen,
            "deprecated_at": self.deprecated,
            "config": msgspec.to_builtins(self.terms),
        }


@dataclass(slots=True)
class Platform:
    """The contracts above the protocols."""

    admin: str
    treasury: str
    timealarms: str


@dataclass(slots=True)
class Knowledge:
    """All protocols by name, and what each known contract is."""

    native: str
    native_denom: str
    native_decimals: int
    platform: Platform | None = None
    protocols: dict[str, Protocol] = field(default_factory=dict)
    roles: dict[str, tuple[str, Protocol]] = field(default_factory=dict)

    def learn(self, protocol: Protocol) -> None:
        """Take in a new or changed protocol."""
        self.protocols[protocol.name] = protocol
        for role, address in protocol.contracts.items():
            self.roles[address] = (role, protocol)

    def of(self, role: str, address: str) -> Protocol | None:
        """The protocol whose contract of that role has the address."""
        found = self.roles.get(address)
        return found[1] if found is not None and found[0] == role else None

    def watched(self) -> set[str]:
        """Contracts whose coins are followed."""
        kept = {address for address, (role, _) in self.roles.items() if role in (LPP, PROFIT, RESERVE)}
        return kept | ({self.platform.treasury} if self.platform else set())

    def configured(self) -> set[str]:
        """Contracts whose configuration governance can change."""
        kept = {address for address, (role, _) in self.roles.items() if role in (LPP, LEASER, ORACLE)}
        return kept | ({self.platform.admin} if self.platform else set())
