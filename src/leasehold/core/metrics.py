"""Prometheus metrics, one registry per service process."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """The metrics of one service; every name gets the prefix `leasehold_`."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()

    def counter(self, name: str, help_text: str, labels: tuple[str, ...] = ()) -> Counter:
        return Counter(f"leasehold_{name}", help_text, labels, registry=self.registry)

    def gauge(self, name: str, help_text: str, labels: tuple[str, ...] = ()) -> Gauge:
        return Gauge(f"leasehold_{name}", help_text, labels, registry=self.registry)

    def histogram(
        self,
        name: str,
        help_text: str,
        labels: tuple[str, ...] = (),
        buckets: tuple[float, ...] | None = None,
    ) -> Histogram:
        if buckets is None:
            return Histogram(f"leasehold_{name}", help_text, labels, registry=self.registry)
        return Histogram(f"leasehold_{name}", help_text, labels, registry=self.registry, buckets=buckets)

    def exposition(self) -> bytes:
        """The text Prometheus scrapes."""
        return generate_latest(self.registry)
