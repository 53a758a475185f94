"""What a lease stores under the key `state`, in the JSON that indexers read.

Every state is a variant of `State`; those that go through the DEX hold a leg, whose stages are variants too.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import msgspec

from leasehold.protocol.loan import LeaseLoan
from leasehold.protocol.messages.lease import ClosePolicy, Instantiate, NewLeaseForm
from leasehold.protocol.messages.values import ConnectionParams, LeaseCoin, Liability, LpnCoin, PaymentCoin
from leasehold.protocol.pool import Loan
from leasehold.protocol.position import ClosePolicy as Policy
from leasehold.protocol.position import PositionSpec
from leasehold.protocol.serde import Nothing, OneOf, Wire

STATE_KEY = b"state"


class Ref(Wire, frozen=True):
    """A contract the lease talks to."""

    addr: str


class ReserveRef(Wire, frozen=True):
    """The reserve."""

    contract: str


class LoanRecord(Wire, frozen=True):
    """The lease's side of its loan."""

    lpp: Ref
    profit: Ref
    due_period: int
    margin_interest: int
    margin_paid_by: str


class Rules(Wire, frozen=True):
    """The rules a position was opened under."""

    liability: Liability
    min_asset: LpnCoin
    min_transaction: LpnCoin


class SpecRecord(Wire, frozen=True, rename={"rules": "const"}):
    """The rules and the close policy."""

    rules: Rules
    close: ClosePolicy


class PositionRecord(Wire, frozen=True):
    """What the lease holds."""

    amount: LeaseCoin
    spec: SpecRecord


class LeaseCore(Wire, frozen=True):
    """The lease itself."""

    addr: str
    customer: str
    position: PositionRecord
    loan: LoanRecord
    time_alarms: Ref
    oracle: Ref
    reserve: ReserveRef

    @property
    def lpn(self) -> str:
        """The lent currency."""
        return self.position.spec.rules.min_asset.ticker

    def spec(self) -> PositionSpec:
        """The rules as the arithmetic wants them."""
        rules, close = self.position.spec.rules, self.position.spec.close
        return PositionSpec(
            rules.liability.value(),
            int(rules.min_asset.amount),
            int(rules.min_transaction.amount),
            rules.min_asset.ticker,
            Policy(close.take_profit, close.stop_loss),
        )

    def lease_loan(self, loan: Loan) -> LeaseLoan:
        """The pool's loan with this lease's margin."""
        return LeaseLoan(loan, self.loan.margin_interest, self.loan.due_period, int(self.loan.margin_paid_by))

    def with_position(self, amount: int, close: Policy) -> LeaseCore:
        """The lease holding another amount under another close policy."""
        spec = SpecRecord(self.position.spec.rules, ClosePolicy(close.take_profit, close.stop_loss))
        coin = LeaseCoin(str(amount), self.position.amount.ticker)
        return msgspec.structs.replace(self, position=PositionRecord(coin, spec))

    def with_margin_paid_by(self, instant: int) -> LeaseCore:
        """The lease whose margin is paid up to another instant."""
        return msgspec.structs.replace(self, loan=msgspec.structs.replace(self.loan, margin_paid_by=str(instant)))


class Account(Wire, frozen=True):
    """The lease's account on the DEX's chain."""

    owner: str
    host: str
    dex: ConnectionParams


class LeaseRecord(Wire, frozen=True):
    """An opened lease with its DEX account and its leaser."""

    lease: LeaseCore
    dex: Account
    leases: Ref


class LoanTerms(Wire, frozen=True):
    """The loan as it was drawn."""

    principal: LpnCoin
    annual_interest_rate: int


Deps = tuple[Ref, Ref, Ref, Ref]
"""Pool, oracle, time alarms and leaser."""


class LoanRequest(Wire, frozen=True):
    """A lease that asked for its loan."""

    new_lease: Instantiate
    downpayment: PaymentCoin
    deps: Deps


class Connectee(Wire, frozen=True):
    """A lease that waits for its account."""

    new_lease: Instantiate
    downpayment: PaymentCoin
    loan: LoanTerms
    deps: Deps
    start_opening_at: str


class BuyAsset(Wire, frozen=True):
    """Buying the asset with the down-payment and the loan."""

    form: NewLeaseForm
    dex_account: Account
    downpayment: PaymentCoin
    loan: LoanTerms
    deps: Deps
    start_opening_at: str

    @property
    def account(self) -> Account:
        return self.dex_account

    @property
    def coins(self) -> tuple[tuple[str, int], ...]:
        principal = self.loan.principal
        return (self.downpayment.ticker, self.downpayment.units), (principal.ticker, principal.units)

    @property
    def target(self) -> str:
        return self.form.currency

    @property
    def oracle(self) -> str:
        return self.deps[1].addr

    @property
    def time_alarms(self) -> str:
        return self.deps[2].addr


class _OfLease:
    """A task of an opened lease that yields the lent currency."""

    __slots__ = ()
    lease: LeaseRecord

    @property
    def account(self) -> Account:
        return self.lease.dex

    @property
    def target(self) -> str:
        return self.lease.lease.lpn

    @property
    def oracle(self) -> str:
        return self.lease.lease.oracle.addr

    @property
    def time_alarms(self) -> str:
        return self.lease.lease.time_alarms.addr


class BuyLpn(Wire, _OfLease, frozen=True):
    """Buying the lent currency with a payment."""

    lease: LeaseRecord
    payment: PaymentCoin

    @property
    def coins(self) -> tuple[tuple[str, int], ...]:
        return ((self.payment.ticker, self.payment.units),)


class LiabilityCause(Wire, frozen=True):
    """The LTV reached the maximum."""

    ltv: int
    healthy_ltv: int


class CauseRecord(OneOf, frozen=True, rename="pascal"):
    """Why a lease is liquidated."""

    overdue: Nothing | None = None
    liability: LiabilityCause | None = None


class Repayable(Wire, frozen=True, omit_defaults=True):
    """What is sold: an amount, or all; with a cause if it is a liquidation."""

    amount: LeaseCoin | None = None
    cause: CauseRecord | None = None


class SlippageLimit(Wire, frozen=True, omit_defaults=True):
    """How much a liquidation may lose; nothing on customers' legs."""

    max_slippage: int | None = None
    oracle: Ref | None = None


class SellAsset(Wire, _OfLease, frozen=True):
    """Selling the asset, or a part of it."""

    lease: LeaseRecord
    repayable: Repayable
    slippage_calc: SlippageLimit

    @property
    def amount(self) -> LeaseCoin:
        """What is sold."""
        return self.repayable.amount or self.lease.lease.position.amount

    @property
    def coins(self) -> tuple[tuple[str, int], ...]:
        return ((self.amount.ticker, self.amount.units),)


class ReturnAsset(Wire, _OfLease, frozen=True):
    """Bringing the asset of a paid lease home."""

    lease: LeaseRecord

    @property
    def coins(self) -> tuple[tuple[str, int], ...]:
        amount = self.lease.lease.position.amount
        return ((amount.ticker, amount.units),)


Task = BuyAsset | BuyLpn | SellAsset | ReturnAsset
T = TypeVar("T")
S = TypeVar("S")


class OpenIca(Wire, frozen=True):
    """Waiting for the account."""

    connectee: Connectee


class TransferOut(Wire, Generic[T], frozen=True):
    """Coins are on their way to the DEX."""

    spec: T
    acks_left: int


class SwapExactIn(Wire, Generic[T], frozen=True):
    """A swap was asked for."""

    spec: T


class TransferInInit(Wire, Generic[T], frozen=True):
    """A transfer home was asked for."""

    spec: T
    amount_in: PaymentCoin


class TransferInFinish(Wire, Generic[T], frozen=True):
    """The transfer home is acknowledged and its coins are awaited until a timeout."""

    spec: T
    amount_in: PaymentCoin
    timeout: str


class Delivery(Wire, Generic[S], frozen=True):
    """A DEX answer that is being handled, or failed to be."""

    handler: S
    response: str


class RemoteLeg(OneOf, frozen=True, rename="pascal"):
    """A leg that ends on the DEX."""

    open_ica: OpenIca | None = None
    open_ica_resp_delivery: Delivery[OpenIca] | None = None
    transfer_out: TransferOut[BuyAsset] | None = None
    transfer_out_resp_delivery: Delivery[TransferOut[BuyAsset]] | None = None
    swap_exact_in: SwapExactIn[BuyAsset] | None = None
    swap_exact_in_resp_delivery: Delivery[SwapExactIn[BuyAsset]] | None = None


class LocalLeg(OneOf, Generic[T], frozen=True, rename="pascal"):
    """A leg that ends on the lease's own account."""

    transfer_out: TransferOut[T] | None = None
    transfer_out_resp_delivery: Delivery[TransferOut[T]] | None = None
    swap_exact_in: SwapExactIn[T] | None = None
    swap_exact_in_resp_delivery: Delivery[SwapExactIn[T]] | None = None
    transfer_in_init: TransferInInit[T] | None = None
    transfer_in_init_resp_delivery: Delivery[TransferInInit[T]] | None = None
    transfer_in_finish: TransferInFinish[T] | None = None


class Holding(Wire, frozen=True):
    """An opened lease at rest."""

    lease: LeaseRecord


class Final(Wire, frozen=True):
    """Nothing is left to do."""


class State(OneOf, frozen=True, rename="pascal"):
    """The stored state."""

    request_loan: LoanRequest | None = None
    buy_asset: RemoteLeg | None = None
    opened_active: Holding | None = None
    buy_lpn: LocalLeg[BuyLpn] | None = None
    partial_liquidation: LocalLeg[SellAsset] | None = None
    full_liquidation: LocalLeg[SellAsset] | None = None
    slippage_anomaly: Holding | None = None
    partial_close: LocalLeg[SellAsset] | None = None
    full_close: LocalLeg[SellAsset] | None = None
    closing_transfer_in: LocalLeg[ReturnAsset] | None = None
    closed: Final | None = None
    liquidated: Final | None = None


_STAGES: dict[type, str] = {
    OpenIca: "open_ica",
    TransferOut: "transfer_out",
    SwapExactIn: "swap_exact_in",
    TransferInInit: "transfer_in_init",
    TransferInFinish: "transfer_in_finish",
}


def leg_state(kind: str, stage: Any) -> State:
    """The state of a leg at a stage."""
    if isinstance(stage, Delivery):
        name = _STAGES[type(stage.handler)] + "_resp_delivery"
    else:
        name = _STAGES[type(stage)]
    leg: Any = RemoteLeg if kind == "buy_asset" else LocalLeg
    return State(**{kind: leg(**{name: stage})})
