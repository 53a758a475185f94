"""The LCD on a port."""

from __future__ import annotations

import asyncio
import socket

import pytest
from tests.unit.devnet.open_chain import shared_chain

from leasehold.core.clock import SystemClock
from leasehold.core.errors import Unavailable
from leasehold.devnet.lcd.listener import listening
from leasehold.devnet.lcd.server import LcdApplication


def application() -> LcdApplication:
    chain = shared_chain().devnet
    return LcdApplication(chain.registry, chain.app.queries, SystemClock())


async def test_it_answers_over_a_socket_and_stops() -> None:
    """A kept connection gets answer after answer; the port is free again afterwards."""
    async with listening(application(), "127.0.0.1", 0) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(2):
            writer.write(b"GET /cosmos/bank/v1beta1/params HTTP/1.1\r\nHost: x\r\n\r\n")
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200 ")
            length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            await reader.readexactly(int(length.split(b":")[1]))
        writer.close()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", port)


async def test_a_bad_height_is_sent_in_chunks() -> None:
    """The answer that announces a trailer has no length."""
    async with listening(application(), "127.0.0.1", 0) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /cosmos/bank/v1beta1/params HTTP/1.1\r\nHost: x\r\nx-cosmos-block-height: no\r\n\r\n")
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        assert b"transfer-encoding: chunked" in head
        assert b"content-length" not in head
        writer.close()


async def test_a_taken_port_is_told() -> None:
    """An address in use is an error that says so, not a crash of the server."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(Unavailable, match="can't listen on"):
            async with listening(application(), "127.0.0.1", taken.getsockname()[1]):
                pass
