"""The pool's arithmetic."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.protocol.errors import ArithmeticTrap, Refused
from leasehold.protocol.pool import BorrowRate, Loan, PoolTotals, deposit_capacity, quote_rate, utilization

amounts = st.integers(1, 10**15)
rates = st.integers(0, 1000)
periods = st.integers(0, 3 * 10**16)


@pytest.mark.parametrize(
    ("rate", "liability", "balance", "expected"),
    [
        (BorrowRate(120, 700, 20), 0, 1, 120),
        (BorrowRate(120, 700, 20), 1, 9, 123),
        (BorrowRate(120, 700, 20), 3, 7, 132),
        (BorrowRate(120, 700, 20), 5, 5, 148),
        (BorrowRate(120, 700, 20), 8, 2, 186),
        (BorrowRate(120, 700, 20), 1, 0, 186),
        (BorrowRate(100, 655, 250), 10, 1, 824),
        (BorrowRate(100, 655, 250), 10, 6, 735),
        (BorrowRate(100, 655, 250), 10, 15, 354),
        (BorrowRate(60, 700, 20), 9, 1, 126),
    ],
)
def test_rate_vectors(rate: BorrowRate, liability: int, balance: int, expected: int) -> None:
    """The fact sheet's vectors of the borrow rate."""
    assert rate.at(liability, balance) == expected


def test_a_rate_above_a_hundred_percent_aborts() -> None:
    """Parameters are not bounded together, so the rate may not exist."""
    with pytest.raises(ArithmeticTrap):
        BorrowRate(900, 900, 500).at(1, 0)
    with pytest.raises(Refused, match="hundred percent"):
        BorrowRate(1, 1000, 1).checked()


def test_capacity_vector() -> None:
    """650 owed and 300 free under a minimum of 650 leave room for 50."""
    assert utilization(650, 300) == 684
    assert deposit_capacity(650, 300, 650) == 50
    assert deposit_capacity(650, 300, 0) is None
    assert deposit_capacity(650, 400, 650) == 0


def test_a_loan_above_the_balance_has_no_quote() -> None:
    """More than the pool holds can't be lent; all of it can."""
    totals = PoolTotals(receipts=100)
    assert quote_rate(totals, BorrowRate(60, 700, 20), 0, 100, 101) is None
    assert quote_rate(totals, BorrowRate(60, 700, 20), 0, 100, 100) == 126


@given(amounts, rates, periods, st.integers(0, 2 * 10**15))
def test_a_payment_is_split_without_loss(principal: int, rate: int, period: int, payment: int) -> None:
    """Interest, principal and excess add up, and never more interest than due is taken."""
    loan = Loan(principal, rate, 0)
    after, shares = loan.repay(period, payment)
    assert sum(shares) == payment
    assert shares.interest <= loan.interest_due(period)
    assert after.principal + shares.principal == principal


@given(amounts, rates, periods, st.lists(st.integers(0, 1000), min_size=1, max_size=5))
def test_interest_paid_in_parts_is_never_more_than_at_once(
    principal: int, rate: int, period: int, parts: list[int]
) -> None:
    """Paying the due interest in parts at one instant takes the same units, up to one per part for the floors."""
    loan = Loan(principal, rate, 0)
    due = loan.interest_due(period)
    paid, current = 0, loan
    for part in parts:
        current, shares = current.repay(period, min(due * part // 1000, current.interest_due(period)))
        paid += shares.interest
    left = current.interest_due(period)
    assert due <= paid + left <= due + len(parts) + (due // max(period, 1)) * len(parts)


@given(st.lists(st.tuples(amounts, rates), min_size=1, max_size=5), periods)
def test_totals_conserve(loans: list[tuple[int, int]], period: int) -> None:
    """The pool's principal is the sum of its loans', and repaying all of them leaves nothing owed."""
    totals = PoolTotals(receipts=1)
    for amount, rate in loans:
        totals = totals.borrow(0, amount, rate)
    assert totals.principal == sum(amount for amount, _ in loans)
    for amount, rate in loans:
        loan = Loan(amount, rate, 0)
        after, shares = loan.repay(period, amount + loan.interest_due(period))
        assert after.principal == 0
        totals = totals.repay(period, shares, rate)
    assert totals.total_due(period + 1) == 0


@given(amounts, amounts, amounts)
def test_a_deposit_never_lowers_the_receipt_price(balance: int, receipts: int, deposit: int) -> None:
    """Receipts are floored, so those who were there before never lose."""
    totals = PoolTotals(receipts=receipts)
    before = totals.receipt_price(0, balance)
    issued = totals.receipts_for(0, balance, deposit)
    after = totals.with_receipts(issued).receipt_price(0, balance + deposit)
    assert after.quote * before.amount >= before.quote * after.amount
    assert totals.with_receipts(issued).worth_of(0, balance + deposit, issued) <= deposit
