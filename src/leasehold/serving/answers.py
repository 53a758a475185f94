"""From what a handler returned to what goes on the wire: status, headers, and bytes in the client's coding."""

from __future__ import annotations

import asyncio
import gzip
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import msgspec
import zstandard

from leasehold.serving.cors import Headers
from leasehold.serving.envelopes import JSON, Dialect, Problem
from leasehold.serving.negotiation import accepted_encodings, not_modified
from leasehold.serving.routes import Reply, Route
from leasehold.serving.snapshots import LARGEST_INLINE, SMALLEST_COMPRESSED, SMALLEST_VARYING, Snapshot, Variant

_ZSTD_LEVEL = 3
_encoder = msgspec.json.Encoder()
# For the event loop alone: it works for one at a time, and making one takes as long as a short body. On short bodies
# the lowest level is as small as the next ones.
_quick = zstandard.ZstdCompressor(1)
_TEXTUAL = ("application/json", "text/", "image/svg+xml", "application/javascript")


@dataclass(slots=True)
class Answer:
    """A response before the headers every response gets; `close` ends the connection after it."""

    status: int
    headers: Headers
    body: bytes | AsyncIterator[bytes] = b""
    close: bool = False


@dataclass(frozen=True, slots=True)
class Wish:
    """What the client said about the form of the answer."""

    accept_encoding: bytes | None = None
    if_none_match: bytes | None = None

    def variant(self, snapshot: Snapshot) -> Variant:
        """The variant of a snapshot this client wants most."""
        for encoding in accepted_encodings(self.accept_encoding):
            if encoding in snapshot.variants:
                return snapshot.variants[encoding]
        return snapshot.variants["identity"]


def problem_answer(problem: Problem, dialect: Dialect, *, close: bool = False) -> Answer:
    """An error in the words of a dialect; no cache may keep it."""
    body = dialect.body(problem)
    headers = [(name.encode(), value.encode()) for name, value in problem.headers]
    headers += [
        (b"content-type", JSON.encode()),
        (b"cache-control", b"no-store"),
        (b"content-length", str(len(body)).encode()),
        *_varying(len(body)),
    ]
    return Answer(problem.status, headers, body, close)


def _varying(size: int) -> Headers:
    """What is said about codings beside a body of this size."""
    return [(b"vary", b"accept-encoding")] if size >= SMALLEST_VARYING else []


def snapshot_headers(snapshot: Snapshot, variant: Variant) -> Headers:
    """Headers of 200 and 304 with a variant; the 200 adds content-type, -encoding and -length."""
    return [(b"etag", variant.etag), *((n.encode(), v.encode()) for n, v in snapshot.response_headers)]


def content_headers(snapshot: Snapshot, variant: Variant) -> Headers:
    """Headers about the body of a 200."""
    headers = [(b"content-type", snapshot.content_type.encode())]
    if variant.encoding != "identity":
        headers.append((b"content-encoding", variant.encoding.encode()))
    headers.append((b"content-length", str(len(variant.body)).encode()))
    return headers


def snapshot_answer(snapshot: Snapshot, wish: Wish) -> Answer:
    """A snapshot in the client's coding, or 304 when it has that already."""
    variant = wish.variant(snapshot)
    headers = snapshot_headers(snapshot, variant)
    if not_modified(wish.if_none_match, variant.etag):
        return Answer(304, headers)
    return Answer(200, headers + content_headers(snapshot, variant), variant.body)


async def value_answer(value: Any, route: Route, wish: Wish) -> Answer:
    """What a handler returned, encoded and compressed for this client."""
    reply = value if isinstance(value, Reply) else Reply(content=value)
    status = reply.status or route.status
    headers = [(name.lower().encode("latin-1"), text.encode("latin-1")) for name, text in reply.headers.items()]
    named = {name for name, _ in headers}
    success = 200 <= status < 300
    if b"cache-control" not in named:
        headers.append((b"cache-control", route.cache.header.encode() if success else b"no-store"))
    if status == 204 or status == 304:
        return Answer(status, headers)
    headers.append((b"content-type", reply.media_type.encode("latin-1")))
    if reply.body is not None and not isinstance(reply.body, bytes):
        return Answer(status, headers, reply.body)
    body = _encoder.encode(reply.content) if reply.body is None else reply.body
    encoding = "identity"
    if reply.media_type.startswith(_TEXTUAL):
        headers += _varying(len(body))
        if len(body) >= SMALLEST_COMPRESSED:
            encoding = accepted_encodings(wish.accept_encoding)[0]
    if success and route.method == "GET" and route.cache.max_age > 0 and b"etag" not in named:
        digest = urlsafe_b64encode(sha256(body).digest()[:18])
        suffix = b"" if encoding == "identity" else b"-" + encoding.encode()
        etag = b'"' + digest + suffix + b'"'
        headers.append((b"etag", etag))
        if not_modified(wish.if_none_match, etag):
            return Answer(304, [pair for pair in headers if pair[0] != b"content-type"])
    if encoding != "identity":
        headers.append((b"content-encoding", encoding.encode()))
        if len(body) > LARGEST_INLINE:
            body = await asyncio.to_thread(compress, body, encoding)
        elif encoding == "zstd":
            body = _quick.compress(body)
        else:
            body = compress(body, encoding)
    headers.append((b"content-length", str(len(body)).encode()))
    return Answer(status, headers, body)


def compress(body: bytes, encoding: str) -> bytes:
    """A body compressed once for one client: fast rather than small."""
    if encoding == "zstd":
        return zstandard.ZstdCompressor(_ZSTD_LEVEL).compress(body)
    return gzip.compress(body, 1, mtime=0)
