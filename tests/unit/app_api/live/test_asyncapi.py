"""The AsyncAPI document: it holds together, and says of messages what the service does with them."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest
from tests.unit.app_api.live.session_stage import ALICE, make
from tests.unit.app_api.live.stage import SAID, description

from leasehold.app_api.live import messages, topics
from leasehold.app_api.live.asyncapi import document

ASKED = description("ask")
HASH = "AB" * 32
GOOD: list[dict[str, Any]] = [
    {"type": "ping"},
    {"type": "ping", "id": 5},
    {"topic": "prices"},
    {"topic": "leases", "address": ALICE},
    {"topic": "lease", "address": "anything"},
    {"topic": "earn", "address": ALICE},
    {"topic": "balances", "address": ALICE},
    {"topic": "balance", "addresses": [ALICE]},
    {"topic": "tx", "hash": HASH, "chain_id": "c"},
    {"topic": "skip_tx", "tx_hash": HASH, "source_chain": "c"},
    {"topic": "transfer", "tx_hash": HASH, "source_chain": "c"},
    {"topic": "transfer", "id": "c0ffee00-0000-4000-8000-000000000000"},
]
BAD: list[dict[str, Any]] = [
    {"type": "hello"},
    {"topic": "nope"},
    {"topic": "leases"},
    {"topic": "earn", "address": 5},
    {"topic": "balances"},
    {"topic": "balances", "addresses": []},
    {"topic": "balances", "addresses": [ALICE] * 17},
    {"topic": "tx_status", "hash": HASH},
    {"topic": "skip_tx", "source_chain": "c"},
    {"topic": "transfer"},
]


def test_every_reference_leads_somewhere() -> None:
    """No `$ref` of the document is dangling."""
    whole = document()

    def references(part: Any) -> list[str]:
        if isinstance(part, dict):
            return [value for key, value in part.items() if key == "$ref"] + [
                one for value in part.values() for one in references(value)
            ]
        return [one for value in part for one in references(value)] if isinstance(part, list) else []

    for reference in references(whole):
        found: Any = whole
        for step in reference.removeprefix("#/").split("/"):
            found = found[step]
        assert found


@pytest.mark.parametrize(("asked", "good"), [(one, True) for one in GOOD] + [(one, False) for one in BAD], ids=str)
async def test_it_says_what_the_service_takes(asked: dict[str, Any], good: bool) -> None:
    """What the document allows is taken, what it does not is refused, for subscribing, leaving and resuming alike."""
    kinds = ("subscribe", "unsubscribe", "resume") if "type" not in asked else (asked["type"],)
    for kind in kinds:
        message = {"type": kind, **asked, **({"seq": 1} if kind == "resume" else {})}
        assert ASKED.is_valid(message) == good
        session, wire, _, _ = make()
        session.receive(json.dumps(message))
        assert ("error" in wire.types()) != good
        for answer in wire.got:
            SAID.validate(answer)
        session.close()


def test_it_refuses_frames_that_nobody_sends() -> None:
    """The description is no empty promise: a push without its place, or of another type, is not in it."""
    for frame in ({"type": "price_update", "prices": {}}, {"type": "other"}, {"type": "lease_update", "lease": {}}):
        with pytest.raises(jsonschema_rs.ValidationError):
            SAID.validate(frame)


def test_every_topic_and_message_is_described() -> None:
    """All topics can be asked for, and every message that exists is in the document."""
    whole = document()
    told = json.dumps(whole["components"]["messages"]["subscribe"])
    assert all(f'"{name}"' in told for name in topics.NAMES)
    names = set(whole["components"]["messages"])
    assert {str(kind.__struct_config__.tag) for kind in messages.SERVER} < names
