"""Hints that new heights exist, from a node's WebSocket; silence is noticed and ends the connection.

A hint is never trusted for content: it only wakes the follower, which asks by height.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import aiohttp
import msgspec

from leasehold.chain.client.nodes import Nodes
from leasehold.core import logging

_SUBSCRIBE = msgspec.json.encode(
    {"jsonrpc": "2.0", "id": 1, "method": "subscribe", "params": {"query": "tm.event='NewBlockHeader'"}}
).decode()


class _Header(msgspec.Struct):
    height: str


class _Value(msgspec.Struct):
    header: _Header | None = None


class _Data(msgspec.Struct):
    value: _Value


class _Result(msgspec.Struct):
    data: _Data | None = None


class _Frame(msgspec.Struct):
    result: _Result | None = None


_FRAME = msgspec.json.Decoder(_Frame)
_log = logging.get("hints")


async def follow_hints(
    nodes: Nodes,
    session: aiohttp.ClientSession,
    on_height: Callable[[int], None],
    *,
    silence_seconds: float,
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Report every announced height, for ever; reconnects when the node closes, fails or falls silent."""
    failures = 0
    while True:
        url = nodes.preferred.websocket_url
        try:
            heard = await _listen(url, session, on_height, silence_seconds)
            failures = 0 if heard else failures + 1
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            failures += 1
            _log.info("hint socket lost", url=url, reason=str(error) or type(error).__name__)
        await pause(min(10.0, 0.1 * 2 ** min(failures, 7)))


async def _listen(
    url: str, session: aiohttp.ClientSession, on_height: Callable[[int], None], silence_seconds: float
) -> bool:
    heard = False
    async with session.ws_connect(url, heartbeat=15.0, max_msg_size=64 * 1024 * 1024) as socket:
        await socket.send_str(_SUBSCRIBE)
        while True:
            # Not wait_for: on Python 3.11 it can swallow a cancellation that meets an arriving frame.
            async with asyncio.timeout(silence_seconds):
                message = await socket.receive()
            if message.type is not aiohttp.WSMsgType.TEXT:
                return heard
            try:
                frame = _FRAME.decode(message.data)
            except msgspec.MsgspecError:
                continue
            if frame.result and frame.result.data and frame.result.data.value.header:
                heard = True
                on_height(int(frame.result.data.value.header.height))
