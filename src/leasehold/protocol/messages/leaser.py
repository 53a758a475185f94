"""Wire types of the leaser."""

from __future__ import annotations

from typing import ClassVar, Literal

from leasehold.protocol.errors import Refused
from leasehold.protocol.messages.lease import PositionSpec
from leasehold.protocol.messages.values import (
    ConnectionParams,
    LeaseCoin,
    LpnCoin,
    MaxSlippages,
    PaymentCoin,
    ProtocolMigrations,
    ReleaseId,
)
from leasehold.protocol.percent import MILLE, of
from leasehold.protocol.scalars import U32, U64, Address, Duration, LeaseTicker, Percent, Percent100, TextCode
from leasehold.protocol.serde import Empty, Lax, OneOf, Wire


class Instantiate(Wire, frozen=True):
    """A factory of leases and what it gives them."""

    rust_name: ClassVar[str] = "InstantiateMsg"
    lease_code: TextCode
    lpp: Address
    profit: Address
    reserve: Address
    time_alarms: Address
    market_price_oracle: Address
    protocols_registry: Address
    lease_position_spec: PositionSpec
    lease_interest_rate_margin: Percent100
    lease_due_period: Duration
    lease_max_slippages: MaxSlippages
    lease_admin: Address
    dex: ConnectionParams


class NewConfig(Wire, frozen=True):
    """What of the configuration can change; a swap of the minimal transaction must yield something."""

    lease_interest_rate_margin: Percent100
    lease_position_spec: PositionSpec
    lease_due_period: Duration
    lease_max_slippages: MaxSlippages

    def __post_init__(self) -> None:
        least = int(self.lease_position_spec.min_transaction.amount)
        if of(MILLE - self.lease_max_slippages.liquidation, least) == 0:
            raise Refused(
                "[Leaser] Programming error or invalid serialized object of 'leaser::msg::config::NewConfig' type,"
                " cause 'The min output from a dex transaction of the min transaction amount should be positive'"
            )


class OpenLease(Wire, frozen=True):
    """The asset to lease and the loan wanted per down-payment."""

    currency: LeaseTicker
    max_ltd: Percent | None = None


class FinalizeLease(Wire, frozen=True):
    """A finished lease's customer."""

    customer: Address


class MigrateLeases(Wire, frozen=True):
    """Start a migration of all leases in batches."""

    new_code_id: TextCode
    to_release: ReleaseId
    max_leases: U32


class MigrateLeasesCont(Wire, frozen=True):
    """Go on with a migration at a customer."""

    key: Address
    to_release: ReleaseId
    max_leases: U32


class ChangeLeaseAdmin(Wire, frozen=True):
    """Another lease administrator."""

    new: Address


class Execute(OneOf, frozen=True):
    """What the leaser can be told."""

    rust_name: ClassVar[str] = "ExecuteMsg"
    newtypes: ClassVar[frozenset[str]] = frozenset({"config_leases"})
    open_lease: OpenLease | None = None
    config_leases: NewConfig | None = None
    finalize_lease: FinalizeLease | None = None
    migrate_leases: MigrateLeases | None = None
    migrate_leases_cont: MigrateLeasesCont | None = None
    change_lease_admin: ChangeLeaseAdmin | None = None


class CloseProtocol(Wire, frozen=True):
    """What the contracts of the protocol migrate to."""

    migration_spec: ProtocolMigrations


class Sudo(OneOf, frozen=True):
    """What governance can tell the leaser."""

    rust_name: ClassVar[str] = "SudoMsg"
    newtypes: ClassVar[frozenset[str]] = frozenset({"config"})
    config: NewConfig | None = None
    change_lease_admin: ChangeLeaseAdmin | None = None
    close_protocol: CloseProtocol | None = None


class By(Wire, frozen=True):
    """Whose permission is asked for."""

    by: Address


class Leases(Wire, frozen=True):
    """Whose leases."""

    owner: Address


class Quote(Wire, frozen=True):
    """What a down-payment would open."""

    downpayment: PaymentCoin
    lease_asset: LeaseTicker
    max_ltd: Percent | None = None


class Query(OneOf, frozen=True):
    """What the leaser can be asked."""

    rust_name: ClassVar[str] = "QueryMsg"
    check_anomaly_resolution_permission: By | None = None
    check_close_position_permission: By | None = None
    config: Empty | None = None
    leases: Leases | None = None
    max_slippages: Empty | None = None
    protocol_package_release: Empty | None = None
    quote: Quote | None = None


class Config(Lax, frozen=True):
    """The leaser's configuration."""

    lease_code: U64
    lpp: Address
    profit: Address
    reserve: Address
    time_alarms: Address
    market_price_oracle: Address
    protocols_registry: Address
    lease_position_spec: PositionSpec
    lease_interest_rate_margin: Percent100
    lease_due_period: Duration
    lease_max_slippages: MaxSlippages
    lease_admin: Address
    dex: ConnectionParams


class ConfigAnswer(Lax, frozen=True):
    """Answer to `config`."""

    rust_name: ClassVar[str] = "ConfigResponse"
    config: Config


class QuoteAnswer(Lax, frozen=True):
    """Answer to `quote`; the annual rate excludes the margin."""

    rust_name: ClassVar[str] = "QuoteResponse"
    total: LeaseCoin
    borrow: LpnCoin
    annual_interest_rate: int
    annual_interest_rate_margin: int


Access = Literal["yes", "no"]
