"""Recorded sessions that show frames below JSON: pings, and the close that follows when nobody answers them.

They are played a hundred times faster on a server of their own; what is compared is which frames come, in order.
"""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

from tests.golden.surface_cases import Case
from tests.golden.surface_judgement import differences

from leasehold.devnet.consensus.node import Node
from leasehold.devnet.rpc.server import RpcServer
from leasehold.devnet.rpc.websocket import PING_SECONDS, SILENCE_SECONDS

HASTE = 100.0
TIMEOUT = 30.0
_KINDS = {1: "text", 2: "binary", 8: "close", 9: "ping", 10: "pong"}
_HANDSHAKE = (
    "GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n"
)


def shows_frames(case: Case) -> bool:
    """Whether a transcript has entries of the server that are no messages."""
    entries = case.response["transcript"]
    return any(entry["dir"] == "server" and "frame" not in entry and "text" not in entry for entry in entries)


async def judge_silence(case: Case, node: Node) -> list[str]:
    """Differences of a session in which the client answers no ping."""
    options = {"ping_seconds": PING_SECONDS / HASTE, "silence_seconds": SILENCE_SECONDS / HASTE}
    async with RpcServer(node, port=0, **options) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        try:
            key = base64.b64encode(b"sixteen bytes...").decode()
            writer.write(_HANDSHAKE.format(path=case.request.get("path", "/websocket"), key=key).encode())
            await reader.readuntil(b"\r\n\r\n")
            return await _played(case.response["transcript"], reader, writer)
        finally:
            writer.close()


async def _played(
    entries: list[dict[str, Any]], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> list[str]:
    lines: list[str] = []
    for number, entry in enumerate(entries):
        if entry["dir"] == "client":
            if "frame" in entry or "text" in entry:
                writer.write(_masked(entry["text"] if "text" in entry else json.dumps(entry["frame"])))
            continue
        kind, payload = await _received(reader)
        if "frame" in entry:
            found = differences(entry["frame"], json.loads(payload)) if kind == "text" else [f"a {kind} frame here"]
            lines += [f"frame {number}: {line}" for line in found]
        elif not _names(entry, kind):
            lines.append(f"frame {number}: {json.dumps(entry)} recorded, a {kind} frame here")
    return lines


def _names(entry: dict[str, Any], kind: str) -> bool:
    """Whether an entry tells of a frame of a kind; the end of the connection is a close too."""
    told = json.dumps({name: value for name, value in entry.items() if name not in ("t", "dir")}).lower()
    words = ("clos", "eof", "end") if kind in ("close", "end") else (kind,)
    return any(word in told for word in words)


def _masked(text: str) -> bytes:
    """A text frame of a client, with a mask of zeros."""
    data = text.encode()
    size = bytes([0x80 | len(data)]) if len(data) < 126 else b"\xfe" + len(data).to_bytes(2, "big")
    return b"\x81" + size + bytes(4) + data


async def _received(reader: asyncio.StreamReader) -> tuple[str, bytes]:
    """Kind and payload of the next frame; `end` when the connection is closed without one."""
    try:
        first, size = await asyncio.wait_for(reader.readexactly(2), TIMEOUT)
    except (asyncio.IncompleteReadError, ConnectionError):
        return "end", b""
    length = size & 0x7F
    if length > 125:
        length = int.from_bytes(await reader.readexactly(2 if length == 126 else 8), "big")
    return _KINDS.get(first & 0x0F, "unknown"), await reader.readexactly(length)
