"""The application WebSocket with many subscribers of prices: one process on one core, the clients on the other.

    python -m benchmarks.websocket [--clients 10000] [--updates 20] [--kilobytes 2]

Prints how long an update takes to the last client, the processor time of an update against encoding it per client, the
memory of a connection, and how HTTP answers meanwhile. Times are of one monotonic clock that all processes share. Exit
code 1 when an aim is missed: the last client within a second (p99), 32 KB a connection, HTTP p99 below 20 ms, and five
times less processor time than naive encoding (the same message turned into JSON and into a frame for each client).
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

SERVER_CORE, CLIENT_CORE = "0", "1"
LAST_SECONDS, CONNECTION_BYTES, HTTP_SECONDS, CPU_RATIO = 1.0, 32 * 1024, 0.020, 5.0
HANDSHAKE = (
    b"GET /ws HTTP/1.1\r\nHost: bench\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)


def masked(text: bytes) -> bytes:
    """A client's text frame; a mask of zeros changes nothing."""
    return bytes((0x81, 0x80 | len(text))) + bytes(4) + text


def prices_of(kilobytes: float) -> dict[str, str]:
    """As many prices as make about that many kilobytes."""
    found: dict[str, str] = {}
    while len(json.dumps(found)) < kilobytes * 1024 - 120:
        number = len(found)
        found[f"TICKER_{number}@OSMOSIS-OSMOSIS-USDC_NOBLE"] = f"{number * 1.2345678901:.12f}"
    return found


# The server


async def serve(kilobytes: float) -> None:
    """The child process: the real endpoint; each line of standard input is a way to publish, answered by a line."""
    from starlette.websockets import WebSocket

    from leasehold.app_api.api import assemble
    from leasehold.app_api.live import messages
    from leasehold.app_api.live.endpoint import Live
    from leasehold.app_api.live.topics import PRICES, Key
    from leasehold.app_api.live.views import item_of
    from leasehold.core.clock import SystemClock
    from leasehold.core.configuration import load
    from leasehold.core.metrics import Metrics
    from leasehold.serving.application import Application
    from leasehold.serving.service import serving

    settings = load(profile="devnet").settings
    settings = replace(settings, limits=replace(settings.limits, exempt=("127.0.0.0/8",)))
    app = assemble(settings, SystemClock())
    live = Live(app, Metrics())
    sockets: set[WebSocket] = set()

    async def endpoint(socket: WebSocket) -> None:
        sockets.add(socket)
        try:
            await live.serve(socket)
        finally:
            sockets.discard(socket)

    application = Application(
        app.registry, limits=settings.limits, snapshots=app.snapshots, websockets={"/ws": endpoint}
    )
    prices = prices_of(kilobytes)
    await app.publish("/api/prices", {"prices": prices}, height=1, time_ns=10**18)

    def update(seq: int) -> messages.PriceUpdate:
        moment = "2026-01-01T00:00:00.000000000+00:00"
        return messages.PriceUpdate(prices=prices, timestamp=moment, seq=seq, height=seq, time=moment)

    async def publish(way: str, seq: int) -> None:
        if way == "ours":
            live.desk.prices = item_of(update(seq), latest_only=True)
            await live.hub.publish(Key(PRICES), live.desk.prices)
            return
        message = {"type": "price_update", "prices": prices, "timestamp": "", "seq": seq, "height": seq, "time": ""}
        for socket in list(sockets):
            await socket.send_text(json.dumps(message))

    loop = asyncio.get_running_loop()
    lines = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    live.desk.prices = item_of(update(0), latest_only=True)
    gc.collect()
    gc.freeze()
    async with serving(application) as running:
        print(running.port, flush=True)
        seq = 1
        while line := (await lines.readline()).decode().strip():
            if line == "state":
                print(json.dumps({"rss": rss(os.getpid()), "connections": live.hub.connections}), flush=True)
                continue
            seq += 1
            started, spent = time.monotonic(), time.process_time()
            await publish(line, seq)
            published = time.monotonic() - started
            # What the transports still hold goes out in the next turns of the loop.
            await asyncio.sleep(1.0)
            print(json.dumps({"at": started, "published": published, "cpu": time.process_time() - spent}), flush=True)


def rss(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


# The clients


class Client(asyncio.Protocol):
    """A subscriber that notes when each frame was complete."""

    __slots__ = ("_arrivals", "_buffer", "_ready", "_transport", "_upgraded")

    def __init__(self, arrivals: list[float], ready: list[int]) -> None:
        self._arrivals = arrivals
        self._ready = ready
        self._buffer = b""
        self._upgraded = False

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        transport.write(HANDSHAKE)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if not self._upgraded:
            head, found, self._buffer = self._buffer.partition(b"\r\n\r\n")
            if not found:
                self._buffer = head
                return
            self._upgraded = True
            self._transport.write(masked(b'{"type":"subscribe","topic":"prices"}'))
        while (size := self._frame()) is not None:
            if self._buffer[0] == 0x89:
                pong = self._buffer[2:size]
                self._transport.write(bytes((0x8A, 0x80 | len(pong))) + bytes(4) + pong)
            elif b'"type":"price_update"' in self._buffer[:40] or b'"type": "price_update"' in self._buffer[:40]:
                self._arrivals.append(time.monotonic())
            elif b'"type":"snapshot"' in self._buffer[:40]:
                self._ready[0] += 1
            self._buffer = self._buffer[size:]

    def _frame(self) -> int | None:
        """Size of the first frame once it is whole."""
        if len(self._buffer) < 4:
            return None
        size = self._buffer[1]
        total = size + 2 if size < 126 else int.from_bytes(self._buffer[2:4], "big") + 4
        return total if len(self._buffer) >= total else None


async def subscribe(port: int, count: int) -> None:
    """The child process of clients: a line when all are subscribed, then for each line of input how an update went."""
    loop = asyncio.get_running_loop()
    arrivals: list[float] = []
    ready = [0]
    for start in range(0, count, 200):
        await asyncio.gather(
            *(
                loop.create_connection(lambda: Client(arrivals, ready), "127.0.0.1", port)
                for _ in range(min(200, count - start))
            )
        )
    while ready[0] < count:  # noqa: ASYNC110 - counted by protocols
        await asyncio.sleep(0.05)
    lines = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    arrivals.clear()
    print("ready", flush=True)
    while await lines.readline():
        for _ in range(200):
            if len(arrivals) >= count:
                break
            await asyncio.sleep(0.05)
        print(json.dumps({"count": len(arrivals), "first": min(arrivals), "last": max(arrivals)}), flush=True)
        arrivals.clear()


async def probe(port: int) -> None:
    """The child process that asks over HTTP until its input ends, then prints its latencies."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    found: list[float] = []
    ended = asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    while not ended.done():
        started = time.monotonic()
        writer.write(b"GET /api/prices HTTP/1.1\r\nHost: bench\r\n\r\n")
        head = await reader.readuntil(b"\r\n\r\n")
        size = next(int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
        await reader.readexactly(size)
        found.append(time.monotonic() - started)
        await asyncio.sleep(0.005)
    writer.close()
    print(json.dumps(found), flush=True)


# The comparison


class Child:
    """A pinned process of this module that answers lines."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def tell(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def ask(self, text: str) -> dict[str, Any]:
        self.tell(text)
        found: dict[str, Any] = json.loads(self.line())
        return found

    def finish(self) -> str:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.line()


@contextmanager
def child(core: str, *arguments: str) -> Iterator[Child]:
    pinned = ["taskset", "-c", core] if shutil.which("taskset") else []
    command = [*pinned, sys.executable, "-m", "benchmarks.websocket", *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Child(process)
        finally:
            if process.stdin is not None:
                process.stdin.close()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def updates(server: Child, clients: Child, way: str, count: int) -> tuple[list[float], list[float], list[float]]:
    """Publish some updates: seconds to the first and to the last client, and processor seconds of each."""
    first, last, processor = [], [], []
    for _ in range(count):
        told = server.ask(way)
        heard = clients.ask("")
        first.append(heard["first"] - told["at"])
        last.append(heard["last"] - told["at"])
        processor.append(told["cpu"])
    return first, last, processor


def compare(count: int, rounds: int, kilobytes: float) -> bool:
    """Run everything, print the figures, say whether the aims hold."""
    with child(SERVER_CORE, "--serve", "--kilobytes", str(kilobytes)) as server:
        port = server.line()
        empty = server.ask("state")["rss"]
        with child(CLIENT_CORE, "--subscribe", port, "--clients", str(count)) as clients:
            assert clients.line() == "ready"
            updates(server, clients, "ours", 2)
            full = server.ask("state")["rss"]
            with child(CLIENT_CORE, "--probe", port) as prober:
                first, last, _ = updates(server, clients, "ours", rounds)
                http = json.loads(prober.finish())
            processor, naive = [], []
            for _ in range(max(3, rounds // 4)):
                # In turns, so that what else the machine does disturbs both alike.
                processor += updates(server, clients, "ours", 1)[2]
                naive += updates(server, clients, "naive", 1)[2]
        time.sleep(2)
        left = server.ask("state")
    spent = statistics.median(processor)
    ratio = statistics.median(naive) / spent
    memory = (full - empty) / count
    figures = [
        ("last client, median / p99", f"{statistics.median(last) * 1000:.0f} / {percentile(last, 0.99) * 1000:.0f} ms"),
        ("first client, median", f"{statistics.median(first) * 1000:.0f} ms"),
        (
            "processor time of an update",
            f"{spent * 1000:.0f} ms (naive {statistics.median(naive) * 1000:.0f} ms, ratio {ratio:.1f})",
        ),
        ("memory of a connection", f"{memory / 1024:.1f} KB"),
        ("kept after they left", f"{(left['rss'] - empty) / 1e6:.1f} MB with {left['connections']} connections"),
        (
            "HTTP meanwhile, median / p99 / worst",
            f"{statistics.median(http) * 1000:.1f} / {percentile(http, 0.99) * 1000:.1f} / {max(http) * 1000:.1f} ms"
            f" of {len(http)}",
        ),
    ]
    print(f"{count} clients, {kilobytes:g} KB, {rounds} updates")
    for name, value in figures:
        print(f"  {name:<38} {value}")
    aims = {
        "last client": percentile(last, 0.99) < LAST_SECONDS,
        "memory": memory < CONNECTION_BYTES,
        "HTTP": percentile(http, 0.99) < HTTP_SECONDS,
        "processor": ratio >= CPU_RATIO,
    }
    missed = [name for name, good in aims.items() if not good]
    print("aims hold" if not missed else f"aims missed: {', '.join(missed)}")
    return not missed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=10_000)
    parser.add_argument("--updates", type=int, default=20)
    parser.add_argument("--kilobytes", type=float, default=2.0)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--subscribe", metavar="PORT", help=argparse.SUPPRESS)
    parser.add_argument("--probe", metavar="PORT", help=argparse.SUPPRESS)
    options = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = options.clients + 200
    if soft < wanted:
        if hard != resource.RLIM_INFINITY and hard < wanted:
            print(f"websocket: not run, {wanted} open files are needed and {hard} allowed")
            return 0
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    work = (
        serve(options.kilobytes)
        if options.serve
        else subscribe(int(options.subscribe), options.clients)
        if options.subscribe
        else probe(int(options.probe))
        if options.probe
        else None
    )
    if work is not None:
        import uvloop

        uvloop.run(work)
        return 0
    return 0 if compare(options.clients, options.updates, options.kilobytes) else 1


if __name__ == "__main__":
    raise SystemExit(main())
