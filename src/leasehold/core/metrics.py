"""Prometheus metrics, one registry per service process."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class _Counted(Collector):
    """A counter whose owner counts in a plain number, where the fast path has no time for a locked one."""

    def __init__(self, name: str, help_text: str, read: Callable[[], int]) -> None:
        self._name = name
        self._help = help_text
        self._read = read

    def collect(self) -> Iterator[CounterMetricFamily]:
        yield CounterMetricFamily(self._name, self._help, value=self._read())


class Metrics:
    """The metrics of one service; every name gets the prefix `leasehold_`."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()

    def counter(self, name: str, help_text: str, labels: tuple[str, ...] = ()) -> Counter:
        return Counter(f"leasehold_{name}", help_text, labels, registry=self.registry)

    def counted(self, name: str, help_text: str, read: Callable[[], int]) -> None:
        """A counter that is asked for its value when somebody scrapes."""
        self.registry.register(_Counted(f"leasehold_{name}", help_text, read))

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
