"""Rules for a validator's commission and description."""

from __future__ import annotations

from typing import Any

from leasehold.core.fixed_point import ONE
from leasehold.devnet.app.errors import INVALID_REQUEST, ChainError
from leasehold.devnet.modules.instants import instant
from leasehold.devnet.modules.staking.errors import (
    CHANGE_RATE_ABOVE_MAX,
    CHANGE_RATE_NEGATIVE,
    COMMISSION_ABOVE_MAX,
    COMMISSION_CHANGE_TOO_LARGE,
    COMMISSION_HUGE,
    COMMISSION_NEGATIVE,
    COMMISSION_TOO_SOON,
)

UNCHANGED = "[do-not-modify]"
_DAY_NS = 86_400 * 10**9
_LENGTHS = {"moniker": 70, "identity": 3000, "website": 140, "security_contact": 140, "details": 280}
_NAMES = {"security_contact": "security contact"}


def check_rates(rates: Any) -> None:
    """Refuse commission rates that contradict each other."""
    rate, highest, change = int(rates.rate or "0"), int(rates.max_rate or "0"), int(rates.max_change_rate or "0")
    if highest < 0:
        raise ChainError(COMMISSION_NEGATIVE)
    if highest > ONE:
        raise ChainError(COMMISSION_HUGE)
    if rate < 0:
        raise ChainError(COMMISSION_NEGATIVE)
    if rate > highest:
        raise ChainError(COMMISSION_ABOVE_MAX)
    if change < 0:
        raise ChainError(CHANGE_RATE_NEGATIVE)
    if change > highest:
        raise ChainError(CHANGE_RATE_ABOVE_MAX)


def check_new_rate(commission: Any, rate: int, now_ns: int) -> None:
    """Refuse a change of rate that comes too soon or goes too far."""
    if now_ns - instant(commission.update_time) < _DAY_NS:
        raise ChainError(COMMISSION_TOO_SOON)
    rates = commission.commission_rates
    if rate < 0:
        raise ChainError(COMMISSION_NEGATIVE)
    if rate > int(rates.max_rate or "0"):
        raise ChainError(COMMISSION_ABOVE_MAX)
    if rate - int(rates.rate or "0") > int(rates.max_change_rate or "0"):
        raise ChainError(COMMISSION_CHANGE_TOO_LARGE)


def check_description(description: Any) -> None:
    """Refuse a description with a member that is too long."""
    for member, limit in _LENGTHS.items():
        size = len(getattr(description, member).encode())
        if size > limit:
            raise INVALID_REQUEST(f"invalid {_NAMES.get(member, member)} length; got: {size}, max: {limit}")


def merge_description(current: Any, change: Any) -> None:
    """Write a changed description into the current one, leaving what is marked as unchanged."""
    for member in _LENGTHS:
        value = getattr(change, member)
        if value != UNCHANGED:
            setattr(current, member, value)
