"""The WebSocket on a real chain: a lease's whole life is pushed as it happens, and replayed the same."""

from __future__ import annotations

from typing import Any

from tests.end_to_end import test_builders as builders
from tests.end_to_end.live_streams import events, observed

market = builders.market
alice = builders.alice


def _over(messages: list[dict[str, Any]]) -> bool:
    """Whether a lease was told to be closed."""
    return any(one["type"] == "lease_update" and one["lease"]["status"] == "closed" for one in messages)


async def test_a_lease_is_followed_from_its_opening_to_its_end(alice: builders.Client) -> None:
    """Every step of a lease and every change of its owner's balances is pushed once, in order; a replay on another
    connection says exactly the same."""
    url = alice.stack.url("app_api")
    live, replayed = await observed(url, [alice.address], lambda: builders.lease_life(alice), _over)
    seen, again = events(live), events(replayed)
    for kind in (5, 2):
        # Leases and balances are streams of their own: each is in order.
        stream = [one for one in seen if len(one) == kind + 1]
        assert [one[0] for one in stream] == sorted({one[0] for one in stream})
        assert [one for one in again if len(one) == kind + 1 and one[0] <= stream[-1][0]] == stream
    statuses = list(dict.fromkeys(one[3] for one in seen if len(one) == 6))
    assert statuses[0] == "opening"
    assert statuses[-1] == "closed"
    assert "opened" in statuses
