"""The AsyncAPI description of the WebSocket, derived from its message types."""

from __future__ import annotations

from typing import Any

import msgspec

from leasehold.app_api.live import messages, topics
from leasehold.app_api.live.lease_frames import ALWAYS
from leasehold.app_api.resources.lease_views import LeaseInfo

DOCUMENT = "/api/asyncapi.json"
_TEXT = {"type": "string", "maxLength": topics.MAX_PARAMETER}
_LIST = {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": topics.MAX_ADDRESSES}
# By topic, each way to say what it is about: all of these members.
_PARAMETERS: dict[str, tuple[dict[str, dict[str, Any]], ...]] = {
    topics.PRICES: ({},),
    topics.BALANCES: ({"address": _TEXT}, {"addresses": _LIST}),
    topics.LEASES: ({"address": _TEXT},),
    topics.EARN: ({"address": _TEXT},),
    topics.TX_STATUS: ({"hash": _TEXT, "chain_id": _TEXT},),
    topics.SKIP_TX: ({"tx_hash": _TEXT, "source_chain": _TEXT},),
    topics.TRANSFER: ({"id": {"type": "string", "format": "uuid"}}, {"tx_hash": _TEXT, "source_chain": _TEXT}),
}


def document() -> dict[str, Any]:
    """AsyncAPI 3.0: one channel, what a client sends and what it receives."""
    kinds = (*messages.SERVER, LeaseInfo)
    _, schemas = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    schemas["LeaseUpdate"]["properties"]["lease"] = {"$ref": "#/components/schemas/LeaseInfo"}
    for name in ALWAYS:
        shown = schemas["LeaseInfo"]["properties"]
        shown[name] = {"anyOf": [shown[name], {"type": "null"}]}
    sent = {
        "subscribe": _client("subscribe", "Follow a topic; answered by `subscribed`, a snapshot and pushes."),
        "unsubscribe": _client("unsubscribe", "Stop following a topic; repeat the parameters of `subscribe`."),
        "resume": _client(
            "resume", "Follow a topic from a place on; answered by a replay or `resync_required`.", seq=True
        ),
        "ping": {
            "summary": "Answered by `pong`.",
            "payload": {
                "type": "object",
                "properties": {"type": {"const": "ping"}, "id": {"type": ["string", "integer"]}},
                "required": ["type"],
            },
        },
    }
    received = {
        str(kind.__struct_config__.tag): {
            "summary": (kind.__doc__ or "").strip().partition("\n")[0],
            "payload": {"$ref": f"#/components/schemas/{kind.__name__}"},
        }
        for kind in messages.SERVER
    }
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Application WebSocket",
            "version": "1.0.0",
            "description": "Live prices, leases, lender positions, balances and transfers.",
        },
        "defaultContentType": "application/json",
        "channels": {
            "live": {
                "address": "/ws",
                "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in (*sent, *received)},
            }
        },
        "operations": {
            "ask": _operation("receive", sent),
            "push": _operation("send", received),
        },
        "components": {"messages": {**sent, **received}, "schemas": schemas},
    }


def _client(kind: str, summary: str, *, seq: bool = False) -> dict[str, Any]:
    """A message of a client: an alternative per topic and way to say what it is about, parameters beside the topic."""
    place = {"seq": {"type": "integer", "minimum": 0}} if seq else {}
    alternatives = [
        {
            "type": "object",
            "properties": {
                "type": {"const": kind},
                "topic": {"enum": [topic, *topics.aliases_of(topic)]},
                **parameters,
                **place,
            },
            "required": ["type", "topic", *parameters, *place],
        }
        for topic, ways in _PARAMETERS.items()
        for parameters in ways
    ]
    return {"summary": summary, "payload": {"anyOf": alternatives}}


def _operation(action: str, named: dict[str, Any]) -> dict[str, Any]:
    """What the service does: it receives what clients send."""
    return {
        "action": action,
        "channel": {"$ref": "#/channels/live"},
        "messages": [{"$ref": f"#/channels/live/messages/{name}"} for name in named],
    }
