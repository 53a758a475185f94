"""The LCD as a bare ASGI application: a request is matched, turned into a message, asked, and rendered."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any
from urllib.parse import unquote

from leasehold.chain.json_codec import JsonCodec
from leasehold.chain.parameters import query_pairs
from leasehold.chain.registry import Registry
from leasehold.core.clock import NANOSECONDS, Clock
from leasehold.core.errors import InvalidInput
from leasehold.devnet.app.errors import Status, StatusError
from leasehold.devnet.app.heights import HeightError, asked_height
from leasehold.devnet.app.queries import Queries
from leasehold.devnet.lcd.answers import (
    CLOSE,
    JSON,
    Answer,
    Headers,
    moved,
    no_such_page,
    refusal,
    tidied,
    too_large,
    unreadable,
)
from leasehold.devnet.lcd.pages import routes_page
from leasehold.devnet.lcd.preflights import preflight
from leasehold.devnet.lcd.templates import Route, RouteTable
from leasehold.devnet.services.transactions import GivenTransaction

MAX_BODY = 1_000_000
_HEIGHT_HEADERS = (b"x-cosmos-block-height", b"grpc-metadata-x-cosmos-block-height")
_GRPC_TYPE = (b"grpc-metadata-content-type", b"application/grpc+cosmos-sdk-grpc-codec")
# Answers of more bytes become text in a thread.
_LONG_ANSWER = 50_000
_TRAILER = (b"trailer", b"Grpc-Trailer-Content-Type")
# Handed to the mempool rather than to the state: no height belongs to the answer.
_BROADCAST = "/cosmos.tx.v1beta1.Service/BroadcastTx"
_GIVEN = re.compile(rb'"tx_?[bB]ytes"\s*:\s*"')
# Served over gRPC alone, whatever their annotations say.
_GRPC_ONLY = ("cosmos.base.reflection.",)
_FORM = b"application/x-www-form-urlencoded"
_OVERRIDE = b"x-http-method-override"
_BAD_ESCAPE = re.compile("%(?![0-9a-fA-F]{2})")
_TIMEOUT = re.compile(rb"[+-]?[0-9]+[HMSmun]")

Send = Callable[[dict[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Fallback = Callable[[str, str], "Awaitable[Answer | None]"]


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
        if CLOSE not in headers:
            headers.append((b"x-server-time", str(self._clock.now_ns() // NANOSECONDS).encode()))
        if _TRAILER not in headers:
            headers.append((b"content-length", str(len(body)).encode()))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})

    async def _respond(self, scope: dict[str, Any], receive: Receive) -> Answer:
        request = dict(scope["headers"])
        verb = scope["method"]
        if verb == "OPTIONS":
            return preflight(request)
        headers: Headers = [(b"access-control-allow-origin", b"*")] if request.get(b"origin") else []
        path = scope["raw_path"].decode("latin-1").partition("?")[0]
        query = scope["query_string"].decode("latin-1")
        if "%" in path and _BAD_ESCAPE.search(path) is not None:
            return unreadable()
        # Escaped slashes separate segments too: the path is decoded before it is matched.
        decoded = unquote(path)
        if ("//" in decoded or "/." in decoded) and tidied(decoded) != decoded:
            status, extra, body = moved(decoded, query)
            return status, headers + extra, body
        if decoded.startswith("/swagger"):
            status, extra, body = self._documentation(decoded)
            return status, headers + extra, body
        found, form = self._route(verb, decoded, request)
        if found is None:
            if verb == "GET" and self._fallback and (answer := await self._fallback(path, query)) is not None:
                return answer
            status, extra, body = refusal(StatusError(Status.UNIMPLEMENTED, "Not Implemented"))
            return status, headers + extra, body
        body_in = b""
        if found[0].body or form:
            received = await _read(receive)
            if received is None:
                return too_large(headers)
            body_in = received
        if form and not found[0].body:
            query = "&".join(part for part in (body_in.decode("latin-1"), query) if part)
        status, extra, body = await self._answer(found, query, scope["headers"], body_in)
        return status, headers + extra, body

    def _route(self, verb: str, path: str, request: dict[bytes, bytes]) -> tuple[tuple[Route, list[str]] | None, bool]:
        """The route of a request, and whether its body is a form.

        A form may stand for a query that is too long for an address: it finds the routes of other verbs too.
        """
        if verb != "POST" or request.get(b"content-type") != _FORM:
            return self._routes.find(verb, path), False
        override = request.get(_OVERRIDE, b"").decode("latin-1").upper()
        found = self._routes.find(override or verb, path)
        return found or self._routes.find("POST" if override else "GET", path), True

    def _documentation(self, path: str) -> Answer:
        if path == "/swagger":
            return 301, [(b"location", b"swagger/")], b""
        if path == "/swagger/index.html":
            return 301, [(b"location", b"./")], b""
        if path != "/swagger/":
            return no_such_page()
        headers = [(b"content-type", b"text/html; charset=utf-8"), (b"accept-ranges", b"bytes")]
        return 200, headers, routes_page(self._routes.listed())

    async def _answer(self, found: tuple[Route, list[str]], query: str, headers: Headers, body: bytes) -> Answer:
        route, values = found
        for name, value in headers:
            if name == b"grpc-timeout" and value and _TIMEOUT.fullmatch(value) is None:
                wrong = f"invalid grpc-timeout: {value.decode('latin-1')}"
                return refusal(StatusError(Status.INVALID_ARGUMENT, wrong))
        try:
            message = self._message(route, values, query, body)
        except InvalidInput as error:
            return refusal(StatusError(Status.INVALID_ARGUMENT, error.message))
        try:
            height = self._queries.resolve(_asked_height(headers))
        except HeightError as failure:
            status, extra, text = refusal(StatusError(Status.UNKNOWN, failure.error.status_text))
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
            status, extra, text = refusal(error)
            return status, extra + meta, text
        return 200, [JSON, *meta, *plain], body

    def _message(self, route: Route, values: list[str], query: str, body: bytes) -> Any:
        message: Any = route.method.request_type()
        if route.body:
            self._codec.merge(message, body or b"{}")
            if route.method.path == _BROADCAST and not message.tx_bytes and _GIVEN.search(body):
                return GivenTransaction(b"", message.mode)
        for name, value in zip(route.names, values, strict=True):
            self._codec.set_path(message, name, value)
        if query and route.is_queried:
            self._codec.set_query(message, query_pairs(query), taken=route.names)
        return message


def _asked_height(headers: Headers) -> int:
    """The height in either header; two values cancel each other, as over gRPC."""
    values = [value for name, value in headers if name in _HEIGHT_HEADERS]
    return asked_height(values[0].decode("latin-1")) if len(values) == 1 else 0


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
