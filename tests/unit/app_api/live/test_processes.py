"""Two processes of the application API in front of one chain: what they push is the same, to the last digit."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
from tests.unit.app_api.conftest import CONTRACTS, LONG, price, served, settings_for
from tests.unit.app_api.live.stage import SAID, MovingWorld

from leasehold.app_api.gating.first import first_documents
from leasehold.app_api.gating.store import GatedStore
from leasehold.app_api.service import SCHEMA
from leasehold.core.addresses import encode
from leasehold.core.configuration import load
from leasehold.storage import migrations, pool

OWNERS = [encode("chain", bytes([number]) * 20) for number in range(60, 63)]
# When a process made a frame is its own; everything else is the chain's.
OWN = ("timestamp",)
# Nine leases opened and repaid five times, one of them three times and closed with the third; five payments each.
EVENTS = 9 + 9 * 5 - 2 + 3 * 5
ROOT = str(Path(__file__).resolve().parents[4])
PROGRAM = """
import asyncio, sys
from tests.unit.app_api.conftest import settings_for
from leasehold.app_api.service import application
from leasehold.core import logging
from leasehold.serving.service import serving

async def main():
    logging.configure(service="test", level="error")
    async with serving(application(settings_for(*sys.argv[1:3]))) as running:
        print(running.url, flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)

asyncio.run(main())
"""


@asynccontextmanager
async def process(base: str, database: str, hash_seed: int) -> AsyncIterator[str]:
    """A process of its own, whose sets and dictionaries are in an order of their own."""
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": ROOT}
    started = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        PROGRAM,
        base,
        database,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env=environment,
    )
    assert started.stdin is not None
    assert started.stdout is not None
    try:
        async with asyncio.timeout(60):
            yield (await started.stdout.readline()).decode().strip()
    finally:
        started.stdin.close()
        await asyncio.wait_for(started.wait(), 60)


async def follow(session: aiohttp.ClientSession, url: str, into: list[dict[str, Any]], ready: asyncio.Event) -> None:
    """Collect pushes of everybody's streams; ready when all of them are shown."""
    wanted = [("prices", "")] + [(topic, owner) for owner in OWNERS for topic in ("leases", "balances", "earn")]
    shown = 0
    async with session.ws_connect(f"{url}/ws") as socket:
        for topic, owner in wanted:
            await socket.send_json({"type": "subscribe", "topic": topic, "address": owner})
        async for frame in socket:
            message = json.loads(frame.data)
            SAID.validate(message)
            if message["type"] == "resync_required":
                # Not warm yet.
                await asyncio.sleep(0.1)
                await socket.send_json({"type": "subscribe", "topic": message["topic"], "address": message["key"]})
            shown += message["type"] == "snapshot"
            if shown == len(wanted):
                ready.set()
            if "seq" in message and "_update" in message["type"] and not message.get("snapshot"):
                into.append({key: value for key, value in message.items() if key not in OWN})


def happenings(world: MovingWorld) -> None:
    """Blocks in which several leases act at once, are opened and closed, and everybody is paid."""
    leases = {owner: [world.open_lease(owner) for _ in range(3)] for owner in OWNERS}
    world.seal()
    for turn in range(1, 6):
        for owner in OWNERS:
            for lease in reversed(leases[owner]):
                world.repay(lease, 1000 * turn + len(lease))
            world.pay(owner, 10 * turn)
        world.happen("wasm-lp-deposit", _contract_address=CONTRACTS[LONG]["lpp"], **{"from": OWNERS[turn % 3]})
        listed = [price(1, "ATOM", 4 + turn, "USDC_NOBLE"), price(1_000_000, "LSH", 12_345, "USDC_NOBLE")]
        world.ask(CONTRACTS[LONG]["oracle"], {"prices": {}}, {"prices": listed})
        if turn == 3:
            world.close(leases[OWNERS[0]].pop(), OWNERS[0])
        world.seal()


async def test_two_processes_push_the_same(database: str) -> None:
    """Each stream has the same frames, places included, in both, though they look at the chain at their own pace."""
    world = MovingWorld()
    for owner in OWNERS:
        world.pay(owner, 1)
    world.seal()
    await migrations.apply(database, schema=SCHEMA, migrations=migrations.of_package("leasehold.app_api"))
    async with pool.opened(settings_for("", database).database, service="test") as opened:
        await GatedStore(opened).import_documents(first_documents(load().settings))
    async with AsyncExitStack() as stack:
        base = await stack.enter_async_context(served(world))
        urls = [await stack.enter_async_context(process(base, database, seed)) for seed in (1, 2)]
        session = await stack.enter_async_context(aiohttp.ClientSession())
        seen: list[list[dict[str, Any]]] = [[], []]
        ready = [asyncio.Event(), asyncio.Event()]
        tasks = [asyncio.create_task(follow(session, *one)) for one in zip(urls, seen, ready, strict=True)]
        try:
            async with asyncio.timeout(60):
                for one in ready:
                    await one.wait()
                happenings(world)
                while not all(_count(each) >= EVENTS for each in seen):  # noqa: ASYNC110 - frames cross a socket
                    await asyncio.sleep(0.02)
                await asyncio.sleep(0.3)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
    streams = [_streams(each) for each in seen]
    assert streams[0].keys() == streams[1].keys()
    for key in streams[0]:
        assert streams[0][key] == streams[1][key], key
    assert _count(seen[0]) == EVENTS


def _count(frames: list[dict[str, Any]]) -> int:
    return sum(map(len, _streams(frames).values()))


def _streams(frames: list[dict[str, Any]]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Events by stream; of prices and positions a process shows the newest, so they are not compared."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for frame in frames:
        if frame["type"] in ("lease_update", "balance_update"):
            found.setdefault((frame["type"], frame.get("owner") or frame["address"]), []).append(frame)
    return found
