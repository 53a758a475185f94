"""What an observation of both chains says about a transfer, as a pure function.

A packet without an outcome is committed; past its timeout it waits for its refund. One with an outcome has arrived or
was refunded. One that nobody can tell about any more is indeterminate, so that every transfer ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import msgspec

Phase = Literal[
    "Committed", "AwaitingTimeout", "CompletedSuccess", "CompletedError", "TimedOutRefunded", "Indeterminate"
]
IN_FLIGHT: frozenset[str] = frozenset(("Committed", "AwaitingTimeout"))
# Slots after the last timeout in which a relayer still reports; half an hour.
GRACE_SLOTS = 4_500
LONGEST_SECONDS = 24 * 3600


class TimeoutHeight(msgspec.Struct, frozen=True, order=True):
    """A height on the receiving chain, compared revision first."""

    revision_number: int
    revision_height: int


class Leg(msgspec.Struct, frozen=True):
    """One hop as it is stored."""

    from_chain: str
    to_chain: str
    timeout_height: TimeoutHeight
    phase: str = "Committed"


@dataclass(frozen=True, slots=True)
class Observation:
    """What both chains said at one moment; `outcome` is None while the packet has none."""

    now: TimeoutHeight
    committed: bool
    outcome: Literal["arrived", "failed", "refunded"] | None
    age_seconds: float


_OUTCOMES: dict[str, Phase] = {
    "arrived": "CompletedSuccess",
    "failed": "CompletedError",
    "refunded": "TimedOutRefunded",
}


def advanced(leg: Leg, seen: Observation) -> Leg:
    """The leg after an observation; one that has ended stays as it is."""
    if leg.phase not in IN_FLIGHT:
        return leg
    return msgspec.structs.replace(leg, phase=_phase(leg, seen))


def _phase(leg: Leg, seen: Observation) -> Phase:
    if seen.outcome is not None:
        return _OUTCOMES[seen.outcome]
    timeout = leg.timeout_height
    late = seen.now >= timeout
    # Slots are counted through epochs, so they can be compared alone.
    hopeless = late and seen.now.revision_height >= timeout.revision_height + GRACE_SLOTS
    if hopeless or seen.age_seconds >= LONGEST_SECONDS:
        return "Indeterminate"
    return "AwaitingTimeout" if late else "Committed"


def ended(legs: list[Leg]) -> bool:
    """Whether nothing more will happen."""
    return not any(leg.phase in IN_FLIGHT for leg in legs)
