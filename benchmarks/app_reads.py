"""The application API's reads: how soon it is warm, what keeping fresh costs, what a crowd costs the chain.

    python -m benchmarks.app_reads [--seconds 10] [--readers 1000]

A small chain and index answer from dictionaries in a process of their own, a block a second; the wallet has 20 leases.
Prints seconds from start to every snapshot being there, the processor time of refreshing, chain calls for a crowd that
asks for one wallet's leases at once (those for prices aside: blocks cost them anyway), and, where wrk is installed,
latency of cached reads at 64 connections. Exit code 1 when warming takes two seconds, refreshing 5 % of a core, or the
crowd 50 calls.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import Any

import aiohttp
import psycopg
import uvloop

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.unit.app_api.conftest import CONTRACTS, LONG, OWNER, World, contract, opened, served, settings_for

from leasehold.app_api.gating.first import first_documents
from leasehold.app_api.gating.store import GatedStore
from leasehold.app_api.service import SCHEMA, application
from leasehold.core.configuration import load
from leasehold.serving.service import serving
from leasehold.storage import migrations, pool
from leasehold.storage.embedded import ROLE, EmbeddedServer

LEASES = 20
CACHED = (
    "assets",
    "config",
    "currencies",
    "earn/pools",
    "earn/stats",
    "etl/batch/loans-stats",
    "etl/batch/stats-overview",
    "fees/gas-config",
    "governance/apr",
    "governance/hidden-proposals",
    "governance/staking-pool",
    "networks/gated",
    "prices",
    "protocols",
    "protocols/active",
    "protocols/gated",
    "staking/validators",
    "swap/config",
)


async def _world(address: Any, chain_calls: Synchronized[int]) -> None:
    world = World()
    oracles = [held["oracle"] for held in CONTRACTS.values()]
    leases = [contract(100 + number) for number in range(LEASES)]
    world.ask(CONTRACTS[LONG]["leaser"], {"leases": {"owner": OWNER}}, leases)
    for lease in leases:
        world.ask(lease, {"state": {"due_projection_secs": 400}}, opened())
    async with served(world) as base:
        address.send(base)
        while True:
            await asyncio.sleep(1)
            world.height += 1
            chain_calls.value = sum(
                "/smart/" in call and not any(one in call for one in oracles) for call in world.calls
            )


def run_world(address: Any, chain_calls: Synchronized[int]) -> None:
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_world(address, chain_calls))


async def _serve(base: str, database: str, address: Any) -> None:
    async with serving(application(settings_for(base, database))) as running:
        address.send(running.url)
        await asyncio.Event().wait()


def run_service(base: str, database: str, address: Any) -> None:
    with contextlib.suppress(KeyboardInterrupt):
        uvloop.run(_serve(base, database, address))


async def prepared(database: str) -> None:
    """A database with the schema and a configuration."""
    await migrations.apply(database, schema=SCHEMA, migrations=migrations.of_package("leasehold.app_api"))
    settings = load().settings
    async with pool.opened(settings_for("", database).database, service="bench") as opened_pool:
        await GatedStore(opened_pool).import_documents(first_documents(settings))


def cpu_seconds(pid: int) -> float:
    """Processor time a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def warm(url: str) -> float:
    """Seconds until every snapshot answers."""
    begun = time.monotonic()
    async with aiohttp.ClientSession() as session:
        for path in CACHED:
            while True:
                async with session.get(f"{url}/api/{path}") as response:
                    if response.status == 200:
                        break
                await asyncio.sleep(0.01)
    return time.monotonic() - begun


async def crowd(url: str, readers: int) -> tuple[float, set[int]]:
    """Seconds for so many simultaneous reads of one wallet's leases, and their statuses."""
    connector = aiohttp.TCPConnector(limit=readers)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def one() -> int:
            async with session.get(f"{url}/api/leases?address={OWNER}") as response:
                await response.read()
                return response.status

        begun = time.monotonic()
        statuses = await asyncio.gather(*(one() for _ in range(readers)))
        return time.monotonic() - begun, set(statuses)


def wrk(url: str, seconds: int) -> str:
    """Rate and latency of cached reads at 64 connections."""
    command = ["wrk", "-t1", "-c64", f"-d{seconds}s", "--latency", url]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rate = re.search(r"Requests/sec:\s+([\d.]+)", text)
    tail = re.search(r"99%\s+(\S+)", text)
    return f"{rate[1] if rate else '?'} requests/s, p99 {tail[1] if tail else '?'} at full load"


@contextlib.contextmanager
def process(target: Any, *arguments: Any) -> Iterator[tuple[multiprocessing.Process, str]]:
    """A process that sends one address when it is ready."""
    ours, theirs = multiprocessing.Pipe()
    running = multiprocessing.Process(
        target=target, args=(*arguments, theirs) if target is run_service else (theirs, *arguments)
    )
    running.start()
    try:
        yield running, ours.recv()
    finally:
        running.terminate()
        running.join(10)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--readers", type=int, default=1000)
    asked = parser.parse_args()
    server = EmbeddedServer(Path(tempfile.mkdtemp()), durable=False)
    server.start()
    calls: Synchronized[int] = multiprocessing.Value("q", 0)
    try:
        with psycopg.connect(server.url(database="postgres", owner=True), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE bench OWNER {ROLE}")
        database = server.url(database="bench")
        asyncio.run(prepared(database))
        with process(run_world, calls) as (_, base):
            begun = time.monotonic()
            with process(run_service, base, database) as (running, url):
                listening = time.monotonic() - begun
                warming = asyncio.run(warm(url))
                print(f"listening after {listening:.2f} s, all warm {warming:.2f} s after that")
                assert running.pid is not None
                time.sleep(2)
                used = cpu_seconds(running.pid)
                time.sleep(asked.seconds)
                share = (cpu_seconds(running.pid) - used) / asked.seconds
                print(f"refreshing at a block a second: {100 * share:.1f} % of a core")
                before = calls.value
                took, statuses = asyncio.run(crowd(url, asked.readers))
                time.sleep(1.5)
                made = calls.value - before
                print(f"{asked.readers} readers of {LEASES} leases: {took:.2f} s, {made} chain calls, {statuses}")
                if shutil.which("wrk"):
                    print(f"/api/prices: {wrk(f'{url}/api/prices', 3)}")
        return int(listening + warming > 2 or share > 0.05 or made >= 50)
    finally:
        server.stop()


if __name__ == "__main__":
    raise SystemExit(main())
