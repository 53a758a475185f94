"""WebSocket connections: frames written to the socket itself stay whole, in order, and compressed where agreed."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
import uvloop
from starlette.websockets import WebSocket
from tests.unit.serving.conftest import WIDE, sample_registry
from websockets.asyncio.client import connect
from websockets.extensions.permessage_deflate import ClientPerMessageDeflateFactory

from leasehold.serving import sockets
from leasehold.serving.application import Application
from leasehold.serving.frames import Item, text_frame
from leasehold.serving.service import serving

LONG = json.dumps({f"TICKER_{number}@PROTOCOL": number / 7 for number in range(200)})


class Stage:
    """A server whose endpoint hands its connection to the test and repeats what it hears."""

    def __init__(self) -> None:
        self.url = ""
        self.wires: list[sockets.Wire] = []
        self.heard: list[str] = []

    async def endpoint(self, socket: WebSocket) -> None:
        await socket.accept()
        self.wires.append(sockets.wire_of(socket.scope))
        while (message := await socket.receive())["type"] != "websocket.disconnect":
            self.heard.append(message.get("text") or "")

    async def wire(self) -> sockets.Wire:
        async with asyncio.timeout(60):
            while not self.wires:  # noqa: ASYNC110 - the server accepts in its own time
                await asyncio.sleep(0.005)
        return self.wires.pop()


@asynccontextmanager
async def staged() -> AsyncIterator[Stage]:
    stage = Stage()
    application = Application(sample_registry(), limits=WIDE, websockets={"/ws": stage.endpoint})
    async with serving(application, grace_seconds=1) as running:
        stage.url = f"ws://127.0.0.1:{running.port}/ws"
        yield stage


async def test_frames_stay_whole_and_in_order_for_a_peer_that_stops_reading() -> None:
    """More than socket and transport take at once, some written by the transport itself: nothing is torn or swapped,
    and the peer's slowness is told."""
    async with (
        staged() as stage,
        aiohttp.ClientSession() as session,
        session.ws_connect(stage.url, max_msg_size=0) as client,
    ):
        wire = await stage.wire()
        texts = [f"{number}:" + "x" * (number * 7919 % 90_000) for number in range(120)]
        for number, text in enumerate(texts):
            frame = text_frame(text.encode())
            if number % 5 == 2:
                wire.transport.write(frame)
            else:
                wire.write(frame)
            if number % 11 == 0:
                await asyncio.sleep(0)
        assert wire.paused
        drained = asyncio.Event()
        wire.drained = drained.set
        async with asyncio.timeout(60):
            assert [await client.receive_str() for _ in texts] == texts
            await drained.wait()
        assert not wire.paused
        wire.write(text_frame(b"again"))
        assert await client.receive_str() == "again"


class Line:
    """One end of a pair of sockets; what the socket does not take is noted."""

    def __init__(self) -> None:
        self.own, self.peer = socket.socketpair()
        self.own.setblocking(False)
        self.descriptor = self.own.fileno()
        self.paused = False
        self.rest: list[tuple[bytes, int]] = []

    def write_rest(self, frame: bytes, sent: int) -> None:
        self.rest.append((frame, sent))

    def fill(self, room: int) -> None:
        """Let the socket take nothing more, or only so much."""
        self.own.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        with contextlib.suppress(BlockingIOError):
            while True:
                self.own.send(b"y" * 4096)
        self.peer.recv(room)

    def close(self) -> None:
        self.own.close()
        self.peer.close()


def test_one_full_socket_is_no_matter_to_the_others() -> None:
    """A frame for many goes to each socket that takes it; the rest of it, or all, is left to whose socket does not."""
    with contextlib.ExitStack() as stack:
        lines = [stack.enter_context(contextlib.closing(Line())) for _ in range(6)]
        good, full, gone, slow, closing, last = lines
        full.fill(0)
        gone.peer.close()
        slow.paused = True
        closing.descriptor = -1
        frame = text_frame(b"x" * 1000)
        sockets.send_all(frame, lines)
        for line in (good, last):
            assert line.peer.recv(10_000) == frame
            assert line.rest == []
        for line in (full, gone, slow, closing):
            assert line.rest == [(frame, 0)]


def test_a_frame_is_torn_where_the_socket_ends() -> None:
    """Who gets the rest of a frame is told how much of it is out."""
    with contextlib.closing(Line()) as line:
        line.own.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        frame = text_frame(b"x" * 10_000_000)
        sockets.send_all(frame, (line,))
        ((whole, sent),) = line.rest
        assert whole is frame
        assert 0 < sent < len(frame)
        line.own.close()
        seen = b""
        while data := line.peer.recv(1 << 20):
            seen += data
        assert seen == frame[:sent]


async def test_nothing_is_written_to_a_connection_that_ended() -> None:
    """After the end of a connection its number may be another's: a late frame goes nowhere."""
    async with staged() as stage, aiohttp.ClientSession() as session:
        async with session.ws_connect(stage.url):
            wire = await stage.wire()
        async with asyncio.timeout(60):
            while not wire.disconnected:  # noqa: ASYNC110 - as above
                await asyncio.sleep(0.005)
        assert wire.descriptor == -1
        async with session.ws_connect(stage.url) as other:
            wire.write(text_frame(b"late"))
            (await stage.wire()).write(text_frame(b"own"))
            assert await other.receive_str() == "own"


async def test_the_close_frame_is_the_last_one() -> None:
    """What is published while a peer has yet to answer the close does not follow it."""
    async with staged() as stage:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(stage.url.split(":")[2].split("/")[0]))
        upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        writer.write(f"GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\n{upgrade}{key}\r\n".encode())
        async with asyncio.timeout(60):
            await reader.readuntil(b"\r\n\r\n")
            wire = await stage.wire()
            wire.write(text_frame(b"before"))
            wire.end(1001, "bye")
            wire.write(text_frame(b"after"))
            writer.write_eof()
            seen = await reader.read()
        assert seen == text_frame(b"before") + bytes((0x88, 5)) + (1001).to_bytes(2, "big") + b"bye"
        writer.close()


async def test_a_peer_that_vanishes_is_let_go() -> None:
    """Writing to a connection the peer has reset ends it and raises nothing."""
    async with staged() as stage, aiohttp.ClientSession() as session:
        client = await session.ws_connect(stage.url)
        wire = await stage.wire()
        assert client._response.connection is not None
        transport = client._response.connection.transport
        assert transport is not None
        transport.abort()  # type: ignore[attr-defined]
        async with asyncio.timeout(60):
            while not wire.disconnected:
                wire.write(text_frame(b"x" * 50_000))
                await asyncio.sleep(0)
        await client.close()


@pytest.mark.parametrize(
    ("extensions", "packs"),
    [
        (None, False),
        ([ClientPerMessageDeflateFactory(client_max_window_bits=True)], True),
        ([ClientPerMessageDeflateFactory(server_no_context_takeover=True, client_no_context_takeover=True)], True),
        ([ClientPerMessageDeflateFactory(server_max_window_bits=9)], False),
    ],
    ids=["none", "as browsers", "own", "small window"],
)
async def test_compression_is_what_the_client_can_read(extensions: list[Any] | None, packs: bool) -> None:
    """One compressed frame serves whoever offered compression without a small window; the others get plain ones."""
    async with staged() as stage, connect(stage.url, compression=None, extensions=extensions, max_size=None) as client:
        wire = await stage.wire()
        assert wire.packs == packs
        item = Item(1, text_frame(LONG.encode()))
        for _ in range(3):
            wire.write(item.packed if wire.packs else item.frame)
            wire.write(text_frame(b"short"))
            assert [await client.recv(), await client.recv()] == [LONG, "short"]
        await client.send(LONG)
        await client.send(LONG)
        async with asyncio.timeout(60):
            while len(stage.heard) < 2:  # noqa: ASYNC110 - as above
                await asyncio.sleep(0.005)
        assert stage.heard == [LONG, LONG]


async def test_compression_does_not_stretch_the_limit() -> None:
    """A message that is small on the wire and too large inside ends the connection with 1009."""
    async with staged() as stage, connect(stage.url, compression="deflate") as client:
        await client.send("a" * (sockets.MESSAGE_BYTES + 1))
        await client.wait_closed()
        assert client.close_code == 1009
        assert stage.heard == []


@pytest.mark.parametrize(
    "promise",
    [
        test_frames_stay_whole_and_in_order_for_a_peer_that_stops_reading,
        test_nothing_is_written_to_a_connection_that_ended,
        test_a_peer_that_vanishes_is_let_go,
    ],
)
def test_promises_hold_on_the_loop_that_services_run_on(promise: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Transports of uvloop hold back and close in their own way."""
    uvloop.run(promise())
