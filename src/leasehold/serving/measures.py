"""The metrics of an HTTP service, cheap enough for the fast path: plain numbers there, read when scraped."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import Counter, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from leasehold.core.metrics import Metrics
from leasehold.serving.snapshots import SnapshotTable


class FastPath(Collector):
    """Counters of the fast path."""

    def __init__(self, snapshots: SnapshotTable) -> None:
        self.full = 0
        self.not_modified = 0
        self.limited = 0
        self.body_bytes = 0
        self.connections = 0
        # Requests of the ordinary path that are being handled.
        self.in_flight = 0
        self._snapshots = snapshots

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        answers = CounterMetricFamily(
            "leasehold_fast_path_answers", "Requests answered from a snapshot before ASGI", labels=["status"]
        )
        answers.add_metric(["200"], self.full)
        answers.add_metric(["304"], self.not_modified)
        answers.add_metric(["429"], self.limited)
        yield answers
        yield CounterMetricFamily("leasehold_fast_path_bytes", "Body bytes sent by the fast path", self.body_bytes)
        yield GaugeMetricFamily("leasehold_http_connections", "Open HTTP connections", self.connections)
        yield GaugeMetricFamily("leasehold_http_in_flight", "Requests being handled", self.in_flight)
        yield GaugeMetricFamily("leasehold_snapshots", "Snapshots in the table", len(self._snapshots))


class Measures:
    """What an HTTP service counts."""

    def __init__(self, metrics: Metrics, snapshots: SnapshotTable) -> None:
        self.fast = FastPath(snapshots)
        metrics.registry.register(self.fast)
        self._requests = metrics.counter("http_requests", "Requests by outcome", ("method", "route", "status"))
        self._seconds = metrics.histogram("http_request_seconds", "Time to answer", ("route",))
        self._limited = metrics.counter("http_limited", "Requests refused by a rate limit", ("rate",))
        self._refused = metrics.counter("http_refused", "Requests refused before routing", ("status",))
        self._gone = metrics.counter("http_disconnected", "Requests whose client left before the answer")
        # The counter and the histogram of a kind of request; finding them by their labels takes longer than counting.
        self._kinds: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request; `route` is one of the declared paths or a fixed word."""
        kind = (method if method in _METHODS else "other", route, status)
        found = self._kinds.get(kind)
        if found is None:
            found = self._requests.labels(kind[0], route, str(status)), self._seconds.labels(route)
            self._kinds[kind] = found
        found[0].inc()
        found[1].observe(seconds)

    def limited(self, rate: str) -> None:
        self._limited.labels(rate).inc()

    def refused(self, status: int) -> None:
        self._refused.labels(str(status)).inc()

    def disconnected(self) -> None:
        self._gone.inc()


_METHODS = frozenset(("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"))
