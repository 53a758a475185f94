"""How much of a vesting account's grant is vested at a time, by the chain's own arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from leasehold.core import fixed_point


class Schedule(Enum):
    """The kinds of vesting account."""

    CONTINUOUS = "ContinuousVestingAccount"
    DELAYED = "DelayedVestingAccount"
    PERIODIC = "PeriodicVestingAccount"
    PERMANENT = "PermanentLockedAccount"


@dataclass(frozen=True, slots=True)
class Period:
    """A grant of the next `length` seconds."""

    length: int
    amount: int


def vested(schedule: Schedule, original: int, start: int, end: int, now: int, periods: Sequence[Period] = ()) -> int:
    """Vested part of `original` of one denom at `now`; all times in unix seconds.

    Continuous grants round to the nearest unit, half to even; periodic ones vest at the end of each period.
    """
    if schedule is Schedule.PERMANENT:
        return 0
    if schedule is Schedule.DELAYED:
        return original if now >= end else 0
    if now <= start:
        return 0
    if now >= end:
        return original
    if schedule is Schedule.CONTINUOUS:
        share = fixed_point.divide((now - start) * fixed_point.ONE, (end - start) * fixed_point.ONE)
        return fixed_point.round_to_integer(fixed_point.multiply(original * fixed_point.ONE, share))
    total, moment = 0, start
    for period in periods:
        moment += period.length
        if moment > now:
            break
        total += period.amount
    return total
