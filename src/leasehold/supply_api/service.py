"""The supply API as a service: figures refreshed in the background, served from memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Annotated, Literal

import aiohttp
import msgspec

from leasehold.chain.client.nodes import Nodes
from leasehold.chain.client.rpc import RpcNode
from leasehold.chain.registry import registry
from leasehold.core import logging
from leasehold.core.background import background
from leasehold.core.clock import Clock, SystemClock, parse_rfc3339, rfc3339
from leasehold.core.errors import LeaseholdError, NotReady
from leasehold.core.service_context import ServiceContext
from leasehold.core.settings import Settings
from leasehold.serving.application import Application
from leasehold.serving.envelopes import DataDialect
from leasehold.serving.parameters import Input
from leasehold.serving.routes import Cache, PlainRequest, Registry, Reply, Request
from leasehold.serving.service import run as serve
from leasehold.supply_api.figures import Figures, SupplyReader

TEXT = "text/plain; charset=utf-8"
CACHE_SECONDS = 3600
# One address has two answers: a cache must know what tells them apart.
_NEGOTIATED = {"vary": "accept"}
_RETRY_SECONDS = (1, 2, 5, 10, 30)
_log = logging.get("supply")


class SupplyParams(msgspec.Struct, frozen=True):
    """Which figure is asked for."""

    type: Annotated[
        Literal["circulating", "total", "max", "burned"] | None,
        Input(about="the figure, in whole native tokens; none gives a summary", example="circulating"),
    ] = None


class AccountBreakdown(msgspec.Struct):
    """A reserve account in the breakdown; amounts in base units."""

    address: str
    kind: str
    original: str
    vesting: str


class Breakdown(msgspec.Struct):
    """How the figures come about; token figures in whole tokens, accounts in base units."""

    circulating: str
    total: str
    max: str
    burned: str
    vesting: str
    height: int
    time: str
    accounts: list[AccountBreakdown]


class SupplyDesk:
    """Keeps the last good figures and knows when to renew them."""

    def __init__(self, *, refresh_seconds: int) -> None:
        self._refresh_seconds = refresh_seconds
        self._figures: Figures | None = None

    @property
    def figures(self) -> Figures:
        if self._figures is None:
            raise NotReady("supply figures are not yet available")
        return self._figures

    async def refresh(self, reader: SupplyReader) -> None:
        """Read the figures anew; the last good ones stay if that fails."""
        self._figures = await reader.read()

    async def keep(self, reader: SupplyReader, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        """Refresh before the figures expire, and soon after a failure, until cancelled."""
        failures = 0
        while True:
            try:
                await self.refresh(reader)
                failures = 0
                wait = self._refresh_seconds
            except LeaseholdError as error:
                wait = _RETRY_SECONDS[min(failures, len(_RETRY_SECONDS) - 1)]
                failures += 1
                _log.warning("supply figures not refreshed", error=str(error), retry_seconds=wait)
            except Exception as error:  # noqa: BLE001 - what a node may say that nobody foresaw must not end it for good
                wait = _RETRY_SECONDS[-1]
                failures += 1
                _log.error("supply figures not refreshed", error=repr(error), retry_seconds=wait)
            await sleep(wait)


def supply_api(settings: Settings, desk: SupplyDesk) -> Registry:
    """The routes."""
    api = Registry("Supply API", version="1.0.0", dialect=DataDialect(headers=()))

    @api.get(
        "/",
        summary="A supply figure of the native token",
        description="Plain text in whole tokens; `Accept: application/json` gives the breakdown.",
        tags=("Supply",),
        cache=Cache.live(CACHE_SECONDS),
        produces=("text/plain", "application/json"),
        response=Breakdown,
        errors=(400, 503),
    )
    async def supply(request: Request[SupplyParams, None]) -> Reply:
        if request.params.type == "max" and not _wants_json(request):
            return _text(str(settings.supply_api.max_supply))
        if request.params.type == "burned" and not _wants_json(request):
            return _text("0")
        figures = desk.figures
        if _wants_json(request):
            return Reply(content=breakdown(figures), headers=_NEGOTIATED)
        if request.params.type == "circulating":
            return _text(figures.whole(figures.circulating))
        if request.params.type == "total":
            return _text(figures.whole(figures.total))
        return _text(summary(settings, figures))

    @api.get("/health", summary="Whether the service runs", tags=("Health",), rate="none")
    async def health(request: PlainRequest) -> dict[str, str]:
        return {"status": "ok"}

    @api.get("/ready", summary="Whether figures are there", tags=("Health",), rate="none", errors=(503,))
    async def ready(request: PlainRequest) -> dict[str, int]:
        return {"height": desk.figures.height}

    return api


def _wants_json(request: Request[SupplyParams, None]) -> bool:
    """Whether JSON is preferred: whoever takes text as gladly, as many clients do that name both, gets the figure."""
    accepted = request.headers.get("accept", "*/*")
    return weight(accepted, "application/json") > weight(accepted, "text/plain")


def weight(accepted: str, kind: str) -> float:
    """How welcome a media type is by an Accept header, from 0 to 1; its most specific range decides."""
    ranges = (kind, kind.partition("/")[0] + "/*", "*/*")
    found: dict[str, float] = {}
    for part in accepted.lower().split(","):
        name, *parameters = (piece.strip() for piece in part.split(";"))
        given = next((one.removeprefix("q=") for one in parameters if one.startswith("q=")), "1")
        try:
            found[name] = min(1.0, max(0.0, float(given)))
        except ValueError:
            found[name] = 0.0
    return next((found[one] for one in ranges if one in found), 0.0)


def _text(text: str) -> Reply:
    return Reply(body=text.encode(), media_type=TEXT, headers=_NEGOTIATED)


def summary(settings: Settings, figures: Figures) -> str:
    """The short text of the bare route."""
    display = settings.identity.display
    return "\n".join(
        (
            f"{display} supply at height {figures.height} ({rfc3339(figures.time_ns, digits='seconds')})",
            f"circulating {figures.whole(figures.circulating)}",
            f"total {figures.whole(figures.total)}",
            f"max {figures.maximum}",
            "burned 0",
            "Ask for one figure with /?type=circulating|total|max|burned",
            "",
        )
    )


def breakdown(figures: Figures) -> Breakdown:
    return Breakdown(
        circulating=figures.whole(figures.circulating),
        total=figures.whole(figures.total),
        max=str(figures.maximum),
        burned="0",
        vesting=figures.whole(figures.vesting),
        height=figures.height,
        time=rfc3339(figures.time_ns),
        accounts=[AccountBreakdown(a.address, a.kind, str(a.original), str(a.vesting)) for a in figures.accounts],
    )


@asynccontextmanager
async def refreshing(desk: SupplyDesk, settings: Settings, clock: Clock) -> AsyncIterator[None]:
    """Keep a desk fresh from the configured nodes for as long as the context lasts."""
    urls = settings.chain.rpc_urls or (settings.url("rpc"),)
    async with aiohttp.ClientSession() as session:
        nodes = Nodes([RpcNode(url, session) for url in urls], clock)

        async def head() -> tuple[int, int]:
            status = await nodes.status()
            return status.latest_height, parse_rfc3339(status.latest_time)

        reader = SupplyReader(registry(settings.identity.namespace), settings, nodes, head)
        async with background(desk.keep(reader), name="supply-refresh"):
            yield


def application(settings: Settings, clock: Clock | None = None) -> Application:
    """The service as an application whose lifespan keeps the figures fresh."""
    used = clock or SystemClock()
    desk = SupplyDesk(refresh_seconds=settings.supply_api.refresh_seconds)
    return Application(
        supply_api(settings, desk),
        limits=settings.limits,
        clock=used,
        lifespan=lambda: refreshing(desk, settings, used),
    )


def run(context: ServiceContext) -> None:
    """Serve until told to stop."""
    settings = context.settings
    serve(
        application(settings),
        host=settings.listen.host,
        port=settings.port("supply_api"),
        ready=lambda running: context.ready(f"listening on {running.url}"),
    )
