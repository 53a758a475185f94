"""The indexer as a service: follows the chain into PostgreSQL, tells its health, stops after the batch at hand."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

import aiohttp
import msgspec
import uvloop

import leasehold
from leasehold.chain.client.hints import follow_hints
from leasehold.chain.client.nodes import Nodes
from leasehold.chain.client.rpc import RpcNode
from leasehold.core.clock import NANOSECONDS, Clock, SystemClock
from leasehold.core.metrics import Metrics
from leasehold.core.service_context import ServiceContext
from leasehold.core.settings import Settings
from leasehold.indexer.ingest import Ingest
from leasehold.indexer.progress import ProgressDisplay
from leasehold.indexer.retention import prune
from leasehold.indexer.tables import instant
from leasehold.indexer.writer import SCHEMA, Batch
from leasehold.serving.application import Application
from leasehold.serving.envelopes import DataDialect
from leasehold.serving.routes import PlainRequest, Registry, Reply
from leasehold.serving.service import serving
from leasehold.storage import migrations

DRAIN_SECONDS = 10.0
RETENTION_SECONDS = 3600.0


class Health(msgspec.Struct):
    """Liveness."""

    status: str
    version: str


class Readiness(msgspec.Struct):
    """Whether the index is close enough to the head to be served from."""

    status: str
    height: int
    target: int
    lag_blocks: int
    lag_seconds: Annotated[int, msgspec.Meta(description="age of the newest indexed block")]
    quarantined: int


class Gauges:
    """What the indexer tells Prometheus."""

    def __init__(self, metrics: Metrics) -> None:
        self.height = metrics.gauge("index_height", "newest height committed")
        self.lag = metrics.gauge("index_lag_blocks", "blocks known to exist and not committed")
        self.age = metrics.gauge("index_lag_seconds", "age of the newest committed block when it was committed")
        self.blocks = metrics.counter("index_blocks", "blocks committed")
        self.events = metrics.counter("index_events", "events seen in committed blocks")
        self.rows = metrics.counter("index_rows", "rows written")
        self.quarantined = metrics.counter("index_quarantined", "things that could not be decoded")
        self.batch = metrics.histogram(
            "index_batch_blocks", "blocks per transaction", buckets=(1, 2, 5, 10, 20, 50, 100, 200, 500)
        )
        self.retries = metrics.gauge("index_node_retries", "questions to nodes that were repeated")
        self.restarts = metrics.gauge("index_restarts", "starts from the cursor after a database failure")
        self.divergences = metrics.gauge("index_divergences", "settlements that differ from our arithmetic")
        self.orphans = metrics.gauge("index_orphans", "events of contracts whose beginning is not indexed")


class IndexerService:
    """One indexer with its health."""

    def __init__(self, settings: Settings, clock: Clock, metrics: Metrics, nodes: Nodes) -> None:
        self._settings = settings
        self._clock = clock
        self._gauges = Gauges(metrics)
        self._display = ProgressDisplay(sys.stderr, clock)
        self.ingest = Ingest(settings, nodes, clock, on_commit=self._committed)

    def readiness(self) -> Readiness:
        """Where the index stands now."""
        progress = self.ingest.progress
        target = max(self.ingest.follower.target, progress.height)
        lag = target - progress.height
        ready = progress.height > 0 and lag <= self._settings.index.ready_lag_blocks
        age = max((self._clock.now_ns() - progress.time_ns) // NANOSECONDS, 0) if progress.time_ns else 0
        state = "ready" if ready else "not_ready"
        return Readiness(state, progress.height, target, lag, age, progress.quarantined)

    def _committed(self, batch: Batch) -> None:
        gauges, progress, ingest = self._gauges, self.ingest.progress, self.ingest
        gauges.height.set(batch.height)
        gauges.lag.set(progress.lag)
        gauges.age.set(max(self._clock.now_ns() - batch.time_ns, 0) / NANOSECONDS)
        gauges.blocks.inc(batch.blocks)
        gauges.events.inc(batch.events)
        gauges.rows.inc(batch.rows.count())
        gauges.quarantined.inc(batch.quarantined)
        gauges.batch.observe(batch.blocks)
        gauges.retries.set(ingest.follower.retries)
        gauges.restarts.set(progress.restarts)
        gauges.divergences.set(ingest.divergences)
        gauges.orphans.set(ingest.orphans)
        self._display.update(progress.height, progress.target)


def routes(service: IndexerService) -> Registry:
    """Health and readiness; metrics come with the application."""
    api = Registry("Indexer", version=leasehold.__version__, dialect=DataDialect())

    @api.get("/health", summary="Liveness", tags=("Health",), rate="none")
    async def health(request: PlainRequest) -> Health:
        return Health("ok", leasehold.__version__)

    @api.get("/ready", summary="Readiness: false while the index lags", tags=("Health",), rate="none", errors=(503,))
    async def ready(request: PlainRequest) -> Readiness:
        found = service.readiness()
        return found if found.status == "ready" else Reply(found, status=503)  # type: ignore[return-value]

    return api


@asynccontextmanager
async def chain_nodes(settings: Settings, clock: Clock) -> AsyncIterator[tuple[Nodes, aiohttp.ClientSession]]:
    """The configured nodes, with the archive node if there is one."""
    urls = settings.chain.rpc_urls or (settings.url("rpc"),)
    async with aiohttp.ClientSession() as session:
        archive = settings.chain.archive_rpc_url
        nodes = Nodes(
            [RpcNode(url, session) for url in urls], clock, archive=RpcNode(archive, session) if archive else None
        )
        yield nodes, session


async def serve(context: ServiceContext, clock: Clock, stop: asyncio.Event) -> None:
    """Index until told to stop; a database without tables gets them first."""
    settings = context.settings
    metrics = Metrics()
    primary = settings.database.primary_url or settings.database.url
    await migrations.apply(primary, schema=SCHEMA, migrations=migrations.of_package("leasehold.indexer"))
    async with chain_nodes(settings, clock) as (nodes, session):
        service = IndexerService(settings, clock, metrics, nodes)
        application = Application(routes(service), limits=settings.limits, metrics=metrics, clock=clock)
        async with serving(application, host=settings.listen.host, port=settings.port("indexer")) as running:
            ingesting = asyncio.create_task(service.ingest.run(), name="ingest")
            hints = asyncio.create_task(
                follow_hints(
                    nodes, session, service.ingest.follower.announce, silence_seconds=settings.index.stall_seconds
                ),
                name="hints",
            )
            keeping = asyncio.create_task(_keep_retention(settings, service.ingest), name="retention")
            stopping = asyncio.create_task(stop.wait(), name="stop")
            context.ready(f"indexing, health on {running.url}")
            try:
                await asyncio.wait({ingesting, stopping}, return_when=asyncio.FIRST_COMPLETED)
                await service.ingest.drain(DRAIN_SECONDS)
            finally:
                for task in (hints, keeping, stopping, ingesting):
                    task.cancel()
                await asyncio.gather(hints, keeping, stopping, return_exceptions=True)
            with contextlib.suppress(asyncio.CancelledError):
                await ingesting


async def _keep_retention(settings: Settings, ingest: Ingest) -> None:
    """Drop raw data beyond its age, measured by the chain's own time, every hour."""
    while settings.index.retention_days > 0:
        await asyncio.sleep(RETENTION_SECONDS)
        if ingest.progress.time_ns:
            url = settings.database.primary_url or settings.database.url
            await prune(url, days=settings.index.retention_days, now=instant(ingest.progress.time_ns))


def run(context: ServiceContext) -> None:
    """Index until SIGINT or SIGTERM."""

    async def main() -> None:
        stop = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        await serve(context, SystemClock(), stop)

    with contextlib.suppress(KeyboardInterrupt):
        uvloop.run(main())
