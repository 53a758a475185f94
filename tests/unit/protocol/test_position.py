"""Positions: decisions, policies and what must hold for all of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.protocol.errors import ArithmeticTrap, Refused
from leasehold.protocol.loan import LeaseLoan
from leasehold.protocol.pool import Loan
from leasehold.protocol.position import ClosePolicy, Liability, Liquidation, PositionSpec, in_asset, ltv
from leasehold.protocol.price import Price, inverse, total

HOUR = 3_600_000_000_000
LIABILITY = Liability(600, 830, 850, 865, 880, 900, HOUR)
SPEC = PositionSpec(LIABILITY, 15_000, 1_000, "USDC_NOBLE")


@pytest.mark.parametrize(("debt", "sold"), [(89, 0), (90, 33), (91, 40), (98, 86), (99, 93), (100, 100)])
def test_amount_to_liquidate(debt: int, sold: int) -> None:
    """The fact sheet's vectors for healthy 850 and max 900."""
    assert Liability(1, 850, 860, 870, 880, 900, HOUR).to_liquidate(100, debt) == sold


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"initial": 0}, "Initial % should not be zero"),
        ({"healthy": 599}, "Initial % should be <= healthy %"),
        ({"healthy": 850}, "Healthy % should be < first liquidation %"),
        ({"max": 880}, "Third liquidation % should be < max %"),
        ({"recalc_time": HOUR - 1}, "Recalculation cadence should be >= 1h"),
    ],
)
def test_thresholds_are_ordered(change: dict[str, int], text: str) -> None:
    """A broken invariant is named."""
    with pytest.raises(Refused, match=text):
        LIABILITY._replace(**change).checked()


def test_minimums_of_an_opening() -> None:
    """Down-payment, loan and asset each have a minimum, checked in this order."""
    with pytest.raises(Refused, match="transaction amount should worth at least 1000 USDC_NOBLE"):
        SPEC.borrow_amount(999, None)
    with pytest.raises(Refused, match="transaction amount"):
        SPEC.borrow_amount(10_000, 99)
    with pytest.raises(Refused, match="asset amount should worth at least 15000 USDC_NOBLE"):
        SPEC.borrow_amount(5_000, None)
    assert SPEC.borrow_amount(10_000, 1_000) == 10_000


def test_policy_rules_in_order() -> None:
    """Zeros, then the order of the two, then the maximum, then an immediate trigger."""
    price, asset, due = Price(1, 1), 100_000, 60_000

    def refuse(policy: ClosePolicy, text: str) -> None:
        with pytest.raises(Refused, match=text):
            SPEC.with_policy(policy, asset, due, price)

    refuse(ClosePolicy(0, None), "'take profit' should not be zero")
    refuse(ClosePolicy(700, 700), "Take profit value '70%' should be less than the stop loss value '70%'")
    refuse(
        ClosePolicy(None, 900), "'stop loss above or equal to 90%' is not less than the max lease liability LTV '90%'"
    )
    refuse(ClosePolicy(None, 600), "The current lease LTV '60%' would trigger 'stop loss above or equal to 60%'")
    refuse(ClosePolicy(601, None), "would trigger 'take profit below 60.1%'")
    assert SPEC.with_policy(ClosePolicy(600, 601), asset, due, price).close == ClosePolicy(600, 601)


def test_under_water_and_too_small_aborts() -> None:
    """A debt above an asset that is worth less than the minimal transaction has no LTV."""
    with pytest.raises(ArithmeticTrap):
        SPEC.assess(10, 1_100, 0, Price(1, 99))


@given(st.integers(1_000, 10**15), st.integers(1, 10**9), st.integers(1, 10**9))
def test_a_quote_opens_at_its_own_ltv(downpayment: int, amount: int, quote: int) -> None:
    """What the loan and the down-payment buy has at most the initial LTV, and just that without rounding."""
    price = Price(amount, quote)
    borrow = LIABILITY.borrow(downpayment, None)
    asset = total(downpayment + borrow, inverse(price))
    assert asset is not None
    if asset == 0:
        return
    debt = in_asset(asset, borrow, price)
    assert ltv(asset, debt) <= LIABILITY.initial + 1000 // asset + 1
    if asset > 10**6:
        assert ltv(asset, debt) in (LIABILITY.initial - 1, LIABILITY.initial)


@given(st.integers(1, 10**15), st.integers(1, 10**15), st.integers(0, 10**12), st.integers(1, 10**6))
def test_a_liquidation_sells_no_more_than_there_is(asset: int, due: int, collectable: int, quote: int) -> None:
    """A partial sale leaves at least the minimal asset; what it pays off never exceeds the debt by its change."""
    try:
        found = SPEC.assess(asset, due, min(collectable, due), Price(1, quote))
    except ArithmeticTrap:
        return
    if isinstance(found, Liquidation) and found.amount is not None:
        assert found.amount * quote >= SPEC.min_transaction
        assert (asset - found.amount) * quote >= SPEC.min_asset


@given(st.integers(1, 10**12), st.integers(0, 500), st.integers(0, 500), st.integers(0, 10**17), st.integers(0, 10**13))
def test_a_full_liquidation_never_pays_more_than_the_debt(
    principal: int, rate: int, margin: int, elapsed: int, extra: int
) -> None:
    """Whatever proceeds arrive above the debt come back as change."""
    lease = LeaseLoan(Loan(principal, rate, 0), margin, 30 * 24 * HOUR, 0)
    due = lease.due(elapsed)
    after, receipt = lease.repay(elapsed, due.total + extra)
    assert receipt.change == extra
    assert receipt.margin + receipt.to_pool == due.total
    assert receipt.close
    assert after.loan.principal == 0


@given(st.integers(1, 10**12), st.integers(0, 500), st.integers(0, 500), st.integers(0, 10**17), st.integers(0, 10**13))
def test_a_repayment_conserves(principal: int, rate: int, margin: int, elapsed: int, payment: int) -> None:
    """The parts of a payment add up to it, and no paid-until instant passes now."""
    lease = LeaseLoan(Loan(principal, rate, 0), margin, 30 * 24 * HOUR, 0)
    after, receipt = lease.repay(elapsed, payment)
    assert receipt.total == payment
    assert after.margin_paid_by <= elapsed
    assert after.loan.interest_paid <= elapsed
