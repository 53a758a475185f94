"""Metrics are prefixed, per service, and readable by Prometheus."""

from __future__ import annotations

from leasehold.core.metrics import Metrics


def test_each_kind_is_exposed_with_the_prefix() -> None:
    """Counter, gauge and histogram appear under `leasehold_` with labels and help."""
    metrics = Metrics()
    metrics.counter("requests", "Requests answered.", ("route",)).labels("/status").inc(2)
    metrics.gauge("height", "Height of the head.").set(7)
    metrics.histogram("seconds", "Time taken.", buckets=(0.1, 1.0)).observe(0.5)
    metrics.histogram("bytes", "Sizes.").observe(1)
    metrics.counted("frames", "Frames sent.", lambda: 5)
    text = metrics.exposition().decode()
    assert "# HELP leasehold_requests_total Requests answered." in text
    assert 'leasehold_requests_total{route="/status"} 2.0' in text
    assert "leasehold_height 7.0" in text
    assert "# TYPE leasehold_frames_total counter" in text
    assert "leasehold_frames_total 5.0" in text
    assert 'leasehold_seconds_bucket{le="0.1"} 0.0' in text
    assert 'leasehold_seconds_bucket{le="1.0"} 1.0' in text


def test_services_do_not_share_a_registry() -> None:
    """Two services in one process, as in tests, may use the same name."""
    first, second = Metrics(), Metrics()
    first.gauge("height", "h").set(1)
    second.gauge("height", "h").set(2)
    assert b"leasehold_height 1.0" in first.exposition()
    assert b"leasehold_height 2.0" in second.exposition()
