"""The LCD as a bare ASGI application: a request is matched, turned into a message, asked, and rendered."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, unquote

from leasehold.chain.json_codec import JsonCodec
from leasehold.chain.registry import Registry
from leasehold.core.clock import NANOSECONDS, Clock
from leasehold.core.errors import InvalidInput
from leasehold.devnet.app.errors import Status, StatusError
from leasehold.devnet.app.heights import HeightError, asked_height
from leasehold.devnet.app.queries import Queries
from leasehold.devnet.lcd.pages import routes_page
from leasehold.devnet.lcd.templates import Route, RouteTable
from leasehold.devnet.services.transactions import GivenTransaction

MAX_BODY = 1_000_000
HTTP_STATUS = {
    Status.OK: 200, Status.CANCELLED: 408, Status.UNKNOWN: 500, Status.INVALID_ARGUMENT: 400,
    Status.DEADLINE_EXCEEDED: 504, Status.NOT_FOUND: 404, Status.ALREADY_EXISTS: 409,
    Status.PERMISSION_DENIED: 403, Status.RESOURCE_EXHAUSTED: 429, Status.FAILED_PRECONDITION: 400,
    Status.ABORTED: 409, Status.OUT_OF_RANGE: 400, Status.UNIMPLEMENTED: 501, Status.INTERNAL: 500,
    Status.UNAVAILABLE: 503, Status.DATA_LOSS: 500, Status.UNAUTHENTICATED: 401,
}  # fmt: skip
_HEIGHT_HEADERS = (b"x-cosmos-block-height", b"grpc-metadata-x-cosmos-block-height")
_GRPC_TYPE = (b"grpc-metadata-content-type", b"application/grpc+cosmos-sdk-grpc-codec")
# Answers of more bytes become text in a thread.
_LONG_ANSWER = 50_000
_JSON = (b"content-type", b"application/json")
_CLOSE = (b"connection", b"close")
_TRAILER = (b"trailer", b"Grpc-Trailer-Content-Type")
# Handed to the mempool rather than to the state: no height belongs to the answer.
_BROADCAST = "/cosmos.tx.v1beta1.Service/BroadcastTx"
_GIVEN = re.compile(rb'"tx_?[bB]ytes"\s*:\s*"')
# Served over gRPC alone, whatever their annotations say.
_GRPC_ONLY = ("cosmos.base.reflection.",)
_ALLOWED_HEADERS = {"accept", "content-type", "origin", "x-requested-with", "x-server-time", "accept-language"}
_ALLOWED_METHODS = {"GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE"}

Headers = list[tuple[bytes, bytes]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Fallback = Callable[[str, str], "Awaitable[tuple[int, Headers, bytes] | None]"]


class LcdApplication:
    """REST routes over the query table.

    `fallback(path, query)` may answer GET paths that are no LCD routes: the RPC methods some clients look for here.
    """

    def __init__(self, registry: Registry, queries: Queries, clock: Clock, fallback: Fallback | None = None) -> None:
        self._queries = queries
        self._codec = JsonCodec(registry)
        self._clock = clock
        self._fallback = fallback
        # A fault a devnet can be told to have: every answer takes at least this long.
        self.delay_seconds = 0.0
        self._routes = RouteTable(
            method
            for method in registry.methods
            if method.http and method.path in queries.handlers and not method.service.startswith(_GRPC_ONLY)
        )

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if self.delay_seconds:
            await asyncio.sleep(self.delay_seconds)
        status, headers, body = await self._respond(scope, receive)
        if _CLOSE not in headers:
            headers.append((b"x-server-time", str(self._clock.now_ns() // NANOSECONDS).encode()))
        if _TRAILER not in headers:
            headers.append((b"content-length", str(len(body)).encode()))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})

    async def _respond(self, scope: dict[str, Any], receive: Receive) -> tuple[int, Headers, bytes]:
        request = dict(scope["headers"])
        headers: Headers = []
        if b"origin" in request:
            if scope["method"] == "OPTIONS" and b"access-control-request-method" in request:
                return _preflight(request)
            headers.append((b"access-control-allow-origin", b"*"))
        path = scope["raw_path"].decode("latin-1").partition("?")[0]
        verb = scope["method"]
        if path.startswith("//"):
            return 301, [*headers, (b"location", b"/" + path.lstrip("/").encode("latin-1"))], b""
        # Escaped slashes separate segments too: the path is decoded before it is matched.
        found = self._routes.find(verb, unquote(path))
        query = scope["query_string"].decode("latin-1")
        if found is None:
            if verb == "GET" and self._fallback and (answer := await self._fallback(path, query)) is not None:
                return answer
            if verb == "GET" and path.startswith("/swagger") and (page := self._documentation(path)) is not None:
                return page
            status, extra, body = _error(StatusError(Status.UNIMPLEMENTED, "Not Implemented"))
            return status, headers + extra, body
        body_in = b""
        if found[0].body:
            received = await _read(receive)
            if received is None:
                return _too_large(headers)
            body_in = received
        status, extra, body = await self._answer(found, query, request, body_in)
        return status, headers + extra, body

    def _documentation(self, path: str) -> tuple[int, Headers, bytes] | None:
        if path == "/swagger":
            return 301, [(b"location", b"swagger/")], b""
        if path != "/swagger/":
            return None
        headers = [(b"content-type", b"text/html; charset=utf-8"), (b"accept-ranges", b"bytes")]
        return 200, headers, routes_page(self._routes.listed())

    async def _answer(
        self, found: tuple[Route, list[str]], query: str, headers: dict[bytes, bytes], body: bytes
    ) -> tuple[int, Headers, bytes]:
        route, values = found
        try:
            message = self._message(route, values, query, body)
        except InvalidInput as error:
            return _error(StatusError(Status.INVALID_ARGUMENT, error.message))
        try:
            height = self._queries.resolve(_asked_height(headers))
        except HeightError as failure:
            status, extra, text = _error(StatusError(Status.UNKNOWN, failure.error.status_text))
            return status, [*extra, _TRAILER], text
        shown = str(height).encode()
        meta: Headers = [_GRPC_TYPE, (b"grpc-metadata-x-cosmos-block-height", shown)]
        plain: Headers = [(b"x-cosmos-block-height", shown)]
        if route.method.path == _BROADCAST:
            meta, plain = [], []
        try:
            if self._queries.is_lengthy(route.method.path):
                response = await self._queries.answer(route.method.path, message, height)
            else:
                response = self._queries.call(route.method.path, message, height)
            if response.ByteSize() > _LONG_ANSWER:
                body = await self._queries.in_thread(partial(self._codec.encode, response))
            else:
                body = self._codec.encode(response)
        except StatusError as error:
            status, extra, text = _error(error)
            return status, extra + meta, text
        return 200, [_JSON, *meta, *plain], body

    def _message(self, route: Route, values: list[str], query: str, body: bytes) -> Any:
        message: Any = route.method.request_type()
        if route.body:
            self._codec.merge(message, body or b"{}")
            if route.method.path == _BROADCAST and not message.tx_bytes and _GIVEN.search(body):
                return GivenTransaction(b"", message.mode)
        for name, value in zip(route.names, values, strict=True):
            self._codec.set_path(message, name, value)
        if query and not route.body:
            pairs = parse_qsl(query, keep_blank_values=True, encoding="utf-8", errors="replace")
            self._codec.set_query(message, pairs, taken=route.names)
        return message


def _asked_height(headers: dict[bytes, bytes]) -> int:
    for name in _HEIGHT_HEADERS:
        if (text := headers.get(name)) is not None:
            return asked_height(text.decode("latin-1"))
    return 0


def _error(error: StatusError) -> tuple[int, Headers, bytes]:
    body = json.dumps(
        {"code": int(error.status), "message": error.message, "details": []}, ensure_ascii=False, separators=(",", ":")
    )
    return HTTP_STATUS[error.status], [_JSON], body.encode("utf-8", "replace")


async def _read(receive: Receive) -> bytes | None:
    """The request body, or None when it is larger than the node takes."""
    chunks: list[bytes] = []
    size = 0
    while True:
        event = await receive()
        if event["type"] != "http.request":
            return b""
        chunks.append(event.get("body", b""))
        size += len(chunks[-1])
        if size > MAX_BODY:
            return None
        if not event.get("more_body"):
            return b"".join(chunks)


def _too_large(headers: Headers) -> tuple[int, Headers, bytes]:
    """The listener in front of the LCD is the RPC's: it refuses with a JSON-RPC object."""
    answer = {
        "jsonrpc": "2.0",
        "error": {
            "code": -32600,
            "message": "Invalid Request",
            "data": "error reading request body: http: request body too large",
        },
    }
    return 400, [*headers, _JSON, _CLOSE], json.dumps(answer, separators=(",", ":")).encode()


def _preflight(request: dict[bytes, bytes]) -> tuple[int, Headers, bytes]:
    wanted = request.get(b"access-control-request-headers", b"").decode("latin-1")
    names = [name.strip().lower() for name in wanted.split(",") if name.strip()]
    method = request[b"access-control-request-method"].decode("latin-1")
    if method not in _ALLOWED_METHODS or any(name not in _ALLOWED_HEADERS for name in names):
        return 403, [], b""
    headers: Headers = [(b"access-control-allow-origin", b"*")]
    if names:
        canonical = ",".join("-".join(part.capitalize() for part in name.split("-")) for name in names)
        headers.append((b"access-control-allow-headers", canonical.encode()))
    return 200, headers, b""
