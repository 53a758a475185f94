"""States of followed transfers."""

from __future__ import annotations

import pytest

from leasehold.app_api.resources.transfer import Leg, status_of


@pytest.mark.parametrize(
    ("phases", "state", "blocking", "released"),
    [
        (["Committed"], "STATE_PENDING", 0, None),
        (["CompletedSuccess", "AwaitingTimeout"], "STATE_PENDING", 1, None),
        (["CompletedSuccess", "CompletedSuccess"], "STATE_COMPLETED_SUCCESS", None, "b1"),
        (["CompletedSuccess", "TimedOutRefunded"], "STATE_COMPLETED_ERROR", None, "a0"),
        (["CompletedError", "Committed"], "STATE_COMPLETED_ERROR", 1, "a0"),
        (["Indeterminate", "Committed"], "STATE_ABANDONED", 1, None),
    ],
)
def test_the_state_follows_from_the_legs(
    phases: list[str], state: str, blocking: int | None, released: str | None
) -> None:
    """An error ends it, then doubt, then whatever is in flight; the asset is where the end left it."""
    found = status_of([Leg(f"a{index}", f"b{index}", phase) for index, phase in enumerate(phases)])
    assert (found.state, found.next_blocking_transfer) == (state, blocking)
    assert (found.transfer_asset_release.chain if found.transfer_asset_release else None) == released
    assert (found.error is not None) == (state == "STATE_COMPLETED_ERROR")
