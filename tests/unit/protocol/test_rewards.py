"""The reward scale, the index per receipt, and vesting."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.protocol.errors import Refused
from leasehold.protocol.rewards import Bar, Deposit, RewardScale, index_after
from leasehold.protocol.vesting import locked, vested_at_end, vested_by_periods, vested_continuously


@pytest.mark.parametrize(
    ("bars", "text"), [([], "no bars"), ([Bar(0, 1), Bar(0, 2)], "duplicates"), ([Bar(1, 5)], "No zero TVL")]
)
def test_scales_that_are_refused(bars: list[Bar], text: str) -> None:
    """A scale has bars, no two alike, and one at zero."""
    with pytest.raises(Refused, match=text):
        RewardScale.of(bars)


def test_the_last_bar_reached_counts() -> None:
    """A bar is reached at its value exactly."""
    scale = RewardScale.of([Bar(5, 10), Bar(0, 20)])
    assert [scale.apr(tvl) for tvl in (0, 5 * 10**9 - 1, 5 * 10**9)] == [20, 20, 10]


@given(st.lists(st.integers(1, 10**12), min_size=1, max_size=4), st.lists(st.integers(1, 10**12), max_size=4))
def test_shares_differ_from_what_was_distributed_by_floors_only(receipts: list[int], rewards: list[int]) -> None:
    """The sum of all shares is within one unit per lender of what was distributed."""
    index = None
    for reward in rewards:
        index = index_after(index, reward, sum(receipts))
    shares = [Deposit(units, None, 0).rewards(index) for units in receipts]
    assert abs(sum(shares) - sum(rewards)) <= len(receipts)


@given(st.integers(1, 10**12), st.integers(1, 10**12), st.integers(1, 10**12))
def test_settling_loses_at_most_a_unit(units: int, first: int, second: int) -> None:
    """A settlement in between changes a share by the floors of one index only."""
    early = index_after(None, first, units + 1)
    late = index_after(early, second, units + 1)
    untouched = Deposit(units, None, 0)
    assert abs(untouched.settled(early, units).rewards(late) - untouched.rewards(late)) <= 1


def test_vesting() -> None:
    """Linear, at once, and by periods."""
    assert [vested_continuously(1000, 10, 20, now) for now in (10, 15, 20)] == [0, 500, 1000]
    assert vested_continuously(10, 0, 3, 1) == 3
    assert [vested_at_end(7, 20, now) for now in (19, 20)] == [0, 7]
    assert [vested_by_periods(0, [(5, 1), (5, 2)], now) for now in (4, 5, 10)] == [0, 1, 3]
    assert locked(10, 4, 5) == 1
    assert locked(10, 10, 5) == 0
