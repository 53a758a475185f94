"""Running an application: one uvicorn server on uvloop that stops in bounded time and says when it is ready."""

from __future__ import annotations

import asyncio
import contextlib
import logging as standard_logging
import signal
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import uvicorn
import uvloop

from leasehold.core import logging
from leasehold.core.clock import NANOSECONDS
from leasehold.core.errors import Unavailable
from leasehold.core.garbage import rare_collections
from leasehold.serving import sockets
from leasehold.serving.application import Application
from leasehold.serving.protocol import bound
from leasehold.serving.watch import Watch

GRACE_SECONDS = 10
_log = logging.get("serving")


@dataclass(frozen=True, slots=True)
class Running:
    """A server that answers."""

    host: str
    port: int
    server: uvicorn.Server = field(repr=False)

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


@asynccontextmanager
async def serving(
    application: Application,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    fast_path: bool = True,
    grace_seconds: int = GRACE_SECONDS,
    watch: Watch | None = None,
) -> AsyncIterator[Running]:
    """Serve for as long as the context lasts; on leaving, requests in flight have `grace_seconds` to finish."""
    _quiet()
    with contextlib.closing(_listen(host, port)) as listener:
        async with (
            application.lifespan() if application.lifespan else contextlib.nullcontext(),
            _accepting(application, listener, fast_path, grace_seconds, watch) as server,
        ):
            yield Running(host, listener.getsockname()[1], server)


@asynccontextmanager
async def _accepting(
    application: Application, listener: socket.socket, fast_path: bool, grace_seconds: int, watch: Watch | None
) -> AsyncIterator[uvicorn.Server]:
    """A uvicorn server in a task of its own, started when the context begins and stopped when it ends."""
    watch = watch or Watch(wall_seconds=lambda: application.clock.now_ns() / NANOSECONDS)
    config = uvicorn.Config(
        application,
        http=bound(application, watch, fast_path=fast_path),
        ws=sockets.Wire,
        interface="asgi3",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=grace_seconds,
        ws_max_size=sockets.MESSAGE_BYTES,
        ws_ping_interval=sockets.PING_SECONDS,
        ws_ping_timeout=sockets.PONG_SECONDS,
        # The connection negotiates its own: uvicorn's would compress per client, and keep a window for each.
        ws_per_message_deflate=False,
    )
    server = _Server(config)
    watch.start(asyncio.get_running_loop())
    task = asyncio.create_task(server.serve(sockets=[listener]), name="http-server")
    try:
        while not server.started:
            if task.done():
                task.result()
                raise Unavailable("the HTTP server did not start", hint="the log says why")
            await asyncio.sleep(0.005)
        yield server
    finally:
        server.should_exit = True
        try:
            await task
        finally:
            watch.stop()


def run(
    application: Application,
    *,
    host: str,
    port: int,
    fast_path: bool = True,
    grace_seconds: int = GRACE_SECONDS,
    ready: Callable[[Running], None] | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM; `ready` is told the real port (0 asks for any)."""
    # A full collection looks at every object there is while everybody waits: tenths of a second with many connections.
    with contextlib.suppress(KeyboardInterrupt), rare_collections():
        uvloop.run(_until_stopped(application, host, port, fast_path, grace_seconds, ready))


async def _until_stopped(
    application: Application,
    host: str,
    port: int,
    fast_path: bool,
    grace_seconds: int,
    ready: Callable[[Running], None] | None,
) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with serving(application, host=host, port=port, fast_path=fast_path, grace_seconds=grace_seconds) as running:
        _log.info("listening", url=running.url)
        if ready is not None:
            ready(running)
        await stop.wait()
        _log.info("stopping", url=running.url)


class _Server(uvicorn.Server):
    """uvicorn's server without its signal handlers: who runs it decides when it stops."""

    @contextlib.contextmanager
    def capture_signals(self):  # type: ignore[no-untyped-def]
        yield


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named, because asyncio turns off Nagle's delay only on sockets that say they are TCP.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise Unavailable(f"can't listen on {host}:{port}: {error.strerror}", hint="is it already running?") from error
    listener.setblocking(False)
    return listener


def _quiet() -> None:
    """uvicorn's own log lines: only what went wrong, into our log's stream."""
    standard_logging.getLogger("uvicorn.error").setLevel(standard_logging.ERROR)
    standard_logging.getLogger("uvicorn.access").setLevel(standard_logging.CRITICAL)
