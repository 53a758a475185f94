"""Numbers as clients see them: exact inside, rounded once, never with an exponent in a text."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any


def shortest(value: Fraction | int) -> str:
    """The shortest decimal that a double can't tell from the value: `1`, `0.0000001`, `3918.555`.

    Clients parse these texts as doubles, so more digits would be lost on them, and fewer would be lost by us.
    """
    if value.denominator == 1:
        return str(value.numerator)
    text = repr(value.numerator / value.denominator)
    if "e" in text:
        text = format(Decimal(text), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def fixed(value: Fraction | int, places: int) -> str:
    """The value with exactly `places` decimals, half to even."""
    scaled = round(Fraction(value.numerator * 10**places, value.denominator))
    digits = str(abs(scaled)).rjust(places + 1, "0")
    sign = "-" if scaled < 0 else ""
    return f"{sign}{digits[:-places]}.{digits[-places:]}" if places else f"{sign}{digits}"


def number(text: str | None) -> Fraction | None:
    """The exact value of a decimal text, None where it is none."""
    if text is None:
        return None
    try:
        found = Decimal(text)
    except ArithmeticError:
        return None
    return Fraction(found) if found.is_finite() else None


def double(value: Fraction | int) -> float:
    """A JSON number: the double nearest to the value."""
    return value.numerator / value.denominator


_SMALLEST_INTEGER, _LARGEST_INTEGER = -(2**63), 2**64 - 1


def alphabetical(value: Any) -> Any:
    """Free JSON as clients know it: members in alphabetical order, whole numbers beyond 64 bits as doubles."""
    if isinstance(value, dict):
        return {key: alphabetical(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [alphabetical(item) for item in value]
    if isinstance(value, int) and not _SMALLEST_INTEGER <= value <= _LARGEST_INTEGER:
        try:
            return float(value)
        except OverflowError:
            return str(value)
    return value
