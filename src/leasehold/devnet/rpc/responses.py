"""Heads of HTTP answers: status, time, CORS and caching as the original writes them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from email.utils import formatdate
from http import HTTPStatus
from urllib.parse import quote

from leasehold.devnet.rpc.dispatch import HttpAnswer

CACHEABLE = b"Cache-Control: public, max-age=86400\r\n"
CORS_METHODS = frozenset(("HEAD", "GET", "POST"))
CORS_HEADERS = frozenset(("origin", "accept", "content-type", "x-requested-with", "x-server-time"))

_STATUS_LINES = {int(status): f"HTTP/1.1 {int(status)} {status.phrase}\r\n".encode() for status in HTTPStatus}


class Clockwork:
    """The headers that change once a second, prepared once a second."""

    def __init__(self) -> None:
        self._second = 0
        self.date = b""
        self.server_time = b""
        self.plain_head = b""
        self.cacheable_head = b""

    def tick(self) -> None:
        now = int(time.time())
        if now != self._second:
            self._second = now
            self.date = b"Date: " + formatdate(now, usegmt=True).encode() + b"\r\n"
            self.server_time = b"X-Server-Time: " + str(now).encode() + b"\r\n"
            # The heads of nearly all answers, up to their length.
            start = b"HTTP/1.1 200 OK\r\nVary: Origin\r\n" + self.server_time
            end = b"Content-Type: application/json\r\n" + self.date + b"Content-Length: "
            self.plain_head = start + end
            self.cacheable_head = start + CACHEABLE + end


def response_head(
    answered: HttpAnswer, clockwork: Clockwork, noted: Mapping[bytes, str], *, method: str, keep_alive: bool
) -> bytes:
    """Everything before the body; `noted` are the request's headers that matter."""
    head = [_STATUS_LINES[answered.status]]
    if not answered.is_bare:
        head.append(_preflight(noted) if answered.status == 204 else _simple_cors(noted, method))
        head.append(clockwork.server_time)
    if answered.location:
        head.append(b"Location: " + quote(answered.location, safe="/?&=%\"'~").encode() + b"\r\n")
    if answered.is_cacheable:
        head.append(CACHEABLE)
    if answered.content_type:
        head.append(b"Content-Type: " + answered.content_type.encode() + b"\r\n")
        if answered.content_type.startswith("text/plain"):
            head.append(b"X-Content-Type-Options: nosniff\r\n")
    head.append(clockwork.date)
    if not keep_alive:
        head.append(b"Connection: close\r\n")
    if answered.status != 204:
        head.append(b"Content-Length: %d\r\n" % len(answered.body))
    head.append(b"\r\n")
    return b"".join(head)


def _simple_cors(noted: Mapping[bytes, str], method: str) -> bytes:
    if b"origin" in noted and method in CORS_METHODS:
        return b"Vary: Origin\r\nAccess-Control-Allow-Origin: *\r\n"
    return b"Vary: Origin\r\n"


def _preflight(noted: Mapping[bytes, str]) -> bytes:
    """What a preflight is allowed: the method and the headers it asks for, or nothing."""
    vary = b"Vary: Origin, Access-Control-Request-Method, Access-Control-Request-Headers\r\n"
    wanted = noted.get(b"access-control-request-method", "").upper()
    named = noted.get(b"access-control-request-headers", "")
    names = [name.strip().lower() for name in named.split(",") if name.strip()]
    if b"origin" not in noted or wanted not in CORS_METHODS or not CORS_HEADERS.issuperset(names):
        return vary
    allowed = f"Access-Control-Allow-Origin: *\r\nAccess-Control-Allow-Methods: {wanted}\r\n"
    if names:
        allowed += f"Access-Control-Allow-Headers: {named}\r\n"
    return vary + allowed.encode("latin-1")


def cleaned(path: str) -> str | None:
    """Where a path with empty or dotted segments leads, None when it has none."""
    if "//" not in path and "/." not in path:
        return None
    kept: list[str] = []
    for segment in path.split("/"):
        if segment == "..":
            kept = kept[:-1]
        elif segment not in ("", "."):
            kept.append(segment)
    clean = "/" + "/".join(kept) + ("/" if kept and path.endswith("/") else "")
    return None if clean == path else clean
