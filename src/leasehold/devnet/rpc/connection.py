"""An HTTP/1.1 connection of the RPC: bytes to requests and back, on asyncio's transports.

Written on the parser directly because most requests are answered from prepared bytes: a framework would cost several
times what the answer does.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote

import httptools

from leasehold.core import logging
from leasehold.devnet.rpc.dispatch import HttpAnswer
from leasehold.devnet.rpc.envelope import INVALID_REQUEST, failure
from leasehold.devnet.rpc.responses import cleaned, response_head
from leasehold.devnet.rpc.websocket import WebSocketSession

if TYPE_CHECKING:
    from leasehold.devnet.rpc.server import RpcServer

log = logging.get("rpc")

MAX_BODY = 1_000_000
MAX_HEADERS = 1 << 20
PIPELINE = 32
LINGER_SECONDS = 2.0
NOTED = frozenset(
    (
        b"access-control-request-headers",
        b"access-control-request-method",
        b"content-type",
        b"expect",
        b"host",
        b"origin",
        b"upgrade",
    )
)

NOT_FOUND_PAGE = HttpAnswer(404, b"404 page not found\n", "text/plain; charset=utf-8")
BAD_REQUEST_PAGE = HttpAnswer(400, b"Bad Request\n", "text/plain; charset=utf-8")
TOO_LARGE = HttpAnswer(
    400,
    failure(None, INVALID_REQUEST, "error reading request body: http: request body too large"),
    is_bare=True,
)


class _Request:
    """A request as it comes in."""

    __slots__ = ("body", "headers", "keep_alive", "method", "noted", "size", "too_large", "upgrade", "url")

    def __init__(self) -> None:
        self.url = b""
        self.headers: list[tuple[bytes, bytes]] = []
        self.noted: dict[bytes, str] = {}
        self.body: list[bytes] = []
        self.size = 0
        self.too_large = False
        self.method = ""
        self.keep_alive = True
        self.upgrade = False

    def header(self, name: bytes) -> str | None:
        """One of the headers that matter here, by its lower-case name."""
        return self.noted.get(name)

    @property
    def is_form(self) -> bool:
        kind = self.noted.get(b"content-type", "").partition(";")[0].strip().lower()
        return self.method in ("POST", "PUT", "PATCH") and kind == "application/x-www-form-urlencoded"


class Connection(asyncio.Protocol):
    """One client; requests are answered one after the other, in the order they came."""

    def __init__(self, server: RpcServer) -> None:
        self._server = server
        self._parser = httptools.HttpRequestParser(self)
        self._request = _Request()
        self._header_bytes = 0
        self._waiting: deque[_Request] = deque()
        self._busy = False
        self._closing = False
        self._stalled = False
        self._websocket: WebSocketSession | None = None
        self._transport: asyncio.Transport
        self.last_activity = 0.0

    # asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports have the interface without the base class.
        self._transport = cast(asyncio.Transport, transport)
        self.last_activity = self._server.now()
        if not self._server.admit(self):
            self._closing = True
            self._transport.abort()

    def connection_lost(self, error: Exception | None) -> None:
        self._closing = True
        self._waiting.clear()
        self._server.forget(self)
        if self._websocket is not None:
            self._websocket.lost()

    def data_received(self, data: bytes) -> None:
        self.last_activity = self._server.now()
        if self._websocket is not None:
            self._websocket.feed(data)
            return
        if self._closing:
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._upgrade(data[upgrade.args[0] :])
        except httptools.HttpParserCallbackError:
            log.exception("answering a request failed unexpectedly")
            self._give_up(HttpAnswer(500, b"500 Internal Server Error", "text/plain; charset=utf-8", is_bare=True))
        except httptools.HttpParserError:
            self._give_up(HttpAnswer(400, b"400 Bad Request", "text/plain; charset=utf-8", is_bare=True))

    def _give_up(self, page: HttpAnswer) -> None:
        if not self._closing:
            self._closing = True
            self._write(page, False, "GET")
            self._transport.close()

    def pause_writing(self) -> None:
        self._stalled = True
        if self._websocket is not None:
            self._websocket.pause_writing()
        else:
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._stalled = False
        if self._websocket is not None:
            self._websocket.resume_writing()
        elif not self._busy:
            self._work()

    # The parser

    def on_message_begin(self) -> None:
        self._request = _Request()
        self._header_bytes = 0

    def on_url(self, url: bytes) -> None:
        self._request.url += url
        self._header_bytes += len(url)
        if self._header_bytes > MAX_HEADERS:
            self._refuse_headers()

    def on_header(self, name: bytes, value: bytes) -> None:
        request = self._request
        request.headers.append((name, value))
        lowered = name.lower()
        if lowered in NOTED:
            request.noted.setdefault(lowered, value.decode("latin-1"))
        self._header_bytes += len(name) + len(value)
        if self._header_bytes > MAX_HEADERS:
            self._refuse_headers()

    def _refuse_headers(self) -> None:
        text = b"431 Request Header Fields Too Large"
        self._give_up(HttpAnswer(431, text, "text/plain; charset=utf-8", is_bare=True))

    def on_headers_complete(self) -> None:
        if (self._request.header(b"expect") or "").lower() == "100-continue" and not self._closing:
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        request = self._request
        request.size += len(body)
        if request.size <= MAX_BODY:
            request.body.append(body)
        elif not request.too_large:
            request.too_large = True
            request.body.clear()
            request.keep_alive = False
            self._enqueue(request)

    def on_message_complete(self) -> None:
        request = self._request
        if request.too_large or self._closing:
            return
        request.keep_alive = self._parser.should_keep_alive()
        request.upgrade = self._parser.should_upgrade()
        request.method = self._parser.get_method().decode()
        if not request.upgrade:
            self._enqueue(request)

    def _enqueue(self, request: _Request) -> None:
        self._waiting.append(request)
        if len(self._waiting) > PIPELINE:
            self._transport.pause_reading()
        if not self._busy:
            self._work()

    # Answers

    def _work(self) -> None:
        while self._waiting and not self._closing and not self._stalled:
            request = self._waiting.popleft()
            answered = TOO_LARGE if request.too_large else self._answer(request)
            if not isinstance(answered, HttpAnswer):
                self._busy = True
                self._server.spawn(self._finish(request, answered))
                return
            self._respond(request, answered)
        if not self._closing and not self._stalled:
            self._transport.resume_reading()

    async def _finish(self, request: _Request, pending: Coroutine[Any, Any, HttpAnswer]) -> None:
        try:
            answered = await pending
        finally:
            self._busy = False
        if not self._closing:
            self._respond(request, answered)
            self._work()

    def _respond(self, request: _Request, answered: HttpAnswer) -> None:
        self._write(answered, request.keep_alive, request.method, request)
        if not request.keep_alive:
            self._closing = True
            if request.too_large:
                self._linger()
            else:
                self._transport.close()

    def _linger(self) -> None:
        """Close for writing and swallow what still comes: closing at once would lose the answer on its way."""
        if self._transport.can_write_eof():
            self._transport.write_eof()
        self._transport.resume_reading()
        self._server.later(LINGER_SECONDS, self._transport.abort)

    def _answer(self, request: _Request) -> HttpAnswer | Coroutine[Any, Any, HttpAnswer]:
        path, _, query = request.url.partition(b"?")
        if not path.startswith(b"/"):
            # An absolute URL, as a client sends it to a proxy.
            parsed = httptools.parse_url(request.url)
            path, query = parsed.path or b"/", parsed.query or b""
        name = path[1:].decode("latin-1")
        if "%" in name or "/" in name or "." in name:
            clean = cleaned(unquote("/" + name))
            if clean is not None:
                return HttpAnswer(301, location=clean + ("?" + query.decode("latin-1") if query else ""))
            name = unquote(name)
        dispatcher = self._server.dispatcher
        if request.method == "OPTIONS" and request.header(b"access-control-request-method") is not None:
            return HttpAnswer(204, b"", "")
        if name in dispatcher.table:
            if request.body and request.is_form:
                # Fields of a form count like parameters, after those of the address.
                query = b"&".join((query, *b"".join(request.body).split(b"&")))
            return dispatcher.uri(name, query.decode("latin-1"))
        if not name:
            body = b"".join(request.body)
            return dispatcher.post(body) if body else dispatcher.listing(request.header(b"host") or "")
        return BAD_REQUEST_PAGE if name == "websocket" else NOT_FOUND_PAGE

    def _write(self, answered: HttpAnswer, keep_alive: bool, method: str, request: _Request | None = None) -> None:
        noted = request.noted if request is not None else {}
        clockwork = self._server.clockwork
        clockwork.tick()
        if answered.is_plain and keep_alive and method != "HEAD" and b"origin" not in noted:
            start = clockwork.cacheable_head if answered.is_cacheable else clockwork.plain_head
            self._transport.write(b"%b%d\r\n\r\n%b" % (start, len(answered.body), answered.body))
            return
        head = response_head(answered, clockwork, noted, method=method, keep_alive=keep_alive)
        self._transport.write(head if method == "HEAD" else head + answered.body)

    # WebSocket

    def _upgrade(self, leftover: bytes) -> None:
        request = self._request
        path = request.url.partition(b"?")[0]
        if path != b"/websocket" or (request.header(b"upgrade") or "").lower() != "websocket":
            request.keep_alive = False
            self._enqueue(request)
            return
        session = WebSocketSession(
            self._transport, self._server.dispatcher.table, self._server.hub, self._server.spawn,
            queue_frames=self._server.queue_frames,
        )  # fmt: skip
        self._transport.set_write_buffer_limits(high=self._server.write_buffer)
        lines = [b"GET " + request.url + b" HTTP/1.1", *(b"%b: %b" % pair for pair in request.headers), b"", b""]
        self._websocket = session
        if not session.handshake(b"\r\n".join(lines), leftover):
            self._websocket = None
            request.keep_alive = False
            self._respond(request, BAD_REQUEST_PAGE)

    # The server

    def tick(self, now: float) -> None:
        """Look after a connection now and then: pings and silences, or idle time."""
        if self._websocket is not None:
            self._websocket.tick(now, ping=self._server.ping_seconds, silence=self._server.silence_seconds)
        elif not self._busy and now - self.last_activity > self._server.idle_seconds:
            self._transport.abort()

    @property
    def is_websocket(self) -> bool:
        return self._websocket is not None

    def abort(self) -> None:
        self._transport.abort()

    def stop(self) -> None:
        """End politely: subscribers are told, everyone else is cut off after what is being written."""
        self._closing = True
        if self._websocket is not None:
            self._websocket.end()
        else:
            self._transport.close()
