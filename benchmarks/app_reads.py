"""The application API's reads: how soon it is warm, what keeping fresh costs, what a crowd costs, against nginx.

    python -m benchmarks.app_reads [--seconds 10] [--readers 1000] [--rounds 2]

The world of `_app_world` answers from dictionaries in a process of its own, a block a second with other prices; the
service runs on one core with its WebSocket, as always. Prints seconds from start to every snapshot being there, the
processor time of refreshing, and chain calls for a crowd that asks for one wallet's leases at once (those about the
wallet: the rest is what blocks cost anyway). Then, where wrk and nginx are installed, the rate of every cached route
as a share of nginx's with the same bytes, interleaved, and its p99 at 64 connections and 70 % of its peak rate, counted
from when a request was sent. Exit code 1 when an aim is missed: warm within two seconds, refreshing below 5 % of a
core, a crowd below 50 calls, 0.8 of nginx (the median over routes), p99 below 10 ms.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import multiprocessing
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, replace
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import Any

import aiohttp
import psycopg
import uvloop

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import _app_world
from benchmarks.serving import BROWSER, LOAD_CORE, SERVER_CORE, TARGET, Server, burst, missing, nginx
from tests.unit.app_api.conftest import OWNER, settings_for

from leasehold.app_api.gating.first import first_documents
from leasehold.app_api.gating.store import GatedStore
from leasehold.app_api.service import SCHEMA, application
from leasehold.core import logging
from leasehold.core.configuration import load
from leasehold.serving.service import serving
from leasehold.storage import migrations, pool
from leasehold.storage.embedded import ROLE, EmbeddedServer

CONNECTIONS, SHARE, P99_SECONDS = 64, 0.7, 0.010
WARM_SECONDS, REFRESH_SHARE, CROWD_CALLS = 2.0, 0.05, 50
CACHED = tuple(
    f"/api/{path}"
    for path in (
        "assets",
        "config",
        "config/networks",
        "config/protocols",
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
)
PACE = Path(__file__).with_name("_pace.lua")
UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}


def run_world(address: Any, *counters: Synchronized[int]) -> None:
    os.sched_setaffinity(0, {int(LOAD_CORE)})
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_app_world.run(address, *counters))


async def _serve(base: str, database: str, address: Any) -> None:
    settings = settings_for(base, database)
    settings = replace(settings, limits=replace(settings.limits, exempt=("127.0.0.0/8",)))
    async with serving(application(settings)) as running:
        address.send(running.url)
        await asyncio.Event().wait()


def run_service(address: Any, base: str, database: str) -> None:
    logging.configure(service="app-api", level="warning")
    os.sched_setaffinity(0, {int(SERVER_CORE)})
    with contextlib.suppress(KeyboardInterrupt):
        uvloop.run(_serve(base, database, address))


async def prepared(database: str) -> None:
    """A database with the schema and a configuration that shows everything."""
    await migrations.apply(database, schema=SCHEMA, migrations=migrations.of_package("leasehold.app_api"))
    documents = first_documents(load().settings)
    shown = documents["currency-display"]
    for ticker in _app_world.TICKERS:
        shown.setdefault(ticker, {"icon": f"/assets/icons/currencies/{ticker}.svg", "displayName": ticker})
    async with pool.opened(settings_for("", database).database, service="bench") as opened_pool:
        await GatedStore(opened_pool).import_documents(documents)


async def warm(url: str) -> float:
    """Seconds until every snapshot answers, and the list of proposals with it."""
    begun = time.monotonic()
    async with aiohttp.ClientSession() as session:
        for path in CACHED:
            while True:
                async with session.get(url + path) as response:
                    if response.status == 200:
                        break
                await asyncio.sleep(0.01)
        while True:
            async with session.get(f"{url}/api/governance/proposals") as response:
                if response.headers["Cache-Status"] == "warm":
                    return time.monotonic() - begun
            await asyncio.sleep(0.01)


async def crowd(url: str, readers: int) -> tuple[float, set[str]]:
    """Seconds for so many simultaneous reads of one wallet's leases at the beginning of a block, and their statuses."""
    host, _, port = url.removeprefix("http://").partition(":")
    streams = []
    for _ in range(readers):
        streams.append(await asyncio.open_connection(host, int(port)))
    request = f"GET /api/leases?address={OWNER} HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n".encode()
    await new_block(url)
    begun = time.monotonic()
    for _, writer in streams:
        writer.write(request)
    answers = await asyncio.gather(*(reader.read() for reader, _ in streams))
    took = time.monotonic() - begun
    for _, writer in streams:
        writer.close()
    return took, {answer.partition(b"\r\n")[0].decode() for answer in answers}


async def new_block(url: str) -> None:
    """Wait until prices are of another block."""
    async with aiohttp.ClientSession() as session:

        async def height() -> str:
            async with session.get(f"{url}/api/prices") as response:
                return response.headers["X-Block-Height"]

        last = await height()
        while await height() == last:  # noqa: ASYNC110 - what is waited for happens behind HTTP
            await asyncio.sleep(0.005)


def paced(server: Server, path: str, rate: float, seconds: int) -> tuple[float, float]:
    """Rate reached and p99 in seconds of a path that is asked for at a rate."""
    command = ["taskset", "-c", LOAD_CORE, "wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--latency"]
    command += ["-s", str(PACE), "-H", f"Accept-Encoding: {BROWSER}"]
    target = f"http://127.0.0.1:{server.port}{path}"
    text = subprocess.run([*command, target, "--", f"{rate:.0f}"], capture_output=True, text=True, check=True).stdout
    reached, tail = re.search(r"Requests/sec:\s+([\d.]+)", text), re.search(r"99%\s+([\d.]+)(us|ms|s)", text)
    assert reached is not None, text
    assert tail is not None, text
    return float(reached[1]), float(tail[1]) * UNITS[tail[2]]


@dataclass
class Row:
    """What was measured of one route."""

    path: str
    rate: float = 0.0
    ratio: float = 0.0
    processor: float = 0.0
    reached: float = 0.0
    tail: float = 0.0


def against_nginx(mine: Server, rounds: int) -> list[Row]:
    """Every cached route against nginx with the same bytes, a second each in turn."""
    contents = {}
    for path in CACHED:
        with urllib.request.urlopen(f"http://127.0.0.1:{mine.port}{path}") as answer:
            contents[path] = answer.read()
    # A folder can't have the name of a file: what lies below a route's own path is put beside it.
    names = {path: "/" + path.lstrip("/").replace("/", "-") + ".json" for path in CACHED}
    headers = (f"Accept-Encoding: {BROWSER}",)
    rows = []
    files = {names[path]: content for path, content in contents.items()}
    with tempfile.TemporaryDirectory() as folder, nginx(Path(folder), files) as other:
        for path in CACHED:
            pairs = []
            for number in range(rounds):
                sides = [(mine, path), (other, names[path])]
                found = [
                    burst(server, target, headers, 1, CONNECTIONS) for server, target in sides[:: 1 - number % 2 * 2]
                ]
                pairs.append(found[:: 1 - number % 2 * 2])
            rate = statistics.median(ours.per_second for ours, _ in pairs)
            row = Row(path, rate)
            row.ratio = statistics.median(ours.per_second / theirs.per_second for ours, theirs in pairs)
            row.processor = statistics.median(theirs.processor / ours.processor for ours, theirs in pairs)
            row.reached, row.tail = paced(mine, path, SHARE * rate, 2)
            rows.append(row)
            if path == "/api/prices":
                _, tail = paced(other, names[path], SHARE * rate, 2)
                print(f"nginx at the same pace as ours on {path}: p99 {1000 * tail:.2f} ms")
    return rows


def table(rows: list[Row]) -> bool:
    """Print what was measured; whether the aims hold."""
    print(f"{'route':<36} {'requests/s':>12} {'of nginx':>9} {'cpu':>6} {'paced/s':>12} {'p99':>9}")
    for row in rows:
        measured = f"{row.rate:>12,.0f} {row.ratio:>9.2f} {row.processor:>6.2f} {row.reached:>12,.0f}"
        print(f"{row.path:<36} {measured} {1000 * row.tail:>6.2f} ms")
    middle, worst = statistics.median(row.ratio for row in rows), max(row.tail for row in rows)
    print(f"median of nginx {middle:.2f}, least {min(row.ratio for row in rows):.2f}; worst p99 {1000 * worst:.2f} ms")
    return middle >= TARGET and worst < P99_SECONDS


@contextlib.contextmanager
def process(target: Any, *arguments: Any) -> Iterator[tuple[multiprocessing.Process, str]]:
    """A process that sends one address when it is ready."""
    ours, theirs = multiprocessing.Pipe()
    running = multiprocessing.Process(target=target, args=(theirs, *arguments))
    running.start()
    try:
        yield running, ours.recv()
    finally:
        running.terminate()
        running.join(10)


def measured(base: str, database: str, calls: Synchronized[int], asked: argparse.Namespace, openings: Any) -> bool:
    """Start the service and measure it; whether the aims hold."""
    begun = time.monotonic()
    with process(run_service, base, database) as (running, url):
        listening = time.monotonic() - begun
        warming = asyncio.run(warm(url))
        print(f"listening after {listening:.2f} s, all warm {warming:.2f} s after that")
        assert running.pid is not None
        server = Server(int(url.rpartition(":")[2]), running.pid)
        time.sleep(2)
        used = server.processor_seconds()
        time.sleep(asked.seconds)
        share = (server.processor_seconds() - used) / asked.seconds
        print(f"refreshing at a block a second, every price in it another: {100 * share:.1f} % of a core")
        before, indexed = calls.value, openings.value
        took, statuses = asyncio.run(crowd(url, asked.readers))
        time.sleep(2.5)
        made = calls.value - before
        print(f"{asked.readers} readers of {_app_world.LEASES} leases: {took:.2f} s, {made} chain calls, {statuses}")
        print(f"the index was asked {openings.value - indexed} times about them")
        good = listening + warming <= WARM_SECONDS and share < REFRESH_SHARE and made < CROWD_CALLS
        if absent := missing():
            print(f"not compared with nginx: install {' '.join(absent)} first (apt-get install nginx wrk util-linux)")
            return good
        return table(against_nginx(server, asked.rounds)) and good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--readers", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=2)
    asked = parser.parse_args()
    server = EmbeddedServer(Path(tempfile.mkdtemp()), durable=False)
    server.start()
    calls: Synchronized[int] = multiprocessing.Value("q", 0)
    openings: Synchronized[int] = multiprocessing.Value("q", 0)
    try:
        with psycopg.connect(server.url(database="postgres", owner=True), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE bench OWNER {ROLE}")
        database = server.url(database="bench")
        asyncio.run(prepared(database))
        with process(run_world, calls, openings) as (_, base):
            good = measured(base, database, calls, asked, openings)
        print("targets hold" if good else "a target is missed")
        return 0 if good else 1
    finally:
        server.stop()


if __name__ == "__main__":
    raise SystemExit(main())
