"""Wire types of the liquidity pool."""

from __future__ import annotations

from typing import ClassVar

from leasehold.protocol import pool
from leasehold.protocol.messages.values import Bare, LpnCoin
from leasehold.protocol.scalars import U64, Address, Instant, Percent100, TextCode
from leasehold.protocol.serde import Empty, Lax, Nothing, OneOf, Wire


class BorrowRate(Lax, frozen=True):
    """Parameters of the borrow rate; 0 < optimal < 1000."""

    rust_name: ClassVar[str] = "UncheckedInterestRate"
    base_interest_rate: Percent100
    utilization_optimal: Percent100
    addon_optimal_interest_rate: Percent100

    def __post_init__(self) -> None:
        self.value().checked()

    def value(self) -> pool.BorrowRate:
        """The parameters as the arithmetic wants them."""
        return pool.BorrowRate(self.base_interest_rate, self.utilization_optimal, self.addon_optimal_interest_rate)


class Instantiate(Wire, frozen=True):
    """A new pool."""

    rust_name: ClassVar[str] = "InstantiateMsg"
    protocol_admin: Address
    lease_code: TextCode
    borrow_rate: BorrowRate
    min_utilization: Percent100


class NewLeaseCode(Wire, frozen=True):
    """The code whose contracts may borrow."""

    lease_code: U64


class OpenLoan(Wire, frozen=True):
    """A loan for the sender."""

    amount: LpnCoin


class Burn(Wire, frozen=True):
    """Receipts to give back."""

    amount: Bare


class ClaimRewards(Wire, frozen=True):
    """Where rewards go if not to the sender."""

    other_recipient: Address | None = None


class Execute(OneOf, frozen=True):
    """What the pool can be told."""

    rust_name: ClassVar[str] = "ExecuteMsg"
    new_lease_code: NewLeaseCode | None = None
    open_loan: OpenLoan | None = None
    repay_loan: Nothing | None = None
    deposit: Nothing | None = None
    burn: Burn | None = None
    close_all_deposits: Nothing | None = None
    distribute_rewards: Nothing | None = None
    claim_rewards: ClaimRewards | None = None


class NewBorrowRate(Wire, frozen=True):
    """Other parameters of the rate."""

    borrow_rate: BorrowRate


class MinUtilization(Wire, frozen=True):
    """Another minimal utilization."""

    min_utilization: Percent100


class Sudo(OneOf, frozen=True):
    """What governance can tell the pool."""

    rust_name: ClassVar[str] = "SudoMsg"
    new_borrow_rate: NewBorrowRate | None = None
    min_utilization: MinUtilization | None = None


class Quote(Wire, frozen=True):
    """A loan to price."""

    amount: LpnCoin


class LoanOf(Wire, frozen=True):
    """Whose loan."""

    lease_addr: Address


class BalanceOf(Wire, frozen=True):
    """Whose receipts."""

    address: Address


class StableBalance(Wire, frozen=True):
    """The oracle to convert with."""

    oracle_addr: Address


class RewardsOf(Wire, frozen=True):
    """Whose rewards."""

    address: Address


class Query(OneOf, frozen=True):
    """What the pool can be asked."""

    rust_name: ClassVar[str] = "QueryMsg"
    config: Nothing | None = None
    protocol_package_release: Empty | None = None
    lpn: Nothing | None = None
    quote: Quote | None = None
    loan: LoanOf | None = None
    balance: BalanceOf | None = None
    lpp_balance: Nothing | None = None
    stable_balance: StableBalance | None = None
    price: Nothing | None = None
    deposit_capacity: Nothing | None = None
    rewards: RewardsOf | None = None


class Config(Lax, frozen=True):
    """Answer to `config`."""

    lease_code: U64
    borrow_rate: BorrowRate
    min_utilization: Percent100


class Loan(Lax, frozen=True):
    """Answer to `loan` (or null), and the data of an opened loan."""

    principal_due: Bare
    annual_interest_rate: Percent100
    interest_paid: Instant

    @classmethod
    def of(cls, value: pool.Loan) -> Loan:
        return cls(Bare(str(value.principal)), value.rate, str(value.interest_paid))

    def value(self) -> pool.Loan:
        """The loan as the arithmetic wants it."""
        return pool.Loan(int(self.principal_due.amount), self.annual_interest_rate, int(self.interest_paid))


class LppBalance(Lax, frozen=True):
    """Answer to `lpp_balance`."""

    balance: LpnCoin
    total_principal_due: LpnCoin
    total_interest_due: LpnCoin
    balance_nlpn: Bare


class QuoteAnswer(OneOf, frozen=True):
    """Answer to `quote`: a rate, or `"no_liquidity"`."""

    rust_name: ClassVar[str] = "QueryQuoteResponse"
    units: ClassVar[tuple[str, ...]] = ("no_liquidity",)
    order: ClassVar[tuple[str, ...]] = ("quote_interest_rate", "no_liquidity")
    quote_interest_rate: Percent100 | None = None


class Rewards(Lax, frozen=True):
    """Answer to `rewards`."""

    rewards: Bare
