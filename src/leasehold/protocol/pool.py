"""The liquidity pool: borrow rate, utilization, totals, loans, receipts and capacity.

All functions are pure: they take the pool's totals, its free balance and an instant in nanoseconds.
"""

from __future__ import annotations

from math import gcd
from typing import NamedTuple

from leasehold.protocol.errors import ArithmeticTrap, ComputationOverflow, Refused
from leasehold.protocol.interest import annualized, interest, pay
from leasehold.protocol.percent import MILLE, U32_MAX, U128_MAX, bounded_ratio
from leasehold.protocol.price import IDENTITY, Price, inverse, price, total


class BorrowRate(NamedTuple):
    """Parameters of the rate, permille; 0 < optimal < 1000."""

    base: int
    optimal: int
    addon: int

    def checked(self) -> BorrowRate:
        """Itself, or the refusal of an optimal utilization outside the open interval."""
        if not 0 < self.optimal < MILLE:
            raise Refused("Rates should not be greater than a hundred percent!")
        return self

    def at(self, liability: int, balance: int) -> int:
        """Annual permille rate for a pool that is owed `liability` and holds `balance`."""
        highest = self.optimal * MILLE // (MILLE - self.optimal)
        if balance == 0:
            factor = highest
        else:
            factor = MILLE if liability == balance else liability * MILLE // balance
            if factor > U32_MAX:
                raise ArithmeticTrap("The utilization must be a valid Percent")
            factor = min(factor, highest)
        rate = self.base + (factor if self.addon == self.optimal else self.addon * factor // self.optimal)
        if rate > MILLE:
            raise ArithmeticTrap("The borrow rate must not exceed 100%")
        return rate


class Loan(NamedTuple):
    """A pool loan: principal, annual permille rate, and the instant its interest is paid up to."""

    principal: int
    rate: int
    interest_paid: int

    def interest_due(self, by: int) -> int:
        """Interest accrued and unpaid by an instant; 0 before the paid-until instant."""
        return interest(self.rate, self.principal, max(by - self.interest_paid, 0))

    def repay(self, by: int, payment: int) -> tuple[Loan, RepayShares]:
        """The loan after a payment and how it was split: interest first, then principal, then excess."""
        paid_for, rest = pay(self.rate, self.principal, payment, max(by - self.interest_paid, 0))
        principal = min(rest, self.principal)
        after = Loan(self.principal - principal, self.rate, self.interest_paid + paid_for)
        return after, RepayShares(payment - rest, principal, rest - principal)


class RepayShares(NamedTuple):
    """Where a payment to a pool loan went."""

    interest: int
    principal: int
    excess: int


class PoolTotals(NamedTuple):
    """Sums over all loans at `updated`, with the average rate as an exact fraction, and the receipts issued."""

    principal: int = 0
    interest: int = 0
    annual: int = 0
    rate_of: int = MILLE
    updated: int = 0
    receipts: int = 0

    def yearly(self) -> int:
        """Interest that the loans accrue in a year."""
        return self.principal if self.annual == self.rate_of else self.principal * self.annual // self.rate_of

    def interest_due(self, now: int) -> int:
        """Interest owed by all loans at an instant."""
        if self.principal == 0:
            return 0
        return annualized(self.yearly(), now - self.updated) + self.interest

    def total_due(self, now: int) -> int:
        """Principal and interest owed by all loans at an instant."""
        return self.principal + self.interest_due(now)

    def borrow(self, now: int, amount: int, rate: int) -> PoolTotals:
        """Totals after a loan of `amount` at a permille rate."""
        due = self.interest_due(now)
        principal = self.principal + amount
        yearly = self.yearly() + amount * rate // MILLE
        if principal > U128_MAX or yearly > U128_MAX:
            raise ComputationOverflow("the pool's principal")
        annual, rate_of = _fraction(yearly, principal)
        return PoolTotals(principal, due, annual, rate_of, now, self.receipts)

    def repay(self, now: int, shares: RepayShares, rate: int) -> PoolTotals:
        """Totals after a repayment of a loan that was taken at a permille rate."""
        principal = self.principal - shares.principal
        if principal < 0:
            raise ArithmeticTrap("a principal payment exceeds the total principal")
        if principal == 0:
            return PoolTotals(0, 0, 0, MILLE, now, self.receipts)
        due = max(self.interest_due(now) - shares.interest, 0)
        yearly = max(self.yearly() - shares.principal * rate // MILLE, 0)
        annual, rate_of = _fraction(yearly, principal)
        return PoolTotals(principal, due, annual, rate_of, now, self.receipts)

    def value(self, now: int, balance: int) -> int:
        """Worth of the pool: free balance, principal and interest due."""
        return balance + self.total_due(now)

    def receipt_price(self, now: int, balance: int) -> Price:
        """Price of a receipt in the lent currency; one while none is issued."""
        if self.receipts == 0:
            return IDENTITY
        return price(self.receipts, self.value(now, balance))

    def receipts_for(self, now: int, balance: int, deposit: int) -> int:
        """Receipts for a deposit; `balance` does not include it."""
        if self.receipts == 0:
            return deposit
        rate = inverse(self.receipt_price(now, balance))
        if rate.amount == 0:
            raise ArithmeticTrap("attempt to divide by zero")
        receipts = total(deposit, rate)
        if receipts is None:
            raise ComputationOverflow("calculating the receipts")
        return receipts

    def worth_of(self, now: int, balance: int, receipts: int) -> int:
        """What receipts are worth in the lent currency."""
        worth = total(receipts, self.receipt_price(now, balance))
        if worth is None:
            raise ComputationOverflow("calculating the withdrawal amount")
        return worth

    def with_receipts(self, change: int) -> PoolTotals:
        """Totals with receipts issued (positive) or burnt (negative)."""
        return self._replace(receipts=self.receipts + change)


def _fraction(nominator: int, denominator: int) -> tuple[int, int]:
    divisor = gcd(nominator, denominator)
    return nominator // divisor, denominator // divisor


def utilization(due: int, balance: int) -> int:
    """Permille of the pool's value that is lent; 1000 for an empty balance."""
    return MILLE if balance == 0 else bounded_ratio(due, due + balance)


def deposit_capacity(due: int, balance: int, min_utilization: int) -> int | None:
    """How much more may be deposited; None without a limit."""
    if min_utilization == 0:
        return None
    if utilization(due, balance) <= min_utilization:
        return 0
    top = due if min_utilization == MILLE else due * MILLE // min_utilization
    if top > U128_MAX:
        return None
    if top < balance + due:
        raise ArithmeticTrap("attempt to subtract with overflow")
    return top - balance - due


def quote_rate(totals: PoolTotals, rate: BorrowRate, now: int, balance: int, amount: int) -> int | None:
    """Annual permille rate for a loan of `amount`; None when the pool holds less."""
    if amount > balance:
        return None
    return rate.at(totals.principal + amount + totals.interest_due(now), balance - amount)
