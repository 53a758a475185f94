"""The application: every answer and every error of the ordinary path, over real connections, both ways."""

from __future__ import annotations

import base64
import gzip
import os
import time
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from leasehold.core.settings import Limits
from leasehold.serving.contracts import Contract
from leasehold.serving.envelopes import DATA_LINK, ApplicationDialect, DataDialect, Problem, problem_of

JSON = {"Content_Type": "application/json"}


@pytest.mark.parametrize(
    ("method", "target", "options", "status", "error"),
    [
        ("GET", "/nope", {}, 404, {"code": "NOT_FOUND", "message": "no such path"}),
        ("POST", "/api/nope", {}, 404, {"code": "NOT_FOUND", "message": "no such path"}),
        ("POST", "/api/prices", {}, 405, {"code": "METHOD_NOT_ALLOWED", "message": "POST is not allowed here"}),
        ("GET", "/api/things/special", {}, 405, {"code": "METHOD_NOT_ALLOWED", "message": "GET is not allowed here"}),
        ("GET", "/api/things/nothing", {}, 404, {"code": "NOT_FOUND", "message": "Thing nothing not found"}),
        ("GET", "/api/cold", {}, 503, {"code": "SERVICE_UNAVAILABLE", "message": "Cold things not yet available"}),
        ("GET", "/api/crash", {}, 500, {"code": "INTERNAL_ERROR", "message": "Internal server error"}),
        ("GET", "/api/upstream", {}, 502, {"code": "EXTERNAL_SERVICE_ERROR", "message": "ETL: HTTP 500"}),
        (
            "GET",
            "/api/search",
            {},
            400,
            {"code": "VALIDATION_FAILED", "message": "address query parameter is required", "field": "address"},
        ),
        ("GET", "/api/things/%FF", {}, 400, {"code": "VALIDATION_FAILED", "message": "not valid UTF-8"}),
        (
            "POST",
            "/api/things",
            {"body": b"{}"},
            415,
            {"code": "UNSUPPORTED_MEDIA_TYPE", "message": "the request body must be application/json"},
        ),
        (
            "POST",
            "/api/things",
            {"body": b"{}", "Content_Type": "application/json; charset=latin-1"},
            415,
            {"code": "UNSUPPORTED_MEDIA_TYPE", "message": "the request body must be UTF-8"},
        ),
        ("POST", "/api/things", JSON, 400, {"code": "VALIDATION_FAILED", "message": "the request body is empty"}),
        (
            "POST",
            "/api/things",
            {**JSON, "body": b"{}"},
            400,
            {"code": "VALIDATION_FAILED", "message": "Object missing required field `name`", "field": "name"},
        ),
        (
            "POST",
            "/api/things",
            {**JSON, "body": b'{"name":"a","size":-1}'},
            400,
            {"code": "VALIDATION_FAILED", "message": "Expected `int` >= 0", "field": "size"},
        ),
        (
            "POST",
            "/api/things",
            {**JSON, "body": b"[" * 50_000},
            400,
            None,
        ),
        ("POST", "/api/things", {**JSON, "body": b'{"name":"\xff"}'}, 400, None),
        ("POST", "/api/things", {**JSON, "body": b"{"}, 400, None),
        (
            "POST",
            "/api/things",
            {**JSON, "body": b" " * 70_000},
            413,
            {"code": "PAYLOAD_TOO_LARGE", "message": "the request body is larger than 65536 bytes"},
        ),
        ("GET", "/ws", {}, 400, None),
    ],
)
def test_errors_speak_the_dialect(
    server: Any, method: str, target: str, options: dict[str, Any], status: int, error: dict[str, str] | None
) -> None:
    """Every error has its status, the envelope, no cache, CORS and an id, and is one the document declares."""
    answer = server.ask(target, method=method, **options)
    assert answer.status == status
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.headers["x-request-id"]
    assert answer.json == {"error": error} if error else answer.json["error"]["code"] == "VALIDATION_FAILED"
    if target != "/ws":
        contract = Contract(server.application.registry)
        contract.validate(method, target, status, answer.headers["content-type"], answer.body)
    assert b"secret" not in answer.body


def test_wrong_methods_are_told_the_right_ones(server: Any) -> None:
    """405 carries Allow."""
    assert server.ask("/api/prices", method="DELETE").headers["allow"] == "GET, HEAD, OPTIONS"
    assert server.ask("/api/things/special").headers["allow"] == "OPTIONS, POST"


def test_options_is_answered_everywhere(server: Any) -> None:
    """A preflight gets 200 without a body, the allowed methods and headers, and Allow where the path is known."""
    answer = server.ask("/api/things", method="OPTIONS", Origin="https://a", Access_Control_Request_Method="POST")
    assert (answer.status, answer.body) == (200, b"")
    assert answer.headers["access-control-allow-methods"] == "*"
    assert answer.headers["access-control-allow-headers"] == "*"
    assert answer.headers["allow"] == "OPTIONS, POST"
    assert "allow" not in server.ask("/nope", method="OPTIONS").headers
    assert server.ask("*", method="OPTIONS").status == 200


def test_a_handler_gets_typed_parameters_and_body(server: Any) -> None:
    """Aliases, clamping and the caller's address arrive; 201 is the declared status."""
    answer = server.ask("/api/search?owner=a&limit=1000")
    assert answer.json == {"address": "a", "limit": 100, "client": "127.0.0.1"}
    created = server.ask("/api/things", method="POST", body=b'{"name":"a","size":3,"more":1}', **JSON)
    assert (created.status, created.json) == (201, {"name": "a", "size": 3})
    assert created.headers["cache-control"] == "no-store"


def test_live_answers_are_conditional_and_compressed(server: Any) -> None:
    """A cacheable live answer has an ETag per coding and 304s; a small one is not compressed."""
    small = server.ask("/api/things/a", Accept_Encoding="gzip")
    assert "content-encoding" not in small.headers
    assert server.ask("/api/things/a", If_None_Match=small.headers["etag"]).status == 304
    name = "x" * 3000
    large = server.ask(f"/api/things/{name}", Accept_Encoding="gzip")
    assert msgspec.json.decode(gzip.decompress(large.body))["name"] == name
    assert large.headers["vary"].startswith("accept-encoding, origin")
    plain = server.ask(f"/api/things/{name}")
    assert plain.headers["etag"] != large.headers["etag"]
    assert server.ask(f"/api/things/{name}", method="HEAD").headers["content-length"] == str(len(plain.body))


def test_streams_are_chunked(server: Any) -> None:
    """A stream of chunks arrives whole, with its own media type."""
    answer = server.ask("/api/stream")
    assert (answer.body, answer.headers["content-type"]) == (b"0\n1\n2\n", "text/csv")


def test_a_slow_body_is_told_and_ended(make_server: Callable[..., Any]) -> None:
    """A body that does not arrive in time gets 408; the task that waited for it is gone."""
    server = make_server(fast_path=True, limits=Limits(request_seconds=0.3))
    before = server.tasks()
    with server.connect() as wire:
        wire.send(
            b"POST /api/things HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
        )
        answer = wire.receive()
        assert (answer.status, answer.json["error"]["code"]) == (408, "REQUEST_TIMEOUT")
        assert wire.closed()
    assert server.tasks() <= before


def test_a_slow_handler_is_ended(make_server: Callable[..., Any]) -> None:
    """A handler that takes longer than allowed is cancelled, and the caller told 503."""
    server = make_server(fast_path=True, limits=Limits(request_seconds=0.2))
    answer = server.ask("/api/slow?seconds=30")
    assert (answer.status, answer.json["error"]["message"]) == (503, "no answer within 0.2 seconds")


def test_a_client_that_leaves_takes_its_task_with_it(server: Any) -> None:
    """A disconnect while the body is awaited ends the request without an error."""
    before = server.tasks()
    with server.connect() as wire:
        wire.send(
            b"POST /api/things HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
        )
        time.sleep(0.05)
        assert server.tasks() == before + 1
    deadline = time.monotonic() + 2
    while server.tasks() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert server.tasks() == before


def test_metrics_count_both_paths(make_server: Callable[..., Any]) -> None:
    """/metrics has requests by route template and status, and what the fast path answered."""
    server = make_server(fast_path=True)
    for target in ("/api/prices", "/api/things/a", "/api/things/b", "/nope"):
        server.ask(target)
    server.ask("/api/prices", If_None_Match="*")
    text = server.ask("/metrics").body.decode()
    assert 'leasehold_fast_path_answers_total{status="200"} 1.0' in text
    assert 'leasehold_fast_path_answers_total{status="304"} 1.0' in text
    assert 'leasehold_http_requests_total{method="GET",route="/api/things/{key}",status="200"} 2.0' in text
    assert 'leasehold_http_requests_total{method="GET",route="unknown",status="404"} 1.0' in text


def test_answers_tell_caches_what_they_vary_with(server: Any) -> None:
    """Every answer varies with who asks; with the coding too, on a line before, where the body has 32 bytes or more."""
    asker = "origin, access-control-request-method, access-control-request-headers"
    for target in ("/api/prices", "/api/things/long-enough-to-be-32-bytes", "/nope", "/api/crash", "/ws"):
        assert server.ask(target).headers["vary"] == f"accept-encoding, {asker}", target
    assert len(server.ask("/api/things/a").body) < 32
    for small in (server.ask("/api/things/a"), server.ask("/api/prices", method="OPTIONS")):
        assert small.headers["vary"] == asker


def test_websockets(server: Any) -> None:
    """A declared WebSocket path is upgraded; an unknown one is refused with the envelope before the upgrade."""
    key = base64.b64encode(os.urandom(16)).decode()
    upgrade = (
        f"Host: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}"
    )
    with server.connect() as wire:
        wire.send(f"GET /ws HTTP/1.1\r\n{upgrade}\r\n\r\n".encode())
        while b"\r\n\r\n" not in wire.buffer:
            wire._more()
        assert wire.buffer.startswith(b"HTTP/1.1 101")
        wire.buffer = wire.buffer.split(b"\r\n\r\n", 1)[1]
        mask = b"\x01\x02\x03\x04"
        wire.send(b"\x81\x82" + mask + bytes(a ^ b for a, b in zip(b"hi", mask, strict=False)))
        while len(wire.buffer) < 4:
            wire._more()
        assert wire.buffer[:4] == b"\x81\x02hi"
    with server.connect() as wire:
        wire.send(f"GET /nope HTTP/1.1\r\n{upgrade}\r\n\r\n".encode())
        answer = wire.receive()
        assert (answer.status, answer.json["error"]["code"]) == (404, "NOT_FOUND")
        assert answer.headers["access-control-allow-origin"] == "*"


def test_a_fallback_gets_undeclared_paths(make_server: Callable[..., Any]) -> None:
    """Undeclared GETs go to the fallback and still carry the common headers; other methods don't."""

    async def page(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html")]})
        await send({"type": "http.response.body", "body": b"<p>"})

    server = make_server(fast_path=True, fallback=page)
    answer = server.ask("/positions/open")
    assert (answer.status, answer.body, answer.headers["access-control-allow-origin"]) == (200, b"<p>", "*")
    assert server.ask("/positions/open", method="POST").status == 404


def test_dialects() -> None:
    """The two envelopes, member by member; the data API links to its description."""
    problem = Problem(429, "RATE_LIMITED", "Too many requests", retry_after=3)
    assert ApplicationDialect().body(problem) == (
        b'{"error":{"code":"RATE_LIMITED","message":"Too many requests","retry_after":3}}'
    )
    assert DataDialect().body(problem) == (b'{"error":"Too Many Requests","message":"Too many requests","status":429}')
    assert problem.headers == [("retry-after", "3")]
    assert DataDialect().headers == (("link", DATA_LINK),)
    assert problem_of(RuntimeError("secret")).message == "Internal server error"
