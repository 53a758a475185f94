"""An application API of its own with filled cells, in front of one pretended server for all its upstreams."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field, replace
from io import BytesIO
from typing import Any

import aiohttp
from aiohttp import web
from yarl import URL

from leasehold.app_api.api import assemble
from leasehold.app_api.app import App
from leasehold.app_api.gating import documents
from leasehold.app_api.gating.first import first_documents
from leasehold.app_api.gating.store import GatedStore
from leasehold.app_api.resources.fees import GasFeeConfigResponse
from leasehold.app_api.resources.protocols import ContractRegistry, Contracts
from leasehold.app_api.service import SCHEMA
from leasehold.app_api.upstreams import all as upstreams
from leasehold.app_api.upstreams.data import Currency, Mapping
from leasehold.core.addresses import Bech32Prefixes
from leasehold.core.clock import ManualClock
from leasehold.core.settings import Settings
from leasehold.serving.application import Application
from leasehold.serving.service import serving
from leasehold.storage import migrations, pool

LONG, SHORT = "OSMOSIS-OSMOSIS-USDC_NOBLE", "OSMOSIS-OSMOSIS-OSMO"
PREFIXES = Bech32Prefixes("chain")
WALLET = PREFIXES.account_text(b"w" * 20)
LEASE = PREFIXES.account_text(b"l" * 32)
VALIDATOR = PREFIXES.operator_text(b"v" * 20)
OTHER_VALIDATOR = PREFIXES.operator_text(b"o" * 20)
NOW = 1_800_000_000

Answer = tuple[int, Any] | Callable[[Any], tuple[int, Any]]


def contract(name: str) -> str:
    return PREFIXES.account_text(name.encode().ljust(32, b"."))


def contracts(name: str) -> Contracts:
    return Contracts(*(contract(f"{name[-8:]} {part}") for part in ("leaser", "lpp", "oracle", "profit", "reserve")))


CURRENCIES = (
    Currency("USDC_NOBLE", 6, True, (Mapping(LONG, "lpn", "ibc/USDC", "x"), Mapping(SHORT, "lease", "ibc/USDC", "x"))),
    Currency("OSMO", 6, True, (Mapping(LONG, "lease", "ibc/OSMO", "y"), Mapping(SHORT, "lpn", "ibc/OSMO", "y"))),
    Currency("ATOM", 6, True, (Mapping(LONG, "lease", "ibc/ATOM", "z"),)),
    Currency("LSH", 6, True, (Mapping(LONG, "native", "ulsh", "n"),)),
)


@dataclass
class Pretended:
    """Answers by method and path; a call that has none is 501."""

    answers: dict[str, Answer] = field(default_factory=dict)
    calls: list[tuple[str, Any]] = field(default_factory=list)
    by_query: Callable[[str], Any] | None = None

    async def answer(self, request: web.Request) -> web.StreamResponse:
        text = await request.text()
        body = json.loads(text) if text else None
        key = f"{request.method} {request.path}"
        self.calls.append((key, body))
        if self.by_query is not None and "query" in request.query:
            return web.json_response(self.by_query(request.query["query"]))
        found = self.answers.get(key, (501, "nobody answers this"))
        status, content = found(body) if callable(found) else found
        if isinstance(content, bytes):
            return web.Response(status=status, body=content, content_type="application/json")
        if isinstance(content, str):
            return web.Response(status=status, text=content, content_type="text/html")
        return web.json_response(content, status=status)


@dataclass
class Stage:
    """A serving application API."""

    app: App
    world: Pretended
    base: str
    session: aiohttp.ClientSession

    async def send(
        self, path: str, body: Any = None, *, method: str = "POST", headers: dict[str, str] | None = None
    ) -> tuple[int, Any]:
        """Status and decoded body of an answer; a text is sent as it is."""
        data = body if isinstance(body, str | bytes) or body is None else json.dumps(body)
        sent = {"Content-Type": "application/json", **(headers or {})}
        content = data.encode() if isinstance(data, str) else data
        target = URL(self.base + path, encoded=True)
        stream = None if content is None else BytesIO(content)
        async with self.session.request(method, target, data=stream, headers=sent) as reply:
            text = await reply.read()
            is_json = "json" in reply.headers.get("content-type", "")
            return reply.status, json.loads(text) if is_json and text else text.decode()


def settings(url: str, **app_api: Any) -> Settings:
    """Settings whose every upstream is at one address."""
    given = Settings()
    wide = replace(given.limits, writes_burst=1000, writes_per_second=1000.0)
    links = {
        "data_api_url": url,
        "swap_url": url,
        "referral_url": url,
        "payments_url": url,
        "svm_url": url,
        **app_api,
    }
    return replace(
        given,
        limits=wide,
        chain=replace(given.chain, rpc_urls=(url,), lcd_url=url),
        app_api=replace(given.app_api, **links),
    )


def fill(app: App) -> None:
    """What the background would have read."""
    app.cells.contracts.put(ContractRegistry("a", "d", {LONG: contracts(LONG), SHORT: contracts(SHORT)}))
    app.cells.indexed_currencies.put(CURRENCIES)
    app.cells.gated.put(documents.bundle(1, first_documents(app.settings)))
    app.cells.gas_fees.put(GasFeeConfigResponse({"ulsh": "0.0025"}, 1.5))


@asynccontextmanager
async def stored(app: App, url: str) -> AsyncIterator[None]:
    """The application API with its database, for as long as the context lasts."""
    await migrations.apply(url, schema=SCHEMA, migrations=migrations.of_package("leasehold.app_api"))
    async with pool.opened(replace(app.settings.database, url=url), service="app-api") as database:
        app.database = database
        app.gated_store = GatedStore(database)
        yield


@asynccontextmanager
async def staged(*, filled: bool = True, database: str = "", **app_api: Any) -> AsyncIterator[Stage]:
    """An application API in front of pretended upstreams, with a database where one is given."""
    world = Pretended()
    pretended = web.Application()
    pretended.router.add_route("*", "/{tail:.*}", world.answer)
    runner = web.AppRunner(pretended, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    url = f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}"  # type: ignore[union-attr]
    clock = ManualClock(NOW * 10**9)
    app = assemble(settings(url, **app_api), clock)
    if filled:
        fill(app)
    try:
        async with (
            upstreams.opened(app.settings, clock) as links,
            serving(
                Application(app.registry, limits=app.settings.limits, snapshots=app.snapshots), grace_seconds=1
            ) as running,
            aiohttp.ClientSession() as session,
        ):
            app.links = links
            async with stored(app, database) if database else nullcontext():
                yield Stage(app, world, running.url, session)
    finally:
        await runner.cleanup()
