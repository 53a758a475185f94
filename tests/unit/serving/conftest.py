"""A sample API behind a real server in a thread of its own, and a client that speaks bytes."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

import msgspec
import pytest
import uvloop
from starlette.websockets import WebSocket

from leasehold.core.errors import NotFound, UpstreamFailure
from leasehold.core.settings import Limits
from leasehold.serving.application import Application
from leasehold.serving.envelopes import ApplicationDialect
from leasehold.serving.parameters import Input
from leasehold.serving.routes import Cache, NoParams, PlainRequest, Registry, Reply, Request
from leasehold.serving.service import Running, serving
from leasehold.serving.watch import Watch

T = TypeVar("T")
WIDE = Limits(
    reads_per_second=1e6, reads_burst=1_000_000, writes_per_second=1e6, writes_burst=1_000_000, body_bytes=64 * 1024
)
PRICES = {"prices": {f"T{n}": str(n * 1000) for n in range(200)}}


class Thing(msgspec.Struct):
    name: str
    size: Annotated[int, msgspec.Meta(ge=0)] = 0


class ThingParams(msgspec.Struct, frozen=True):
    key: str


class Search(msgspec.Struct, frozen=True):
    address: Annotated[str, Input(aliases=("owner", "delegator"))]
    limit: Annotated[int, msgspec.Meta(ge=0, le=100), Input(clamp=True)] = 10


class Seconds(msgspec.Struct, frozen=True):
    seconds: float


def sample_registry() -> Registry:
    """Routes of every kind."""
    api = Registry("Sample", version="1.0.0", dialect=ApplicationDialect())
    api.snapshot("/api/prices", response=dict[str, dict[str, str]], name="Prices", cache=Cache.snapshot(10))
    api.snapshot("/api/cold", response=Thing, name="Cold things")
    api.snapshot("/api/free", response=Thing, name="Free", rate="none")

    @api.get("/api/things/{key}", errors=(404,), cache=Cache.live(5))
    async def thing(request: Request[ThingParams, None]) -> Thing:
        if request.params.key == "nothing":
            raise NotFound("Thing nothing not found")
        return Thing(request.params.key)

    @api.post("/api/things/special")
    async def special(request: Request[NoParams, Thing]) -> Thing:
        return request.body

    @api.get("/api/search", errors=(400,))
    async def search(request: Request[Search, None]) -> dict[str, Any]:
        return {"address": request.params.address, "limit": request.params.limit, "client": request.client}

    @api.post("/api/things", status=201)
    async def create(request: Request[NoParams, Thing]) -> Thing:
        return request.body

    @api.get("/api/crash")
    async def crash(request: PlainRequest) -> Thing:
        raise RuntimeError("a secret detail")

    @api.get("/api/upstream")
    async def upstream(request: PlainRequest) -> Thing:
        raise UpstreamFailure("ETL: HTTP 500", upstream="ETL")

    @api.get("/api/slow")
    async def slow(request: Request[Seconds, None]) -> Thing:
        await asyncio.sleep(request.params.seconds)
        return Thing("slow")

    @api.get("/api/stream", produces=("text/csv",))
    async def stream(request: PlainRequest) -> Reply:
        async def chunks() -> Any:
            for n in range(3):
                yield b"%d\n" % n

        return Reply(body=chunks(), media_type="text/csv")

    return api


async def echo(socket_: WebSocket) -> None:
    await socket_.accept()
    await socket_.send_text(await socket_.receive_text())
    await socket_.close()


@dataclass
class Response:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)


class Wire:
    """A connection that sends exactly the bytes it is given."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.buffer = b""

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def receive(self, *, head: bool = False) -> Response:
        """The next response; ConnectionError when the server closed instead."""
        while b"\r\n\r\n" not in self.buffer:
            self._more()
        raw, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        status_line, *lines = raw.decode("latin-1").split("\r\n")
        headers = {}
        for line in lines:
            name, _, value = line.partition(": ")
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        status = int(status_line.split(" ")[1])
        body = b""
        if not head and status not in (100, 204, 304):
            if headers.get("transfer-encoding") == "chunked":
                body = self._chunked()
            else:
                length = int(headers["content-length"])
                while len(self.buffer) < length:
                    self._more()
                body, self.buffer = self.buffer[:length], self.buffer[length:]
        return Response(status, headers, body)

    def _chunked(self) -> bytes:
        body = b""
        while True:
            while b"\r\n" not in self.buffer:
                self._more()
            size, self.buffer = self.buffer.split(b"\r\n", 1)
            length = int(size, 16)
            while len(self.buffer) < length + 2:
                self._more()
            body, self.buffer = body + self.buffer[:length], self.buffer[length + 2 :]
            if length == 0:
                return body

    def _more(self) -> None:
        data = self.socket.recv(65536)
        if not data:
            raise ConnectionError("closed")
        self.buffer += data

    def closed(self) -> bool:
        """Whether the server closes without another byte."""
        try:
            return not self.buffer and self.socket.recv(1) == b""
        except ConnectionResetError:
            return True

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()


class Server:
    """An application served from a thread with its own uvloop."""

    def __init__(self, application: Application, *, fast_path: bool, watch: Watch | None = None) -> None:
        self.application = application
        self.fast_path = fast_path
        self.watch = watch or Watch(wall_seconds=lambda: 0.0, head=0.8, linger=0.2, stall=0.5, interval=0.1)
        self.faults: list[dict[str, Any]] = []
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: uvloop.run(self._main()), daemon=True)

    async def _main(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.loop.set_exception_handler(lambda _, context: self.faults.append(context))
        self._stop = asyncio.Event()
        async with serving(
            self.application, fast_path=self.fast_path, grace_seconds=2, watch=self.watch
        ) as self.running:
            self._ready.set()
            await self._stop.wait()

    def start(self) -> Running:
        self._thread.start()
        assert self._ready.wait(60)
        return self.running

    def stop(self) -> None:
        if not self._thread.is_alive():
            return
        self.loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(60)
        assert not self._thread.is_alive()
        assert not self.faults

    def run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run something inside the server's loop."""
        return asyncio.run_coroutine_threadsafe(work(), self.loop).result(10)

    def tasks(self) -> int:
        """Tasks alive in the server's loop, the counting one not counted."""

        async def count() -> int:
            return len(asyncio.all_tasks()) - 1

        return self.run(count)

    def connect(self) -> Wire:
        return Wire(self.running.port)

    def ask(self, target: str, *, method: str = "GET", body: bytes = b"", **headers: str) -> Response:
        """One request on its own connection."""
        lines = [f"{method} {target} HTTP/1.1", "Host: test", "Connection: close"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        if body:
            lines.append(f"Content-Length: {len(body)}")
        with self.connect() as wire:
            wire.send("\r\n".join([*lines, "", ""]).encode("latin-1") + body)
            return wire.receive(head=method == "HEAD")


def sample_server(*, fast_path: bool, limits: Limits = WIDE, watch: Watch | None = None, **options: Any) -> Server:
    application = Application(sample_registry(), limits=limits, websockets={"/ws": echo}, **options)
    server = Server(application, fast_path=fast_path, watch=watch)
    server.start()

    async def publish() -> None:
        snapshots = application.snapshots
        cache = Cache.snapshot(10).header
        await snapshots.publish("/api/prices", PRICES, height=7, time_ns=10**18, cache_control=cache)
        await snapshots.publish("/api/free", {"name": "free", "size": 0}, height=7, time_ns=10**18)
        await snapshots.publish("/api/big", b"x" * 1_000_000, height=7, time_ns=0, content_type="text/plain")

    server.run(publish)
    return server


@pytest.fixture(scope="module", params=[True, False], ids=["fast", "ordinary"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """The sample server with and without the fast path."""
    server = sample_server(fast_path=request.param)
    yield server
    server.stop()


@pytest.fixture
def make_server() -> Iterator[Callable[..., Server]]:
    """Starts sample servers with other options."""
    made: list[Server] = []

    def make(**options: Any) -> Server:
        made.append(sample_server(**options))
        return made[-1]

    yield make
    for one in made:
        one.stop()
