"""What our own chain says about packets it sent."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
from tests.unit.app_api.write_stage import Stage, staged

from leasehold.app_api.tracking.phases import Leg, TimeoutHeight
from leasehold.app_api.tracking.tracker import Look, Transfer

WAITING = "GET /ibc/core/channel/v1/channels/channel-3/ports/transfer/packet_commitments"
TXS = "GET /cosmos/tx/v1beta1/txs"
LEG = Leg("chain", "solana", TimeoutHeight(1, 500))
SENT = Transfer(uuid4(), "chain_to_solana", "channel-3", 7, [LEG], datetime(2027, 1, 1, tzinfo=UTC))
SLOT = {"jsonrpc": "2.0", "id": 1, "result": {"absoluteSlot": 100, "epoch": 1}}


def _world(stage: Stage, waiting: list[str], **events: list[dict[str, Any]]) -> None:
    """A chain with packets under way, and with one transaction per kind of report."""
    stage.world.answers["POST /"] = (200, SLOT)
    stage.world.answers[WAITING] = (200, {"commitments": [{"sequence": one} for one in waiting]})
    stage.world.by_query = lambda query: {
        "tx_responses": [{"events": found} for kind, found in events.items() if f"{kind}." in query]
    }


@pytest.mark.parametrize(
    ("waiting", "events", "outcome"),
    [
        (["7"], {}, None),
        ([], {}, None),
        (
            [],
            {"acknowledge_packet": [{"type": "fungible_token_packet", "attributes": [{"key": "success"}]}]},
            "arrived",
        ),
        ([], {"acknowledge_packet": [{"type": "fungible_token_packet", "attributes": [{"key": "error"}]}]}, "failed"),
        ([], {"timeout_packet": [{"type": "timeout_packet", "attributes": []}]}, "refunded"),
    ],
)
async def test_a_packet_of_ours_ends_as_its_report_says(
    waiting: list[str], events: dict[str, list[dict[str, Any]]], outcome: str | None
) -> None:
    """While a packet is committed nothing is known; then its acknowledgement or its timeout says what became of it."""
    async with staged() as stage:
        _world(stage, waiting, **events)
        seen = await Look(stage.app).observe(SENT)
        assert (seen.now, seen.committed, seen.outcome) == (TimeoutHeight(1, 100), bool(waiting), outcome)


async def test_a_look_asks_once_for_all_transfers() -> None:
    """However many transfers there are on a channel, the chains are asked once per look."""
    async with staged() as stage:
        _world(stage, ["7", "8"])
        look = Look(stage.app)
        for _ in range(5):
            await look.observe(SENT)
        assert sorted(call for call, _ in stage.world.calls) == [WAITING, "POST /"]
