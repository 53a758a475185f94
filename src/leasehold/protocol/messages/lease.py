"""Wire types of the lease."""

from __future__ import annotations

from typing import ClassVar, Literal

from leasehold.protocol.errors import Refused
from leasehold.protocol.messages.values import ConnectionParams, LeaseCoin, Liability, LpnCoin, PaymentCoin
from leasehold.protocol.scalars import U32, Address, Duration, Instant, LeaseTicker, Percent, Percent100
from leasehold.protocol.serde import Empty, Lax, Nothing, OneOf, Wire


class PositionSpec(Wire, frozen=True):
    """The rules of positions; both minimums are positive amounts of the lent currency."""

    rust_name: ClassVar[str] = "PositionSpecDTO"
    liability: Liability
    min_asset: LpnCoin
    min_transaction: LpnCoin

    def __post_init__(self) -> None:
        for held, cause in (
            (int(self.min_asset.amount) > 0, "Min asset amount should be positive"),
            (int(self.min_transaction.amount) > 0, "Min transaction amount should be positive"),
        ):
            if not held:
                raise Refused(
                    "[Lease] Programming error or invalid serialized object of 'lease::api::open::PositionSpecDTO'"
                    f" type, cause '{cause}'"
                )


class LoanForm(Wire, frozen=True):
    """Where a lease borrows and what margin it pays."""

    lpp: Address
    profit: Address
    annual_margin_interest: Percent100
    due_period: Duration


class NewLeaseForm(Wire, frozen=True):
    """What a new lease is to be."""

    customer: Address
    currency: LeaseTicker
    max_ltd: Percent | None
    position_spec: PositionSpec
    loan: LoanForm
    reserve: Address
    time_alarms: Address
    market_price_oracle: Address


class Instantiate(Wire, frozen=True):
    """How the leaser creates a lease."""

    rust_name: ClassVar[str] = "NewLeaseContract"
    form: NewLeaseForm
    dex: ConnectionParams
    finalizer: Address


class Migrate(Wire, frozen=True):
    """The lease's own part of a migration."""

    rust_name: ClassVar[str] = "MigrateMsg"


class FullClose(Wire, frozen=True):
    """Sell the whole position."""


class PartialClose(Wire, frozen=True):
    """Sell a part of the position."""

    amount: LeaseCoin


class PositionClose(OneOf, frozen=True):
    """A close of all or a part."""

    newtypes: ClassVar[frozenset[str]] = frozenset({"full_close", "partial_close"})
    full_close: FullClose | None = None
    partial_close: PartialClose | None = None


class ChangeCmd(OneOf, frozen=True):
    """Set a trigger; `"reset"` clears it."""

    units: ClassVar[tuple[str, ...]] = ("reset",)
    set: Percent100 | None = None


class ClosePolicyChange(Wire, frozen=True):
    """A change of one or both triggers."""

    stop_loss: Literal["reset"] | ChangeCmd | None = None
    take_profit: Literal["reset"] | ChangeCmd | None = None


class Execute(OneOf, frozen=True):
    """What a lease can be told."""

    rust_name: ClassVar[str] = "ExecuteMsg"
    newtypes: ClassVar[frozenset[str]] = frozenset({"change_close_policy", "close_position"})
    repay: Nothing | None = None
    change_close_policy: ClosePolicyChange | None = None
    close_position: PositionClose | None = None
    price_alarm: Nothing | None = None
    time_alarm: Empty | None = None
    dex_callback: Nothing | None = None
    dex_callback_continue: Nothing | None = None
    heal: Nothing | None = None


class StateQuery(Wire, frozen=True):
    """When to look: seconds ahead of now."""

    due_projection_secs: U32 = 0


class Query(OneOf, frozen=True):
    """What a lease can be asked."""

    rust_name: ClassVar[str] = "QueryMsg"
    state: StateQuery | None = None
    protocol_package_release: Empty | None = None


class IcaAccount(Lax, frozen=True):
    """The lease's account on the DEX's chain."""

    ica_account: str


class OpeningStage(OneOf, frozen=True, forbid_unknown_fields=False):
    """How far an opening is."""

    units: ClassVar[tuple[str, ...]] = ("open_ica_account",)
    transfer_out: IcaAccount | None = None
    buy_asset: IcaAccount | None = None


class Opening(Lax, frozen=True):
    """A lease before it holds its asset."""

    currency: str
    downpayment: PaymentCoin
    loan: LpnCoin
    loan_interest_rate: int
    in_progress: Literal["open_ica_account"] | OpeningStage


class Repayment(Lax, frozen=True):
    """A repayment on its way through the DEX."""

    payment: PaymentCoin
    in_progress: str


class LiquidationProgress(Lax, frozen=True):
    """A liquidation on its way through the DEX; the cause is overdue or liability."""

    liquidation: LeaseCoin
    cause: str
    in_progress: str


class CloseProgress(Lax, frozen=True):
    """A close on its way through the DEX."""

    close: LeaseCoin
    in_progress: str


class OngoingTrx(OneOf, frozen=True, forbid_unknown_fields=False):
    """What an opened lease is doing."""

    repayment: Repayment | None = None
    liquidation: LiquidationProgress | None = None
    close: CloseProgress | None = None


class Status(OneOf, frozen=True, forbid_unknown_fields=False):
    """`"idle"`, `"slippage_protection_activated"` or something in progress."""

    units: ClassVar[tuple[str, ...]] = ("slippage_protection_activated", "idle")
    in_progress: OngoingTrx | None = None


class ClosePolicy(Lax, frozen=True):
    """The triggers of a lease, permille LTV."""

    take_profit: int | None = None
    stop_loss: int | None = None


class Opened(Lax, frozen=True):
    """A lease that holds its asset."""

    amount: LeaseCoin
    loan_interest_rate: int
    margin_interest_rate: int
    principal_due: LpnCoin
    overdue_margin: LpnCoin
    overdue_interest: LpnCoin
    overdue_collect_in: int
    due_margin: LpnCoin
    due_interest: LpnCoin
    due_projection_ns: int
    close_policy: ClosePolicy
    validity: Instant
    status: Literal["idle", "slippage_protection_activated"] | Status


class Closing(Lax, frozen=True):
    """A paid lease whose asset is on its way back."""

    amount: LeaseCoin
    in_progress: str


class Paid(Lax, frozen=True):
    """What earlier releases called a lease between its last payment and the return of its asset."""

    amount: LeaseCoin
    in_progress: str | None = None


class State(OneOf, frozen=True, forbid_unknown_fields=False):
    """Answer to `state`; an older chain may say `paid`. No variant is chosen of one that is not known."""

    rust_name: ClassVar[str] = "StateResponse"
    opening: Opening | None = None
    opened: Opened | None = None
    closing: Closing | None = None
    closed: Nothing | None = None
    liquidated: Nothing | None = None
    paid: Paid | None = None
