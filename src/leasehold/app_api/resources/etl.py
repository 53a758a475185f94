"""The data API through us: an allowlist of its endpoints as they are, batches of them, and decoded transactions."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import urlencode

import msgspec

from leasehold.app_api.app import App
from leasehold.app_api.display import alphabetical
from leasehold.app_api.inputs import require_bech32
from leasehold.app_api.resources.transactions import kept_transaction
from leasehold.app_api.upstreams.data import DataApi
from leasehold.app_api.upstreams.failures import ServiceFailure, status_text
from leasehold.core.errors import InvalidInput, LeaseholdError, NotFound, RateLimited
from leasehold.serving.parameters import Input
from leasehold.serving.routes import Cache, Registry, Reply, Request

ALLOWED = frozenset(
    (
        "pools",
        "lease-markets",
        "leases-monthly",
        "leased-assets",
        "supplied-funds",
        "unrealized-pnl",
        "total-value-locked",
        "total-tx-value",
        "open-position-value",
        "open-interest",
        "realized-pnl-stats",
        "buyback-total",
        "revenue",
        "ls-opening",
        "prices",
        "pnl-over-time",
        "position-debt-value",
        "realized-pnl",
        "realized-pnl-data",
        "supplied-borrowed-history",
        "earnings",
        "lp-withdraw",
        "history-stats",
        "ls-loan-closing",
        "leases-search",
    )
)
OVERVIEW = {
    "tvl": "total-value-locked",
    "tx_volume": "total-tx-value",
    "buyback_total": "buyback-total",
    "realized_pnl_stats": "realized-pnl-stats",
    "revenue": "revenue",
}
LOANS = {"open_position_value": "open-position-value", "open_interest": "open-interest"}
DASHBOARD = {"earnings": "earnings", "realized_pnl": "realized-pnl", "position_debt_value": "position-debt-value"}
HISTORY = {"history_stats": "history-stats", "realized_pnl_data": "realized-pnl-data"}
Int32 = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
_CSV = "text/csv"
# Seconds an answer may be kept, where it is not the usual minute.
_KEPT = {"prices": 10, "pnl-over-time": 30, "total-value-locked": 120, "leases-monthly": 0, "leases-search": 0}
# Above this, ordering members would hold up others for more than a few milliseconds.
LARGEST_INLINE = 256 * 1024


class StatsOverviewBatch(msgspec.Struct):
    """Figures of the data API, each as it is; null where there never was one."""

    tvl: Any
    tx_volume: Any
    buyback_total: Any
    realized_pnl_stats: Any
    revenue: Any


class LoansStatsBatch(msgspec.Struct):
    open_position_value: Any
    open_interest: Any


class UserDashboardBatch(msgspec.Struct):
    earnings: Any
    realized_pnl: Any
    position_debt_value: Any


class UserHistoryBatch(msgspec.Struct):
    history_stats: Any
    realized_pnl_data: Any


async def figures(
    data: DataApi, endpoints: Mapping[str, str], last: Mapping[str, msgspec.Raw | None]
) -> dict[str, msgspec.Raw | None]:
    """The endpoints' answers; one that fails keeps its last, and if all fail so does this."""

    async def one(member: str, endpoint: str) -> tuple[str, msgspec.Raw | LeaseholdError]:
        try:
            return member, await data.figure(endpoint)
        except ServiceFailure as error:
            return member, error

    found = dict(await asyncio.gather(*(one(member, endpoint) for member, endpoint in endpoints.items())))
    failures = [answer for answer in found.values() if isinstance(answer, LeaseholdError)]
    if len(failures) == len(found):
        raise failures[0]
    return {
        member: last.get(member) if isinstance(answer, LeaseholdError) else answer for member, answer in found.items()
    }


async def of_account(data: DataApi, endpoints: Mapping[str, str], address: str) -> dict[str, msgspec.Raw | None]:
    """The endpoints' answers about an account: null where the data API refuses, a failure where it fails."""
    query = urlencode({"address": address})

    async def one(endpoint: str) -> msgspec.Raw | None:
        answer = await data.raw(endpoint, query)
        return msgspec.Raw(data.ordered(answer.body, endpoint)) if answer.good else None

    found = await asyncio.gather(*(one(endpoint) for endpoint in endpoints.values()))
    return dict(zip(endpoints, found, strict=True))


class PathParams(msgspec.Struct, frozen=True):
    path: str


class AccountParams(msgspec.Struct, frozen=True):
    address: Annotated[str, Input(about="bech32 address of an account")]


class TransactionParams(msgspec.Struct, frozen=True):
    """What is passed on; `to` is an upper bound in time, or contract addresses with the filter `positions_ids`."""

    address: str | None = None
    skip: Int32 | None = None
    limit: Int32 | None = None
    filter: str | None = None
    to: str | None = None


def declare(api: Registry, app: App) -> None:
    """The read routes over the data API; it has limits of its own, so these have none."""
    tags = ("etl",)
    for what, name, response in (
        ("loans-stats", "Loans stats", LoansStatsBatch),
        ("stats-overview", "Stats overview", StatsOverviewBatch),
    ):
        api.snapshot(
            f"/api/etl/batch/{what}",
            operation_id=f"batch_{what.replace('-', '_')}",
            summary=name,
            tags=tags,
            name=name,
            response=response,
            rate="none",
            cache=Cache.snapshot(60),
        )

    @api.get(
        "/api/etl/batch/user-dashboard",
        operation_id="batch_user_dashboard",
        summary="An account's figures",
        tags=tags,
        rate="none",
        errors=(400, 502),
    )
    async def dashboard(request: Request[AccountParams, None]) -> UserDashboardBatch:
        address = require_bech32(request.params.address)
        return UserDashboardBatch(**await of_account(app.upstreams.data, DASHBOARD, address))

    @api.get(
        "/api/etl/batch/user-history",
        operation_id="batch_user_history",
        summary="An account's history",
        tags=tags,
        rate="none",
        errors=(400, 502),
    )
    async def history(request: Request[AccountParams, None]) -> UserHistoryBatch:
        address = require_bech32(request.params.address)
        return UserHistoryBatch(**await of_account(app.upstreams.data, HISTORY, address))

    @api.get(
        "/api/etl/txs",
        operation_id="get_enriched_transactions",
        summary="User-initiated transactions with decoded data",
        tags=("transactions",),
        rate="none",
        errors=(400, 502),
    )
    async def transactions(request: Request[TransactionParams, None]) -> list[dict[str, Any]]:
        asked = msgspec.structs.asdict(request.params)
        data = app.upstreams.data
        answer = await data.raw("txs", urlencode({name: value for name, value in asked.items() if value is not None}))
        if answer.status == 400 and not request.params.address:
            # The address is optional here; without one there is nobody whose transactions these would be.
            return []
        if not answer.good:
            raise _refusal(data, "txs", answer.status, answer.body, answer.headers)
        kind: Any = list[dict[str, Any]]
        entries: list[dict[str, Any]] = data.transport.decode(answer.body, kind, "transactions")
        namespace = app.settings.identity.namespace
        found = (kept_transaction(entry, namespace, request.params.address) for entry in entries)
        return [alphabetical(entry) for entry in found if entry is not None]

    @api.get(
        "/api/etl/{path}",
        operation_id="etl_proxy_generic",
        summary="An endpoint of the data API, as it is",
        tags=tags,
        rate="none",
        cache=Cache.live(60),
        response=Any,
        errors=(404, 502),
    )
    async def proxy(request: Request[PathParams, None]) -> Reply:
        endpoint = request.params.path
        if endpoint not in ALLOWED:
            raise NotFound(f"ETL endpoint: {endpoint} not found")
        query: str = request.raw.scope["query_string"].decode("latin-1")
        return await passed_on(app.upstreams.data, endpoint, query)


async def passed_on(data: DataApi, endpoint: str, query: str) -> Reply:
    """An endpoint's answer, members in order; its refusals in our envelope, its failures as 502."""
    answer = await data.transport.ask("GET", f"/api/{endpoint}" + (f"?{query}" if query else ""))
    if answer.status >= 500 or 300 <= answer.status < 400:
        raise data.transport.refused(answer, endpoint)
    if not answer.good:
        raise _refusal(data, endpoint, answer.status, answer.body, answer.headers)
    kind = answer.headers.get("Content-Type", "")
    # What is about one account is nobody else's to keep.
    private = "address=" in query or "lease=" in query
    kept = Cache() if private else Cache.live(_KEPT.get(endpoint, 60))
    headers = {"cache-control": kept.header}
    if kind.startswith(_CSV):
        return Reply(body=answer.body, media_type=_CSV, headers=headers)
    if len(answer.body) > LARGEST_INLINE:
        return Reply(body=await asyncio.to_thread(data.ordered, answer.body, endpoint), headers=headers)
    return Reply(body=data.ordered(answer.body, endpoint), headers=headers)


class _Refusal(msgspec.Struct):
    message: str = ""
    error: str = ""


def _refusal(data: DataApi, endpoint: str, status: int, body: bytes, headers: Mapping[str, str]) -> LeaseholdError:
    """What the data API's 4xx means to our caller."""
    try:
        said = msgspec.json.decode(body, type=_Refusal)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        said = _Refusal()
    text = said.message or said.error or status_text(status)
    if status == 400:
        return InvalidInput(text)
    if status == 404:
        return NotFound(text)
    if status == 429:
        wait = headers.get("Retry-After", "1")
        return RateLimited("Too many requests", retry_after=int(wait) if wait.isdecimal() else 1)
    return data.transport.fail(status_text(status), endpoint)


async def refresh_overview(app: App) -> bool:
    """Publish the overview."""
    last = app.cells.stats_overview.get() or {}
    made = await figures(app.upstreams.data, OVERVIEW, last)
    app.cells.stats_overview.put(made)
    await app.publish("/api/etl/batch/stats-overview", StatsOverviewBatch(**made))
    return False


async def refresh_loans(app: App) -> bool:
    """Publish the figures of loans."""
    last = app.cells.loans_stats.get() or {}
    made = await figures(app.upstreams.data, LOANS, last)
    app.cells.loans_stats.put(made)
    await app.publish("/api/etl/batch/loans-stats", LoansStatsBatch(**made))
    return False
