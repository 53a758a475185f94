"""Vesting accounts: how much of what was granted is still locked at an instant (whole seconds)."""

from __future__ import annotations

from collections.abc import Iterable

ONE = 10**18


def vested_continuously(granted: int, start: int, end: int, now: int) -> int:
    """Units free at `now`: linear between start and end, with 18-decimals arithmetic and rounding half to even."""
    if now <= start:
        return 0
    if now >= end:
        return granted
    share = _divide_to_even((now - start) * ONE, end - start)
    return _divide_to_even(granted * share, ONE)


def vested_at_end(granted: int, end: int, now: int) -> int:
    """Units free at `now` of a grant that frees all at once."""
    return granted if now >= end else 0


def vested_by_periods(start: int, periods: Iterable[tuple[int, int]], now: int) -> int:
    """Units free at `now` of a grant in periods of (length in seconds, units)."""
    vested, moment = 0, start
    for length, units in periods:
        moment += length
        if now < moment:
            break
        vested += units
    return vested if now > start else 0


def locked(granted: int, vested: int, delegated_vesting: int) -> int:
    """Units that can't be sent: unvested and not delegated."""
    return max(granted - vested - delegated_vesting, 0)


def _divide_to_even(nominator: int, denominator: int) -> int:
    quotient, rest = divmod(nominator, denominator)
    if 2 * rest > denominator or (2 * rest == denominator and quotient % 2):
        quotient += 1
    return quotient
