"""The data API on 1, 10 and 100 times the same history: latency per route, throughput, exports, memory.

    python -m benchmarks.data_api [--blocks 20000] [--scales 1 10 100] [--seconds 1]

Twenty thousand blocks make 16 million rows at the largest scale, the size at which the public service was measured;
filling takes most of the run. One service for each scale runs beside the others, and each route is asked at all scales
in turns. Prints the rows of the index, the latency of each route at each scale and how it grew. At the largest scale:
requests per second with 16 connections on one worker, memory with warm caches and standstill under sixteen exports,
beside the public service's marks (be ahead by ten times); the speed of an export of 100,000 rows with the memory before
and after; snapshots as a share of nginx. Exit code 1 when a live route grows by more than half from the smallest to the
largest scale and by more than a millisecond, or when another aim is missed; each is named.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
from benchmarks._data_load import (
    against_nginx,
    body_size,
    exports,
    latency,
    memory,
    peak_memory,
    throughput,
    warmed,
)
from benchmarks.serving import missing
from tests.unit.data_api.large_index import ACCOUNT, LEASE, PROTOCOL, fill

from leasehold.storage import migrations
from leasehold.storage.embedded import ROLE, EmbeddedServer

CACHED = (
    "/api/revenue",
    "/api/pools",
    "/api/total-value-locked",
    "/api/lease-markets",
    "/api/supplied-borrowed-history",
    f"/api/prices?interval=30&protocol={PROTOCOL}&key=BTC",
)
LIVE = (
    "/api/blocks",
    "/api/blocks/latest",
    "/api/blocks/gaps",
    f"/api/txs?address={ACCOUNT}",
    f"/api/txs?address={ACCOUNT}&filter=positions&limit=50",
    f"/api/txs?address={ACCOUNT}&to={LEASE}&limit=50",
    f"/api/leases?address={ACCOUNT}",
    f"/api/leases-search?address={ACCOUNT}&limit=50",
    f"/api/ls-loan-closing?address={ACCOUNT}",
    f"/api/ls-opening?lease={LEASE}",
    f"/api/position-opens?address={ACCOUNT}",
    f"/api/realized-pnl?address={ACCOUNT}",
    f"/api/unrealized-pnl-by-address?address={ACCOUNT}",
    f"/api/earnings?address={ACCOUNT}",
    f"/api/history-stats?address={ACCOUNT}",
    f"/api/staking-activity?address={ACCOUNT}",
    f"/api/staking-earnings?address={ACCOUNT}",
    f"/api/lease-signals?address={ACCOUNT}",
)
MARKS = {
    f"/api/txs?address={ACCOUNT}": 124,
    f"/api/prices?interval=30&protocol={PROTOCOL}&key=BTC": 245,
    "/api/blocks": 10,
    "/api/positions": 20,
}
MEMORY_MARK_MB, STANDSTILL_MARK_MS = 2500, 14_000
AHEAD = 10
EXPORT_MB_A_SECOND, OTHERS_P99_MS = 50, 50
ROUNDS = 5
EXPORT = "/api/interest-repayments?export=true"
SNAPSHOTS = ("/api/pools", "/api/supplied-borrowed-history")
_SERVER = """
import sys
from leasehold.core.settings import DataApi, Database, Limits, Settings
from leasehold.data_api.service import application
from leasehold.serving.service import run
limits, patient = Limits(exempt=("127.0.0.0/8",)), DataApi(ready_lag_seconds=10**6)
settings = Settings(database=Database(url=sys.argv[1]), limits=limits, data_api=patient)
run(application(settings), host="127.0.0.1", port=0, ready=lambda found: print("PORT", found.port, flush=True))
"""


@contextmanager
def database(server: EmbeddedServer, blocks: int) -> Iterator[str]:
    """A filled index for as long as the context lasts."""
    name = f"bench_{blocks}"
    with psycopg.connect(server.url(database="postgres", owner=True), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} OWNER {ROLE}")
        url = server.url(database=name)
        for schema in ("indexer", "data_api"):
            found = migrations.of_package(f"leasehold.{schema}")
            asyncio.run(migrations.apply(url, schema=schema, migrations=found))
        # The history ends now, so that windows find it.
        fill(url, blocks, (datetime.now(UTC) - timedelta(seconds=6 * blocks)).isoformat())
        try:
            yield url
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def rows(url: str) -> float:
    """Rows of the index, as PostgreSQL counted them last."""
    with psycopg.connect(url) as connection:
        query = (
            "SELECT sum(reltuples) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
            "WHERE n.nspname = 'indexer' AND c.relkind = 'r' AND c.reltuples > 0"
        )
        ((found,),) = connection.execute(query).fetchall()
    return float(found)


@contextmanager
def service(url: str) -> Iterator[tuple[int, int]]:
    """A data API in a process of its own: its port and process id."""
    process = subprocess.Popen([sys.executable, "-c", _SERVER, url], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        port = next(int(line.split()[1]) for line in process.stdout if line.startswith("PORT"))
        # What it says later must not fill the pipe.
        threading.Thread(target=process.stdout.read, daemon=True).start()
        yield port, process.pid
    finally:
        process.terminate()
        process.wait(20)


async def latencies(ports: dict[int, int], seconds: float) -> dict[int, dict[str, float]]:
    """Latency of each route at each scale, in turns: what else the machine does falls on all scales alike."""
    found: dict[int, dict[str, float]] = {scale: {} for scale in ports}
    for path in (*CACHED, *LIVE):
        for _ in range(ROUNDS):
            for scale, port in ports.items():
                taken = await latency(port, path, seconds / ROUNDS)
                found[scale][path] = min(taken, found[scale].get(path, taken))
    return found


async def at_the_largest(port: int, process: int, seconds: float) -> dict[str, Any]:
    """What has a mark: measured at the largest scale only."""
    found: dict[str, Any] = {"memory": {"warm": memory(process), "peak": peak_memory(process)}}
    found["export"] = await exports(port, process, EXPORT, f"/api/leases?address={ACCOUNT}")
    if not missing():
        found["throughput"] = {path: throughput(port, path, seconds) for path in MARKS}
        found["size"] = {path: await body_size(port, path) for path in MARKS}
        found["nginx"] = against_nginx(port, process, SNAPSHOTS, 1)
    found["memory"]["after everything"] = memory(process)
    return found


async def measured(places: dict[int, tuple[int, int]], seconds: float) -> dict[str, Any]:
    """Everything about services that run beside each other, one for each scale."""
    for port, _ in places.values():
        await warmed(port)
    found = await at_the_largest(*places[max(places)], seconds)
    return {**found, "latency": await latencies({scale: port for scale, (port, _) in places.items()}, seconds)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=int, default=20_000)
    parser.add_argument("--scales", type=int, nargs="+", default=[1, 10, 100])
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="leasehold-bench-") as home:
        Path(home).chmod(0o755)
        server = EmbeddedServer(Path(home), durable=False)
        server.start()
        try:
            with ExitStack() as stack:
                begun = time.perf_counter()
                urls = {scale: stack.enter_context(database(server, asked.blocks * scale)) for scale in asked.scales}
                print(f"filled in {time.perf_counter() - begun:.0f} s", file=sys.stderr, flush=True)
                places = {scale: stack.enter_context(service(url)) for scale, url in urls.items()}
                found = asyncio.run(measured(places, asked.seconds))
                found["rows"] = {scale: rows(url) for scale, url in urls.items()}
        finally:
            server.stop()
    print(json.dumps(found)) if asked.json else _print(found)
    return _judged(found)


def _short(path: str) -> str:
    return path.replace(ACCOUNT, "ACCOUNT").replace(LEASE, "LEASE").replace(PROTOCOL, "P")


def _print(found: dict[str, Any]) -> None:
    scales = list(found["rows"])
    print(f"{'latency in ms, tenth percentile':<60}" + "".join(f"{scale:>9}x" for scale in scales) + "   growth")
    print(f"{'rows of the index, in millions':<60}" + "".join(f"{found['rows'][s] / 1e6:>10.2f}" for s in scales))
    for path in (*CACHED, *LIVE):
        row = [found["latency"][scale][path] * 1000 for scale in scales]
        print(f"{_short(path):<60}" + "".join(f"{value:>10.2f}" for value in row) + f"{row[-1] / row[0]:>9.2f}")
    _print_marks(found)
    told = ", ".join(f"{name} {value:.1f}" for name, value in found["export"].items())
    print(f"\nexport of 100,000 rows at {max(scales)}x: {told}")
    print("memory in MB: " + ", ".join(f"{name} {value:.0f}" for name, value in found["memory"].items()))
    for path, share in found.get("nginx", {}).items():
        print(f"{path}: {share:.2f} of nginx serving the same bytes (0.8 is asked for)")


def _print_marks(found: dict[str, Any]) -> None:
    print(f"\n{'against the public service at 16 million rows':<60}{'ours':>10}{'public':>10}{'ahead':>8}")

    def line(name: str, ours: float, public: float, ahead: float, note: str = "") -> None:
        verdict = "" if ahead >= AHEAD else f" (below {AHEAD})"
        print(f"{name:<60}{ours:>10,.0f}{public:>10,.0f}{ahead:>8.0f}{verdict}{note}")

    for path, rate in found.get("throughput", {}).items():
        size = found["size"][path]
        note = f"   {size / 1e6:.1f} MB compressed" if size > 1e5 else ""
        line(f"{_short(path)}, requests/s", rate, MARKS[path], rate / MARKS[path], note)
    if "throughput" not in found:
        print("requests/s: not measured, install wrk and nginx first")
    warm, longest = found["memory"]["warm"], max(found["export"]["others' longest ms"], 1.0)
    line("memory with warm caches, MB", warm, MEMORY_MARK_MB, MEMORY_MARK_MB / warm)
    line("standstill under sixteen exports, ms", longest, STANDSTILL_MARK_MS, STANDSTILL_MARK_MS / longest)


def _judged(found: dict[str, Any]) -> int:
    scales = found["latency"]
    smallest, largest = scales[min(scales)], scales[max(scales)]
    slow = [p for p in LIVE if largest[p] > 1.5 * smallest[p] and largest[p] - smallest[p] > 0.001]
    missed = [f"grew too much: {_short(path)}" for path in slow]
    missed += [
        f"less than {AHEAD} times the public service: {_short(path)}"
        for path, rate in found.get("throughput", {}).items()
        if rate < AHEAD * MARKS[path]
    ]
    if found["export"]["MB/s"] < EXPORT_MB_A_SECOND:
        missed.append(f"export slower than {EXPORT_MB_A_SECOND} MB/s")
    if found["export"]["others' p99 ms"] >= OTHERS_P99_MS:
        missed.append(f"others' p99 under exports not below {OTHERS_P99_MS} ms")
    missed += [f"less than 0.8 of nginx: {path}" for path, share in found.get("nginx", {}).items() if share < 0.8]
    for aim in missed:
        print(aim, file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
