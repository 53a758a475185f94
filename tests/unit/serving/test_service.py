"""Running: ready with its real port, stopping without losing what is in flight, small when idle."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from leasehold.core.errors import Unavailable
from leasehold.core.settings import Limits
from leasehold.serving.application import Application
from leasehold.serving.envelopes import DataDialect
from leasehold.serving.routes import Registry
from leasehold.serving.service import serving

_CHILD = """
import asyncio
from leasehold.core import logging
from leasehold.core.settings import Limits
from leasehold.serving.application import Application
from leasehold.serving.envelopes import DataDialect
from leasehold.serving.routes import PlainRequest, Registry
from leasehold.serving.service import run

logging.configure(service="child")
api = Registry("Child", version="1", dialect=DataDialect())

@api.get("/slow")
async def slow(request: PlainRequest) -> str:
    print("asked", flush=True)
    await asyncio.sleep(0.5)
    return "done"

def ready(running):
    print(running.port, flush=True)

run(Application(api, limits=Limits()), host="127.0.0.1", port=0, ready=ready)
print("stopped", flush=True)
"""


@pytest.fixture
def application() -> Application:
    return Application(Registry("Test", version="1", dialect=DataDialect()), limits=Limits())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_process_starts_small_and_stops_clean(number: int) -> None:
    """`run` tells its port, idles below 80 MB, finishes what is in flight on a signal, and exits with 0."""
    with subprocess.Popen([sys.executable, "-c", _CHILD], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        with open(f"/proc/{process.pid}/status") as status:
            resident = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
        assert resident < 80_000
        answers: list[bytes] = []

        def ask() -> None:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/slow", timeout=60) as answer:
                answers.append(answer.read())

        asking = threading.Thread(target=ask)
        asking.start()
        assert process.stdout.readline() == "asked\n"
        os.kill(process.pid, number)
        asking.join(60)
        assert answers == [b'"done"']
        assert process.stdout.read() == "stopped\n"
        assert process.wait(60) == 0


async def test_a_taken_port_is_named(application: Application) -> None:
    """A second server on a port says so in one line and starts nothing."""
    async with serving(application) as running:
        other = Application(Registry("Other", version="1", dialect=DataDialect()), limits=Limits())
        with pytest.raises(Unavailable, match=f"can't listen on 127.0.0.1:{running.port}"):
            async with serving(other, port=running.port):
                pass


async def test_the_lifespan_surrounds_serving() -> None:
    """What the application needs is started before the first request and stopped after the last."""
    events: list[str] = []

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        events.append("up")
        yield
        events.append("down")

    registry = Registry("Test", version="1", dialect=DataDialect())
    async with serving(Application(registry, limits=Limits(), lifespan=lifespan)) as running:
        assert running.url == f"http://127.0.0.1:{running.port}"
        events.append("serving")
    assert events == ["up", "serving", "down"]


async def test_a_start_that_fails_is_an_error_not_a_hang() -> None:
    """When the lifespan fails to start, so does serving, with the cause, and the port is free again."""

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        raise RuntimeError("no database")
        yield

    registry = Registry("Test", version="1", dialect=DataDialect())
    with pytest.raises(RuntimeError, match="no database"):
        async with serving(Application(registry, limits=Limits(), lifespan=lifespan)):
            pass


async def test_nothing_stays_after_serving(application: Application) -> None:
    """Leaving the context leaves no task behind."""
    before = asyncio.all_tasks()
    async with serving(application):
        assert asyncio.all_tasks() > before
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before


def test_stopping_is_bounded(make_server: Callable[..., Any]) -> None:
    """A handler that does not end is cancelled when the grace is over, its caller told 503."""
    server = make_server(fast_path=True)
    with server.connect() as wire:
        wire.send(b"GET /api/slow?seconds=60 HTTP/1.1\r\nHost: a\r\n\r\n")
        time.sleep(0.1)
        started = time.monotonic()
        stopping = threading.Thread(target=server.stop)
        stopping.start()
        assert wire.receive().status == 503
        stopping.join(40)
        assert 1.5 < time.monotonic() - started < 40
