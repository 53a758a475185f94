"""What the headers of a request say about its answer, found in one pass: most requests have a dozen of them."""

from __future__ import annotations

from collections.abc import Iterable

from leasehold.serving.answers import Wish

_NOTED = frozenset((b"x-request-id", b"origin", b"accept-encoding", b"if-none-match", b"x-forwarded-for", b"x-real-ip"))


class Heard:
    """The headers that matter on every route; of a list that came in several lines, all of it."""

    __slots__ = ("forwarded", "origin", "real_ip", "request_id", "wish")

    def __init__(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        self.request_id: bytes | None = None
        self.origin: bytes | None = None
        self.real_ip: bytes | None = None
        self.forwarded: list[bytes] = []
        accept: bytes | None = None
        match: bytes | None = None
        for name, value in headers:
            if name not in _NOTED:
                continue
            if name == b"accept-encoding":
                accept = value if accept is None else accept + b", " + value
            elif name == b"if-none-match":
                match = value if match is None else match + b", " + value
            elif name == b"x-forwarded-for":
                self.forwarded.append(value)
            elif name == b"origin":
                self.origin = self.origin or value
            elif name == b"x-real-ip":
                self.real_ip = self.real_ip or value
            else:
                self.request_id = self.request_id or value
        self.wish = Wish(accept or None, match or None)
