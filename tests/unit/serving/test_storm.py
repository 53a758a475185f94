"""A storm of broken requests over raw sockets: none is answered with a 5xx, none leaves anything behind."""

from __future__ import annotations

import gc
import random
import re
import socket
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

WARM_UP, STORM = 500, 3000
_STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")
_GET = b"GET /api/prices HTTP/1.1\r\nHost: a\r\n\r\n"
_POST = b"POST /api/things HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"


def truncated(source: random.Random) -> bytes:
    whole = source.choice([_GET, _POST + b'Content-Length: 12\r\n\r\n{"name":"a"}', _POST + _CHUNKED])
    return whole[: source.randrange(len(whole))]


def oversized(source: random.Random) -> bytes:
    size = source.choice([9_000, 40_000, 300_000])
    return source.choice(
        [
            b"GET /" + b"a" * size + b" HTTP/1.1\r\nHost: a\r\n\r\n",
            b"GET /api/prices HTTP/1.1\r\nHost: a\r\nX: " + b"a" * size + b"\r\n\r\n",
            b"GET /api/prices HTTP/1.1\r\nHost: a\r\n" + b"X: y\r\n" * (size // 50) + b"\r\n",
            b"GET /api/prices?" + b"a=1&" * (size // 100) + b" HTTP/1.1\r\nHost: a\r\n\r\n",
            _POST + b"Content-Length: %d\r\n\r\n" % (10 * size) + b"x" * size,
            _POST + b"Content-Length: 99999999999999999999999\r\n\r\n",
            _POST + b"Transfer-Encoding: chunked\r\n\r\n" + (b"%x\r\n" % 50_000 + b"x" * 50_000 + b"\r\n") * 3,
            _POST + b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
            _POST + b"Transfer-Encoding: chunked\r\n\r\n1;" + b"e" * size + b"\r\nx\r\n0\r\n\r\n",
            _POST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + b"T: x\r\n" * (size // 50) + b"\r\n",
        ]
    )


def badly_encoded(source: random.Random) -> bytes:
    broken = source.choice([b"%", b"%z", b"%zz", b"%FF", b"%C3", b"%00", b"%0d%0a", b"\xff\xfe", b"%ED%A0%80", b"\x7f"])
    place = source.choice(
        [b"/api/things/%s", b"/api/search?address=%s", b"/api/search?%s=1", b"/api/prices?%s", b"/%s"]
    )
    return b"GET " + place.replace(b"%s", broken) + b" HTTP/1.1\r\nHost: a\r\n\r\n"


def smuggled(source: random.Random) -> bytes:
    framing = source.choice(
        [
            b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
            b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
            b"Content-Length: 5\r\nContent-Length: 6\r\n",
            b"Content-Length: 5\r\nContent-Length: 5\r\n",
            b"Content-Length: 5, 5\r\n",
            b"Content-Length: +5\r\n",
            b"Content-Length: 0x5\r\n",
            b"Content-Length: -5\r\n",
            b"Content-Length: 5 5\r\n",
            b"Content-Length:\r\n",
            b"Content-Length : 5\r\n",
            b"Transfer-Encoding: xchunked\r\n",
            b"Transfer-Encoding: chunked, identity\r\n",
            b"Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n",
            b"Transfer-Encoding:\x0bchunked\r\n",
            b"Transfer-Encoding\x00: chunked\r\n",
            b" Transfer-Encoding: chunked\r\n",
            b"X: y\r\n Transfer-Encoding: chunked\r\n",
            b"X: y\rTransfer-Encoding: chunked\r\n",
            b"X: y\nTransfer-Encoding: chunked\r\n",
            b"Host: b\r\n",
        ]
    )
    target = source.choice([b"POST /api/things", b"GET /api/prices"])
    return target + b" HTTP/1.1\r\nHost: a\r\n" + framing + b"\r\n0\r\n\r\n" + _GET


def pipelined(source: random.Random) -> bytes:
    parts = [
        _GET,
        _GET,
        _THING,
        _SEARCH,
        _POST + b'Content-Length: 12\r\n\r\n{"name":"a"}',
        b"\r\n\r\n",
        _HEAD,
        b"JUNK\r\n\r\n",
    ]
    return b"".join(source.choices(parts, k=source.randrange(2, 12)))


def mutated(source: random.Random) -> bytes:
    data = bytearray(source.choice([_GET, _THING, _POST + _CHUNKED, _UPGRADE]))
    for _ in range(source.randrange(1, 6)):
        data[source.randrange(len(data))] = source.randrange(256)
    return bytes(data)


def noise(source: random.Random) -> bytes:
    return source.choice([b"", b"\x16\x03\x01", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"]) + source.randbytes(
        source.randrange(1, 200)
    )


def slow(source: random.Random) -> bytes:
    """Stops in the middle of a body and leaves the connection open."""
    return _POST + b"Content-Length: 500\r\n\r\n" + b"x" * source.randrange(400)


_CHUNKED = b'Transfer-Encoding: chunked\r\n\r\nc\r\n{"name":"a"}\r\n0\r\n\r\n'
_THING = b"GET /api/things/a HTTP/1.1\r\nHost: a\r\n\r\n"
_SEARCH = b"GET /api/search?limit=x HTTP/1.1\r\nHost: a\r\n\r\n"
_HEAD = b"HEAD /api/prices HTTP/1.1\r\nHost: a\r\n\r\n"
_UPGRADE = b"GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
KINDS: list[Callable[[random.Random], bytes]] = [
    truncated,
    oversized,
    badly_encoded,
    smuggled,
    pipelined,
    mutated,
    noise,
]


def strike(port: int, data: bytes) -> list[int]:
    """Send, say that nothing more comes, and read all statuses until the server closes."""
    received = b""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            while chunk := connection.recv(262_144):
                received += chunk
        except (ConnectionResetError, BrokenPipeError):
            pass
    return [int(status) for status in _STATUS.findall(received)]


def resident_kilobytes() -> int:
    gc.collect()
    with open("/proc/self/status") as status:
        return int(next(line for line in status if line.startswith("VmRSS")).split()[1])


def test_broken_requests_never_hurt(server: Any, seed: int) -> None:
    """Thousands of truncated, oversized, misencoded, smuggled, slow and mixed requests: no 5xx, no task, no growth."""
    source = random.Random(seed)
    tasks = server.tasks()
    statuses: Counter[int] = Counter()
    port = server.running.port
    held = []
    for number in range(WARM_UP + STORM):
        if number == WARM_UP:
            before = resident_kilobytes()
        if number % 50 == 0:
            one = socket.create_connection(("127.0.0.1", port))
            one.sendall(slow(source))
            held.append(one)
        kind = KINDS[number % len(KINDS)]
        data = kind(source)
        answers = strike(port, data)
        assert all(status < 500 for status in answers), (kind.__name__, data[:300], answers)
        statuses.update(answers)
    assert statuses[200] > 100
    assert statuses[400] > 100
    assert {413, 414, 431} <= set(statuses)
    for one in held:
        one.close()
    deadline = time.monotonic() + 5
    while (server.tasks() > tasks or server.watch.connections) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert server.tasks() == tasks
    assert not server.watch.connections
    assert not server.running.server.server_state.tasks
    assert resident_kilobytes() - before < 24_000
    assert server.ask("/api/prices").status == 200


@pytest.mark.parametrize(
    "framing", [b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", b"Content-Length: 3\r\nContent-Length: 38\r\n"]
)
def test_no_request_is_smuggled(server: Any, framing: bytes) -> None:
    """Behind ambiguous framing nothing is understood as a second request."""
    assert strike(
        server.running.port, b"GET /api/prices HTTP/1.1\r\nHost: a\r\n" + framing + b"\r\n0\r\n\r\n" + _GET
    ) == [400]
