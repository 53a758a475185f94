"""The LCD on a port."""

from __future__ import annotations

import asyncio
import contextlib
import logging as standard_logging
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import uvicorn

from leasehold.core.errors import Unavailable
from leasehold.devnet.lcd.server import LcdApplication


class _Server(uvicorn.Server):
    """uvicorn's server without its signal handlers: the devnet decides when it stops."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def listening(application: LcdApplication, host: str, port: int) -> AsyncIterator[int]:
    """Serve for as long as the context lasts; gives the bound port."""
    standard_logging.getLogger("uvicorn.error").setLevel(standard_logging.ERROR)
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # Accepted connections inherit it; asyncio sets it only where a socket names its protocol.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise Unavailable(f"can't listen on {host}:{port}: {error.strerror}", hint="is it already running?") from error
    config = uvicorn.Config(
        application,
        http="httptools",
        ws="none",
        interface="asgi3",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=5,
    )
    server = _Server(config)
    task = asyncio.create_task(server.serve(sockets=[listener]), name="lcd")
    try:
        while not server.started:
            if task.done():
                task.result()
                raise Unavailable("the LCD did not start", hint="the log says why")
            await asyncio.sleep(0.005)
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        await task
        listener.close()
