"""The application WebSocket as one connection that heals: it connects again and resumes every subscription."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import msgspec

from leasehold.app_client.feed import Feed, Message, stream_of
from leasehold.core import logging
from leasehold.core.errors import InvalidInput

FIRST_PAUSE = 0.5
GROWTH = 1.5
LONGEST_PAUSE = 30.0
_log = logging.get("live-client")


class LiveClient:
    """Subscriptions over one connection at a time; every event is seen once and in order, however often it breaks."""

    def __init__(
        self,
        url: str,
        session: aiohttp.ClientSession,
        *,
        first_pause: float = FIRST_PAUSE,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: random.Random | None = None,
    ) -> None:
        """`url` is that of the WebSocket; the session stays the caller's."""
        self.url = url
        self.connects = 0
        self.limits: Message = {}
        self._session = session
        self._first_pause = first_pause
        self._pause = pause
        self._chance = chance or random.Random()
        self._feeds: list[Feed] = []
        self._socket: aiohttp.ClientWebSocketResponse | None = None
        self._wait: float | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[LiveClient]:
        """Stay connected for as long as the context lasts."""
        task = asyncio.create_task(self._run(), name="live-client")
        try:
            yield self
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            for feed in self._feeds:
                feed.end()

    async def follow(self, topic: str, **params: Any) -> Feed:
        """Subscribe; what comes is in the feed."""
        feed = Feed(topic, params, _keys(topic, params))
        self._feeds.append(feed)
        await self._send(feed.opening())
        return feed

    async def leave(self, feed: Feed) -> None:
        """Unsubscribe; the feed ends."""
        self._feeds.remove(feed)
        feed.end()
        await self._send(feed.closing())

    async def _run(self) -> None:
        failures = 0
        while True:
            try:
                if await self._converse():
                    failures = 0
            except (aiohttp.ClientError, OSError, TimeoutError) as error:
                _log.info("connection lost", url=self.url, reason=str(error) or type(error).__name__)
            failures += 1
            seconds = min(LONGEST_PAUSE, self._first_pause * GROWTH ** min(failures - 1, 20))
            if self._wait is not None:
                seconds, self._wait = self._wait, None
            # Clients of a service that stopped must not all come back in the same instant.
            await self._pause(seconds * (0.5 + self._chance.random()))

    async def _converse(self) -> bool:
        """One connection; says whether it was greeted."""
        greeted = False
        async with self._session.ws_connect(
            self.url, heartbeat=20.0, max_msg_size=16 * 1024 * 1024, compress=15
        ) as socket:
            self.connects += 1
            self._socket = socket
            try:
                for feed in list(self._feeds):
                    await self._send(feed.opening())
                async for frame in socket:
                    if frame.type is aiohttp.WSMsgType.TEXT:
                        try:
                            message = msgspec.json.decode(frame.data, type=Message)
                        except msgspec.MsgspecError:
                            # Not of a service that we know; what we follow may still come.
                            continue
                        greeted = greeted or message.get("type") == "welcome"
                        await self._take(message)
            finally:
                self._socket = None
        return greeted

    async def _take(self, message: Message) -> None:
        match message.get("type"):
            case "welcome":
                self.limits = message["limits"]
            case "shutdown":
                self._wait = message["reconnect_ms"] / 1000
            case "error":
                _log.warning("refused", code=message["code"], text=message["message"], topic=message.get("topic"))
            case _:
                await self._distribute(message)

    async def _distribute(self, message: Message) -> None:
        stream = stream_of(message)
        if stream is None:
            return
        for feed in [feed for feed in self._feeds if feed.owns(*stream)]:
            answer = feed.take(stream[1], message)
            if answer is not None:
                await self._send(answer)

    async def _send(self, message: Message) -> None:
        # Without a connection nothing is lost: each feed says what it needs when there is one.
        if self._socket is not None and not self._socket.closed:
            with contextlib.suppress(aiohttp.ClientError, ConnectionError):
                await self._socket.send_str(msgspec.json.encode(message).decode())


def _keys(topic: str, params: Message) -> tuple[str, ...]:
    """The streams of a subscription, as the service names them."""
    match topic:
        case "prices":
            return ("",)
        case "leases" | "earn":
            return (params["address"],)
        case "balances":
            return tuple(dict.fromkeys(params.get("addresses") or (params["address"],)))
        case "transfer" if "id" in params:
            return (params["id"],)
        case "skip_tx" | "transfer":
            return (f"{params['tx_hash']}@{params['source_chain']}",)
        case "tx_status":
            return (f"{params['hash']}@{params['chain_id']}",)
    raise InvalidInput(f"there is no topic {topic}", field="topic")
