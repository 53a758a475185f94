"""The data API on 1, 10 and 100 times the same history: latency per route, throughput, exports.

    python -m benchmarks.data_api [--blocks 6000] [--scales 1 10 100] [--seconds 1]

Prints the latency of each route at each scale and how it grew, requests per second of four routes with 16
connections on one worker (beside the public service's marks at 16 million rows), the speed of an export of 100,000 rows
with the server's memory before and after, and the 99th percentile of another route while sixteen exports are asked for.
Exit code 1 when a live route grows by more than half from the smallest to the largest scale and by more than a
millisecond.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
from tests.unit.data_api.large_index import ACCOUNT, LEASE, PROTOCOL, fill

from leasehold.storage import migrations
from leasehold.storage.embedded import ROLE, EmbeddedServer

CACHED = ("/api/revenue", "/api/pools", "/api/positions", "/api/total-value-locked", "/api/lease-markets")
LIVE = (
    "/api/blocks",
    "/api/blocks/latest",
    f"/api/txs?address={ACCOUNT}",
    f"/api/txs?address={ACCOUNT}&filter=staking&limit=50",
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
    f"/api/lease-signals?address={ACCOUNT}",
)
MARKS = {
    f"/api/txs?address={ACCOUNT}": 124,
    f"/api/prices?interval=30&protocol={PROTOCOL}&key=BTC": 245,
    "/api/blocks": 10,
    "/api/positions": 20,
}
EXPORT = "/api/interest-repayments?export=true"
_SERVER = """
import sys
from leasehold.core.settings import DataApi, Database, Limits, Settings
from leasehold.data_api.service import application
from leasehold.serving.service import run
limits, patient = Limits(exempt=("127.0.0.0/8",)), DataApi(ready_lag_seconds=10**6)
settings = Settings(database=Database(url=sys.argv[1]), limits=limits, data_api=patient)
run(application(settings), host="127.0.0.1", port=0, ready=lambda found: print("PORT", found.port, flush=True))
"""


class Connection:
    """A keep-alive connection that counts nothing but bodies."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def to(cls, port: int) -> Connection:
        return cls(*await asyncio.open_connection("127.0.0.1", port, limit=1 << 20))

    async def get(self, path: str) -> tuple[int, int]:
        """Status and size of an answer."""
        request = f"GET {path} HTTP/1.1\r\nHost: x\r\nAccept-Encoding: zstd\r\n\r\n"
        self._writer.write(request.encode())
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        status = int(head[9:12])
        if b"content-length: " in head:
            length = int(head.partition(b"content-length: ")[2].partition(b"\r")[0])
            await self._reader.readexactly(length)
            return status, length
        size = 0
        while chunk := int(await self._reader.readline(), 16):
            await self._reader.readexactly(chunk + 2)
            size += chunk
        await self._reader.readexactly(2)
        return status, size

    def close(self) -> None:
        self._writer.close()


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


async def warmed(port: int) -> None:
    """Return when every answer that should be there is there."""
    connection = await Connection.to(port)
    for _ in range(1200):
        status, _ = await connection.get("/ready")
        if status == 200:
            break
        await asyncio.sleep(0.1)
    connection.close()


async def latency(port: int, path: str, seconds: float) -> float:
    """Seconds of a request on one connection, the tenth percentile: what the machine does besides shows least there."""
    connection = await Connection.to(port)
    times = []
    try:
        end = time.perf_counter() + seconds
        await connection.get(path)
        while time.perf_counter() < end:
            begun = time.perf_counter()
            status, _ = await connection.get(path)
            assert status == 200, f"{path}: {status}"
            times.append(time.perf_counter() - begun)
    finally:
        connection.close()
    return statistics.quantiles(times, n=10)[0]


async def throughput(port: int, path: str, seconds: float, connections: int = 16) -> float:
    """Requests a second over several connections."""
    done = 0
    end = time.perf_counter() + seconds

    async def work() -> None:
        nonlocal done
        connection = await Connection.to(port)
        try:
            while time.perf_counter() < end:
                await connection.get(path)
                done += 1
        finally:
            connection.close()

    await asyncio.gather(*(work() for _ in range(connections)))
    return done / seconds


def memory(process: int) -> float:
    """Resident megabytes of a process."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


async def exports(port: int, process: int) -> dict[str, float]:
    """Speed and memory of one export, then the other routes' 99th percentile under sixteen."""
    before = memory(process)
    connection = await Connection.to(port)
    begun = time.perf_counter()
    _, size = await connection.get(EXPORT)
    taken = time.perf_counter() - begun
    connection.close()
    after = memory(process)
    statuses: list[int] = []
    times: list[float] = []

    async def export() -> None:
        own = await Connection.to(port)
        with contextlib.suppress(asyncio.IncompleteReadError):
            statuses.append((await own.get(EXPORT))[0])
        own.close()

    busy = asyncio.gather(*(export() for _ in range(16)))
    other = await Connection.to(port)
    while not busy.done():
        begun = time.perf_counter()
        await other.get(f"/api/leases?address={ACCOUNT}")
        times.append(time.perf_counter() - begun)
        await asyncio.sleep(0.002)
    await busy
    other.close()
    return {
        "MB": size / 1e6,
        "MB/s": size / 1e6 / taken,
        "MB of memory before": before,
        "MB of memory after": after,
        "exports that ran of 16": statuses.count(200),
        "others' p99 ms": statistics.quantiles(times, n=100)[98] * 1000 if len(times) > 2 else 0.0,
    }


async def measured(port: int, process: int, seconds: float) -> dict[str, dict[str, float]]:
    """Everything about one running service."""
    await warmed(port)
    found = {
        "latency": {path: await latency(port, path, seconds) for path in (*CACHED, *LIVE)},
        "throughput": {path: await throughput(port, path, seconds) for path in MARKS},
    }
    found["export"] = await exports(port, process)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=int, default=6000)
    parser.add_argument("--scales", type=int, nargs="+", default=[1, 10, 100])
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    asked = parser.parse_args()
    results: dict[int, dict[str, dict[str, float]]] = {}
    with tempfile.TemporaryDirectory(prefix="leasehold-bench-") as home:
        Path(home).chmod(0o755)
        server = EmbeddedServer(Path(home), durable=False)
        server.start()
        try:
            for scale in asked.scales:
                with database(server, asked.blocks * scale) as url, service(url) as (port, process):
                    results[scale] = asyncio.run(measured(port, process, asked.seconds))
        finally:
            server.stop()
    if asked.json:
        print(json.dumps(results))
    else:
        _print(results)
    return _judged(results)


def _print(results: dict[int, dict[str, dict[str, float]]]) -> None:
    scales = list(results)
    short = {
        path: path.replace(ACCOUNT, "ACCOUNT").replace(LEASE, "LEASE").replace(PROTOCOL, "P")
        for path in (*CACHED, *LIVE, *MARKS)
    }
    print(f"{'latency in ms, tenth percentile':<60}" + "".join(f"{scale:>9}x" for scale in scales) + "   growth")
    for path in (*CACHED, *LIVE):
        row = [results[scale]["latency"][path] * 1000 for scale in scales]
        print(f"{short[path]:<60}" + "".join(f"{value:>10.2f}" for value in row) + f"{row[-1] / row[0]:>9.2f}")
    print(
        f"\n{'requests a second, 16 connections':<60}"
        + "".join(f"{scale:>9}x" for scale in scales)
        + "   the public service"
    )
    for path, mark in MARKS.items():
        row = [results[scale]["throughput"][path] for scale in scales]
        print(f"{short[path]:<60}" + "".join(f"{value:>10.0f}" for value in row) + f"{mark:>9}")
    for scale in scales:
        print(
            f"\nexports at {scale}x: "
            + ", ".join(f"{name} {value:.1f}" for name, value in results[scale]["export"].items())
        )


def _judged(results: dict[int, dict[str, dict[str, float]]]) -> int:
    smallest, largest = results[min(results)]["latency"], results[max(results)]["latency"]
    slow = [p for p in LIVE if largest[p] > 1.5 * smallest[p] and largest[p] - smallest[p] > 0.001]
    for path in slow:
        print(f"grew too much: {path}", file=sys.stderr)
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
