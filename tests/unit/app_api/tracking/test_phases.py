"""What an observation makes of a transfer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.app_api.tracking.phases import (
    GRACE_SLOTS,
    IN_FLIGHT,
    LONGEST_SECONDS,
    Leg,
    Observation,
    TimeoutHeight,
    advanced,
    ended,
)

LEG = Leg("solana", "chain", TimeoutHeight(5, 1000))


def _seen(
    height: int = 0, *, epoch: int = 5, outcome: str | None = None, age: float = 0, committed: bool = True
) -> Observation:
    return Observation(TimeoutHeight(epoch, height), committed, outcome, age)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("seen", "phase"),
    [
        (_seen(999), "Committed"),
        (_seen(1000), "AwaitingTimeout"),
        (_seen(0, epoch=6), "AwaitingTimeout"),
        (_seen(1000 + GRACE_SLOTS), "Indeterminate"),
        (_seen(10, age=LONGEST_SECONDS), "Indeterminate"),
        (_seen(10, outcome="arrived"), "CompletedSuccess"),
        (_seen(5000, outcome="refunded"), "TimedOutRefunded"),
        (_seen(10, outcome="failed"), "CompletedError"),
        (_seen(10**9, outcome="arrived", age=10**9), "CompletedSuccess"),
    ],
)
def test_a_leg_goes_where_the_chains_say(seen: Observation, phase: str) -> None:
    """An outcome decides; without one a timeout is waited for, and not for ever."""
    assert advanced(LEG, seen).phase == phase


@given(
    st.lists(
        st.tuples(st.integers(0, 10_000), st.sampled_from([None, "arrived", "refunded", "failed"]), st.floats(0, 1e6)),
        max_size=6,
    )
)
def test_what_has_ended_stays(observations: list[tuple[int, str | None, float]]) -> None:
    """Whatever is seen later, a leg that has ended does not change, and enough time ends every leg."""
    leg, last = LEG, None
    for height, outcome, age in observations:
        leg = advanced(leg, _seen(height, outcome=outcome, age=age))
        assert last is None or leg.phase == last
        last = leg.phase if leg.phase not in IN_FLIGHT else None
    assert ended([advanced(leg, _seen(age=LONGEST_SECONDS))])
