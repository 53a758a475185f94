"""The application API as a service: it listens at once, and warms up behind that."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from leasehold.app_api.api import assemble, describe
from leasehold.app_api.app import App
from leasehold.app_api.cells import Cell
from leasehold.app_api.gating.first import first_documents, first_locales
from leasehold.app_api.gating.store import GatedStore
from leasehold.app_api.live.endpoint import Live
from leasehold.app_api.refresh import Graph
from leasehold.app_api.schedule import refresh_head, refreshers
from leasehold.app_api.tracking import tracker
from leasehold.app_api.upstreams import all as upstreams
from leasehold.chain.client.hints import follow_hints
from leasehold.chain.client.nodes import Nodes
from leasehold.chain.client.rpc import RpcNode
from leasehold.core import logging
from leasehold.core.background import background
from leasehold.core.clock import Clock, SystemClock
from leasehold.core.errors import LeaseholdError
from leasehold.core.metrics import Metrics
from leasehold.core.service_context import ServiceContext
from leasehold.core.settings import Settings
from leasehold.serving.application import Application
from leasehold.serving.service import run as serve
from leasehold.storage import migrations, pool

SCHEMA = "app_api"
# A node that announces no block for this long is connected to anew; the timer notices blocks meanwhile.
SILENCE_SECONDS = 30.0
HEAD_SECONDS = 1.0
_log = logging.get("app-api")


@asynccontextmanager
async def running(app: App, metrics: Metrics, live: Live | None = None) -> AsyncIterator[Graph]:
    """Connect an application API and keep it fresh for as long as the context lasts."""
    settings = app.settings
    async with AsyncExitStack() as stack:
        await describe(app)
        app.links = await stack.enter_async_context(upstreams.opened(settings, app.clock))
        primary = settings.database.primary_url or settings.database.url
        await migrations.apply(primary, schema=SCHEMA, migrations=migrations.of_package("leasehold.app_api"))
        database = await stack.enter_async_context(pool.opened(settings.database, service="app-api"))
        app.database = database
        app.gated_store = GatedStore(database)
        await import_first(app)
        work = [*refreshers(app), live.refresher()] if live else refreshers(app)
        graph = Graph(work, clock=app.clock, metrics=metrics, turn=live.pump.idle if live else None)
        _publish_ages(app, metrics)
        await stack.enter_async_context(graph.running())
        if live is not None:
            await stack.enter_async_context(live.running())
        hint = asyncio.Event()
        await stack.enter_async_context(background(_follow(app, graph, hint), name="follow-head"))
        await stack.enter_async_context(background(_listen(app, hint), name="block-hints"))
        await stack.enter_async_context(background(tracker.sweeping(app), name="follow-transfers"))
        yield graph


async def import_first(app: App) -> None:
    """Give an empty database its first configuration: the folder of the settings, else that of the embedded chain."""
    if await app.store.version() > 0:
        return
    settings = app.settings
    if settings.app_api.gated_folder:
        taken = await app.store.import_folder(Path(settings.app_api.gated_folder))
        _log.info("gated configuration imported", documents=", ".join(taken))
    elif not settings.chain.rpc_urls:
        await app.store.import_documents(first_documents(settings))
        for locale in first_locales():
            await app.store.put_locale(locale)
        _log.info("first configuration of the embedded chain stored")
    else:
        _log.warning("there is no gated configuration", hint="set app_api.gated_folder or use the admin routes")


async def _follow(app: App, graph: Graph, hint: asyncio.Event) -> None:
    """Tell the graph of new blocks, by a timer and whenever the node hints at one."""
    while True:
        try:
            if await refresh_head(app):
                graph.block()
        except LeaseholdError as error:
            _log.debug("the node does not answer", error=str(error))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(HEAD_SECONDS):
                await hint.wait()
        hint.clear()


async def _listen(app: App, hint: asyncio.Event) -> None:
    """Wake the follower when a node announces a block."""
    urls = app.settings.chain.rpc_urls or (app.settings.url("rpc"),)
    session = app.upstreams.session
    nodes = Nodes([RpcNode(url, session) for url in urls], app.clock)
    await follow_hints(nodes, session, lambda height: hint.set(), silence_seconds=SILENCE_SECONDS)


def _publish_ages(app: App, metrics: Metrics) -> None:
    ages = metrics.gauge("cell_age_seconds", "Seconds since a value was refreshed, -1 before the first", ("cell",))

    def reader(cell: Cell[Any]) -> Callable[[], float]:
        return lambda: -1.0 if cell.age is None else cell.age

    for cell in app.cells.all():
        ages.labels(cell.name).set_function(reader(cell))


def application(settings: Settings, clock: Clock | None = None) -> Application:
    """The service as an application whose lifespan connects it."""
    used = clock or SystemClock()
    app = assemble(settings, used)
    metrics = Metrics()
    live = Live(app, metrics)

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        async with running(app, metrics, live):
            yield

    return Application(
        app.registry,
        limits=settings.limits,
        snapshots=app.snapshots,
        metrics=metrics,
        clock=used,
        cors_origins=settings.app_api.cors_origins,
        websockets=live.endpoints,
        lifespan=lifespan,
    )


def run(context: ServiceContext) -> None:
    """Serve until told to stop."""
    settings = context.settings
    serve(
        application(settings),
        host=settings.listen.host,
        port=settings.port("app_api"),
        ready=lambda running: context.ready(f"listening on {running.url}"),
    )
