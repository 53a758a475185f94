"""Health: whether this process runs, and how its upstreams and snapshots are."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection
from typing import Any

import msgspec

from leasehold import __version__
from leasehold.app_api.app import App
from leasehold.app_api.cells import Cell
from leasehold.app_api.upstreams.failures import ServiceFailure, status_text
from leasehold.app_api.upstreams.transport import Transport
from leasehold.serving.routes import PlainRequest, Registry

Absent = msgspec.UnsetType
UNSET = msgspec.UNSET
PROBE_SECONDS = 5.0
# The cells that count for warmth, as the public service counts them.
COUNTED = (
    "app_config",
    "protocol_contracts",
    "currencies",
    "prices",
    "gated_config",
    "filter_context",
    "pools",
    "validators",
    "gated_assets",
    "gated_protocols",
    "gated_networks",
    "stats_overview",
    "loans_stats",
    "swap_config",
    "lease_configs",
)


class HealthResponse(msgspec.Struct):
    """That the process answers; nothing outside it is asked."""

    status: str
    version: str
    uptime_seconds: int


class ServiceStatus(msgspec.Struct, omit_defaults=True):
    """An upstream: healthy, unhealthy, timeout or not_configured."""

    status: str
    configured: bool
    latency_ms: int | Absent = UNSET
    error: str | Absent = UNSET


class CellStatus(msgspec.Struct):
    """A value computed in the background: seconds since it was refreshed, where from, and failures since then."""

    populated: bool
    age_seconds: float | None
    source: str
    failures: int


class CacheStatus(msgspec.Struct):
    """How many of the counted cells are warm, and the age of every cell."""

    status: str
    total_entries: int
    hit_rate: float
    cells: dict[str, CellStatus]


class DetailedHealthResponse(msgspec.Struct):
    status: str
    version: str
    uptime_seconds: int
    services: dict[str, ServiceStatus]
    cache: CacheStatus


_LATE = ServiceStatus("timeout", True, error="Request timed out")


async def probe(transport: Transport, target: str, also: Collection[int] = ()) -> ServiceStatus:
    """How an upstream is: JSON with a 2xx is healthy, and so are the statuses in `also`."""
    if not transport.configured:
        return ServiceStatus("not_configured", False)
    started = time.perf_counter()
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            # Asked even while others are kept from it: whether it is back is what this is about.
            answer = await transport.ask("GET", target, seconds=PROBE_SECONDS, again=False, guarded=False)
            if answer.good:
                transport.decode(answer.body, msgspec.Raw)
    except TimeoutError:
        return _LATE
    except ServiceFailure as error:
        detail = error.message.partition(": ")[2]
        return _LATE if detail.endswith("timed out") else ServiceStatus("unhealthy", True, error=detail)
    if not answer.good and answer.status not in also:
        return ServiceStatus("unhealthy", True, error=status_text(answer.status))
    return ServiceStatus("healthy", True, latency_ms=int((time.perf_counter() - started) * 1000))


async def services(app: App) -> dict[str, ServiceStatus]:
    """Every upstream, asked at the same time."""
    links = app.upstreams
    brand = app.settings.identity.prefix
    probes = {
        "etl_api": probe(links.data.transport, "/api/pools"),
        f"{brand}_rpc": probe(links.node.transports[0], "/status"),
        f"{brand}_rest": probe(links.lcd.transport, "/cosmos/base/tendermint/v1beta1/node_info"),
        "skip_api": probe(links.swap.transport, "/v2/info/chains"),
        "referral_api": probe(links.referral.transport, "/api/referrals/validate/HEALTH_CHECK", (401, 404)),
        "zero_interest_api": probe(links.payments.transport, "/api/v1/campaigns/active", (401,)),
    }
    return dict(zip(probes, await asyncio.gather(*probes.values()), strict=True))


def overall(found: dict[str, ServiceStatus], brand: str) -> str:
    """Healthy with the index and the chain; degraded while there is something to serve from."""
    good = {name for name, one in found.items() if one.status == "healthy"}
    if {"etl_api", f"{brand}_rpc", f"{brand}_rest"} <= good:
        return "healthy"
    return "degraded" if good & {"etl_api", f"{brand}_rest"} else "unhealthy"


def warmth(app: App) -> CacheStatus:
    """How warm the cells are."""
    cells = app.cells.all()
    warm = sum(one.warm for one in cells if one.name in COUNTED)
    status = "healthy" if warm == len(COUNTED) else "warming" if warm else "empty"
    return CacheStatus(status, warm, warm / len(COUNTED), {one.name: _told(app, one) for one in cells})


def _told(app: App, cell: Cell[Any]) -> CellStatus:
    refresher = app.refreshers.get(cell.name)
    age = None if cell.age is None else round(cell.age, 3)
    if refresher is None:
        return CellStatus(cell.warm, age, "memory", 0)
    return CellStatus(cell.warm, age, refresher.source, refresher.failures)


def declare(api: Registry, app: App) -> None:
    """The routes of health."""

    def uptime() -> int:
        return int(app.clock.monotonic() - app.started)

    @api.get(
        "/api/health", operation_id="health_check", summary="Whether the service runs", tags=("health",), rate="none"
    )
    async def basic(request: PlainRequest) -> HealthResponse:
        return HealthResponse("healthy", __version__, uptime())

    @api.get(
        "/api/health/detailed",
        operation_id="detailed_health_check",
        summary="Upstreams and snapshots",
        tags=("health",),
        rate="none",
    )
    async def detailed(request: PlainRequest) -> DetailedHealthResponse:
        found = await services(app)
        return DetailedHealthResponse(
            overall(found, app.settings.identity.prefix), __version__, uptime(), found, warmth(app)
        )
