"""Exact money: base-unit integers with their currency, rational prices, permille rates.

No float enters or leaves; JSON numbers where a wire type wants them are made at the edge.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_DOWN, Context, Decimal
from fractions import Fraction
from math import gcd

_WIDE = Context(prec=120, rounding=ROUND_DOWN)

PERMILLE = 1000


@dataclass(frozen=True, slots=True)
class Coin:
    """An amount of one currency in its smallest units; never negative."""

    amount: int
    ticker: str

    def __post_init__(self) -> None:
        if self.amount < 0:
            raise ValueError(f"a coin can't be negative: {self.amount}{self.ticker}")

    def __add__(self, other: Coin) -> Coin:
        self._same(other)
        return Coin(self.amount + other.amount, self.ticker)

    def __sub__(self, other: Coin) -> Coin:
        self._same(other)
        return Coin(self.amount - other.amount, self.ticker)

    def _same(self, other: Coin) -> None:
        if self.ticker != other.ticker:
            raise ValueError(f"can't mix {self.ticker} and {other.ticker}")


@dataclass(frozen=True, slots=True)
class Price:
    """`amount` of the base is worth `quote` of the quote currency, reduced to lowest terms."""

    amount: int
    base: str
    quote: int
    quote_ticker: str

    def __post_init__(self) -> None:
        if self.amount <= 0 or self.quote <= 0:
            raise ValueError("both legs of a price must be positive")
        divisor = gcd(self.amount, self.quote)
        if divisor > 1:
            object.__setattr__(self, "amount", self.amount // divisor)
            object.__setattr__(self, "quote", self.quote // divisor)

    @property
    def ratio(self) -> Fraction:
        """Quote units per base unit, both smallest."""
        return Fraction(self.quote, self.amount)

    def inverse(self) -> Price:
        return Price(self.quote, self.quote_ticker, self.amount, self.base)

    def value(self, coin: Coin) -> Coin:
        """Worth of a base coin in the quote currency, floored."""
        if coin.ticker != self.base:
            raise ValueError(f"a price of {self.base} can't value {coin.ticker}")
        return Coin(coin.amount * self.quote // self.amount, self.quote_ticker)

    def display(self, base_decimals: int, quote_decimals: int) -> Fraction:
        """Price of one whole base unit in whole quote units."""
        return self.ratio * Fraction(10) ** (base_decimals - quote_decimals)


def permille_of(amount: int, rate: int) -> int:
    """`rate` permille of an amount, floored."""
    return amount * rate // PERMILLE


def plain(value: Decimal | Fraction | int, places: int | None = None) -> str:
    """Plain decimal notation, never an exponent; truncated to `places` when given, else trailing zeros dropped.

    A Fraction without a finite expansion needs `places`.
    """
    if isinstance(value, Fraction):
        if places is None:
            raise ValueError("a fraction needs a number of places")
        scaled = abs(value.numerator) * 10**places // value.denominator
        text = _WIDE.create_decimal(scaled).scaleb(-places)
        value = -text if value < 0 else text
    if isinstance(value, int):
        value = Decimal(value)
    if places is not None:
        value = value.quantize(Decimal(1).scaleb(-places), rounding=ROUND_DOWN, context=_WIDE)
        return format(value, "f")
    text_form = format(value, "f")
    return text_form.rstrip("0").rstrip(".") if "." in text_form else text_form


def units(amount: int, decimals: int) -> Decimal:
    """Whole-unit value of a base-unit amount, exactly."""
    return _WIDE.create_decimal(amount).scaleb(-decimals, context=_WIDE)
