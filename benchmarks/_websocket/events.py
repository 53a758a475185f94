"""How soon events reach their subscribers: a small chain whose blocks change prices, which all of them follow, and
wallets, leases and positions, each of somebody else.

The chain and the clients share a core, the service has the other. A block is available when the chain announces it;
what it changed is timed from there to the client that follows it, whose program has read it by then.
"""

from __future__ import annotations

import asyncio
import gc
import json
import random
import tempfile
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
from benchmarks._websocket.clients import HANDSHAKE, PING, frame_size, masked, pong
from benchmarks._websocket.processes import Child, lines, say
from tests.unit.app_api.conftest import CONTRACTS, LONG, price, served, settings_for
from tests.unit.app_api.live.stage import MovingWorld

from leasehold.app_api.gating.first import first_documents
from leasehold.app_api.gating.store import GatedStore
from leasehold.app_api.service import SCHEMA, application
from leasehold.core import logging
from leasehold.core.addresses import encode
from leasehold.core.configuration import load
from leasehold.core.garbage import rare_collections
from leasehold.serving.service import serving
from leasehold.storage import migrations, pool
from leasehold.storage.embedded import ROLE, EmbeddedServer

SUBSCRIBERS = 500
PRICED = "price_update"
TOPICS = ("prices", "leases", "balances", "earn")
# What one block changes: payments, repayments and deposits, each of somebody else.
CHANGES = 8
BLOCK_SECONDS = 0.25
# Blocks that change something of every follower, and the time between them.
CROWDED_BLOCKS = 5
CROWDED_SECONDS = 1.0


async def serve(database: str) -> None:
    """The service, as it runs, in front of the chain it is told of, until its input ends."""
    logging.configure(service="bench", level="error")
    told = lines()
    base = await anext(told)
    await migrations.apply(database, schema=SCHEMA, migrations=migrations.of_package("leasehold.app_api"))
    settings = settings_for(base, database)
    # They are all one client's.
    settings = replace(settings, limits=replace(settings.limits, exempt=("127.0.0.0/8",)))
    async with pool.opened(settings.database, service="bench") as opened:
        await GatedStore(opened).import_documents(first_documents(load().settings))
    with rare_collections():
        async with serving(application(settings)) as running:
            say(running.url)
            async for _ in told:
                say({"cpu": time.process_time()})


class Follower(asyncio.Protocol):
    """A client of one wallet; it notes when each frame has come, and reads it afterwards."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.lease = ""
        self.ready = 0
        self.heard: list[tuple[float, bytes]] = []
        self._buffer = b""
        self._upgraded = False

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        transport.write(HANDSHAKE + b"\r\n")

    def data_received(self, data: bytes) -> None:
        now = time.monotonic()
        self._buffer += data
        if not self._upgraded:
            _, found, rest = self._buffer.partition(b"\r\n\r\n")
            if not found:
                return
            self._buffer, self._upgraded = rest, True
            for topic in TOPICS:
                self._subscribe(topic)
        while (size := frame_size(self._buffer)) is not None:
            self._take(now, self._buffer[:size])
            self._buffer = self._buffer[size:]

    def _subscribe(self, topic: str) -> None:
        asked = {"type": "subscribe", "topic": topic}
        if topic != "prices":
            asked["address"] = self.address
        self._transport.write(masked(json.dumps(asked).encode()))

    def _take(self, now: float, frame: bytes) -> None:
        if frame[0] == PING:
            self._transport.write(pong(frame))
        elif b'"snapshot"' in frame[:40]:
            self.ready += 1
        elif b'"resync_required"' in frame[:40]:
            # The service is not warm yet.
            topic = json.loads(frame[frame.index(b"{") :])["topic"]
            asyncio.get_running_loop().call_later(0.5, self._subscribe, topic)
        else:
            self.heard.append((now, frame))

    def pushes(self) -> Iterator[tuple[str, str, int, float]]:
        """What came that no snapshot had: address, kind, height and when."""
        for at, frame in self.heard:
            message = json.loads(frame[frame.index(b"{") :])
            if message["type"].endswith("_update") and not message.get("snapshot"):
                yield self.address, message["type"], message["height"], at


class Chain:
    """The chain, and when each of its blocks was there."""

    def __init__(self, followers: list[Follower]) -> None:
        self.world = MovingWorld()
        self.followers = followers
        self.sealed: dict[int, float] = {}
        self.changed: set[tuple[str, str, int]] = set()
        self._chance = random.Random(1)
        self._amount = 0
        for one in followers:
            self.world.pay(one.address, 1)
            one.lease = self.world.open_lease(one.address)
        self.world.seal()

    def block(self, count: int) -> int:
        """A block in which so many followers' wallets, leases or positions change, and a price that all follow."""
        height = self.world.height + 1
        listed = [price(1, "ATOM", 4 + height % 7, "USDC_NOBLE"), price(1_000_000, "LSH", 12_345, "USDC_NOBLE")]
        self.world.ask(CONTRACTS[LONG]["oracle"], {"prices": {}}, {"prices": listed})
        self.changed |= {(one.address, PRICED, height) for one in self.followers}
        for number, one in enumerate(self._chance.sample(self.followers, count)):
            self._amount += 1
            if number % 3 == 0:
                kind = "lease_update"
                self.world.repay(one.lease, 1_000_000 + self._amount)
            elif number % 3 == 1:
                kind = "balance_update"
                self.world.pay(one.address, self._amount + 1)
            else:
                kind = "earn_update"
                pool = CONTRACTS[LONG]["lpp"]
                self.world.put(("receipts", pool, one.address), {"amount": str(self._amount)})
                self.world.happen("wasm-lp-deposit", _contract_address=pool, **{"from": one.address})
            self.changed.add((one.address, kind, height))
        self.sealed[height] = time.monotonic()
        return self.world.seal()


@dataclass
class Timed:
    """Seconds from a block to each push of a change that it caused, and to each push of its prices; and processor
    seconds of a block."""

    seconds: list[float]
    prices: list[float]
    service: float
    others: float


async def drive(service: Child, blocks: int) -> dict[str, Timed]:
    """How it goes with ordinary blocks, and with ones that concern everybody."""
    followers = [Follower(encode("chain", number.to_bytes(20, "big"))) for number in range(1, SUBSCRIBERS + 1)]
    chain = Chain(followers)
    loop = asyncio.get_running_loop()
    async with AsyncExitStack() as stack:
        base = await stack.enter_async_context(served(chain.world))
        url = urlsplit(str(await asyncio.to_thread(service.ask, base)))
        transports = [
            (await loop.create_connection(lambda one=one: one, url.hostname, url.port))[0]  # type: ignore[misc]
            for one in followers
        ]
        try:
            # The chain and the clients are not what is measured: no pause of theirs.
            gc.disable()
            await _until(lambda: all(one.ready == len(TOPICS) for one in followers))
            # The service hears of blocks, and has been through what it does with either kind.
            await _until(lambda: chain.world.listeners > 0)
            for count in (CHANGES, SUBSCRIBERS):
                await _timed(service, chain, [count])
            found = {"ordinary": await _timed(service, chain, [CHANGES] * blocks)}
            found["everybody"] = await _timed(service, chain, [SUBSCRIBERS] * CROWDED_BLOCKS)
        finally:
            gc.enable()
            for transport in transports:
                transport.abort()
    return found


async def _timed(service: Child, chain: Chain, counts: list[int]) -> Timed:
    chain.changed.clear()
    for one in chain.followers:
        one.heard.clear()
    before, own = await asyncio.to_thread(service.ask, "cpu"), time.process_time()
    pause = BLOCK_SECONDS if counts[0] < SUBSCRIBERS else CROWDED_SECONDS
    for count in counts:
        await asyncio.sleep(pause)
        chain.block(count)
    await _until(lambda: sum(len(one.heard) for one in chain.followers) >= len(chain.changed))
    # More may come than was meant to: what was meant to is looked for in all of it.
    await asyncio.sleep(CROWDED_SECONDS)
    others = time.process_time() - own
    spent = (await asyncio.to_thread(service.ask, "cpu"))["cpu"] - before["cpu"]
    seconds: list[float] = []
    prices: list[float] = []
    for one in chain.followers:
        for address, kind, height, at in one.pushes():
            if (address, kind, height) in chain.changed:
                (prices if kind == PRICED else seconds).append(at - chain.sealed[height])
    if len(seconds) + len(prices) != len(chain.changed):
        raise SystemExit(f"{len(chain.changed)} changes, {len(seconds) + len(prices)} pushes of them")
    return Timed(seconds, prices, spent / len(counts), others / len(counts))


async def _until(condition: Any) -> None:
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - counted by tasks
            await asyncio.sleep(0.02)


class Database:
    """A database for as long as the context lasts."""

    def __enter__(self) -> str:
        self._folder = tempfile.TemporaryDirectory()
        self._server = EmbeddedServer(Path(self._folder.name), durable=False)
        self._server.start()
        with psycopg.connect(self._server.url(database="postgres", owner=True), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE bench OWNER {ROLE}")
        return self._server.url(database="bench")

    def __exit__(self, *raised: object) -> None:
        self._server.stop()
        self._folder.cleanup()
