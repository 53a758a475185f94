"""A running RPC server on a key-value chain, and raw HTTP to talk to it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from leasehold.devnet.consensus.node import Node
from leasehold.devnet.rpc.server import RpcServer


@dataclass
class Reply:
    """An HTTP answer; header names are lower-case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


async def read_reply(reader: asyncio.StreamReader, *, has_body: bool = True) -> Reply:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    status_line, *lines = head.strip().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")) if has_body else 0)
    return Reply(int(status_line.split()[1]), headers, body)


class Client:
    """Sends exactly what it is told, one connection per request."""

    def __init__(self, server: RpcServer) -> None:
        self.server = server
        self.url = f"ws://127.0.0.1:{server.port}/websocket"

    async def request(self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None) -> Reply:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.server.port)
        try:
            lines = [f"{method} {path} HTTP/1.1", "Host: node", f"Content-Length: {len(body)}"]
            lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
            writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body)
            async with asyncio.timeout(60):
                return await read_reply(reader, has_body=method != "HEAD")
        finally:
            writer.close()

    async def get(self, path: str) -> Reply:
        return await self.request("GET", path)

    async def post(self, body: Any) -> Reply:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await self.request("POST", "/", data)

    async def call(self, method: str, params: Any = None) -> Any:
        """Result of a call, or the text of its error."""
        reply = await self.post({"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}})
        answer = reply.json
        return answer["result"] if "result" in answer else answer["error"]["data"]


@pytest.fixture
def node(make_node: Callable[..., Node]) -> Node:
    """Ten blocks with a few transactions."""
    node = make_node(validators=2)
    node.seal(txs=[b"a=1", b"fail one"])
    node.fast_forward(9, 1_000_000_000)
    return node


@pytest.fixture
async def server(node: Node) -> AsyncIterator[RpcServer]:
    async with RpcServer(node, port=0, commit_timeout=0.3) as server:
        yield server


@pytest.fixture
def client(server: RpcServer) -> Client:
    return Client(server)
