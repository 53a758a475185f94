"""Blocks that touch many streams: read together, asked for only what they may have changed, and before all else."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from tests.unit.app_api.conftest import CONTRACTS, LONG, OWNER, SHORT, STRANGER
from tests.unit.app_api.live.stage import MovingWorld, Served, Talk, live_service

from leasehold.app_api import service
from leasehold.app_api.live import pump
from leasehold.app_api.live.desk import Desk
from leasehold.app_api.upstreams import openings

TOPICS = ("leases", "balances", "earn")
UPDATES = ("lease_update", "balance_update", "earn_update")
POOLS = (CONTRACTS[LONG]["lpp"], CONTRACTS[SHORT]["lpp"])


class Follower(Talk):
    """A client that keeps what the owner's streams showed last."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        super().__init__(socket)
        self.leases: dict[str, Any] = {}
        self.others: dict[str, Any] = {}

    async def hear_any(self, *kinds: str) -> dict[str, Any]:
        while True:
            message = await super().hear_any(*kinds, *UPDATES)
            if message["type"] == "lease_update":
                self.leases[message["lease"]["address"]] = present(message["lease"])
            elif message["type"] in UPDATES:
                self.others[message["type"]] = message
            if message["type"] in kinds:
                return message


def present(members: dict[str, Any]) -> dict[str, Any]:
    """Members that are not null: over HTTP those are absent."""
    return {key: value for key, value in members.items() if value is not None}


@asynccontextmanager
async def following(served: Served, session: aiohttp.ClientSession) -> AsyncIterator[Follower]:
    """A client of the owner's streams that has their snapshots."""
    async with session.ws_connect(f"{served.url}/ws") as socket:
        follower = Follower(socket)
        for topic in TOPICS:
            await follower.say(type="subscribe", topic=topic, address=OWNER)
            await follower.hear("snapshot")
        yield follower


def deposit(world: MovingWorld, pool: str, amount: int) -> None:
    world.put(("receipts", pool, OWNER), {"amount": str(amount)})
    world.happen("wasm-lp-deposit", _contract_address=pool, **{"from": OWNER})


def acts(world: MovingWorld, chance: random.Random, leases: list[str]) -> None:
    """Something that happens in a block: mostly a change, at times only the semblance of one."""
    act = chance.randrange(7)
    pool = chance.choice(POOLS)
    if act == 0:
        leases.append(world.open_lease(OWNER))
    elif act == 1 and leases:
        world.repay(chance.choice(leases), chance.randrange(1, 5_000_000))
    elif act == 2 and leases:
        world.happen("wasm-ls-liquidation-warning", _contract_address=chance.choice(leases))
    elif act == 3:
        world.pay(OWNER, chance.randrange(1, 10**9))
    elif act == 4:
        world.happen("transfer", recipient=OWNER, sender=STRANGER, amount="0ulsh")
    elif act == 5:
        deposit(world, pool, chance.randrange(1, 10**9))
    else:
        world.happen("wasm", _contract_address=pool, sender=OWNER)


@pytest.mark.parametrize("crowd", [pump.CROWD, 0], ids=["one by one", "in batches"])
async def test_what_was_pushed_last_is_what_http_answers(
    served: Served,
    world: MovingWorld,
    session: aiohttp.ClientSession,
    crowd: int,
    seed: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Block after block: what is remembered from one to the next is never what is not so any more."""
    monkeypatch.setattr(pump, "CROWD", crowd)
    chance = random.Random(seed)
    leases: list[str] = []

    async def http(path: str) -> Any:
        async with session.get(f"{served.url}/api/{path}?address={OWNER}") as response:
            return await response.json()

    async with following(served, session) as talk:
        for _ in range(30):
            for _ in range(chance.randrange(4)):
                acts(world, chance, leases)
            # Seen at the end of what this block pushes.
            world.pay(OWNER, world.height + 1)
            height = world.seal()
            while (await talk.hear("balance_update"))["height"] < height:
                pass
            await served.published(height)
            await talk.say(type="ping")
            await talk.hear("pong")
            balances = await http("balances")
            assert {key: talk.others["balance_update"][key] for key in balances} == balances
            listed = {one["address"]: one for one in (await http("leases"))["leases"]}
            assert listed.keys() >= set(leases)
            assert {address: talk.leases[address] for address in listed} == {
                address: present(lease) for address, lease in listed.items()
            }
            positions, pushed = await http("earn/positions"), talk.others["earn_update"]
            assert pushed["total_deposited_usd"] == positions["total_deposited_usd"]
            for mine, theirs in zip(pushed["positions"], positions["positions"], strict=True):
                assert theirs.items() <= mine.items()


async def test_a_block_is_asked_for_what_it_may_have_changed(
    served: Served, world: MovingWorld, session: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wallet, a lease and a deposit are a question each, besides the worth of receipts; states before the block are
    known, and so are receipts of the pools that did not act."""
    monkeypatch.setattr(pump, "CROWD", 0)
    leases = [world.open_lease(OWNER), world.open_lease(OWNER)]
    await served.published(world.seal())
    visible = len(served.live.desk.views.visible())
    asked = []
    singly: list[str] = []
    moved = world._moved

    def noted(raw: str, height: int) -> Any:
        found = moved(raw, height)
        if found is not None:
            singly.append(raw)
        return found

    async def quiet() -> None:
        """Some blocks without anything, after which what an earlier one asked for is forgotten."""
        for _ in range(3):
            await served.published(world.seal())

    async with following(served, session) as talk:
        monkeypatch.setattr(world, "_moved", noted)
        for number in range(3):
            await quiet()
            before = world.queries
            world.pay(OWNER, 1000 + number)
            world.repay(leases[0], 4_000_000 - number)
            deposit(world, POOLS[0], 500 + number)
            height = world.seal()
            assert {(await talk.hear_any(*UPDATES))["type"] for _ in range(3)} == set(UPDATES)
            await served.published(height)
            asked.append(world.queries - before)
        # Of a lease that acts and stays what it was, the state before the block is asked for too; nothing is pushed.
        await quiet()
        before = world.queries
        world.happen("wasm-ls-liquidation-warning", _contract_address=leases[0])
        await served.published(world.seal())
        warned = world.queries - before
        await talk.say(type="ping")
        assert (await talk.hear_any("lease_update", "pong"))["type"] == "pong"
    assert singly == []
    assert asked[0] == asked[1] + 1
    assert asked[1:] == [3 + 2 * visible] * 2
    assert warned == 2


async def test_all_else_waits_while_a_block_is_published(
    world: MovingWorld, database: str, session: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the worth of lenders' receipts nor the index's records of leases are asked for meanwhile, and nothing is
    refreshed; but not for ever."""
    gate, reached = asyncio.Event(), asyncio.Event()
    gate.set()
    done: list[str] = []
    changes, sweep, settle = Desk.changes, pump.Pump._sweep, openings.Openings._settle

    async def held(self: Desk, *given: Any) -> Any:
        if not gate.is_set():
            reached.set()
        await gate.wait()
        return await changes(self, *given)

    async def swept(self: pump.Pump, *given: Any) -> None:
        done.append("swept")
        await sweep(self, *given)

    async def settled(self: openings.Openings, *given: Any) -> None:
        done.append("settled")
        await settle(self, *given)

    monkeypatch.setattr(service, "HEAD_SECONDS", 0.02)
    monkeypatch.setattr(pump, "CROWD", 0)
    monkeypatch.setattr(pump, "PATIENCE_SECONDS", 60.0)
    monkeypatch.setattr(pump, "EARN_SECONDS", 0.05)
    monkeypatch.setattr(openings, "SETTLED_SECONDS", (0.05, 30.0))
    monkeypatch.setattr(Desk, "changes", held)
    monkeypatch.setattr(pump.Pump, "_sweep", swept)
    monkeypatch.setattr(openings.Openings, "_settle", settled)
    lease = world.open_lease(OWNER)
    deposit(world, POOLS[0], 5)
    world.seal()
    async with live_service(world, database) as (served,), following(served, session) as talk:
        gate.clear()
        done.clear()
        # A pool that acts is a reason to sweep.
        world.pay(OWNER, 77)
        deposit(world, POOLS[0], 6)
        world.seal()
        await reached.wait()
        # So is a lease that acted with many others a reason to ask the index.
        await served.app.upstreams.openings.recall(lease)
        refreshed = served.graph.refreshers["loans_stats"]
        runs = refreshed.runs
        served.graph.poke("loans_stats")
        await asyncio.sleep(0.5)
        assert (done, refreshed.runs) == ([], runs)
        monkeypatch.setattr(pump, "PATIENCE_SECONDS", 0.05)
        await served.live.pump.idle()
        monkeypatch.setattr(pump, "PATIENCE_SECONDS", 60.0)
        gate.set()
        assert (await talk.hear("balance_update"))["balances"][0]["amount"] == "77"
        async with asyncio.timeout(30):
            while set(done) != {"swept", "settled"} or refreshed.runs == runs:  # noqa: ASYNC110 - counted by tasks
                await asyncio.sleep(0.01)
