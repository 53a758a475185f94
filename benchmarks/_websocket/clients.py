"""The clients: thousands of subscribers in one process, and one that asks over HTTP meanwhile."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import Any

from benchmarks._websocket.processes import lines, say

HANDSHAKE = (
    b"GET /ws HTTP/1.1\r\nHost: bench\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
)
# As browsers offer it.
_OFFER = b"Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n"
# What is compressed to less than this is no update; inflating all of it would measure the client.
_SMALLEST_UPDATE = 150
REST_SECONDS = 0.01
PING = 0x89


def masked(text: bytes) -> bytes:
    """A client's text frame; a mask of zeros changes nothing."""
    return bytes((0x81, 0x80 | len(text))) + bytes(4) + text


def pong(ping: bytes) -> bytes:
    """The answer to a ping."""
    return bytes((0x8A, 0x80 | len(ping) - 2)) + bytes(4) + ping[2:]


def frame_size(data: bytes) -> int | None:
    """Size of the first of a server's frames once it is whole."""
    if len(data) < 2:
        return None
    size = data[1]
    total = size + 2 if size < 126 else int.from_bytes(data[2:4], "big") + 4
    return total if len(data) >= total else None


class Client(asyncio.Protocol):
    """A subscriber that notes when each update was complete."""

    __slots__ = ("_buffer", "_noted", "_transport", "_upgraded")

    def __init__(self, noted: Noted) -> None:
        self._noted = noted
        self._buffer = b""
        self._upgraded = False

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        transport.write(HANDSHAKE + (_OFFER if self._noted.offers else b"") + b"\r\n")

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if not self._upgraded:
            head, found, rest = self._buffer.partition(b"\r\n\r\n")
            if not found:
                return
            self._noted.agreed += b"permessage-deflate" in head
            self._buffer = rest
            self._upgraded = True
            self._transport.write(masked(b'{"type":"subscribe","topic":"prices"}'))
        while (size := frame_size(self._buffer)) is not None:
            self._take(self._buffer[:size])
            self._buffer = self._buffer[size:]

    def _take(self, frame: bytes) -> None:
        noted = self._noted
        if frame[0] == PING:
            self._transport.write(pong(frame))
        elif frame[0] == 0xC1:
            if len(frame) < _SMALLEST_UPDATE:
                noted.ready += 1
            else:
                noted.arrivals.append(time.monotonic())
                noted.size = len(frame)
        elif b"price_update" in frame[:40]:
            noted.arrivals.append(time.monotonic())
            noted.size = len(frame)
        elif b'"snapshot"' in frame[:40]:
            noted.ready += 1


class Noted:
    """What all clients of a process saw."""

    def __init__(self, offers: bool) -> None:
        self.offers = offers
        self.agreed = 0
        self.ready = 0
        self.size = 0
        self.arrivals: list[float] = []


async def subscribe(port: int, count: int, offers: bool) -> None:
    """Subscribe all, say so, then for each line of input say how an update went."""
    loop = asyncio.get_running_loop()
    noted = Noted(offers)
    for start in range(0, count, 200):
        await asyncio.gather(
            *(loop.create_connection(lambda: Client(noted), "127.0.0.1", port) for _ in range(min(200, count - start)))
        )
    while noted.ready < count:  # noqa: ASYNC110 - counted by protocols
        await asyncio.sleep(0.05)
    if offers and noted.agreed != count:
        raise SystemExit(f"{count - noted.agreed} connections are not compressed")
    await asyncio.sleep(0.2)
    noted.arrivals.clear()
    say("ready")
    resting: asyncio.Task[None] | None = None
    async for line in lines():
        if line == "rest":
            resting = resting or asyncio.create_task(_rest())
            say("resting")
            continue
        for _ in range(1000):
            if len(noted.arrivals) >= count:
                break
            await asyncio.sleep(0.01)
        arrivals = noted.arrivals
        say({"count": len(arrivals), "first": min(arrivals), "last": max(arrivals), "size": noted.size})
        arrivals.clear()


async def _rest() -> None:
    """Look at the sockets now and then only: a server does not have to wake the cores of clients that are elsewhere."""
    while True:
        time.sleep(REST_SECONDS)  # noqa: ASYNC251 - nothing else is to happen meanwhile
        await asyncio.sleep(0)


async def probe(port: int) -> None:
    """Say so when connected, ask over HTTP until the input ends, then say how long each answer took."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    found: list[float] = []
    say("ready")
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
    say(found)
