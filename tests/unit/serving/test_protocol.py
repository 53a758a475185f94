"""HTTP as strictly on the fast path as off it: every test runs both ways."""

from __future__ import annotations

import gzip
import socket
import time
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
import uvicorn
import zstandard

from leasehold.serving.connection import WRITTEN_FOR_UVICORN
from leasehold.serving.watch import Watch

GET = b"GET /api/prices HTTP/1.1\r\nHost: a\r\n\r\n"


def test_the_pinned_uvicorn_is_the_one_this_was_written_for() -> None:
    """A new uvicorn must be read before it is taken: the protocol class uses its internals."""
    assert uvicorn.__version__ == WRITTEN_FOR_UVICORN


def test_snapshot_headers(server: Any) -> None:
    """A snapshot carries ETag, Cache-Control, height, time, CORS with exposed headers and a request id."""
    answer = server.ask("/api/prices", Origin="https://app.example")
    assert answer.status == 200
    assert len(answer.json["prices"]) == 200
    assert answer.headers["cache-control"] == "public, max-age=10, stale-while-revalidate=5"
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-block-height"] == "7"
    assert answer.headers["x-block-time"] == "2001-09-09T01:46:40Z"
    assert answer.headers["vary"].startswith("accept-encoding, origin")
    assert answer.headers["access-control-allow-origin"] == "*"
    assert "ETag" in answer.headers["access-control-expose-headers"]
    assert answer.headers["etag"].startswith('"')
    assert answer.headers["x-request-id"]
    assert answer.headers["date"].endswith("GMT")
    assert "server" not in answer.headers


def test_both_paths_say_the_same(make_server: Callable[..., Any]) -> None:
    """With and without the fast path an answer has the same headers and bytes, but for its id and date."""
    pair = [make_server(fast_path=True), make_server(fast_path=False)]
    for headers in ({}, {"Accept_Encoding": "gzip"}, {"Accept_Encoding": "br, zstd;q=0.3"}, {"If_None_Match": "*"}):
        for method in ("GET", "HEAD"):
            fast, ordinary = (one.ask("/api/prices", method=method, **headers) for one in pair)
            for answer in (fast, ordinary):
                del answer.headers["x-request-id"], answer.headers["date"]
            assert fast == ordinary
    assert [one.application.measures.fast.full for one in pair] == [6, 0]


@pytest.mark.parametrize(
    ("accept", "encoding"),
    [
        ("gzip, deflate, br, zstd", "zstd"),
        ("gzip", "gzip"),
        ("gzip;q=1.0, zstd;q=0.5", "gzip"),
        ("zstd;q=0, *", "gzip"),
        ("*", "zstd"),
        ("br", None),
        ("identity", None),
        ("identity;q=0.5, gzip;q=0.2", None),
        ("*;q=0", None),
        ("gzip;q=0", None),
        ("gzip;q=nonsense", None),
        ("GZIP", "gzip"),
        ("", None),
    ],
)
def test_content_coding(server: Any, accept: str, encoding: str | None) -> None:
    """The client's weights decide; where nothing it accepts is there, the body comes as it is."""
    answer = server.ask("/api/prices", Accept_Encoding=accept)
    assert answer.headers.get("content-encoding") == encoding
    body = {"gzip": gzip.decompress, "zstd": zstandard.decompress, None: bytes}[encoding](answer.body)
    assert len(msgspec.json.decode(body)["prices"]) == 200


def test_each_coding_has_its_own_strong_etag(server: Any) -> None:
    """A strong validator names exact bytes, so codings don't share one; a second ask repeats it."""
    tags = [server.ask("/api/prices", Accept_Encoding=coding).headers["etag"] for coding in ("", "gzip", "zstd")]
    assert len(set(tags)) == 3
    assert server.ask("/api/prices", Accept_Encoding="gzip").headers["etag"] == tags[1]


@pytest.mark.parametrize(
    ("form", "status"),
    [
        ("{}", 304),
        ("W/{}", 304),
        ('"x", {}', 304),
        ('"x",W/{} , "y"', 304),
        ("*", 304),
        ('"x"', 200),
        ("nonsense", 200),
        ('"a', 200),
        ("", 200),
    ],
)
def test_if_none_match(server: Any, form: str, status: int) -> None:
    """304 when the list names the variant's tag, weakly compared, or is a star; without a body, with the same tag."""
    tag = server.ask("/api/prices").headers["etag"]
    answer = server.ask("/api/prices", If_None_Match=form.format(tag))
    assert answer.status == status
    assert answer.headers["etag"] == tag
    assert answer.headers["cache-control"].startswith("public")
    if status == 304:
        assert "content-length" not in answer.headers
        assert "content-type" not in answer.headers


def test_head_has_the_headers_of_get_and_no_body(server: Any) -> None:
    """HEAD tells the length GET would send; the next answer on the connection is not shifted by it."""
    with server.connect() as wire:
        wire.send(b"HEAD /api/prices HTTP/1.1\r\nHost: a\r\n\r\n" + GET)
        head, full = wire.receive(head=True), wire.receive()
    assert head.headers["content-length"] == full.headers["content-length"] == str(len(full.body))
    assert head.headers["etag"] == full.headers["etag"]


def test_pipelined_answers_keep_their_order(server: Any) -> None:
    """Snapshots, handlers, slow handlers and errors pipelined in one write come back in the order asked."""
    targets = ["/api/prices", "/api/slow?seconds=0.1", "/api/prices", "/api/things/a", "/api/nope", "/api/prices"]
    expected = [200, 200, 200, 200, 404, 200]
    with server.connect() as wire:
        wire.send(b"".join(f"GET {target} HTTP/1.1\r\nHost: a\r\n\r\n".encode() for target in targets * 5))
        answers = [wire.receive() for _ in targets * 5]
    assert [answer.status for answer in answers] == expected * 5
    assert b"T199" in answers[0].body
    assert answers[1].json["name"] == "slow"
    assert b"T199" in answers[2].body
    assert answers[3].json["name"] == "a"


def test_an_error_in_the_pipeline_waits_for_its_turn(server: Any) -> None:
    """A malformed request behind a slow one is answered after it, then the connection ends."""
    with server.connect() as wire:
        wire.send(b"GET /api/slow?seconds=0.1 HTTP/1.1\r\nHost: a\r\n\r\n" + GET + b"BROKEN\r\n\r\n" + GET)
        assert [wire.receive().status for _ in range(3)] == [200, 200, 400]
        assert wire.closed()


def test_nothing_piles_up_behind_a_refusal(server: Any) -> None:
    """What a client goes on sending while its refusal waits for its turn is thrown away."""
    with server.connect() as wire:
        wire.send(b"GET /api/slow?seconds=0.3 HTTP/1.1\r\nHost: a\r\n\r\nBROKEN\r\n\r\n")
        for _ in range(20):
            wire.send(b"BROKEN\r\n\r\n" + GET)
            time.sleep(0.005)

        async def waiting() -> int:
            return max(len(one.pipeline) for one in server.watch.connections)

        assert server.run(waiting) == 1
        assert [wire.receive().status for _ in range(2)] == [200, 400]
        assert wire.closed()


def test_keep_alive_serves_many_requests(server: Any) -> None:
    """HTTP/1.1 connections stay open."""
    with server.connect() as wire:
        for _ in range(20):
            wire.send(GET)
            assert wire.receive().status == 200


@pytest.mark.parametrize(
    "head",
    [
        b"GET /api/prices HTTP/1.0\r\n\r\n",
        b"GET /api/prices HTTP/1.0\r\nHost: a\r\n\r\n",
        b"GET /api/prices HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n",
        b"GET /api/prices HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        b"GET /api/prices HTTP/1.1\r\nHost: a\r\nConnection: foo, Close\r\n\r\n",
    ],
)
def test_connections_that_end(server: Any, head: bytes) -> None:
    """HTTP/1.0 and `Connection: close` get their answer, are told, and the connection ends."""
    with server.connect() as wire:
        wire.send(head)
        answer = wire.receive()
        assert answer.status == 200
        assert answer.headers["connection"] == "close"
        assert wire.closed()


def test_nothing_is_answered_after_close(server: Any) -> None:
    """What is pipelined behind `Connection: close` is not served."""
    with server.connect() as wire:
        wire.send(b"GET /api/prices HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" + GET)
        assert wire.receive().status == 200
        assert wire.closed()


def test_absolute_form(server: Any) -> None:
    """A target with scheme and authority is the same resource."""
    with server.connect() as wire:
        wire.send(b"GET http://a/api/prices HTTP/1.1\r\nHost: a\r\n\r\n")
        assert wire.receive().headers["x-block-height"] == "7"


def test_a_query_is_not_ignored_silently(server: Any) -> None:
    """Unknown parameters don't matter, in any spelling; broken ones are refused on snapshots too."""
    assert server.ask("/api/prices?x=1").status == 200
    assert server.ask("/api/%70rices").status == 200
    assert server.ask("/api/prices?x=%zz").status == 400


@pytest.mark.parametrize(
    "body", [b"Content-Length: 5\r\n\r\nhello", b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"]
)
def test_a_body_on_get_is_read_over(server: Any, body: bytes) -> None:
    """A body on GET is skipped and the next request on the connection is understood."""
    with server.connect() as wire:
        wire.send(b"GET /api/prices HTTP/1.1\r\nHost: a\r\n" + body + GET)
        assert wire.receive().status == 200
        assert wire.receive().status == 200


def test_expect_continue(server: Any) -> None:
    """A client that waits for 100 gets it when the body is wanted, and the final answer when it isn't."""
    with server.connect() as wire:
        wire.send(b"GET /api/prices HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n")
        assert wire.receive().status == 200
        head = b"POST /api/things HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 12\r\n"
        wire.send(head + b"Expect: 100-continue\r\n\r\n")
        assert wire.receive().status == 100
        wire.send(b'{"name":"a"}')
        assert wire.receive().status == 201


def test_a_client_that_does_not_read_costs_a_bounded_buffer(server: Any) -> None:
    """Thousands of pipelined requests for a megabyte leave a small buffer behind, and the rest comes when read."""
    request = b"GET /api/big HTTP/1.1\r\nHost: a\r\n\r\n"
    with server.connect() as wire:
        wire.send(request * 300)
        time.sleep(0.2)

        async def buffered() -> int:
            return max(one.transport.get_write_buffer_size() for one in server.watch.connections)

        assert server.run(buffered) < 3_000_000
        for _ in range(300):
            answer = wire.receive()
            assert len(answer.body) == 1_000_000


def test_a_client_that_never_reads_is_cut_off(server: Any) -> None:
    """A stalled reader loses its connection after the stall time."""
    with server.connect() as wire:
        wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        wire.send(b"GET /api/big HTTP/1.1\r\nHost: a\r\n\r\n" * 50)
        deadline = time.monotonic() + 5
        while len(server.watch.connections) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not server.watch.connections


def test_a_slow_head_is_told_and_ended(server: Any) -> None:
    """A head that does not arrive in time gets 408 in the dialect."""
    with server.connect() as wire:
        wire.send(b"GET /api/prices HTTP/1.1\r\nHo")
        answer = wire.receive()
        assert (answer.status, answer.json["error"]["code"]) == (408, "REQUEST_TIMEOUT")
        assert wire.closed()


def test_a_silent_connection_is_closed(server: Any) -> None:
    """Who connects and says nothing is not kept."""
    with server.connect() as wire:
        assert wire.closed()


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"NONSENSE\r\n\r\n", 400),
        (b"GET\r\n\r\n", 400),
        (b"GET /api/prices HTTP/9.9\r\nHost: a\r\n\r\n", 400),
        (b"GET /api/prices HTTP/1.1\r\n\r\n", 400),
        (b"GET /api/prices HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        (b"GET /api/pri\xffces HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", 414),
        (b"GET /" + b"a" * 700_000, 414),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 40_000 + b"\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\nHost: a\r\nY: b\r\nX: " + b"a" * 700_000, 431),
        (b"GET /api/prices HTTP/1.1\r\nHost: a\r\n" + b"X: y\r\n" * 101 + b"\r\n", 431),
        (b"POST /api/things HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello", 400),
        (
            b"POST /api/things HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            400,
        ),
        (b"POST /api/things HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", 400),
        (b"GET /api/prices HTTP/1.1\r\nHost: a\r\nX: a\r\n folded\r\n\r\n", 400),
        (b"GET /api/prices HTTP/1.1\r\nHost : a\r\n\r\n", 400),
        (b"CONNECT example.com:443 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ],
)
def test_malformed_requests_get_the_envelope_and_the_connection_ends(server: Any, data: bytes, status: int) -> None:
    """What can't be parsed, or could be read two ways, is refused in the dialect with every common header."""
    with server.connect() as wire:
        wire.send(data)
        answer = wire.receive()
        assert answer.status == status
        assert set(answer.json["error"]) == {"code", "message"}
        assert answer.headers["connection"] == "close"
        assert answer.headers["access-control-allow-origin"] == "*"
        assert answer.headers["x-request-id"]
        assert wire.closed()


def test_a_broken_chunk_ends_the_request(server: Any) -> None:
    """A body that stops being HTTP while a handler waits for it gets 400, and no task stays."""
    before = server.tasks()
    with server.connect() as wire:
        head = b"POST /api/things HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
        wire.send(head + b"Transfer-Encoding: chunked\r\n\r\n5\r\n")
        time.sleep(0.05)
        wire.send(b"helloZZ\r\n")
        assert wire.receive().status == 400
        assert wire.closed()
    deadline = time.monotonic() + 2
    while server.tasks() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert server.tasks() <= before


def test_an_unsupported_upgrade_is_an_ordinary_request(server: Any) -> None:
    """`Upgrade: h2c` is not obeyed, and what follows it on the connection is still understood."""
    with server.connect() as wire:
        wire.send(b"GET /api/prices HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n" + GET)
        assert [wire.receive().status for _ in range(2)] == [200, 200]


def test_request_ids(server: Any) -> None:
    """A harmless id of the caller is kept, a harmful one replaced; our own never repeat."""
    assert server.ask("/api/prices", X_Request_Id="abc-1.2_3").headers["x-request-id"] == "abc-1.2_3"
    assert server.ask("/api/prices", X_Request_Id="a b<script>").headers["x-request-id"] != "a b<script>"
    ids = {server.ask(target).headers["x-request-id"] for target in ("/api/prices", "/api/things/a", "/no") * 3}
    assert len(ids) == 9


def test_origins_from_a_list(make_server: Callable[..., Any]) -> None:
    """With a list of origins the listed one is echoed, another gets nothing, and caches are told, on both paths."""
    for fast_path in (True, False):
        server = make_server(fast_path=fast_path, cors_origins=("https://app.example",))
        for target in ("/api/prices", "/api/things/a", "/nope"):
            listed = server.ask(target, Origin="https://app.example")
            assert listed.headers["access-control-allow-origin"] == "https://app.example"
            assert "origin" in listed.headers["vary"]
            other = server.ask(target, Origin="https://evil.example")
            assert "access-control-allow-origin" not in other.headers
            assert "origin" in other.headers["vary"]


def test_too_many_connections(make_server: Callable[..., Any]) -> None:
    """Above the cap a new connection is told 503 and ended; the others go on."""
    watch = Watch(wall_seconds=lambda: 0.0, max_connections=1, interval=0.1)
    server = make_server(fast_path=True, watch=watch)
    with server.connect() as first:
        first.send(GET)
        assert first.receive().status == 200
        with server.connect() as second:
            answer = second.receive()
            assert (answer.status, answer.headers["retry-after"]) == (503, "1")
        first.send(GET)
        assert first.receive().status == 200


def test_remembered_bytes_inside_a_body_stay_a_body(server: Any) -> None:
    """A body that spells a request seen before is not taken for one."""
    with server.connect() as wire:
        wire.send(GET)
        assert wire.receive().status == 200
        head = b"POST /api/things HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
        wire.send(head + b"Content-Length: %d\r\n\r\n" % len(GET))
        time.sleep(0.05)
        wire.send(GET)
        assert wire.receive().status == 400
        wire.send(GET)
        assert wire.receive().status == 200


def test_remembered_bytes_follow_the_table(make_server: Callable[..., Any]) -> None:
    """The same request gets the new content once it is published, and 503 once it is withdrawn."""
    server = make_server(fast_path=True)
    snapshots = server.application.snapshots
    with server.connect() as wire:
        for content in ("one", "two"):

            async def publish(content: str = content) -> None:
                await snapshots.publish("/api/prices", content, height=1, time_ns=0)

            server.run(publish)
            for _ in range(2):
                wire.send(GET)
                assert wire.receive().json == content
        snapshots.withdraw("/api/prices")
        wire.send(GET)
        assert wire.receive().json["error"]["message"] == "Prices not yet available"


def test_what_is_remembered_is_bounded(make_server: Callable[..., Any]) -> None:
    """Clients that never repeat themselves don't fill the memory."""
    server = make_server(fast_path=True)
    with server.connect() as wire:
        for number in range(2100):
            wire.send(b"GET /api/free HTTP/1.1\r\nHost: %d\r\n\r\n" % number)
            assert wire.receive().status == 200
        wire.send(b"GET /api/free HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 2000 + b"\r\n\r\n")
        assert wire.receive().status == 200
        memo = next(iter(server.watch.connections)).memo
        assert 0 < len(memo) <= 2048
        assert max(len(request) for request in memo) <= 1024
