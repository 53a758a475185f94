"""A node made of prepared bytes: answers `status`, `block`, `block_results` and `abci_query`, and fails on request."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import WSMsgType, web

from leasehold.core.clock import rfc3339

GENESIS_NS = 1_735_689_600_000_000_000
CHAIN_ID = "static-1"


@dataclass(slots=True)
class StaticBlock:
    """One block as the two answers of a node, serialized once."""

    height: int
    hash: str
    block: bytes
    results: bytes


@dataclass(slots=True)
class Content:
    """What goes into a block: raw transactions with their results, and block events."""

    txs: list[bytes] = field(default_factory=list)
    results: list[dict[str, Any]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)


def event(kind: str, *attributes: tuple[str, str]) -> dict[str, Any]:
    """An ABCI event as RPC shows it."""
    return {"type": kind, "attributes": [{"key": key, "value": value, "index": True} for key, value in attributes]}


def tx_result(events: list[dict[str, Any]], *, code: int = 0, log: str = "", data: bytes = b"") -> dict[str, Any]:
    """An ExecTxResult as RPC shows it."""
    return {
        "code": code,
        "data": base64.b64encode(data).decode() if data else None,
        "log": log,
        "info": "",
        "gas_wanted": "200000",
        "gas_used": "81234",
        "events": events,
        "codespace": "sdk" if code else "",
    }


def sealed(height: int, time_ns: int, content: Content, previous_hash: str, *, chain_id: str = CHAIN_ID) -> StaticBlock:
    """A block that follows `previous_hash`."""
    txs = [base64.b64encode(tx).decode() for tx in content.txs]
    seed = f"{chain_id}/{height}/{time_ns}/{previous_hash}/{len(txs)}".encode() + b"".join(content.txs)
    block_hash = hashlib.sha256(seed).hexdigest().upper()
    proposer = hashlib.sha256(b"proposer").hexdigest()[:40].upper()
    block = {
        "block_id": {"hash": block_hash, "parts": {"total": 1, "hash": block_hash}},
        "block": {
            "header": {
                "version": {"block": "11"},
                "chain_id": chain_id,
                "height": str(height),
                "time": rfc3339(time_ns),
                "last_block_id": {"hash": previous_hash, "parts": {"total": 1, "hash": previous_hash}},
                "proposer_address": proposer,
            },
            "data": {"txs": txs},
            "evidence": {"evidence": []},
            "last_commit": {"height": str(height - 1), "round": 0, "block_id": {}, "signatures": []},
        },
    }
    results = {
        "height": str(height),
        "txs_results": content.results or None,
        "finalize_block_events": content.events,
        "validator_updates": None,
        "app_hash": "",
    }
    dump = json.JSONEncoder(separators=(",", ":")).encode
    return StaticBlock(height, block_hash, dump(block).encode(), dump(results).encode())


def chain(
    contents: Sequence[Content], *, spacing_ns: int = 1_000_000_000, chain_id: str = CHAIN_ID
) -> list[StaticBlock]:
    """Linked blocks from height 1 on."""
    blocks: list[StaticBlock] = []
    for index, content in enumerate(contents):
        previous = blocks[-1].hash if blocks else ""
        blocks.append(sealed(index + 1, GENESIS_NS + index * spacing_ns, content, previous, chain_id=chain_id))
    return blocks


class StaticFeed:
    """Serves the blocks up to `latest`; `fault` may raise or delay before each request is answered."""

    def __init__(self, blocks: Sequence[StaticBlock], *, latest: int | None = None, batch_limit: int = 100) -> None:
        self.blocks = {block.height: block for block in blocks}
        self.latest = len(blocks) if latest is None else latest
        self.earliest = 1
        self.batch_limit = batch_limit
        self.chain_id = CHAIN_ID
        self.results_lag = 0
        self.requests = 0
        self.queries: Callable[[str, bytes, int], bytes | None] = lambda path, data, height: None
        self.fault: Callable[[], str | None] = lambda: None
        self.announce_doubly = False
        self._sockets: set[web.WebSocketResponse] = set()
        self.url = ""

    @asynccontextmanager
    async def serving(self, port: int = 0) -> AsyncIterator[StaticFeed]:
        """Run on an ephemeral port until the context ends."""
        app = web.Application(client_max_size=8 * 1024 * 1024)
        app.add_routes([web.post("/", self._post), web.get("/websocket", self._websocket)])
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", port)
        await site.start()
        address = runner.addresses[0]
        self.url = f"http://127.0.0.1:{address[1]}"
        try:
            yield self
        finally:
            await self.drop_sockets()
            await runner.cleanup()

    async def grow(self, latest: int) -> None:
        """Let blocks up to `latest` exist and announce the newest."""
        self.latest = latest
        frame = json.dumps(
            {"jsonrpc": "2.0", "id": 1, "result": {"data": {"value": {"header": {"height": str(latest)}}}}}
        )
        for socket in list(self._sockets):
            for _ in range(2 if self.announce_doubly else 1):
                if not socket.closed:
                    await socket.send_str(frame)

    async def drop_sockets(self) -> None:
        """Close every WebSocket."""
        for socket in list(self._sockets):
            await socket.close()

    @property
    def listeners(self) -> int:
        return len(self._sockets)

    async def _websocket(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(timeout=0.1)
        await socket.prepare(request)
        try:
            async for message in socket:
                if message.type is WSMsgType.TEXT:
                    await socket.send_str('{"jsonrpc":"2.0","id":1,"result":{}}')
                    self._sockets.add(socket)
        finally:
            self._sockets.discard(socket)
        return socket

    async def _post(self, request: web.Request) -> web.StreamResponse:
        self.requests += 1
        body = await request.json()
        match self.fault():
            case "drop":
                assert request.transport is not None
                request.transport.close()
                return web.Response(status=500)
            case "slow":
                await asyncio.sleep(0.05)
            case "garbage":
                return web.Response(text="<html>bad gateway</html>", status=502)
            case "error":
                return web.json_response(
                    {"jsonrpc": "2.0", "id": -1, "error": {"code": -32603, "message": "Internal error", "data": "boom"}}
                )
            case _:
                pass
        if isinstance(body, dict):
            return web.Response(body=self._answer(body), content_type="application/json")
        if len(body) > self.batch_limit:
            text = f"batch request exceeds maximum ({self.batch_limit}) allowed number of requests"
            return web.json_response(
                {"jsonrpc": "2.0", "error": {"code": -32600, "message": "Invalid Request", "data": text}}
            )
        return web.Response(body=b"[" + b",".join(self._answer(one) for one in body) + b"]")

    def _answer(self, call: dict[str, Any]) -> bytes:
        head = b'{"jsonrpc":"2.0","id":' + json.dumps(call["id"]).encode() + b","
        method, params = call["method"], call.get("params") or {}
        if method == "status":
            return head + b'"result":' + json.dumps(self._status()).encode() + b"}"
        if method == "abci_query":
            value = self.queries(params["path"], bytes.fromhex(params["data"]), int(params.get("height") or 0))
            response = (
                {"code": 18, "log": "no such query", "height": "0"}
                if value is None
                else {"code": 0, "value": base64.b64encode(value).decode(), "height": str(self.latest)}
            )
            return head + b'"result":' + json.dumps({"response": response}).encode() + b"}"
        height = int(params["height"])
        text = None
        if height > self.latest:
            text = f"height {height} must be less than or equal to the current blockchain height {self.latest}"
        elif height < self.earliest:
            text = f"height {height} is not available, lowest height is {self.earliest}"
        elif method == "block_results" and height > self.latest - self.results_lag:
            text = f"could not find results for height #{height}"
        if text is not None:
            error = {"code": -32603, "message": "Internal error", "data": text}
            return head + b'"error":' + json.dumps(error).encode() + b"}"
        block = self.blocks[height]
        return head + b'"result":' + (block.block if method == "block" else block.results) + b"}"

    def _status(self) -> dict[str, Any]:
        return {
            "node_info": {"network": self.chain_id},
            "sync_info": {
                "latest_block_height": str(self.latest),
                "latest_block_time": "2025-01-01T00:00:00Z",
                "earliest_block_height": str(self.earliest),
                "catching_up": False,
            },
        }
