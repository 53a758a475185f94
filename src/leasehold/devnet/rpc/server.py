"""The RPC server: listens, keeps track of connections, and serves one node in the running event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from leasehold.core.errors import Unavailable
from leasehold.devnet.consensus.node import Node
from leasehold.devnet.rpc.connection import Connection
from leasehold.devnet.rpc.dispatch import Dispatcher, HttpAnswer
from leasehold.devnet.rpc.methods import Methods
from leasehold.devnet.rpc.responses import Clockwork
from leasehold.devnet.rpc.subscriptions import Hub
from leasehold.devnet.rpc.table import Method, delayed, method_table
from leasehold.devnet.rpc.websocket import PING_SECONDS, QUEUE_FRAMES, SILENCE_SECONDS

MAX_CONNECTIONS = 900
IDLE_SECONDS = 60.0
GRACE_SECONDS = 1.0
WRITE_BUFFER = 4 * 1024 * 1024


class RpcServer:
    """RPC and WebSocket of a node on one port; port 0 takes a free one, `port` tells which."""

    def __init__(
        self,
        node: Node,
        host: str = "127.0.0.1",
        port: int = 26657,
        *,
        max_batch: int = 20,
        max_connections: int = MAX_CONNECTIONS,
        idle_seconds: float = IDLE_SECONDS,
        ping_seconds: float = PING_SECONDS,
        silence_seconds: float = SILENCE_SECONDS,
        queue_frames: int = QUEUE_FRAMES,
        write_buffer: int = WRITE_BUFFER,
        commit_timeout: float = 10.0,
    ) -> None:
        self.node = node
        self.host = host
        self.port = port
        self.methods = Methods(node, commit_timeout=commit_timeout)
        self.dispatcher = Dispatcher(method_table(self.methods), max_batch=max_batch)
        self.hub = Hub(node)
        self.clockwork = Clockwork()
        self.max_connections = max_connections
        self.idle_seconds = idle_seconds
        self.ping_seconds = ping_seconds
        self.silence_seconds = silence_seconds
        self.queue_frames = queue_frames
        self.write_buffer = write_buffer
        self._connections: set[Connection] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._emptied = asyncio.Event()
        self._server: asyncio.Server | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def table(self) -> dict[str, Method]:
        """Every method by name, for listeners that serve some of them too."""
        return self.dispatcher.table

    @property
    def connections(self) -> int:
        return len(self._connections)

    async def get(self, name: str, query: str = "") -> HttpAnswer:
        """What GET /name?query is answered; lets the LCD listener serve `status` and `abci_info`."""
        answered = self.dispatcher.uri(name, query)
        return answered if isinstance(answered, HttpAnswer) else await answered

    async def start(self) -> None:
        """Listen; Unavailable when the address is taken."""
        self._loop = asyncio.get_running_loop()
        try:
            self._server = await self._loop.create_server(lambda: Connection(self), self.host, self.port, backlog=1024)
        except OSError as error:
            raise Unavailable(
                f"can't listen on {self.host}:{self.port}: {error.strerror}", hint="choose another port"
            ) from None
        self.port = self._server.sockets[0].getsockname()[1]
        self.spawn(self._sweep())

    async def stop(self) -> None:
        """Stop listening, tell subscribers, and end what is running."""
        if self._server is None:
            return
        self._server.close()
        for connection in list(self._connections):
            connection.stop()
        if self._connections:
            self._emptied.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(GRACE_SECONDS):
                    await self._emptied.wait()
        for connection in list(self._connections):
            connection.abort()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()
        self.hub.close()
        self.methods.close()

    async def __aenter__(self) -> RpcServer:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    # Faults a devnet can be told to have

    def delay_answers(self, seconds: float) -> None:
        """Let every method take at least this long; 0 ends it."""
        fresh = method_table(self.methods)
        for name, method in fresh.items():
            self.table[name] = delayed(method, seconds) if seconds > 0 else method

    def drop_subscribers(self) -> int:
        """Cut off every WebSocket client without a word; returns how many there were."""
        cut = [connection for connection in self._connections if connection.is_websocket]
        for connection in cut:
            connection.abort()
        return len(cut)

    def freeze(self, height: int | None) -> None:
        """Look like a replica stuck at a height: no newer block is seen or announced; None ends it."""
        self.methods.freeze(height)
        self.hub.is_muted = height is not None

    # What connections ask

    def now(self) -> float:
        assert self._loop is not None
        return self._loop.time()

    def later(self, seconds: float, action: Callable[[], None]) -> None:
        assert self._loop is not None
        self._loop.call_later(seconds, action)

    def admit(self, connection: Connection) -> bool:
        if len(self._connections) >= self.max_connections:
            return False
        self._connections.add(connection)
        return True

    def forget(self, connection: Connection) -> None:
        self._connections.discard(connection)
        if not self._connections:
            self._emptied.set()

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run something that ends with the server."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _sweep(self) -> None:
        interval = min(1.0, self.ping_seconds / 4, self.idle_seconds / 4)
        while True:
            await asyncio.sleep(interval)
            now = self.now()
            for connection in list(self._connections):
                connection.tick(now)
