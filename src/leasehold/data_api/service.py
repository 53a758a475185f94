"""The data API as a service: reads the index, needs no chain."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from leasehold.core.clock import Clock, SystemClock
from leasehold.core.service_context import ServiceContext
from leasehold.core.settings import Settings
from leasehold.data_api.head import Index
from leasehold.data_api.meta import meta_routes
from leasehold.serving.application import Application
from leasehold.serving.pages import publish_description
from leasehold.serving.service import run as serve
from leasehold.serving.snapshots import SnapshotTable


def application(settings: Settings, clock: Clock | None = None) -> Application:
    """The service as an application whose lifespan holds the pools and publishes its own description."""
    used = clock or SystemClock()
    index, snapshots = Index(), SnapshotTable()
    registry = meta_routes(index, used)

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        async with index.connected(settings):
            await publish_description(
                registry, snapshots, document_at="/openapi.json", index_at="/", text_at="/llms.txt"
            )
            yield

    return Application(registry, limits=settings.limits, snapshots=snapshots, clock=used, lifespan=lifespan)


def run(context: ServiceContext) -> None:
    """Serve until SIGINT or SIGTERM."""
    settings = context.settings
    serve(
        application(settings),
        host=settings.listen.host,
        port=settings.port("data_api"),
        ready=lambda running: context.ready(f"listening on {running.url}"),
    )
