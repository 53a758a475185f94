"""Connections that break at random, replicas that change: nothing is lost, nothing is doubled, order holds.

CUT_SECONDS=300 makes it a test of minutes.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from tests.unit.app_api.live.stage import LEASER, MovingWorld, live_service

from leasehold.app_api import service
from leasehold.app_api.live import pump
from leasehold.app_api.live.sequence import place
from leasehold.app_client.feed import Feed
from leasehold.app_client.live import LiveClient
from leasehold.core.addresses import encode

SECONDS = float(os.environ.get("CUT_SECONDS", "3"))
OWNERS = [encode("chain", bytes([number]) * 20) for number in range(40, 44)]


@asynccontextmanager
async def cutting(ports: list[int], chance: random.Random, calm: asyncio.Event) -> AsyncIterator[tuple[int, list[int]]]:
    """A proxy to any of some ports that cuts each connection after a random while, at any byte, until it is calm."""
    cuts: list[int] = []

    async def pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(chance.choice((7, 100, 65_536))):
                writer.write(data)
                await writer.drain()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back, forth = await asyncio.open_connection("127.0.0.1", chance.choice(ports))
        ways = [asyncio.create_task(pipe(reader, forth)), asyncio.create_task(pipe(back, writer))]
        patience = None if calm.is_set() else chance.uniform(0.02, 0.6)
        done, _ = await asyncio.wait(ways, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
        cuts.append(len(done))
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
        for end in (writer, forth):
            end.transport.abort()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1], cuts
    finally:
        server.close()


class Truth:
    """What really happened: the places at which each owner's leases and balance changed, with what they became."""

    def __init__(self, world: MovingWorld, chance: random.Random) -> None:
        self.world = world
        self.chance = chance
        self.leases: dict[str, dict[int, tuple[str, str]]] = defaultdict(dict)
        self.balances: dict[str, dict[int, str]] = defaultdict(dict)
        self._held: dict[str, list[str]] = {owner: [] for owner in OWNERS}
        for owner in OWNERS:
            world.pay(owner, 1)
            self._held[owner].append(world.open_lease(owner))
        world.seal()

    def block(self) -> int:
        """A block in which something may happen to anybody."""
        height = self.world.height + 1
        order: list[str] = []
        happened: list[tuple[str, str, str]] = []
        for owner in OWNERS:
            if self.chance.random() < 0.3:
                amount = self.chance.randrange(1, 10**9)
                before = self.world.get(("bank", owner), height - 1)
                self.world.pay(owner, amount)
                if before[0]["amount"] != str(amount):
                    self.balances[owner][place(height)] = str(amount)
            if self.chance.random() < 0.1:
                lease = self.world.open_lease(owner)
                self._held[owner].append(lease)
                order += [one for one in (LEASER, lease) if one not in order]
                happened.append((owner, lease, "5000000"))
            elif self._held[owner] and self.chance.random() < 0.4:
                lease = self.chance.choice(self._held[owner])
                order.append(lease)
                if self.chance.random() < 0.15:
                    self.world.close(lease, owner)
                    self._held[owner].remove(lease)
                    happened.append((owner, lease, "0"))
                else:
                    principal = self.chance.randrange(1, 5_000_000)
                    if self.world.get(("state", lease), height)["opened"]["principal_due"]["amount"] == str(principal):
                        continue
                    self.world.repay(lease, principal)
                    happened.append((owner, lease, str(principal)))
        for owner, lease, principal in happened:
            self.leases[owner][place(height, order.index(lease))] = (lease, principal)
        return self.world.seal()


async def collect(feed: Feed, into: list[dict[str, Any]]) -> None:
    async for message in feed:
        into.append(message)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The node of this world announces nothing, so it is asked often."""
    monkeypatch.setattr(service, "HEAD_SECONDS", 0.02)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("crowd", [pump.CROWD, 0], ids=["one by one", "in batches"])
async def test_every_event_is_seen_once_and_in_order(
    database: str, seed: int, crowd: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each subscriber, cut off again and again and connected to any replica, sees every lease and balance event after
    its first snapshot exactly once, in order, with the content of its height; also where blocks are read in batches."""
    monkeypatch.setattr(pump, "CROWD", crowd)
    chance = random.Random(seed)
    world = MovingWorld()
    truth = Truth(world, chance)
    calm = asyncio.Event()
    async with (
        live_service(world, database, count=2) as replicas,
        cutting([one.running.port for one in replicas], chance, calm) as (port, cuts),
        aiohttp.ClientSession() as session,
        contextlib.AsyncExitStack() as stack,
    ):
        seen: list[tuple[str, list[dict[str, Any]], list[dict[str, Any]]]] = []
        tasks = []
        feeds: list[Feed] = []
        for owner in OWNERS:
            client = LiveClient(
                f"ws://127.0.0.1:{port}/ws", session, first_pause=0.02, chance=random.Random(chance.random())
            )
            await stack.enter_async_context(client.running())
            leases: list[dict[str, Any]] = []
            balances: list[dict[str, Any]] = []
            seen.append((owner, leases, balances))
            for topic, target in (("leases", leases), ("balances", balances)):
                feed = await client.follow(topic, address=owner)
                feeds.append(feed)
                tasks.append(asyncio.create_task(collect(feed, target)))
        until = asyncio.get_running_loop().time() + SECONDS
        async with asyncio.timeout(240):
            # On a busy machine little happens in that time; it goes on until there is something to judge.
            while (
                asyncio.get_running_loop().time() < until
                or len(cuts) < len(OWNERS)
                or sum(_awaited(truth, *one) for one in seen) <= len(OWNERS)
            ):
                height = truth.block()
                await asyncio.sleep(chance.uniform(0.0, 0.06))
                # A busy machine gets time; a few blocks at once are part of the test.
                for one in replicas:
                    await one.published(height - 3)
        calm.set()
        last = world.seal()
        for one in replicas:
            await one.published(last)
        async with asyncio.timeout(240):
            while not all(_caught_up(truth, *one) for one in seen):  # noqa: ASYNC110 - frames are on their way
                await asyncio.sleep(0.02)
        for feed in feeds:
            feed.end()
        await asyncio.gather(*tasks)
        exact = _judge(truth, seen)
    assert bool(world.queries) == (crowd == 0)
    assert len(cuts) >= len(OWNERS)
    assert exact > len(OWNERS)


def _after(messages: list[dict[str, Any]], kind: str) -> tuple[int, list[dict[str, Any]]]:
    """Where the first complete snapshot ended, and the events after it."""
    end = next((index for index, one in enumerate(messages) if one["type"] == "snapshot"), None)
    if end is None:
        return -1, []
    return messages[end]["seq"], [one for one in messages[end + 1 :] if one["type"] == kind and not one.get("snapshot")]


def _awaited(truth: Truth, owner: str, leases: list[dict[str, Any]], balances: list[dict[str, Any]]) -> int:
    """How many events a subscriber must see: those after its first snapshots, of which it has both."""
    first, second = _after(leases, "lease_update")[0], _after(balances, "balance_update")[0]
    if min(first, second) < 0:
        return 0
    return sum(seq > first for seq in truth.leases[owner]) + sum(seq > second for seq in truth.balances[owner])


def _caught_up(truth: Truth, owner: str, leases: list[dict[str, Any]], balances: list[dict[str, Any]]) -> bool:
    return all(
        start >= 0 and len(got) >= sum(seq > start for seq in happened)
        for (start, got), happened in (
            (_after(leases, "lease_update"), truth.leases[owner]),
            (_after(balances, "balance_update"), truth.balances[owner]),
        )
    )


def _judge(truth: Truth, seen: list[tuple[str, list[dict[str, Any]], list[dict[str, Any]]]]) -> int:
    """Compare what was seen with what happened; returns how many events were compared."""
    compared = 0
    for owner, leases, balances in seen:
        assert not any(one["type"] == "resync_required" for one in leases + balances)
        start, got = _after(leases, "lease_update")
        expected = [(seq, *what) for seq, what in sorted(truth.leases[owner].items()) if seq > start]
        assert [(one["seq"], one["lease"]["address"], one["lease"]["debt"]["principal"]) for one in got] == expected
        compared += len(expected)
        start, got = _after(balances, "balance_update")
        paid = [(seq, amount) for seq, amount in sorted(truth.balances[owner].items()) if seq > start]
        assert [(one["seq"], one["balances"][0]["amount"]) for one in got] == paid
        compared += len(paid)
    return compared
