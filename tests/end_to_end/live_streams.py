"""What the WebSocket of a stack pushed while it lived, and what it replays: the same, and what the chain says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import aiohttp

# However slow the machine is.
MOST_SECONDS = 600.0
Complete = Callable[[list[dict[str, Any]]], bool]


async def _messages(
    socket: aiohttp.ClientWebSocketResponse, acting: asyncio.Task[None], complete: Complete
) -> list[dict[str, Any]]:
    """Everything that comes until something is done and all of it was told, and a moment longer."""
    found: list[dict[str, Any]] = []
    quiet = 0
    async with asyncio.timeout(MOST_SECONDS):
        while quiet < 2:
            try:
                found.append(json.loads((await asyncio.wait_for(socket.receive(), 1.0)).data))
            except TimeoutError:
                quiet += acting.done() and (acting.exception() is not None or complete(found))
    return found


async def _until(socket: aiohttp.ClientWebSocketResponse, kind: str, count: int) -> list[dict[str, Any]]:
    """Everything up to so many messages of a type."""
    found: list[dict[str, Any]] = []
    async with asyncio.timeout(MOST_SECONDS):
        while sum(one["type"] == kind for one in found) < count:
            found.append(json.loads(await socket.receive_str()))
    return found


def events(messages: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """What a stream said, without what is valued anew (USD) or known to the index only."""
    found: list[tuple[Any, ...]] = []
    for one in messages:
        if one["type"] == "lease_update" and not one.get("snapshot"):
            lease = one["lease"]
            debt = lease["debt"]["total"] if lease["debt"] else None
            found.append((one["seq"], one["owner"], lease["address"], lease["status"], lease["amount"]["amount"], debt))
        if one["type"] == "balance_update" and not one.get("snapshot"):
            found.append((one["seq"], one["address"], [(coin["denom"], coin["amount"]) for coin in one["balances"]]))
    return found


async def observed(
    url: str, owners: list[str], act: Callable[[], None], complete: Complete
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Live pushes of some owners while something is done and until it is told, and the same span replayed on another
    connection."""
    topics = [(topic, owner) for owner in owners for topic in ("leases", "balances")]
    async with aiohttp.ClientSession() as session:
        async with session.ws_connect(f"{url}/ws") as socket:
            for topic, owner in topics:
                await socket.send_str(json.dumps({"type": "subscribe", "topic": topic, "address": owner}))
            start = await _until(socket, "snapshot", len(topics))
            places = {(one["topic"], one["key"]): one["seq"] for one in start if one["type"] == "snapshot"}
            acting = asyncio.create_task(asyncio.to_thread(act))
            live = start + await _messages(socket, acting, complete)
            await acting
        async with session.ws_connect(f"{url}/ws") as socket:
            for (topic, owner), seq in places.items():
                await socket.send_str(json.dumps({"type": "resume", "topic": topic, "address": owner, "seq": seq}))
            replayed = await _until(socket, "resumed", len(topics))
    return live, replayed
