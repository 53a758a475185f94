"""Permille rates and the integer widths that bound them.

A percent is an integer number of permille; a bounded one is at most 1000, an unbounded one fits 32 bits.
"""

from __future__ import annotations

from leasehold.protocol.errors import ArithmeticTrap, ComputationOverflow, Refused

MILLE = 1000
U16_MAX = 2**16 - 1
U32_MAX = 2**32 - 1
U64_MAX = 2**64 - 1
U128_MAX = 2**128 - 1


def of(permille: int, amount: int) -> int:
    """A bounded permille share of an amount, floored; never overflows."""
    return amount * permille // MILLE


def unbounded_of(permille: int, amount: int) -> int | None:
    """An unbounded permille share of an amount, floored; None beyond 128 bits."""
    share = amount * permille // MILLE
    return share if share <= U128_MAX else None


def ratio(parts: int, total: int) -> int:
    """`parts/total` as an unbounded permille, floored; an overflow error beyond 32 bits."""
    result = _permille(parts, total)
    if result > U32_MAX:
        raise ComputationOverflow(f"{parts}/{total} is no permille of 32 bits")
    return result


def bounded_ratio(parts: int, total: int) -> int:
    """`parts/total` as a bounded permille, floored; more than the whole aborts."""
    result = _permille(parts, total)
    if result > U32_MAX:
        raise ArithmeticTrap("Ratio is a part of a whole, multiplication cannot overflow")
    if result > MILLE:
        raise ArithmeticTrap("Should be a valid Percent100.")
    return result


def _permille(parts: int, total: int) -> int:
    if total == 0:
        raise ArithmeticTrap("attempt to divide by zero")
    return parts * MILLE // total


def complement(permille: int) -> int:
    """What is missing to a hundred percent."""
    if permille > MILLE:
        raise ArithmeticTrap("percent is bigger than 100%")
    return MILLE - permille


def checked(permille: int, bound: int = MILLE) -> int:
    """The permille itself, refused with the wire text above the bound."""
    if permille > bound:
        raise Refused(
            f"[Finance] [Percent] Upper bound has been crossed! Upper bound is: {bound}, but got: {permille}‰!"
        )
    return permille


def shown(permille: int) -> str:
    """How a percent reads in texts: `60%`, `60.1%`."""
    whole, fraction = divmod(permille, 10)
    return f"{whole}.{fraction}%" if fraction else f"{whole}%"
