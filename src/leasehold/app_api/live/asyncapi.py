"""The AsyncAPI description of the WebSocket, derived from its message types."""

from __future__ import annotations

from typing import Any

import msgspec

from leasehold.app_api.live import messages, topics

DOCUMENT = "/api/asyncapi.json"
_PARAMETERS: dict[str, dict[str, Any]] = {
    topics.PRICES: {},
    topics.BALANCES: {
        "address": {"type": "string"},
        "addresses": {"type": "array", "items": {"type": "string"}, "maxItems": topics.MAX_ADDRESSES},
    },
    topics.LEASES: {"address": {"type": "string"}},
    topics.EARN: {"address": {"type": "string"}},
    topics.TX_STATUS: {"hash": {"type": "string"}, "chain_id": {"type": "string"}},
    topics.SKIP_TX: {"tx_hash": {"type": "string"}, "source_chain": {"type": "string"}},
    topics.TRANSFER: {
        "id": {"type": "string", "format": "uuid"},
        "tx_hash": {"type": "string"},
        "source_chain": {"type": "string"},
    },
}


def document() -> dict[str, Any]:
    """AsyncAPI 3.0: one channel, what a client sends and what it receives."""
    _, schemas = msgspec.json.schema_components(messages.SERVER, ref_template="#/components/schemas/{name}")
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
    """A message of a client: one alternative per topic, parameters beside the topic."""
    place = {"seq": {"type": "integer", "minimum": 0}} if seq else {}
    alternatives = [
        {
            "type": "object",
            "properties": {"type": {"const": kind}, "topic": {"const": topic}, **parameters, **place},
            "required": ["type", "topic", *place],
        }
        for topic, parameters in _PARAMETERS.items()
    ]
    return {"summary": summary, "payload": {"oneOf": alternatives}}


def _operation(action: str, named: dict[str, Any]) -> dict[str, Any]:
    """What the service does: it receives what clients send."""
    return {
        "action": action,
        "channel": {"$ref": "#/channels/live"},
        "messages": [{"$ref": f"#/channels/live/messages/{name}"} for name in named],
    }
