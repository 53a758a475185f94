"""Swap orders in memos, and the arithmetic of their proceeds."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.protocol.swap_order import MalformedOrder, SwapOrder, amount_for, order_in, proceeds

ORDER = SwapOrder("oracle", 7, "uosmo", "5", "chain1x", "osmo1y", 35)
prices = st.fractions(min_value=Fraction(1, 10**12), max_value=10**12, max_denominator=10**12)


def test_an_order_survives_its_memo() -> None:
    """What is written into a memo is read from it."""
    assert order_in(ORDER.memo()) == ORDER
    assert order_in(SwapOrder("o", 1, "d", "0", "r").memo()) == SwapOrder("o", 1, "d", "0", "r")


@pytest.mark.parametrize("memo", ["", "hello", "{}", '{"forward":{}}', "[]", "null", "[" * 5000, '{"swap"'])
def test_other_memos_order_nothing(memo: str) -> None:
    """Memos of other kinds are left alone."""
    assert order_in(memo) is None


@pytest.mark.parametrize(
    "memo",
    [
        '{"swap":{}}',
        '{"swap":null}',
        ORDER.memo().replace('"5"', '"-5"'),
        ORDER.memo().replace('"5"', '"5.0"'),
        ORDER.memo().replace('"5"', f'"{"9" * 40}"'),
        ORDER.memo().replace("35", "10000"),
        ORDER.memo().replace("35", "-1"),
    ],
)
def test_orders_that_make_no_sense_are_refused(memo: str) -> None:
    """A memo that orders a swap and does not say which is malformed, not ignored."""
    with pytest.raises(MalformedOrder):
        order_in(memo)


@given(st.integers(1, 2**128 - 1), prices, prices, st.integers(0, 9999))
def test_nothing_is_made_or_lost(amount: int, price_in: Fraction, price_out: Fraction, bps: int) -> None:
    """Receiver and affiliate share the value less the fee, short of it by less than one unit."""
    yields = proceeds(amount, price_in, price_out, bps)
    worth = amount * price_in / price_out * Fraction(997, 1000)
    assert 0 <= worth - (yields.amount + yields.affiliate) < 1
    assert yields.affiliate == (yields.amount + yields.affiliate) * bps // 10_000


@given(st.integers(1, 2**100), prices, prices, st.integers(0, 9999))
def test_the_least_amount_is_asked_for(wanted: int, price_in: Fraction, price_out: Fraction, bps: int) -> None:
    """The amount for a wanted yield gives it, and one unit less does not."""
    amount = amount_for(wanted, price_in, price_out, bps)
    assert proceeds(amount, price_in, price_out, bps).amount >= wanted
    assert proceeds(amount - 1, price_in, price_out, bps).amount < wanted
