"""uvicorn's HTTP connection with what it leaves to others: the dialect for requests that can't be parsed, bounds on the
size and time of a head, one order for all pipelined answers, and no unbounded buffer for a client that does not read.

It reaches into uvicorn's internals, so it is written for one version of it, which the lock pins.
"""

from __future__ import annotations

from typing import Any, ClassVar

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from leasehold.serving.application import Application
from leasehold.serving.envelopes import (
    BAD_REQUEST,
    HEAD_TOO_LARGE,
    OVERLOADED,
    REQUEST_TIMEOUT,
    URI_TOO_LONG,
    Problem,
)
from leasehold.serving.sending import WHOLE, Outlet
from leasehold.serving.watch import Watch
from leasehold.serving.wires import Waiting, render_problem

WRITTEN_FOR_UVICORN = "0.54.0"
MAX_TARGET = 8192
MAX_HEADERS = 100
WRITE_BUFFER = 256 * 1024
LINGER_BYTES = 4 * 1024 * 1024

# Where the parser stands in the current message; plain numbers, because they are compared several times a request.
IDLE, HEAD, BODY = range(3)


class _Refusal(Exception):
    """Carries an answer out of a parser callback."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem


class _Busy:
    """Stands in for an unfinished cycle, so that uvicorn queues a request behind answers that wait."""

    response_complete = False


class Connection(HttpToolsProtocol):
    """One connection to one server; a subclass names the application and the watch."""

    application: ClassVar[Application]
    watch: ClassVar[Watch]

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        self.state = IDLE
        self.begun = 0
        self.deadline = self.watch.head_deadline
        # The started, perhaps finished, cycle; uvicorn's `cycle` is the one parsed last, perhaps still queued.
        self.started: Any = None
        # The current message needs nothing more: it is answered, queued or refused.
        self.settled = False
        # Nothing more is answered: the connection ends when the peer has read, or soon.
        self.ending = False
        # The last answer is decided, and perhaps waits for its turn; what else arrives is thrown away.
        self.refused = False
        self.close_when_drained = False
        self.head_bytes = 0
        self.body_bytes = 0
        self.lingered = 0
        self.peer = ""
        self.limit_key: str | None = None
        self.behind_proxy = False

    # The connection

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=WRITE_BUFFER)
        limiter = self.application.limiter
        self.peer = self.client[0] if self.client else ""
        self.behind_proxy = limiter.is_proxy(self.peer)
        self.limit_key = limiter.key(self.peer)
        self.watch.connections.add(self)
        self.application.measures.fast.connections = len(self.watch.connections)
        if len(self.watch.connections) > self.watch.max_connections:
            self._refuse(OVERLOADED)

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        self.pipeline.clear()
        if self.started is not None and self.started is not self.cycle and not self.started.response_complete:
            # uvicorn tells only the cycle parsed last.
            self.started.disconnected = True
            self.started.message_event.set()
        super().connection_lost(exc)

    def _forget(self) -> None:
        self.watch.connections.discard(self)
        self.application.measures.fast.connections = len(self.watch.connections)

    def data_received(self, data: bytes) -> None:
        if self.ending or self.refused:
            self.lingered += len(data)
            if self.lingered > LINGER_BYTES:
                self.transport.abort()
            return
        if self.state == HEAD:
            self.head_bytes += len(data)
        while data:
            try:
                self.parser.feed_data(data)
                break
            except httptools.HttpParserUpgrade as upgrade:
                if self._should_upgrade():
                    if not self.ending:
                        self.handle_websocket_upgrade()
                    return
                # An upgrade nobody supports was answered as an ordinary request; what follows it is the next one.
                data = data[upgrade.args[0] :]
            except httptools.HttpParserError as error:
                cause = error.__context__
                self._refuse(cause.problem if isinstance(cause, _Refusal) else BAD_REQUEST)
                return
        if self.state == HEAD and self.head_bytes > self.application.limits.header_bytes:
            self._refuse(HEAD_TOO_LARGE if self.headers else URI_TOO_LONG)

    def handle_websocket_upgrade(self) -> None:
        self._forget()
        super().handle_websocket_upgrade()
        # The parser knows us: without this, what is left of us would wait for the collector.
        self.parser = None  # type: ignore[assignment]

    def expire(self) -> None:
        """The deadline passed: close what idles, tell what is slow, cut off what does not read."""
        if self.transport.is_closing() or self.ending or self.flow.write_paused:
            self.transport.abort()
        elif self._busy():
            # A running handler has its own time limit.
            self.deadline = self.watch.idle_deadline
        elif self.state == HEAD:
            self._refuse(REQUEST_TIMEOUT)
        else:
            self.transport.close()

    def pause_writing(self) -> None:
        super().pause_writing()
        self.deadline = self.watch.stall_deadline

    def resume_writing(self) -> None:
        super().resume_writing()
        self.deadline = self.watch.idle_deadline
        if self.pipeline and not self._running():
            self._advance()

    def shutdown(self) -> None:
        if self.pipeline and isinstance(self.pipeline[0][0], Waiting):
            self.close_when_drained = True
        else:
            super().shutdown()

    def depart(self) -> None:
        """Close; while the peer is still sending, only our half of the connection at first."""
        if self.transport.is_closing() or self.ending:
            return
        self.pipeline.clear()
        if self.state == IDLE or not self.transport.can_write_eof():
            self.transport.close()
            return
        # Closing with unread data resets the connection, and the peer may lose the answer it is owed.
        self.ending = True
        self.deadline = self.watch.linger_deadline
        self.transport.write_eof()
        self.flow.resume_reading()

    # Parser callbacks

    def on_message_begin(self) -> None:
        self.url = b""
        self.headers = []
        self.state = HEAD
        self.begun += 1
        self.settled = False
        self.head_bytes = 0
        self.body_bytes = 0
        if not self.flow.write_paused:
            self.deadline = self.watch.head_deadline

    def on_header(self, name: bytes, value: bytes) -> None:
        # What comes after the head is a trailer; nobody asked for it.
        if self.state == HEAD:
            self.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        if self.ending or self.transport.is_closing():
            self.settled = True
        else:
            if self._answered_early():
                self.settled = True
            else:
                self._check_head()
                self._pass_on()
        self.state = BODY

    def on_body(self, body: bytes) -> None:
        if self.settled:
            return
        self.body_bytes += len(body)
        super().on_body(body)
        if self.cycle.response_complete and self.body_bytes > self.application.limits.body_bytes:
            # The answer is out and the rest would only be thrown away.
            self.depart()

    def on_message_complete(self) -> None:
        self.state = IDLE
        if not self.settled:
            super().on_message_complete()

    def on_response_complete(self) -> None:
        self.server_state.total_requests += 1
        if self.ending or self.transport.is_closing():
            return
        if not self.flow.write_paused:
            self.deadline = self.watch.idle_deadline if self.state == IDLE else self.watch.head_deadline
        self._advance()

    # Answering

    def _answered_early(self) -> bool:
        """Whether the current head was answered without ASGI; the fast path says so."""
        return False

    def _check_head(self) -> None:
        """Refuse a head that is too large, or ambiguous about the host it wants."""
        if len(self.url) > MAX_TARGET:
            raise _Refusal(URI_TOO_LONG)
        size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if size > self.application.limits.header_bytes or len(self.headers) > MAX_HEADERS:
            raise _Refusal(HEAD_TOO_LARGE)
        hosts = sum(name == b"host" for name, _ in self.headers)
        if hosts > 1 or (hosts == 0 and self.parser.get_http_version() == "1.1"):
            raise _Refusal(BAD_REQUEST)

    def _pass_on(self) -> None:
        """Let uvicorn start, or queue, an ASGI cycle for the current head."""
        url, headers = self.url, self.headers
        super().on_message_begin()
        self.url = url
        self.headers.extend(headers)
        self.expect_100_continue = any(n == b"expect" and v.lower() == b"100-continue" for n, v in headers)
        if self.parser.should_upgrade() and self._should_upgrade():
            if self._busy():
                raise _Refusal(BAD_REQUEST)
            super().on_headers_complete()
            self.settled = True
            return
        before = self.cycle
        if self.pipeline:
            self.cycle = _Busy()  # type: ignore[assignment]
        try:
            super().on_headers_complete()
        finally:
            if isinstance(self.cycle, _Busy):
                self.cycle = before
        outlet = Outlet(self, self.cycle)
        self.cycle.transport = outlet  # type: ignore[assignment]
        self.scope["extensions"] = {WHOLE: {"send": outlet.whole}}

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        self.started = cycle
        super()._start_asgi_task(cycle, app)

    def _running(self) -> bool:
        return self.started is not None and not self.started.response_complete

    def _busy(self) -> bool:
        return bool(self.pipeline) or self._running()

    def _advance(self) -> None:
        """Go on with what waits, in order, as long as the client reads."""
        while self.pipeline:
            if self.flow.write_paused:
                return
            waiting, app = self.pipeline.pop()
            if not isinstance(waiting, Waiting):
                self._start_asgi_task(waiting, app)
                return
            self.transport.writelines(waiting.parts)
            if waiting.close:
                self.depart()
                return
        if self.close_when_drained:
            self.transport.close()
            return
        self.flow.resume_reading()

    def _refuse(self, problem: Problem) -> None:
        """Answer what can't be served as HTTP, in its turn, and end the connection."""
        if self.ending or self.refused or self.transport.is_closing():
            return
        self.refused = True
        self.application.measures.refused(problem.status)
        head, body = render_problem(self.application, problem, None)
        end = b"x-request-id: " + self.application.ids.fresh() + b"\r\nconnection: close\r\n\r\n"
        waiting = Waiting((head, self.watch.date_line, end, body), close=True)
        broken = self.cycle if self.state == BODY and not self.settled else None
        # What can't be parsed is a message all the same, and its sender may not be done.
        self.state = HEAD
        self.settled = True
        if broken is not None and broken is self.started:
            self._abandon(broken, waiting)
            return
        if broken is not None:
            self.pipeline.popleft()
        if self._busy() or self.flow.write_paused:
            self.flow.pause_reading()
            self.pipeline.appendleft((waiting, None))  # type: ignore[arg-type]
        else:
            self.transport.writelines(waiting.parts)
            self.depart()

    def _abandon(self, cycle: Any, waiting: Waiting) -> None:
        """The body of a request that is being handled turned out broken."""
        if not cycle.response_complete:
            cycle.disconnected = True
            cycle.message_event.set()
        if not cycle.response_started:
            self.transport.writelines(waiting.parts)
        self.depart()
