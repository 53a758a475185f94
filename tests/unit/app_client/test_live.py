"""The Python client of the WebSocket: it connects again, resumes every subscription, and waits as it is told."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from leasehold.app_client.live import GROWTH, LONGEST_PAUSE, LiveClient

WELCOME = {"type": "welcome", "limits": {"subscriptions": 20}, "topics": [], "height": 1}


class Even(random.Random):
    """Chance that changes nothing: every pause is as long as its mean."""

    def random(self) -> float:
        return 0.5


class Scripted:
    """A service that notes what each connection asks for and does what the test says."""

    def __init__(self) -> None:
        self.url = ""
        self.asked: list[list[dict[str, Any]]] = []
        self.sockets: asyncio.Queue[web.WebSocketResponse] = asyncio.Queue()
        self.refuses = 0

    async def serve(self, request: web.Request) -> web.StreamResponse:
        if self.refuses:
            self.refuses -= 1
            return web.Response(status=503)
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        asked: list[dict[str, Any]] = []
        self.asked.append(asked)
        await socket.send_json(WELCOME)
        self.sockets.put_nowait(socket)
        async for message in socket:
            asked.append(json.loads(message.data))
        return socket

    async def connected(self) -> web.WebSocketResponse:
        return await asyncio.wait_for(self.sockets.get(), 60)


@asynccontextmanager
async def scripted() -> AsyncIterator[tuple[Scripted, LiveClient, list[float]]]:
    """A client of a scripted service, and the pauses it made; none of them takes time."""
    service = Scripted()
    application = web.Application()
    application.router.add_get("/ws", service.serve)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        await asyncio.sleep(0)

    try:
        async with aiohttp.ClientSession() as session:
            url = site.name.replace("http", "ws") + "/ws"
            client = LiveClient(url, session, first_pause=0.5, pause=pause, chance=Even())
            yield service, client, pauses
    finally:
        await runner.cleanup()


async def until(condition: Any) -> None:
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - what is waited for crosses a socket
            await asyncio.sleep(0.005)


async def test_it_resumes_where_each_subscription_was() -> None:
    """After a break each subscription goes on from its last place; one without a complete snapshot begins anew."""
    async with scripted() as (service, client, _), client.running():
        leases = await client.follow("leases", address="a")
        await client.follow("prices")
        socket = await service.connected()
        await until(lambda: len(service.asked[0]) == 2)
        assert client.limits == {"subscriptions": 20}
        await socket.send_json({"type": "snapshot", "topic": "leases", "key": "a", "count": 0, "seq": 9})
        await socket.send_json({"type": "lease_update", "owner": "a", "lease": {}, "seq": 12})
        await until(lambda: leases.places == {"a": 12})
        await socket.close()
        await service.connected()
        await until(lambda: len(service.asked[1]) == 2)
    assert {"type": "resume", "topic": "leases", "address": "a", "seq": 12} in service.asked[1]
    assert {"type": "subscribe", "topic": "prices"} in service.asked[1]
    assert client.connects == 2


async def test_it_waits_longer_after_each_failure() -> None:
    """Pauses grow up to a bound and start over once the service greets."""
    async with scripted() as (service, client, pauses):
        service.refuses = 15
        async with client.running():
            await client.follow("prices")
            socket = await service.connected()
            assert pauses == [min(LONGEST_PAUSE, 0.5 * GROWTH**number) for number in range(15)]
            await until(lambda: client.limits)
            await socket.close()
            await service.connected()
            assert pauses[15:] == [0.5]


async def test_it_comes_back_when_a_stopping_service_says() -> None:
    """A notice of shutdown says after which time; that replaces the ordinary pause once."""
    async with scripted() as (service, client, pauses), client.running():
        await client.follow("prices")
        for expected in (2.5, 0.5):
            socket = await service.connected()
            if expected == 2.5:
                await socket.send_json({"type": "shutdown", "reconnect_ms": 2500})
            await socket.close()
            await until(lambda expected=expected: pauses and pauses[-1] == expected)


async def test_resynchronising_and_leaving() -> None:
    """Told to begin anew it subscribes again; a feed that is left ends and is unsubscribed."""
    async with scripted() as (service, client, _), client.running():
        feed = await client.follow("balances", address="a")
        socket = await service.connected()
        await until(lambda: service.asked[0])
        told = {"type": "resync_required", "topic": "balances", "key": "a", "seq": 50, "reason": "pruned"}
        await socket.send_json(told)
        await until(lambda: len(service.asked[0]) == 2)
        await client.leave(feed)
        assert [message["type"] async for message in feed] == ["resync_required"]
        await until(lambda: len(service.asked[0]) == 3)
    kinds = [message["type"] for message in service.asked[0]]
    assert kinds == ["subscribe", "subscribe", "unsubscribe"]


async def test_feeds_end_with_their_client() -> None:
    """Whoever iterates over a feed is not left waiting."""
    async with scripted() as (_, client, _):
        async with client.running():
            feed = await client.follow("prices")
        assert [message async for message in feed] == []


@pytest.mark.parametrize(
    "said", ['{"type":"error","code":"X","message":"no"}', '{"type":"later","new":1}', "not json", "[]"]
)
async def test_what_it_does_not_know_does_no_harm(said: str) -> None:
    """Errors and messages of a newer service are passed over."""
    async with scripted() as (service, client, _), client.running():
        feed = await client.follow("prices")
        socket = await service.connected()
        await socket.send_str(said)
        await socket.send_json({"type": "price_update", "prices": {}, "seq": 3})
        async with asyncio.timeout(60):
            assert (await anext(aiter(feed)))["seq"] == 3
    assert client.connects == 1
