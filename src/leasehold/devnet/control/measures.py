"""What a devnet tells Prometheus, at `/metrics` of its control port: where it stands, what it sealed, who listens."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from leasehold.core.clock import NANOSECONDS
from leasehold.core.metrics import Metrics
from leasehold.devnet.consensus.node import Node, SealedBlock
from leasehold.devnet.control.faults import Surfaces

# From an empty block of a fast chain to one that takes longer than the beat.
_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


class ChainMeasures(Collector):
    """Counts blocks and transactions as they are sealed; everything else is read when it is asked for."""

    def __init__(self, metrics: Metrics, node: Node, surfaces: Surfaces) -> None:
        self._node = node
        self._surfaces = surfaces
        self._blocks = metrics.counter("chain_blocks", "Blocks sealed by this process")
        self._transactions = metrics.counter("chain_transactions", "Transactions delivered, by outcome", ("outcome",))
        self._gas = metrics.counter("chain_gas", "Gas used by delivered transactions")
        self._seconds = metrics.histogram("chain_seal_seconds", "Time to seal a block", buckets=_SECONDS)
        metrics.registry.register(self)
        node.add_listener(self._sealed)

    def close(self) -> None:
        """Count no more."""
        self._node.remove_listener(self._sealed)

    def _sealed(self, sealed: SealedBlock) -> None:
        self._blocks.inc()
        self._seconds.observe(sealed.seconds)
        for result in sealed.results.tx_results:
            self._transactions.labels("failed" if result.code else "succeeded").inc()
            self._gas.inc(result.gas_used)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        node, rpc = self._node, self._surfaces.rpc
        figures: list[tuple[str, str, float]] = [
            ("chain_height", "Height of the latest block", node.height),
            ("chain_base_height", "Lowest height that is kept", node.base),
            ("chain_time_seconds", "Time of the latest block, in seconds since 1970", node.time_ns / NANOSECONDS),
            ("chain_mempool_transactions", "Transactions waiting for a block", len(node.mempool)),
            ("chain_mempool_bytes", "Their size", node.mempool.size_bytes),
        ]
        if rpc is not None:
            figures += [
                ("chain_rpc_connections", "Open connections to the RPC, WebSockets included", rpc.connections),
                ("chain_subscribers", "WebSocket clients with a subscription", rpc.hub.clients),
            ]
        for name, about, value in figures:
            yield GaugeMetricFamily(f"leasehold_{name}", about, value)
