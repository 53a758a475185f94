"""The fast path: a request for a known snapshot is a dictionary lookup, answered before ASGI starts.

Clients that poll send the same bytes again and again. What the parser made of a request that stood alone in its
packet is remembered under those bytes, so the next one is a lookup of the whole request; since parsing depends on
nothing but the bytes, this decides nothing that the parser would decide otherwise.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import Any, ClassVar

from leasehold.serving.application import Application
from leasehold.serving.connection import IDLE, MAX_HEADERS, Connection
from leasehold.serving.envelopes import problem_of
from leasehold.serving.measures import FastPath
from leasehold.serving.memoryfiles import MemoryFile, send
from leasehold.serving.negotiation import not_modified
from leasehold.serving.snapshots import Snapshot, SnapshotTable
from leasehold.serving.watch import Watch
from leasehold.serving.wires import Waiting, lines, render, render_problem

MEMO_ENTRIES = 2048
MEMO_BYTES = 1024
_NOTED = frozenset(
    (b"accept-encoding", b"if-none-match", b"origin", b"x-request-id", b"x-forwarded-for", b"x-real-ip", b"host")
)
# With any of these a request is more than a lookup, and the ordinary path knows what to do.
_UNUSUAL = frozenset((b"content-length", b"transfer-encoding", b"upgrade", b"trailer"))


@dataclass(frozen=True, slots=True)
class Ask:
    """What a GET or HEAD says that matters to a snapshot."""

    target: bytes
    head_only: bool
    accept: bytes | None
    match: bytes | None
    origin: bytes | None


class SnapshotProtocol(Connection):
    """A connection that answers snapshots itself: 200, 304 and 429, for GET and HEAD."""

    memo: ClassVar[dict[bytes, Ask]]
    table: ClassVar[SnapshotTable]
    counts: ClassVar[FastPath]
    ask: Ask | None = None
    descriptor = -1
    # The same socket as the transport's, made for the first large body; never closed from here.
    bare: socket.socket | None = None

    def connection_made(self, transport: Any) -> None:
        if transport.get_extra_info("sslcontext") is None and (own := transport.get_extra_info("socket")) is not None:
            self.descriptor = own.fileno()
        super().connection_made(transport)

    def _forget(self) -> None:
        if self.bare is not None:
            self.bare.detach()
            self.bare = None
        self.descriptor = -1
        super()._forget()

    def data_received(self, data: bytes) -> None:
        ask = self.memo.get(data)
        if ask is not None and self.state == IDLE and not self.behind_proxy:
            snapshot = self.table.entries.get(ask.target)
            if snapshot is not None:
                self._reply(ask, snapshot, self.limit_key, self.application.ids.fresh(), True)
                return
        alone = self.begun + 1 if self.state == IDLE else -1
        self.ask = None
        super().data_received(data)
        if self.ask is not None and self.begun == alone and self.state == IDLE and len(data) <= MEMO_BYTES:
            if len(self.memo) >= MEMO_ENTRIES:
                self.memo.clear()
            self.memo[data] = self.ask

    def _answered_early(self) -> bool:
        """Answer the current head from a snapshot; False leaves it to the ordinary path."""
        snapshot = self.table.entries.get(self.url)
        if snapshot is None:
            return False
        parser = self.parser
        method = parser.get_method()
        if (method != b"GET" and method != b"HEAD") or len(self.headers) > MAX_HEADERS:
            return False
        accept = match = origin = given_id = real_ip = None
        forwarded: tuple[bytes, ...] = ()
        hosts = 0
        plain = True
        for name, value in self.headers:
            if name in _NOTED:
                if name == b"host":
                    hosts += 1
                elif name == b"accept-encoding":
                    accept = value if accept is None else accept + b", " + value
                elif name == b"if-none-match":
                    match = value if match is None else match + b", " + value
                elif name == b"origin":
                    origin = value
                elif name == b"x-request-id":
                    given_id = value
                elif name == b"x-real-ip":
                    real_ip = value
                else:
                    forwarded = (*forwarded, value)
            elif name in _UNUSUAL:
                return False
            elif name == b"connection":
                plain = False
        if hosts != 1:
            return False
        keep_alive = (plain or parser.should_keep_alive()) and parser.get_http_version() == "1.1"
        limiter = self.application.limiter
        key = self.limit_key
        if self.behind_proxy:
            key = limiter.key(limiter.client(self.peer, forwarded, real_ip))
        ask = Ask(self.url, method == b"HEAD", accept, match, origin)
        if keep_alive and given_id is None:
            self.ask = ask
        self._reply(ask, snapshot, key, self.application.ids.given_or_fresh(given_id), keep_alive)
        return True

    def _reply(self, ask: Ask, snapshot: Snapshot, key: str | None, request_id: bytes, keep_alive: bool) -> None:
        """Answer from a snapshot; one function, because calls are what the fast path spends its time on."""
        application = self.application
        counts = self.counts
        wire = snapshot.rendered.get(ask.accept)
        if wire is None:
            wire = render(application, ask.target, snapshot, ask.accept)
        body = b""
        file = None
        if key is not None and wire.bucket is not None and (wait := wire.bucket.take(key, application.limiter.now())):
            counts.limited += 1
            head, body = render_problem(application, problem_of(application.limiter.refusal(wait)), ask.origin)
        else:
            if ask.match is not None and (ask.match == wire.etag or not_modified(ask.match, wire.etag)):
                counts.not_modified += 1
                head = wire.unchanged
            else:
                counts.full += 1
                head = wire.full
                body = wire.body
                file = wire.file
            if not application.cors.any:
                head += lines(application.cors.headers(ask.origin))
        if ask.head_only:
            body = b""
            file = None
        counts.body_bytes += len(body)
        self.server_state.total_requests += 1
        end = b"\r\n\r\n" if keep_alive else b"\r\nconnection: close\r\n\r\n"
        started = self.started
        if self.pipeline or self.flow.write_paused or (started is not None and not started.response_complete):
            head = b"".join((head, self.watch.date_line, b"x-request-id: ", request_id, end))
            self.pipeline.appendleft((Waiting((head, body), not keep_alive), None))  # type: ignore[arg-type]
            self.flow.pause_reading()
            return
        self.deadline = self.watch.idle_deadline
        if file is None or self.descriptor < 0 or self.transport.get_write_buffer_size():
            self.transport.write(b"".join((head, self.watch.date_line, b"x-request-id: ", request_id, end, body)))
        else:
            head = b"".join((head, self.watch.date_line, b"x-request-id: ", request_id, end))
            self._send_file(head, body, file)
        if not keep_alive:
            self.transport.close()

    def _send_file(self, head: bytes, body: bytes, file: MemoryFile) -> None:
        """Send past the transport, which holds nothing back just now, and leave it what the socket does not take."""
        try:
            if self.bare is None:
                self.bare = socket.socket(fileno=self.descriptor)
            sent = send(self.bare, head, len(body), file)
        except OSError:
            # The peer is gone; the transport will be told the same.
            self.transport.abort()
            return
        rest = sent - len(head)
        if rest < 0:
            self.transport.writelines((head[sent:], body))
        elif rest < len(body):
            self.transport.write(memoryview(body)[rest:])


def bound(application: Application, watch: Watch, *, fast_path: bool) -> type[Connection]:
    """The protocol class of one server, with or without the fast path."""
    base = SnapshotProtocol if fast_path else Connection
    members = {
        "application": application,
        "watch": watch,
        "memo": {},
        "table": application.snapshots,
        "counts": application.measures.fast,
    }
    return type("Bound" + base.__name__, (base,), members)
