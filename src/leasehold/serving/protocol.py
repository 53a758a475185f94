"""The fast path: a request for a known snapshot is a dictionary lookup, answered before ASGI starts."""

from __future__ import annotations

from leasehold.serving.application import Application
from leasehold.serving.connection import MAX_HEADERS, Connection
from leasehold.serving.envelopes import problem_of
from leasehold.serving.negotiation import not_modified
from leasehold.serving.watch import Watch
from leasehold.serving.wires import lines, render, render_problem

_NOTED = frozenset(
    (b"accept-encoding", b"if-none-match", b"origin", b"x-request-id", b"x-forwarded-for", b"x-real-ip", b"host")
)
# With any of these a request is more than a lookup, and the ordinary path knows what to do.
_UNUSUAL = frozenset((b"content-length", b"transfer-encoding", b"upgrade", b"trailer"))


class SnapshotProtocol(Connection):
    """A connection that answers snapshots itself: 200, 304 and 429, for GET and HEAD."""

    def _answered_early(self) -> bool:
        """Answer the current head from a snapshot; False leaves it to the ordinary path."""
        snapshot = self.application.snapshots.entries.get(self.url)
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
        application = self.application
        wire = snapshot.rendered.get(accept)
        if wire is None:
            wire = render(application, self.url, snapshot, accept)
        fast = application.measures.fast
        request_id = application.ids.given_or_fresh(given_id)
        key = self.limit_key
        if self.behind_proxy:
            key = application.limiter.key(application.limiter.client(self.peer, forwarded, real_ip))
        allowed = b"" if application.cors.any else lines(application.cors.headers(origin))
        body = None
        if key is not None and wire.bucket is not None and (wait := wire.bucket.take(key, application.limiter.now())):
            fast.limited += 1
            head, body = render_problem(application, problem_of(application.limiter.refusal(wait)), origin)
        elif match is not None and (match == wire.etag or not_modified(match, wire.etag)):
            fast.not_modified += 1
            head = wire.unchanged + allowed
        else:
            fast.full += 1
            head = wire.full + allowed
            body = wire.body
        head = self._finished(head, request_id, keep_alive)
        if body is None or method == b"HEAD":
            self._deliver((head,), keep_alive)
        else:
            fast.body_bytes += len(body)
            self._deliver((head, body), keep_alive)
        return True


def bound(application: Application, watch: Watch, *, fast_path: bool) -> type[Connection]:
    """The protocol class of one server, with or without the fast path."""
    base = SnapshotProtocol if fast_path else Connection
    return type("Bound" + base.__name__, (base,), {"application": application, "watch": watch})
