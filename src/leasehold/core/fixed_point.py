"""Eighteen-digit fixed-point arithmetic as the chain does it: integers scaled by 10^18, half to even by default."""

from __future__ import annotations

DIGITS = 18
ONE: int = 10**DIGITS
_HALF = ONE // 2


def _round_half_even(value: int, divisor: int) -> int:
    sign = -1 if value < 0 else 1
    quotient, remainder = divmod(abs(value), divisor)
    twice = remainder * 2
    if twice > divisor or (twice == divisor and quotient & 1):
        quotient += 1
    return sign * quotient


def _truncate(value: int, divisor: int) -> int:
    quotient = abs(value) // abs(divisor)
    return -quotient if (value < 0) != (divisor < 0) else quotient


def multiply(a: int, b: int) -> int:
    """Product, rounded half to even."""
    return _round_half_even(a * b, ONE)


def multiply_truncated(a: int, b: int) -> int:
    return _truncate(a * b, ONE)


def divide(a: int, b: int) -> int:
    """Quotient, rounded half to even."""
    if b < 0:
        a, b = -a, -b
    return _round_half_even(a * ONE, b)


def divide_truncated(a: int, b: int) -> int:
    return _truncate(a * ONE, b)


def divide_rounded_up(a: int, b: int) -> int:
    """Quotient of non-negative values, rounded up."""
    return -(-a * ONE // b)


def truncate(a: int) -> int:
    """Whole part."""
    return _truncate(a, ONE)


def round_to_integer(a: int) -> int:
    """Nearest integer, half to even."""
    return _round_half_even(a, ONE)


def ceil_to_integer(a: int) -> int:
    """Least integer not below a."""
    return -(-a // ONE)


def text(a: int) -> str:
    """Decimal with exactly eighteen places."""
    sign = "-" if a < 0 else ""
    whole, fraction = divmod(abs(a), ONE)
    return f"{sign}{whole}.{fraction:018d}"


def parse(value: str) -> int:
    """Scaled integer of a plain decimal text with at most eighteen places."""
    body = value[1:] if value.startswith("-") else value
    whole, dot, fraction = body.partition(".")
    if not whole.isascii() or not whole.isdigit() or (dot and not (fraction.isascii() and fraction.isdigit())):
        raise ValueError(f"failed to set decimal string: {value}")
    if len(fraction) > DIGITS:
        raise ValueError(f"value '{value}' exceeds max precision by {DIGITS - len(fraction)} decimal places")
    scaled = int(whole) * ONE + int(fraction.ljust(DIGITS, "0") or "0")
    return -scaled if value.startswith("-") else scaled
