"""Answers as bytes: the heads the fast path sends, rendered once per snapshot and spelling of Accept-Encoding."""

from __future__ import annotations

from dataclasses import dataclass

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from leasehold.serving.answers import Wish, content_headers, problem_answer, snapshot_headers
from leasehold.serving.application import Application
from leasehold.serving.cors import Headers
from leasehold.serving.envelopes import Problem
from leasehold.serving.limits import Bucket
from leasehold.serving.memoryfiles import MemoryFile
from leasehold.serving.snapshots import Snapshot

# Accept-Encoding spellings remembered per snapshot; browsers know a handful.
MAX_SPELLINGS = 32


@dataclass(frozen=True, slots=True)
class Wire:
    """A variant ready to send: heads without date and request id, body, ETag and the bucket that rations it."""

    full: bytes
    unchanged: bytes
    body: bytes
    etag: bytes
    bucket: Bucket | None
    file: MemoryFile | None


class Waiting:
    """A finished answer that waits for its turn; stands where uvicorn's pipeline has a cycle."""

    __slots__ = ("close", "parts")

    def __init__(self, parts: tuple[bytes, ...], close: bool) -> None:
        self.parts = parts
        self.close = close


def lines(headers: Headers) -> bytes:
    """Headers as they stand in a head."""
    return b"".join(name + b": " + value + b"\r\n" for name, value in headers)


def render(application: Application, target: bytes, snapshot: Snapshot, accept: bytes | None) -> Wire:
    """The wire form of a snapshot for clients with this Accept-Encoding, remembered on the snapshot."""
    variant = Wish(accept).variant(snapshot)
    shared = [*snapshot_headers(snapshot, variant), *application.dialect_headers]
    if application.cors.any:
        shared += application.cors.headers(None)
    wire = Wire(
        full=STATUS_LINE[200] + lines([*shared, *content_headers(snapshot, variant)]),
        unchanged=STATUS_LINE[304] + lines(shared),
        body=variant.body,
        etag=variant.etag,
        bucket=application.limiter.buckets.get(application.rate_of(target)),
        file=variant.file,
    )
    if len(snapshot.rendered) < MAX_SPELLINGS:
        snapshot.rendered[accept] = wire
    return wire


def render_problem(application: Application, problem: Problem, origin: bytes | None) -> tuple[bytes, bytes]:
    """Head (without date and request id) and body of an error."""
    answer = problem_answer(problem, application.dialect)
    assert isinstance(answer.body, bytes)
    headers = [*answer.headers, *application.dialect_headers, *application.cors.headers(origin)]
    return STATUS_LINE[problem.status] + lines(headers), answer.body
