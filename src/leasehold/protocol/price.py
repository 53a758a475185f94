"""Prices as the contracts compute them: two 128-bit legs in lowest terms, with their ways of losing precision.

`amount` of the base currency is worth `quote` of the quote currency, both in smallest units. Currencies are not
part of the value; whoever holds a price knows them.
"""

from __future__ import annotations

from math import gcd
from typing import NamedTuple

from leasehold.protocol.errors import ArithmeticTrap, ComputationOverflow
from leasehold.protocol.percent import MILLE, U128_MAX

LOSSY_UNIT = 10**18


class Price(NamedTuple):
    """A reduced price; make one with `price`."""

    amount: int
    quote: int

    def __str__(self) -> str:
        return f"{self.quote}/{self.amount}"


IDENTITY = Price(1, 1)


def price(amount: int, quote: int) -> Price:
    """The price in lowest terms."""
    divisor = gcd(amount, quote)
    if divisor > 1:
        return Price(amount // divisor, quote // divisor)
    return Price(amount, quote)


def inverse(value: Price) -> Price:
    """The price of the quote currency in the base one."""
    return Price(value.quote, value.amount)


def total(amount: int, value: Price) -> int | None:
    """Worth of a base amount in the quote currency, floored; None beyond 128 bits."""
    worth = amount * value.quote // value.amount
    return worth if worth <= U128_MAX else None


def less(left: Price, right: Price) -> bool:
    """Whether the first price is strictly lower, compared exactly."""
    return left.quote * right.amount < left.amount * right.quote


def add_exact(left: Price, right: Price) -> Price | None:
    """The exact sum, or None when an intermediate product exceeds 128 bits."""
    divisor = gcd(left.amount, right.amount)
    left_part, right_part = left.amount // divisor, right.amount // divisor
    first, second = left.quote * right_part, right.quote * left_part
    amount = left_part * right_part * divisor
    if max(first + second, amount) > U128_MAX:
        return None
    return price(amount, first + second)


def add(left: Price, right: Price) -> Price:
    """The exact sum if it fits, else both addends rounded down to 18 decimals; a huge price aborts."""
    exact = add_exact(left, right)
    if exact is not None:
        return exact
    first, second = total(LOSSY_UNIT, left), total(LOSSY_UNIT, right)
    if first is None or second is None or first + second > U128_MAX:
        raise ArithmeticTrap("should not observe huge prices")
    return price(LOSSY_UNIT, first + second)


def multiply(value: Price, nominator: int, denominator: int) -> Price | None:
    """The price times a fraction; both legs lose low bits alike when one exceeds 128, None if one would vanish."""
    divisor = gcd(nominator, denominator)
    if divisor > 1:
        nominator, denominator = nominator // divisor, denominator // divisor
    across = gcd(value.quote, denominator)
    quote, denominator = value.quote // across, denominator // across
    across = gcd(nominator, value.amount)
    nominator, amount = nominator // across, value.amount // across
    quote, amount = quote * nominator, amount * denominator
    bits = max(quote.bit_length(), amount.bit_length())
    extra = bits - 128 if bits > 128 else 0
    if extra >= min(quote.bit_length(), amount.bit_length()):
        return None
    if extra:
        return price(amount >> extra, quote >> extra)
    return price(amount, quote)


def multiply_permille(value: Price, permille: int) -> Price | None:
    """The price times a percent; None for zero percent or when precision runs out."""
    return multiply(value, permille, MILLE)


def cross(base: Price, quote: Price) -> Price:
    """The rate of A in C from A in B and B in C."""
    result = multiply(price(base.amount, quote.quote), base.quote, quote.amount)
    if result is None:
        raise ComputationOverflow(f"cross rate of {base} with {quote}")
    return result
