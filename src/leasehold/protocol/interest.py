"""Simple interest with the protocol's two floors: first the yearly amount, then its slice of the year."""

from __future__ import annotations

from leasehold.protocol.errors import ComputationOverflow
from leasehold.protocol.percent import MILLE, U64_MAX, U128_MAX

YEAR = 365 * 24 * 3600 * 1_000_000_000
HOUR = 3600 * 1_000_000_000


def annual_interest(rate: int, principal: int) -> int:
    """Interest of a year at a permille rate."""
    return principal * rate // MILLE


def annualized(yearly: int, period: int) -> int:
    """The part of a yearly amount that accrues in `period` nanoseconds."""
    part = yearly * period // YEAR
    if part > U128_MAX:
        raise ComputationOverflow(f"interest of {yearly} a year over {period} ns")
    return part


def interest(rate: int, principal: int, period: int) -> int:
    """Interest at a permille rate over `period` nanoseconds."""
    return annualized(principal * rate // MILLE, period)


def paid_period(period: int, paid: int, due: int) -> int:
    """The nanoseconds of a period that `paid` of the interest `due` for it covers."""
    covered = period if paid == due else period * paid // due
    if covered > U64_MAX:
        raise ComputationOverflow(f"{paid}/{due} of {period} ns")
    return covered


def pay(rate: int, principal: int, payment: int, period: int) -> tuple[int, int]:
    """Nanoseconds that a payment covers and what is left of it; a period without interest stays unpaid."""
    due = interest(rate, principal, period)
    if due == 0:
        return 0, payment
    repaid = min(due, payment)
    return paid_period(period, repaid, due), payment - repaid
