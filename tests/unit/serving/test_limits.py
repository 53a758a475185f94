"""Rate limits: who is counted, what is granted, and a table that stays small."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.core.clock import NANOSECONDS, ManualClock
from leasehold.core.errors import ConfigurationError
from leasehold.core.settings import Limits
from leasehold.serving.limits import Bucket, Limiter


def limiter(**settings: Any) -> tuple[Limiter, ManualClock]:
    clock = ManualClock()
    return Limiter(Limits(**settings), clock.monotonic), clock


def test_a_fresh_client_may_spend_its_burst_and_then_the_rate() -> None:
    """The public numbers: the 51st read at once is refused for a second at most, then 20 a second are granted."""
    limits, clock = limiter()
    assert [limits.wait("203.0.113.7", "read") for _ in range(50)] == [0.0] * 50
    wait = limits.wait("203.0.113.7", "read")
    assert 0 < wait <= 0.05
    assert limits.refusal(wait).retry_after == 1
    assert limits.wait("203.0.113.8", "read") == 0.0
    assert limits.wait("203.0.113.7", "write") == 0.0
    clock.advance(seconds=1)
    granted = sum(limits.wait("203.0.113.7", "read") == 0.0 for _ in range(100))
    assert granted == 20


@given(st.lists(st.integers(0, 2 * NANOSECONDS), max_size=60), st.integers(1, 10), st.integers(1, 50))
def test_a_bucket_never_grants_more_than_burst_plus_rate(gaps: list[int], burst: int, rate: int) -> None:
    """Whatever the rhythm of requests, grants stay within the burst and what flowed in since."""
    bucket = Bucket(rate, burst)
    now = 0
    granted = 0
    for gap in gaps:
        now += gap
        granted += bucket.take("c", now / NANOSECONDS) == 0.0
        assert granted <= burst + rate * now / NANOSECONDS + 1e-6


@given(st.integers(1, 10), st.integers(1, 50), st.integers(0, 100))
def test_the_wait_is_exact(burst: int, rate: int, extra: int) -> None:
    """After the time it was told, and not before, a client is granted."""
    bucket = Bucket(rate, burst)
    for _ in range(burst + extra):
        wait = bucket.take("c", 100.0)
    wait = bucket.take("c", 100.0)
    assert wait > 0
    assert bucket.take("c", 100.0 + wait * 0.9) > 0
    assert bucket.take("c", 100.0 + wait) == 0.0


def test_ipv6_is_counted_by_prefix() -> None:
    """Addresses of one /64 share a bucket, of another they don't; a mapped IPv4 address is the IPv4 client."""
    limits, _ = limiter(reads_burst=1, reads_per_second=1)
    assert limits.wait("2001:db8::1", "read") == 0.0
    assert limits.wait("2001:db8::ffff:2", "read") > 0
    assert limits.wait("2001:db8:0:1::1", "read") == 0.0
    assert limits.wait("192.0.2.1", "read") == 0.0
    assert limits.wait("::ffff:192.0.2.1", "read") > 0


def test_exempt_networks_are_never_limited() -> None:
    """A client in an exempt network spends nothing."""
    limits, _ = limiter(reads_burst=1, reads_per_second=1, exempt=("10.0.0.0/8", "::1/128"))
    assert [limits.wait("10.1.2.3", "read") for _ in range(5)] == [0.0] * 5
    assert [limits.wait("::1", "read") for _ in range(5)] == [0.0] * 5


@pytest.mark.parametrize(
    ("peer", "forwarded", "real", "client"),
    [
        ("203.0.113.1", [b"198.51.100.1"], None, "203.0.113.1"),
        ("10.0.0.1", [b"198.51.100.1"], None, "198.51.100.1"),
        ("10.0.0.1", [b"1.1.1.1, 198.51.100.1"], None, "198.51.100.1"),
        ("10.0.0.1", [b"1.1.1.1", b"198.51.100.1, 10.0.0.2"], None, "198.51.100.1"),
        ("10.0.0.1", [b"198.51.100.1:4711"], None, "198.51.100.1"),
        ("10.0.0.1", [b"[2001:db8::1]:4711"], None, "2001:db8::1"),
        ("10.0.0.1", [b"nonsense"], None, "10.0.0.1"),
        ("10.0.0.1", [b"198.51.100.1, nonsense, 10.0.0.2"], None, "10.0.0.2"),
        ("10.0.0.1", [], b"198.51.100.9", "198.51.100.9"),
        ("10.0.0.1", [], None, "10.0.0.1"),
    ],
)
def test_forwarded_headers(peer: str, forwarded: list[bytes], real: bytes | None, client: str) -> None:
    """Only configured proxies are believed, and only about the nearest hop that is not one of them."""
    limits, _ = limiter(trusted_proxies=("10.0.0.0/8",))
    assert limits.client(peer, forwarded, real) == client


def test_the_table_of_clients_is_bounded() -> None:
    """Many addresses can't grow it; clients with a full bucket are forgotten first, the rest oldest first."""
    bucket = Bucket(1.0, 1, max_clients=100)
    for number in range(1000):
        bucket.take(str(number), number * 0.001)
        assert len(bucket) <= 100
    assert bucket.take("999", 1.0) > 0
    for number in range(100):
        bucket.take(f"late{number}", 1000.0)
    assert bucket.take("999", 1000.0) == 0.0


def test_bad_networks_are_named() -> None:
    """A setting that is no network says which one it is."""
    with pytest.raises(ConfigurationError, match=r"limits\.exempt"):
        limiter(exempt=("nonsense",))


@pytest.mark.parametrize("fast_path", [True, False], ids=["fast", "ordinary"])
def test_limits_on_the_wire(make_server: Callable[..., Any], fast_path: bool) -> None:
    """Snapshots and handlers share the read budget; 429 has Retry-After and the envelope; free routes go on."""
    server = make_server(fast_path=fast_path, limits=Limits(reads_per_second=0.01, reads_burst=4))
    statuses = [server.ask(target).status for target in ("/api/prices", "/api/things/a") * 3]
    assert statuses == [200] * 4 + [429] * 2
    for target in ("/api/prices", "/api/things/a", "/api/nope", "/api/things/%FF"):
        answer = server.ask(target, Origin="https://a")
        assert answer.status == 429
        assert answer.json == {
            "error": {
                "code": "RATE_LIMITED",
                "message": "Too many requests",
                "retry_after": int(answer.headers["retry-after"]),
            }
        }
        assert 0 < int(answer.headers["retry-after"]) <= 100
        assert answer.headers["access-control-allow-origin"] == "*"
        assert server.ask(target, method="HEAD").status == 429
    assert server.ask("/api/free").status == 200
    assert server.ask("/api/prices", method="OPTIONS").status == 200
    assert server.ask("/metrics").status == 200


@pytest.mark.parametrize("fast_path", [True, False], ids=["fast", "ordinary"])
def test_clients_behind_a_proxy_are_told_apart(make_server: Callable[..., Any], fast_path: bool) -> None:
    """Behind a trusted proxy each forwarded client has its own budget; from anyone else the header is ignored."""
    tight = {"reads_per_second": 0.01, "reads_burst": 1}
    trusting = make_server(fast_path=fast_path, limits=Limits(trusted_proxies=("127.0.0.0/8",), **tight))
    for target in ("/api/prices", "/api/things/a"):
        assert trusting.ask(target, X_Forwarded_For=f"198.51.100.{len(target)}").status == 200
        assert trusting.ask(target, X_Forwarded_For=f"198.51.100.{len(target)}").status == 429
    wary = make_server(fast_path=fast_path, limits=Limits(**tight))
    assert wary.ask("/api/prices", X_Forwarded_For="198.51.100.1").status == 200
    assert wary.ask("/api/prices", X_Forwarded_For="198.51.100.2").status == 429
