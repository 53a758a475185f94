"""What a lease stores under the key `state`, in the JSON that indexers read: `{"<Variant>":…}`.

`OpenedActive` and `SlippageAnomaly` hold `{"lease":…}`; a variant that goes through the DEX holds its stage, as
`{"<Stage>":{"spec":…}}` with one of the specs here.
"""

from __future__ import annotations

import msgspec

from leasehold.protocol.loan import LeaseLoan
from leasehold.protocol.messages.lease import ClosePolicy, Instantiate, NewLeaseForm
from leasehold.protocol.messages.values import Account, LeaseCoin, Liability, LpnCoin, PaymentCoin
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


class BuyLpn(Wire, frozen=True):
    """Buying the lent currency with a payment."""

    lease: LeaseRecord
    payment: PaymentCoin


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


class SellAsset(Wire, frozen=True):
    """Selling the asset, or a part of it."""

    lease: LeaseRecord
    repayable: Repayable
    slippage_calc: SlippageLimit

    @property
    def amount(self) -> LeaseCoin:
        """What is sold."""
        return self.repayable.amount or self.lease.lease.position.amount


class ReturnAsset(Wire, frozen=True):
    """Bringing the asset of a paid lease home."""

    lease: LeaseRecord


class Holding(Wire, frozen=True):
    """An opened lease at rest."""

    lease: LeaseRecord
