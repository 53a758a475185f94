"""Pushes say what HTTP answers at their height, however it was read, and nothing where nothing changed."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import aiohttp
import pytest
from tests.unit.app_api.conftest import CONTRACTS, LONG, OWNER, STRANGER, price
from tests.unit.app_api.live.stage import MovingWorld, Served, Talk

from leasehold.app_api.live import pump
from leasehold.app_api.live.sequence import place


@pytest.mark.parametrize("crowd", [pump.CROWD, 0], ids=["one by one", "in batches"])
async def test_pushes_agree_with_http(
    served: Served,
    world: MovingWorld,
    session: aiohttp.ClientSession,
    crowd: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At one height a push says what HTTP answers: prices, leases, positions and balances; however it was read."""
    monkeypatch.setattr(pump, "CROWD", crowd)
    async with session.ws_connect(f"{served.url}/ws") as socket:
        talk = Talk(socket)
        for topic in ("prices", "leases", "earn", "balances"):
            await talk.say(type="subscribe", topic=topic, address=OWNER)
            await talk.hear("snapshot")
        lease = world.open_lease(OWNER)
        world.pay(OWNER, 777)
        world.put(("receipts", CONTRACTS[LONG]["lpp"], OWNER), {"amount": "4321"})
        world.happen("wasm-lp-deposit", _contract_address=CONTRACTS[LONG]["lpp"], **{"from": OWNER})
        listed = [price(1, "ATOM", 4, "USDC_NOBLE"), price(1_000_000, "LSH", 12_345, "USDC_NOBLE")]
        world.ask(CONTRACTS[LONG]["oracle"], {"prices": {}}, {"prices": listed})
        height = world.seal()
        pushes: dict[str, Any] = {}
        while len(pushes) < 4:
            message = json.loads(await asyncio.wait_for(socket.receive_str(), 60))
            if message["type"].endswith("_update") and message["height"] == height:
                pushes[message["type"]] = message

        async def http(path: str) -> Any:
            async with session.get(served.url + path) as response:
                return await response.json()

        prices = await http("/api/prices")
        assert pushes["price_update"]["prices"] == {key: one["price_usd"] for key, one in prices["prices"].items()}
        leases = {one["address"]: one for one in (await http(f"/api/leases?address={OWNER}"))["leases"]}
        pushed = pushes["lease_update"]["lease"]
        assert pushed["address"] == lease
        assert {key: value for key, value in pushed.items() if value is not None or key in leases[lease]} == leases[
            lease
        ]
        positions = await http(f"/api/earn/positions?address={OWNER}")
        assert pushes["earn_update"]["total_deposited_usd"] == positions["total_deposited_usd"]
        for mine, theirs in zip(pushes["earn_update"]["positions"], positions["positions"], strict=True):
            assert theirs.items() <= mine.items()
        balances = await http(f"/api/balances?address={OWNER}")
        assert {key: pushes["balance_update"][key] for key in balances} == balances
        assert [pushes[kind]["seq"] for kind in ("price_update", "earn_update", "balance_update")] == [
            place(height)
        ] * 3
        assert pushes["earn_update"]["positions"][0]["deposited_nlpn"] == "4321"
        assert bool(world.queries) == (crowd == 0)


@pytest.mark.parametrize("trouble", ["refuses", "small batches", "garbage", "nothing"])
async def test_batches_that_fail_are_asked_one_by_one(
    served: Served,
    world: MovingWorld,
    session: aiohttp.ClientSession,
    trouble: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A node that answers no batch, or few questions of it, delays pushes and changes none of them."""
    monkeypatch.setattr(pump, "CROWD", 0)
    async with session.ws_connect(f"{served.url}/ws") as socket:
        talk = Talk(socket)
        for topic in ("leases", "balances", "earn"):
            await talk.say(type="subscribe", topic=topic, address=OWNER)
            await talk.hear("snapshot")
        world.trouble = trouble
        lease = world.open_lease(OWNER)
        world.pay(OWNER, 777)
        height = world.seal()
        pushes = [await talk.hear_any("lease_update", "balance_update", "resync_required") for _ in range(2)]
        told = {one["type"]: one for one in pushes}
        assert told["lease_update"]["lease"]["address"] == lease
        assert told["balance_update"]["balances"][0]["amount"] == "777"
        assert {one["height"] for one in pushes} == {height}
        assert world.queries


async def test_a_block_that_changes_nothing_pushes_nothing(
    served: Served, world: MovingWorld, session: aiohttp.ClientSession
) -> None:
    """An event that leaves a balance and a lease as they were is not an update; the next change is."""
    lease = world.open_lease(OWNER)
    await served.published(world.seal())
    async with session.ws_connect(f"{served.url}/ws") as socket:
        talk = Talk(socket)
        await talk.say(type="subscribe", topic="balances", address=OWNER)
        await talk.say(type="subscribe", topic="leases", address=OWNER)
        await talk.hear("snapshot")
        await talk.hear("snapshot")
        world.happen("transfer", recipient=OWNER, sender=STRANGER, amount="0ulsh")
        world.happen("wasm", _contract_address=lease)
        await served.published(world.seal())
        world.repay(lease, 4)
        height = world.seal()
        message = json.loads(await socket.receive_str())
        assert (message["type"], message["height"]) == ("lease_update", height)
