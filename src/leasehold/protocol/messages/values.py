"""Values that several contracts put on the wire."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from leasehold.protocol import position
from leasehold.protocol.currencies import CurrencySet, check_currency
from leasehold.protocol.errors import Refused
from leasehold.protocol.interest import HOUR
from leasehold.protocol.price import Price, price
from leasehold.protocol.scalars import (
    U16,
    U32,
    Amount,
    Duration,
    LeaseTicker,
    LpnTicker,
    PaymentTicker,
    Percent100,
    TextCode,
)
from leasehold.protocol.serde import Lax, Wire


class Bare(Lax, frozen=True):
    """An amount whose currency is implied: `{"amount":"5"}`."""

    rust_name: ClassVar[str] = "Coin"
    amount: Amount

    @property
    def units(self) -> int:
        return int(self.amount)


class PaymentCoin(Wire, frozen=True):
    """An amount of any currency of the protocol."""

    rust_name: ClassVar[str] = "CoinDTO"
    amount: Amount
    ticker: PaymentTicker

    @property
    def units(self) -> int:
        return int(self.amount)


class LeaseCoin(Wire, frozen=True):
    """An amount of a currency that can be leased."""

    rust_name: ClassVar[str] = "CoinDTO"
    amount: Amount
    ticker: LeaseTicker

    @property
    def units(self) -> int:
        return int(self.amount)


class LpnCoin(Wire, frozen=True):
    """An amount of the lent currency."""

    rust_name: ClassVar[str] = "CoinDTO"
    amount: Amount
    ticker: LpnTicker

    @property
    def units(self) -> int:
        return int(self.amount)


class BarePrice(Lax, frozen=True):
    """A price whose currencies are implied."""

    rust_name: ClassVar[str] = "Price"
    amount: Bare
    amount_quote: Bare

    @classmethod
    def of(cls, value: Price) -> BarePrice:
        return cls(Bare(str(value.amount)), Bare(str(value.quote)))

    def value(self) -> Price:
        return price(int(self.amount.amount), int(self.amount_quote.amount))


class MarketPrice(Wire, frozen=True):
    """A price between two currencies that have a pool, as feeders tell it."""

    rust_name: ClassVar[str] = "PriceDTO"
    amount: PaymentCoin
    amount_quote: PaymentCoin

    def value(self) -> Price:
        return price(int(self.amount.amount), int(self.amount_quote.amount))

    def check(self, currencies: CurrencySet) -> None:
        base, quote = self.amount.ticker, self.amount_quote.ticker
        try:
            currencies.check_pair(base, quote)
        except Refused as refusal:
            raise Refused(f"[Finance] {refusal.message}") from None
        _check_legs(self.amount.amount, self.amount_quote.amount, currencies.price_type(base, quote))


class BasePrice(Wire, frozen=True):
    """A price of any currency in the lent one, as the oracle answers it."""

    rust_name: ClassVar[str] = "BasePrice"
    amount: PaymentCoin
    amount_quote: LpnCoin

    @classmethod
    def of(cls, value: Price, base: str, quote: str) -> BasePrice:
        return cls(PaymentCoin(str(value.amount), base), LpnCoin(str(value.quote), quote))

    def value(self) -> Price:
        return Price(int(self.amount.amount), int(self.amount_quote.amount))


class LeasePrice(Wire, frozen=True):
    """A price of a leased currency in the lent one, as alarms carry it."""

    rust_name: ClassVar[str] = "BasePrice"
    amount: LeaseCoin
    amount_quote: LpnCoin

    @classmethod
    def of(cls, value: Price, base: str, quote: str) -> LeasePrice:
        return cls(LeaseCoin(str(value.amount), base), LpnCoin(str(value.quote), quote))

    def value(self) -> Price:
        return price(int(self.amount.amount), int(self.amount_quote.amount))

    def check(self, currencies: CurrencySet) -> None:
        _check_legs(
            self.amount.amount,
            self.amount_quote.amount,
            currencies.price_type(self.amount.ticker, self.amount_quote.ticker),
        )


def _check_legs(amount: str, quote: str, type_name: str) -> None:
    for leg, cause in ((amount, "The amount should not be zero"), (quote, "The quote amount should not be zero")):
        if int(leg) == 0:
            raise Refused(
                f"[Finance] Programming error or invalid serialized object of '{type_name}' type, cause '{cause}'"
            )


class PriceAlarm(Lax, frozen=True):
    """Prices of one currency below which, and from which on, a subscriber wants to be called."""

    rust_name: ClassVar[str] = "Alarm"
    below: LeasePrice
    above: LeasePrice | None = None

    def __post_init__(self) -> None:
        if self.above is None:
            return
        try:
            check_currency(self.above.amount.ticker, self.below.amount.ticker)
        except Refused as refusal:
            raise Refused(f"[PriceAlarms] [Finance] {refusal.message}") from None
        below, above = self.below.value(), self.above.value()
        if below.quote * above.amount > above.quote * below.amount:
            raise Refused(
                "[PriceAlarms] The below alarm price should be less than or equal to the above_or_equal alarm price"
            )


class TransferChannel(Wire, frozen=True):
    """Both ends of the transfer channel to the DEX's chain."""

    rust_name: ClassVar[str] = "Ics20Channel"
    local_endpoint: str
    remote_endpoint: str


class ConnectionParams(Wire, frozen=True):
    """How the DEX's chain is reached."""

    connection_id: str
    transfer_channel: TransferChannel


class Account(Wire, frozen=True):
    """A contract's account on the DEX's chain."""

    owner: str
    host: str
    dex: ConnectionParams


class MaxSlippages(Wire, frozen=True):
    """The permille of value that a liquidation may lose."""

    liquidation: Percent100


class Liability(Lax, frozen=True):
    """LTV thresholds on the wire; the invariants hold."""

    initial: Percent100
    healthy: Percent100
    first_liq_warn: Percent100
    second_liq_warn: Percent100
    third_liq_warn: Percent100
    max: Percent100
    recalc_time: Duration

    def __post_init__(self) -> None:
        if not (
            0 < self.initial <= self.healthy < self.first_liq_warn < self.second_liq_warn < self.third_liq_warn
            and self.third_liq_warn < self.max
            and self.recalc_time >= HOUR
        ):
            self.value().checked()

    def value(self) -> position.Liability:
        """The thresholds as the arithmetic wants them."""
        return position.Liability(*msgspec.structs.astuple(self))


class Version(Wire, frozen=True):
    """A package version."""

    major: U32
    minor: U32
    patch: U32


class Code(Wire, frozen=True):
    """A contract's package and the version of its storage."""

    name: str
    version: Version
    storage: U16


class SoftwareRelease(Wire, frozen=True):
    """A released package."""

    rust_name: ClassVar[str] = "SoftwarePackageRelease"
    id: str
    code: Code


class ProtocolName(Wire, frozen=True):
    """What a protocol package was built for."""

    name: str
    network: str


class ProtocolRelease(Wire, frozen=True):
    """The protocol half of a release."""

    id: str
    protocol: Any


class PackageRelease(Wire, frozen=True):
    """Answer to `protocol_package_release`."""

    rust_name: ClassVar[str] = "ProtocolPackageRelease"
    software: SoftwareRelease
    protocol: ProtocolRelease


class ReleaseId(Wire, frozen=True):
    """The pair of release names that a migration aims at."""

    rust_name: ClassVar[str] = "ProtocolPackageReleaseId"
    software: str
    protocol: str


class ExecuteSpec(Wire, frozen=True):
    """A message to send to a contract after its migration."""

    message: Any


class MigrationSpec(Wire, frozen=True):
    """What a contract migrates to."""

    code_id: TextCode
    migrate_message: Any
    post_migrate_execute: ExecuteSpec | None = None


class ProtocolMigrations(Wire, frozen=True):
    """One migration for each contract of a protocol."""

    rust_name: ClassVar[str] = "ProtocolContracts"
    leaser: MigrationSpec
    lpp: MigrationSpec
    oracle: MigrationSpec
    profit: MigrationSpec
    reserve: MigrationSpec
