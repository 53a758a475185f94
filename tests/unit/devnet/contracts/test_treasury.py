"""The treasury: rewards by locked value and elapsed time, and what stops them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.devnet.contracts.lending import LENDER, START, USER, Lending, Refusal

HOUR = 3600
YEAR = 365 * 24 * HOUR


@pytest.fixture
def lending() -> Lending:
    """A treasury over the real registry; a million stable units are locked, rewarded by 130 permille."""
    lending = Lending()
    lending.create(
        "treasury",
        {
            "cadence_hours": 12,
            "protocols_registry": lending.at["admin"],
            "timealarms": lending.at["timealarms"],
            "tvl_to_apr": {"bars": [{"tvl": 1000, "apr": 130}, {"tvl": 0, "apr": 150}, {"tvl": 1001, "apr": 10}]},
        },
    )
    lending.give(lending.at["treasury"], "NLS", 10**15)
    return lending


def _later(lending: Lending, seconds: int) -> None:
    lending.advance(seconds)
    lending.feed(BTC=630)


def _rewards(lending: Lending) -> list[dict[str, str]]:
    lending.dispatch("timealarms")
    return lending.seen("tr-rewards")


def _expected(seconds: int) -> int:
    stable = 10**12 * 130 // 1000 * seconds // YEAR
    return stable * 1000  # the native price is 1/1000


def test_rate_by_bar(lending: Lending) -> None:
    """The last bar reached counts, whatever the order they were given in; deposits move it."""
    assert lending.ask("treasury", {"calculate_rewards": {}}) == 130
    lending.tell("lpp", {"deposit": []}, LENDER, ("USDC", 10**9))
    assert lending.ask("treasury", {"calculate_rewards": {}}) == 10
    lending.tell("lpp", {"burn": {"amount": {"amount": str(2 * 10**9)}}}, LENDER)
    assert lending.ask("treasury", {"calculate_rewards": {}}) == 150


def test_dispatch_pays_for_the_time_elapsed(lending: Lending) -> None:
    """Each dispatch pays every pool for exactly the time since the last one, late ones included."""
    _later(lending, 12 * HOUR + 1)
    (paid,) = _rewards(lending)
    assert (paid["to"], paid["rewards-symbol"]) == (lending.at["lpp"], "NLS")
    assert int(paid["rewards-amount"]) == _expected(12 * HOUR + 1)
    _later(lending, 100 * HOUR)
    (paid,) = _rewards(lending)
    assert int(paid["rewards-amount"]) == _expected(100 * HOUR)
    assert lending.held("lpp", "NLS") == _expected(12 * HOUR + 1) + _expected(100 * HOUR)


def test_nothing_before_its_time_nor_from_others(lending: Lending) -> None:
    """Only the time alarms start a dispatch, and only when it is due."""
    _later(lending, 12 * HOUR)
    assert _rewards(lending) == []
    with pytest.raises(Refusal, match=r"^\[Treasury\] \[Access Control\] Unauthorized access!"):
        lending.tell("treasury", {"time_alarm": {}}, USER)


def test_a_missing_price_pays_nobody_and_is_retried(lending: Lending) -> None:
    """Without a native price the whole dispatch fails, then pays for all the time once there is one."""
    lending.advance(13 * HOUR)
    assert _rewards(lending) == []
    treasury = [outcome for outcome in lending.seen("time-alarm") if outcome["delivered"] == "error"]
    text = "[Treasury] Failed to convert rewards to NLS! Cause: [Oracle] Failed to fetch price for the pair NLS/STABLE!"
    assert any(outcome["details"].startswith(text) for outcome in treasury)
    _later(lending, HOUR)
    assert int(_rewards(lending)[0]["rewards-amount"]) == _expected(14 * HOUR)


def test_an_empty_treasury_pays_nobody(lending: Lending) -> None:
    """Rewards beyond what is held fail at the bank, and only its code is told."""
    lending.bank.send(
        lending.store, lending.at["treasury"], USER, lending.bank.balances(lending.store, lending.at["treasury"])
    )
    _later(lending, 13 * HOUR)
    assert _rewards(lending) == []
    details = [outcome.get("details") for outcome in lending.seen("time-alarm")]
    assert "codespace: sdk, code: 5" in details


def test_governance(lending: Lending) -> None:
    """A new cadence counts from the next dispatch on; a scale needs a zero bar, one bar per value, and a bar at all."""
    lending.govern("treasury", {"config": {"cadence_hours": 1}})
    assert lending.ask("treasury", {"config": {}}) == {"cadence_hours": 1}
    _later(lending, 2 * HOUR)
    assert _rewards(lending) == []
    _later(lending, 11 * HOUR)
    assert len(_rewards(lending)) == 1
    _later(lending, HOUR + 1)
    assert len(_rewards(lending)) == 1
    refused: list[tuple[list[Any], str]] = [
        ([], "Argument vector contains no bars!"),
        ([{"tvl": 5, "apr": 1}], "No zero TVL reward scale bar found!"),
        ([{"tvl": 0, "apr": 1}, {"tvl": 0, "apr": 2}], "Argument vector contains duplicates!"),
        ([{"tvl": 0, "apr": 1001}], "Upper bound has been crossed"),
    ]
    for bars, text in refused:
        with pytest.raises(Refusal, match=text):
            lending.govern("treasury", {"rewards": {"tvl_to_apr": {"bars": bars}}})
    lending.govern("treasury", {"rewards": {"tvl_to_apr": {"bars": [{"tvl": 0, "apr": 7}]}}})
    assert lending.ask("treasury", {"calculate_rewards": {}}) == 7


def test_first_alarm_is_set_at_instantiation(lending: Lending) -> None:
    """A new treasury asks to be called one cadence later."""
    assert lending.time == START
    lending.advance(12 * HOUR)
    assert not lending.ask("timealarms", {"alarms_status": {}})["remaining_alarms"]
    lending.advance(1)
    assert lending.ask("timealarms", {"alarms_status": {}})["remaining_alarms"]
