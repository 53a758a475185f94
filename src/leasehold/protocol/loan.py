"""A lease's loan: interest due and overdue, when it becomes collectable, and how a repayment is split."""

from __future__ import annotations

from typing import NamedTuple

from leasehold.protocol.errors import ArithmeticTrap
from leasehold.protocol.interest import YEAR, annual_interest, interest, pay
from leasehold.protocol.percent import MILLE, U64_MAX
from leasehold.protocol.pool import Loan


class LeaseLoan(NamedTuple):
    """A pool loan seen from its lease, which adds a margin that is paid up to its own instant."""

    loan: Loan
    margin_rate: int
    due_period: int
    margin_paid_by: int

    def due(self, at: int) -> Due:
        """What is owed at an instant, not before the margin's paid-until one."""
        principal = self.loan.principal
        elapsed = at - self.margin_paid_by
        margin = interest(self.margin_rate, principal, elapsed)
        loan_interest = self.loan.interest_due(at)
        overdue_margin = overdue_interest = 0
        overdue_in = self.due_period - elapsed
        if overdue_in <= 0:
            overdue_in = 0
            overdue_margin = interest(self.margin_rate, principal, elapsed - self.due_period)
            overdue_interest = self.loan.interest_due(at - self.due_period)
        return Due(
            principal,
            self.loan.rate,
            self.margin_rate,
            overdue_margin,
            overdue_interest,
            margin - overdue_margin,
            loan_interest - overdue_interest,
            overdue_in,
        )

    def repay(self, at: int, payment: int) -> tuple[LeaseLoan, Receipt]:
        """The loan after a payment in the lent currency, and its split."""
        due = self.due(at)
        rest = payment
        overdue_interest = min(due.overdue_interest, rest)
        rest -= overdue_interest
        overdue_margin = min(due.overdue_margin, rest)
        rest -= overdue_margin
        due_interest = min(due.due_interest, rest)
        rest -= due_interest
        due_margin = min(due.due_margin, rest)
        rest -= due_margin
        principal = min(due.principal, rest)
        margin_for, _ = pay(
            self.margin_rate, due.principal, overdue_margin + due_margin, max(at - self.margin_paid_by, 0)
        )
        loan, _ = self.loan.repay(at, overdue_interest + due_interest + principal)
        after = self._replace(loan=loan, margin_paid_by=self.margin_paid_by + margin_for)
        receipt = Receipt(
            overdue_margin,
            overdue_interest,
            due_margin,
            due_interest,
            principal,
            rest - principal,
            principal == due.principal,
        )
        return after, receipt


class Due(NamedTuple):
    """What a lease owes at an instant; `overdue_in` is nanoseconds until interest starts being overdue."""

    principal: int
    loan_rate: int
    margin_rate: int
    overdue_margin: int
    overdue_interest: int
    due_margin: int
    due_interest: int
    overdue_in: int

    @property
    def interest(self) -> int:
        """All four interest amounts."""
        return self.overdue_margin + self.overdue_interest + self.due_margin + self.due_interest

    @property
    def total(self) -> int:
        """Principal and interest."""
        return self.principal + self.interest

    def collect_in(self, min_transaction: int) -> int:
        """Nanoseconds until overdue interest can be collected by a liquidation; 0 when it can now."""
        if self.interest >= min_transaction:
            wait = 0
        else:
            rate = self.loan_rate + self.margin_rate
            if rate > MILLE:
                raise ArithmeticTrap("The annual interest rate must not exceed 100%")
            yearly = annual_interest(rate, self.principal)
            wait = U64_MAX if yearly == 0 else min(YEAR * (min_transaction - self.interest) // yearly, U64_MAX)
        return max(self.overdue_in, wait)

    def collectable(self, min_transaction: int) -> int:
        """Interest that a liquidation may collect now: all of it, or none."""
        return 0 if self.collect_in(min_transaction) else self.interest


class Receipt(NamedTuple):
    """Where a repayment went."""

    overdue_margin: int
    overdue_interest: int
    due_margin: int
    due_interest: int
    principal: int
    change: int
    close: bool

    @property
    def margin(self) -> int:
        """The profit's share."""
        return self.overdue_margin + self.due_margin

    @property
    def to_pool(self) -> int:
        """The pool's share: interest and principal."""
        return self.overdue_interest + self.due_interest + self.principal

    @property
    def total(self) -> int:
        """The whole payment, change included."""
        return self.margin + self.to_pool + self.change
