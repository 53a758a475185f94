"""Money is exact: integers, rationals, no rounding nobody asked for."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.core.money import Coin, Price, permille_of, plain, units

AMOUNTS = st.integers(0, 2**128 - 1)
LEGS = st.integers(1, 2**128 - 1)


@given(AMOUNTS, AMOUNTS)
def test_coins_add_and_subtract_exactly(a: int, b: int) -> None:
    """No amount is too large to be exact."""
    assert (Coin(a, "X") + Coin(b, "X")) - Coin(b, "X") == Coin(a, "X")


def test_a_coin_is_never_negative() -> None:
    """Neither made so nor by subtraction."""
    with pytest.raises(ValueError, match="negative"):
        Coin(-1, "X")
    with pytest.raises(ValueError, match="negative"):
        Coin(1, "X") - Coin(2, "X")


def test_currencies_do_not_mix() -> None:
    """Adding, subtracting or valuing another currency is an error that names both."""
    for mixed in (lambda: Coin(1, "X") + Coin(1, "Y"), lambda: Coin(1, "X") - Coin(1, "Y")):
        with pytest.raises(ValueError, match="X and Y"):
            mixed()
    with pytest.raises(ValueError, match="X can't value Y"):
        Price(1, "X", 1, "Q").value(Coin(1, "Y"))


@given(LEGS, LEGS, LEGS)
def test_a_price_is_its_ratio(amount: int, quote: int, factor: int) -> None:
    """Prices with the same ratio are equal, however they were written."""
    assert Price(amount * factor, "X", quote * factor, "Q") == Price(amount, "X", quote, "Q")
    assert Price(amount, "X", quote, "Q").ratio == Fraction(quote, amount)
    assert Price(amount, "X", quote, "Q").inverse().inverse() == Price(amount, "X", quote, "Q")


@given(LEGS, LEGS, AMOUNTS)
def test_a_value_is_floored(amount: int, quote: int, held: int) -> None:
    """The worth of a coin is the largest whole number of units not above the exact one."""
    worth = Price(amount, "X", quote, "Q").value(Coin(held, "X"))
    exact = Fraction(held * quote, amount)
    assert worth.ticker == "Q"
    assert worth.amount <= exact < worth.amount + 1


@pytest.mark.parametrize("legs", [(0, 1), (1, 0), (-1, 1)])
def test_a_price_has_two_positive_legs(legs: tuple[int, int]) -> None:
    """There is no price of nothing, nor for nothing."""
    with pytest.raises(ValueError):
        Price(legs[0], "X", legs[1], "Q")


def test_display_price_accounts_for_decimals() -> None:
    """One whole unit with eight decimals in units with six."""
    assert Price(10**8, "BTC", 65_000 * 10**6, "USDC").display(8, 6) == 65_000


def test_permille_is_floored() -> None:
    """The fraction below a unit is dropped."""
    assert permille_of(1999, 1) == 1
    assert permille_of(999, 1) == 0
    assert permille_of(10**40, 1000) == 10**40


@pytest.mark.parametrize(
    ("value", "places", "text"),
    [
        (Decimal("1.500"), None, "1.5"),
        (Decimal("1E+3"), None, "1000"),
        (Decimal("1E-9"), None, "0.000000001"),
        (Decimal("100"), None, "100"),
        (Decimal("-0.999"), 2, "-0.99"),
        (Decimal("1.5"), 3, "1.500"),
        (Fraction(2, 3), 4, "0.6666"),
        (Fraction(-2, 3), 4, "-0.6666"),
        (7, None, "7"),
        (7, 2, "7.00"),
        (10**60, 18, "1" + "0" * 60 + "." + "0" * 18),
    ],
)
def test_plain_notation_has_no_exponent(value: Decimal | Fraction | int, places: int | None, text: str) -> None:
    """Numbers are written out, truncated toward zero where places are given."""
    assert plain(value, places) == text


def test_a_fraction_needs_places() -> None:
    """A third has no finite text."""
    with pytest.raises(ValueError, match="places"):
        plain(Fraction(1, 3))


@given(st.integers(-(2**256), 2**256), st.integers(0, 30))
def test_units_are_exact(amount: int, decimals: int) -> None:
    """Whole units keep every digit of the base units."""
    assert Fraction(units(amount, decimals)) == Fraction(amount, 10**decimals)
