"""Supply figures against an independent computation."""

from __future__ import annotations

from fractions import Fraction

import pytest

from leasehold.chain.registry import registry
from leasehold.supply_api.figures import Figures, VestingAccount, still_vesting

TYPES = registry()
START, DAY = 1_700_000_000, 86_400
COIN = {"denom": "ulsh", "amount": "1000000007"}


def _account(kind: str, *, end: int, start: int | None = None, periods: list[tuple[int, int]] | None = None) -> object:
    message = TYPES.new(
        f"cosmos.vesting.v1beta1.{kind}",
        base_vesting_account={"original_vesting": [COIN, {"denom": "other", "amount": "5"}], "end_time": end},
    )
    if start is not None:
        message.start_time = start
    for length, amount in periods or []:
        message.vesting_periods.add(length=length, amount=[{"denom": "ulsh", "amount": str(amount)}])
    return message


@pytest.mark.parametrize("day", [0, 1, 37, 99, 100, 101])
def test_continuous_grant_vests_with_time(day: int) -> None:
    """What is left of a continuous grant is the rest of its time, within the one unit the chain rounds by."""
    account = _account("ContinuousVestingAccount", start=START, end=START + 100 * DAY)
    original, left = still_vesting(account, "ulsh", START + day * DAY)
    share = Fraction(max(0, 100 - day), 100)
    assert original == 1_000_000_007
    assert abs(left - original * share) <= 1
    assert left == (0 if day >= 100 else left)


def test_delayed_grant_vests_at_its_end() -> None:
    """A delayed grant vests as a whole in the second of its end."""
    account = _account("DelayedVestingAccount", end=START)
    assert still_vesting(account, "ulsh", START - 1)[1] == 1_000_000_007
    assert still_vesting(account, "ulsh", START)[1] == 0


def test_periodic_grant_vests_period_by_period() -> None:
    """A periodic grant vests at the end of each period, the last taking what is left."""
    account = _account(
        "PeriodicVestingAccount", start=START, end=START + 30, periods=[(10, 400_000_000), (20, 600_000_007)]
    )
    left = [still_vesting(account, "ulsh", START + second)[1] for second in (0, 9, 10, 29, 30)]
    assert left == [1_000_000_007, 1_000_000_007, 600_000_007, 600_000_007, 0]


def test_permanent_lock_never_vests() -> None:
    """A permanently locked account stays out of circulation for ever."""
    account = _account("PermanentLockedAccount", end=0)
    assert still_vesting(account, "ulsh", START + 10**6 * DAY)[1] == 1_000_000_007


def test_circulating_is_total_less_vesting_in_whole_tokens() -> None:
    """Circulating supply leaves out what still vests; whole tokens are truncated, never rounded or exponential."""
    accounts = (VestingAccount("a", "k", 10, 3_000_001), VestingAccount("b", "k", 10, 4))
    figures = Figures(7, 0, 10**15 + 999_999, accounts, 10**9, 6)
    assert figures.circulating == 10**15 + 999_999 - 3_000_005
    assert figures.whole(figures.circulating) == "999999997"
    assert figures.whole(figures.total) == "1000000000"
