"""The data API as a service: reads the index, needs no chain."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import aiohttp

from leasehold.core.clock import Clock, SystemClock
from leasehold.core.service_context import ServiceContext
from leasehold.core.settings import Database, Settings
from leasehold.data_api.api import DataApi
from leasehold.data_api.browser import index_page
from leasehold.data_api.index import Index
from leasehold.data_api.push.courier import Courier, sql
from leasehold.data_api.push.endpoints import Guard
from leasehold.data_api.push.vapid import Vapid, fresh
from leasehold.serving.application import Application
from leasehold.serving.pages import publish_description
from leasehold.serving.service import run as serve
from leasehold.storage import migrations, pool

# How long a request waits for a server that restarts; answers from the shelf do not wait at all.
REQUEST_PATIENCE = 2.0
BROWSERS_AT_ONCE = 50
# Connections for what reads a few rows; more of them would only take turns on the server's processors.
BRIEF = 4


def application(
    settings: Settings, clock: Clock | None = None, *, guard: Guard | None = None, poll: float = 2.0
) -> Application:
    """The service as an application whose lifespan holds the pools, keeps the shelf fresh and delivers messages."""
    api = DataApi(settings, clock or SystemClock(), guard=guard, poll=poll)
    return Application(
        api.registry,
        limits=settings.limits,
        snapshots=api.snapshots,
        metrics=api.metrics,
        clock=api.clock,
        lifespan=lambda: serving(api, poll=poll),
    )


@asynccontextmanager
async def serving(api: DataApi, *, poll: float = 2.0) -> AsyncIterator[None]:
    """Everything a running data API needs, for as long as the context lasts."""
    settings = api.settings.database
    await migrations.apply(
        pool.primary_url(settings), schema="data_api", migrations=migrations.of_package("leasehold.data_api")
    )
    connector = aiohttp.TCPConnector(limit=BROWSERS_AT_ONCE, resolver=api.guard.resolver())
    async with (
        pool.opened(planned_once(settings), service="data-api", brief=BRIEF) as database,
        aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar()) as session,
    ):
        database.patience = REQUEST_PATIENCE
        api.index.connect(database)
        vapid = api.subscriptions.vapid = await deployment_key(api)
        await publish_description(api.registry, api.snapshots, document_at="/openapi.json", text_at="/llms.txt")
        await api.snapshots.publish(
            "/", index_page(api.registry), height=0, time_ns=0, content_type="text/html; charset=utf-8"
        )
        courier = Courier(api.index, session, vapid, api.clock, api.guard, poll=poll)
        try:
            async with api.shelf.running(), courier.running():
                yield
        finally:
            api.index.connect(None)


def planned_once(settings: Database) -> Database:
    """The same servers, whose sessions keep the plan of a statement.

    Every statement here is written so that one plan is right for all arguments, and making a plan takes longer than
    running it.
    """

    def kept(url: str) -> str:
        return f"{url}{'&' if '?' in url else '?'}plan_cache_mode=force_generic_plan" if url else url

    return replace(settings, url=kept(settings.url), primary_url=kept(settings.primary_url))


async def deployment_key(api: DataApi) -> Vapid:
    """The key of the settings, else the one in the database, made by the first process that looked."""
    settings = api.settings.data_api
    if settings.vapid_private_key:
        return Vapid.read(settings.vapid_private_key, settings.vapid_subject)
    kept = await _kept(api.index)
    if kept is None:
        proposed = fresh(settings.vapid_subject).text
        await api.index.writing(lambda session: session.execute(sql.keep_key, proposed))
        kept = await api.index.writing(lambda session: session.fetchval(sql.key))
    return Vapid.read(str(kept), settings.vapid_subject)


async def _kept(index: Index) -> str | None:
    found: str | None = await index.writing(lambda session: session.fetchval(sql.key))
    return found


def run(context: ServiceContext) -> None:
    """Serve until SIGINT or SIGTERM."""
    settings = context.settings
    serve(
        application(settings),
        host=settings.listen.host,
        port=settings.port("data_api"),
        ready=lambda running: context.ready(f"listening on {running.url}"),
    )
