"""How soon events reach their subscribers: a small chain whose blocks change wallets, leases and positions.

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
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import aiohttp
import psycopg
from benchmarks._websocket.processes import Child, lines, say
from tests.unit.app_api.conftest import CONTRACTS, LONG, served, settings_for
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
TOPICS = ("leases", "balances", "earn")
# What one block changes: payments, repayments and deposits, each of somebody else.
CHANGES = 8
BLOCK_SECONDS = 0.25


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
                pass


@dataclass
class Follower:
    """A client of one wallet."""

    address: str
    lease: str = ""
    ready: int = 0
    heard: list[tuple[str, int, float]] = field(default_factory=list)

    async def follow(self, session: aiohttp.ClientSession, url: str) -> None:
        async with session.ws_connect(f"{url}/ws") as socket:
            for topic in TOPICS:
                await socket.send_json({"type": "subscribe", "topic": topic, "address": self.address})
            async for frame in socket:
                message = json.loads(frame.data)
                if message["type"] == "snapshot":
                    self.ready += 1
                elif message["type"] == "resync_required":
                    # The service is not warm yet.
                    await asyncio.sleep(0.5)
                    await socket.send_json({"type": "subscribe", "topic": message["topic"], "address": self.address})
                elif message["type"].endswith("_update") and not message.get("snapshot"):
                    self.heard.append((message["type"], message["height"], time.monotonic()))


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
        """A block in which so many followers' wallets, leases or positions change."""
        height = self.world.height + 1
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
                pool_address = CONTRACTS[LONG]["lpp"]
                self.world.happen("wasm-lp-deposit", _contract_address=pool_address, **{"from": one.address})
            self.changed.add((one.address, kind, height))
        self.sealed[height] = time.monotonic()
        return self.world.seal()


async def drive(service: Child, blocks: int) -> dict[str, list[float]]:
    """Seconds from a block to each push that it caused, of ordinary blocks and of ones that concern everybody."""
    followers = [Follower(encode("chain", number.to_bytes(20, "big"))) for number in range(1, SUBSCRIBERS + 1)]
    chain = Chain(followers)
    async with AsyncExitStack() as stack:
        base = await stack.enter_async_context(served(chain.world))
        url = await asyncio.to_thread(service.ask, base)
        session = await stack.enter_async_context(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)))
        tasks = [asyncio.create_task(one.follow(session, str(url))) for one in followers]
        try:
            # The chain and the clients are not what is measured: no pause of theirs.
            gc.disable()
            await _until(lambda: all(one.ready == len(TOPICS) for one in followers))
            found = {"ordinary": await _timed(chain, [CHANGES] * blocks)}
            found["everybody"] = await _timed(chain, [SUBSCRIBERS])
        finally:
            gc.enable()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
    return found


async def _timed(chain: Chain, counts: list[int]) -> list[float]:
    chain.changed.clear()
    for count in counts:
        await asyncio.sleep(BLOCK_SECONDS)
        chain.block(count)

    def pushes() -> list[float]:
        return [
            at - chain.sealed[height]
            for one in chain.followers
            for kind, height, at in one.heard
            if (one.address, kind, height) in chain.changed
        ]

    await _until(lambda: len(pushes()) >= len(chain.changed))
    return pushes()


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
