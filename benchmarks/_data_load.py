"""Load on a running data API: latency, throughput, exports, memory, and the same bytes served by nginx."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import statistics
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

from benchmarks.serving import SERVER_CORE, Server, burst, missing, nginx

EXPORTS_AT_ONCE = 16
NGINX_ROUNDS = 5


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


async def warmed(port: int) -> None:
    """Return when every answer that should be there is there."""
    connection = await Connection.to(port)
    for _ in range(1800):
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
        while time.perf_counter() < end or len(times) < 10:
            begun = time.perf_counter()
            status, _ = await connection.get(path)
            assert status == 200, f"{path}: {status}"
            times.append(time.perf_counter() - begun)
    finally:
        connection.close()
    return statistics.quantiles(times, n=10)[0]


def throughput(port: int, path: str, seconds: float, connections: int = 16) -> float:
    """Requests a second over several connections, by a client that costs less than the server."""
    command = ["wrk", "-t1", f"-c{connections}", f"-d{max(round(seconds), 1)}s", "-H", "Accept-Encoding: zstd"]
    output = subprocess.run([*command, f"http://127.0.0.1:{port}{path}"], check=True, capture_output=True, text=True)
    rate = re.search(r"Requests/sec:\s+([\d.]+)", output.stdout)
    assert rate is not None, output.stdout
    return float(rate[1])


async def body_size(port: int, path: str) -> int:
    """Bytes of a body as it travels."""
    connection = await Connection.to(port)
    _, size = await connection.get(path)
    connection.close()
    return size


def memory(process: int) -> float:
    """Resident megabytes of a process."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def peak_memory(process: int) -> float:
    """The most megabytes that were ever resident."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1e3 for line in lines if line.startswith("VmHWM:"))


async def exports(port: int, process: int, path: str, other: str) -> dict[str, float]:
    """Speed and memory of an export, the best of five; then another route's latency under sixteen at once."""
    before, rates, size = memory(process), [], 0
    for _ in range(5):
        connection = await Connection.to(port)
        begun = time.perf_counter()
        _, size = await connection.get(path)
        rates.append(size / 1e6 / (time.perf_counter() - begun))
        connection.close()
    after = memory(process)
    statuses: list[int] = []
    times: list[float] = []

    async def export() -> None:
        own = await Connection.to(port)
        with contextlib.suppress(asyncio.IncompleteReadError):
            statuses.append((await own.get(path))[0])
        own.close()

    busy = asyncio.gather(*(export() for _ in range(EXPORTS_AT_ONCE)))
    watcher = await Connection.to(port)
    while not busy.done():
        begun = time.perf_counter()
        await watcher.get(other)
        times.append(time.perf_counter() - begun)
        await asyncio.sleep(0.002)
    await busy
    watcher.close()
    return {
        "MB": size / 1e6,
        "MB/s": max(rates),
        "MB of memory before": before,
        "MB of memory after": after,
        "exports that ran of 16": statuses.count(200),
        "exports told to come back": statuses.count(429),
        "others' p99 ms": statistics.quantiles(times, n=100)[98] * 1000 if len(times) > 2 else 0.0,
        "others' longest ms": max(times, default=0.0) * 1000,
    }


def against_nginx(port: int, process: int, paths: tuple[str, ...], seconds: float) -> dict[str, float]:
    """Requests a second of snapshots, as a share of what nginx makes of the same bytes on the same core."""
    if missing():
        return {}
    bodies = {path: urllib.request.urlopen(f"http://127.0.0.1:{port}{path}").read() for path in paths}
    ours, cores = Server(port, process), os.sched_getaffinity(process)
    pinned = {int(SERVER_CORE)}
    os.sched_setaffinity(process, pinned)
    found: dict[str, float] = {}
    try:
        with tempfile.TemporaryDirectory() as folder, nginx(Path(folder), bodies) as theirs:
            for path in paths:
                shares = []
                for _ in range(NGINX_ROUNDS):
                    rates = [burst(server, path, (), seconds, 32).per_second for server in (ours, theirs)]
                    shares.append(rates[0] / rates[1])
                found[path] = statistics.median(shares)
    finally:
        os.sched_setaffinity(process, cores)
    return found
