"""The ASGI application of an API: everything its registry declares, and an envelope for everything else."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from itertools import count
from os import urandom
from typing import Any

import msgspec
from starlette.requests import ClientDisconnect
from starlette.requests import Request as RawRequest
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket

from leasehold.core import logging
from leasehold.core.clock import Clock, SystemClock
from leasehold.core.errors import InvalidInput, LeaseholdError, MethodNotAllowed, NotFound, NotReady
from leasehold.core.metrics import CONTENT_TYPE, Metrics
from leasehold.core.settings import Limits
from leasehold.serving.answers import Answer, problem_answer, snapshot_answer, value_answer
from leasehold.serving.bodies import decode_body, read_body, require_json
from leasehold.serving.cors import Cors, Headers
from leasehold.serving.envelopes import INTERNAL, problem_of
from leasehold.serving.heads import Heard
from leasehold.serving.limits import Limiter
from leasehold.serving.matching import Match, Matcher
from leasehold.serving.measures import Measures
from leasehold.serving.parameters import parse_query, read
from leasehold.serving.routes import Registry, Request, Route
from leasehold.serving.sending import Sender
from leasehold.serving.snapshots import SnapshotTable

WebSocketEndpoint = Callable[[WebSocket], Awaitable[None]]
Lifespan = Callable[[], AbstractAsyncContextManager[None]]
_SAFE_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_log = logging.get("serving")


class RequestIds:
    """Ids that are unique across processes and cheap: a random prefix and a counter."""

    def __init__(self) -> None:
        self._prefix = urandom(5).hex().encode() + b"-"
        self._next = count(1).__next__

    def fresh(self) -> bytes:
        return self._prefix + b"%x" % self._next()

    def given_or_fresh(self, given: bytes | None) -> bytes:
        """The caller's own id where it is harmless to repeat."""
        if given is not None and _SAFE_ID.fullmatch(given):
            return given
        return self.fresh()


class Application:
    """One API as an ASGI application; the fast path of `leasehold.serving.protocol` reads the same tables."""

    def __init__(
        self,
        registry: Registry,
        *,
        limits: Limits,
        snapshots: SnapshotTable | None = None,
        metrics: Metrics | None = None,
        clock: Clock | None = None,
        cors_origins: Iterable[str] = ("*",),
        websockets: Mapping[str, WebSocketEndpoint] | None = None,
        fallback: ASGIApp | None = None,
        lifespan: Lifespan | None = None,
    ) -> None:
        """`fallback` gets GET and HEAD requests for paths nobody declared (static files, a web application)."""
        self.registry = registry
        self.dialect = registry.dialect
        self.limits = limits
        self.snapshots = snapshots if snapshots is not None else SnapshotTable()
        self.metrics = metrics if metrics is not None else Metrics()
        self.measures = Measures(self.metrics, self.snapshots)
        self.clock = clock or SystemClock()
        # The machine's clock without the method around it: this is read for every request.
        monotonic = time.monotonic if isinstance(self.clock, SystemClock) else self.clock.monotonic
        self.limiter = Limiter(limits, monotonic)
        self.cors = Cors(cors_origins)
        self.ids = RequestIds()
        self.matcher = Matcher(registry)
        self.websockets = dict(websockets or {})
        self.fallback = fallback
        self.lifespan = lifespan
        self.dialect_headers: Headers = [(n.encode(), v.encode()) for n, v in registry.dialect.headers]
        self._decoders = {id(route): msgspec.json.Decoder(route.body) for route in registry if _is_json_body(route)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._websocket(scope, receive, send)
        else:
            # `leasehold.serving.service` runs the lifespan, so that its errors are ordinary ones.
            raise RuntimeError(f"unsupported scope {scope['type']}")

    def rate_of(self, target: bytes) -> str:
        """Rate class of a snapshot's target."""
        try:
            match = self.matcher.match(target.partition(b"?")[0])
        except InvalidInput:
            return "read"
        route = match.route("GET") if match else None
        return route.rate if route else "read"

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        heard = Heard(scope["headers"])
        request_id = self.ids.given_or_fresh(heard.request_id)
        common = [(b"x-request-id", request_id), *self.dialect_headers, *self.cors.headers(heard.origin)]
        started = self.limiter.now()
        label = "unknown"
        guarded = Sender(scope, send, common)
        self.measures.fast.in_flight += 1
        try:
            found = self._found(scope)
            route = found.route(scope["method"]) if isinstance(found, Match) else None
            label = route.path if route else "unknown"
            raw = RawRequest(scope, receive, send)
            answer = await self._answer(raw, heard, found, route, request_id.decode(), guarded)
        except ClientDisconnect:
            self.measures.disconnected()
            return
        except LeaseholdError as error:
            answer = problem_answer(problem_of(error), self.dialect, close=error.status in (408, 413))
            if error.status >= 500:
                _log.info("request failed", route=label, status=error.status, error=str(error), id=request_id.decode())
        except asyncio.CancelledError:
            stopping = problem_of(NotReady("the service is stopping"))
            await guarded.answer(problem_answer(stopping, self.dialect, close=True))
            raise
        except Exception as error:  # noqa: BLE001 - the outermost boundary: whatever it is, the caller gets an envelope
            _log.error("unexpected error", route=label, id=request_id.decode(), exc_info=error)
            answer = problem_answer(INTERNAL, self.dialect)
        finally:
            self.measures.fast.in_flight -= 1
        if answer is not None:
            await guarded.answer(answer)
        self.measures.request(scope["method"], label, guarded.status, self.limiter.now() - started)

    def _found(self, scope: Scope) -> Match | InvalidInput | None:
        """The routes of the path; a path that can't be decoded is an error to raise once the caller is admitted."""
        try:
            return self.matcher.match(scope.get("raw_path") or scope["path"].encode())
        except InvalidInput as error:
            return error

    async def _answer(
        self,
        raw: RawRequest,
        heard: Heard,
        found: Match | InvalidInput | None,
        route: Route | None,
        request_id: str,
        sender: Sender,
    ) -> Answer | None:
        scope = raw.scope
        method: str = scope["method"]
        path: str = scope["path"]
        client = self._client(scope, heard)
        if method == "OPTIONS":
            return self._options(found)
        if path == "/metrics" and method in ("GET", "HEAD"):
            return _metrics_answer(self.metrics)
        target = scope.get("raw_path", b"") + (b"?" + scope["query_string"] if scope["query_string"] else b"")
        snapshot = self.snapshots.entries.get(target) if method in ("GET", "HEAD") else None
        self._admit(client, route, method, self.rate_of(target) if snapshot else None)
        wish = heard.wish
        if snapshot is not None:
            return snapshot_answer(snapshot, wish)
        if isinstance(found, InvalidInput):
            raise found
        if found is None:
            return await self._undeclared(raw, scope, sender)
        if route is None:
            raise MethodNotAllowed(f"{method} is not allowed here", allowed=found.allowed)
        params = read(route.params, route.parameters, found.path_values(route), parse_query(scope["query_string"]))
        if route.cache.kind == "snapshot":
            snapshot = self.snapshots.get(route.target(params))
            if snapshot is not None:
                return snapshot_answer(snapshot, wish)
        if route.handler is None:
            raise NotReady(f"{route.name} not yet available")
        if route.guard is not None:
            await route.guard(raw)
        body = await self._body(raw, route)
        try:
            async with asyncio.timeout(self.limits.request_seconds):
                value = await route.handler(Request(params, body, client, request_id, raw, wish.if_none_match))
        except TimeoutError:
            raise NotReady(f"no answer within {self.limits.request_seconds:g} seconds") from None
        return await value_answer(value, route, wish)

    async def _body(self, raw: RawRequest, route: Route) -> Any:
        if route.body is None:
            return None
        if route.body is not bytes:
            require_json(raw)
        limit = self.limits.body_bytes if route.body_bytes is None else route.body_bytes
        data = await read_body(raw, limit=limit, seconds=self.limits.request_seconds)
        return data if route.body is bytes else decode_body(data, self._decoders[id(route)])

    async def _undeclared(self, raw: RawRequest, scope: Scope, sender: Sender) -> Answer | None:
        path = scope["path"]
        if path in self.websockets:
            raise InvalidInput("this path speaks WebSocket: send an Upgrade header")
        if self.fallback is not None and scope["method"] in ("GET", "HEAD"):
            await self.fallback(scope, raw.receive, sender)
            return None
        raise NotFound("no such path")

    def _options(self, found: Match | InvalidInput | None) -> Answer:
        headers = self.cors.preflight()
        if isinstance(found, Match):
            headers.append((b"allow", ", ".join(found.allowed).encode()))
        return Answer(200, [*headers, (b"content-length", b"0")])

    def _client(self, scope: Scope, heard: Heard) -> str:
        peer = scope["client"][0] if scope.get("client") else ""
        return self.limiter.client(peer, heard.forwarded, heard.real_ip)

    def _admit(self, client: str, route: Route | None, method: str, rate: str | None) -> None:
        if rate is None:
            rate = route.rate if route else "read" if method in ("GET", "HEAD") else "write"
        wait = self.limiter.wait(client, rate)
        if wait:
            self.measures.limited(rate)
            raise self.limiter.refusal(wait)

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        endpoint = self.websockets.get(scope["path"])
        socket = WebSocket(scope, receive, send)
        try:
            if endpoint is None:
                raise NotFound("no such path")
            await endpoint(socket)
        except LeaseholdError as error:
            # An endpoint raises before it accepts; afterwards it tells its client itself.
            answer = problem_answer(problem_of(error), self.dialect)
            headers = [*answer.headers, *self.dialect_headers, *self.cors.headers(Heard(scope["headers"]).origin)]
            await send({"type": "websocket.http.response.start", "status": answer.status, "headers": headers})
            await send({"type": "websocket.http.response.body", "body": answer.body})


def _metrics_answer(metrics: Metrics) -> Answer:
    body = metrics.exposition()
    headers = [(b"content-type", CONTENT_TYPE.encode()), (b"cache-control", b"no-store")]
    return Answer(200, [*headers, (b"content-length", str(len(body)).encode())], body)


def _is_json_body(route: Route) -> bool:
    return route.body is not None and route.body is not bytes
