"""Admin routes of what is computed in the background: how old it is, and a refresh on demand."""

from __future__ import annotations

import msgspec

from leasehold.app_api.admin.gate import AdminRoutes
from leasehold.app_api.app import App
from leasehold.app_api.resources.health import COUNTED
from leasehold.core.errors import InvalidInput
from leasehold.serving.routes import NoParams, PlainRequest, Reply, Request

LISTED = (*COUNTED, "annual_inflation", "staking_pool", "proposals_with_tally", "gas_fee_config")


class FieldStats(msgspec.Struct):
    name: str
    populated: bool
    age_secs: int | None


class CacheStats(msgspec.Struct):
    """What is computed in the background, in the order clients know."""

    fields: list[FieldStats]
    populated_count: int
    total_count: int


class RefresherStats(msgspec.Struct):
    """One piece of background work; `error` is what its last try failed with."""

    name: str
    needs: list[str]
    warm: bool
    runs: int
    failures: int
    error: str | None
    every_secs: float


class InvalidateRequest(msgspec.Struct):
    """What to refresh; everything where it is left out."""

    cache_type: str | None = None


def declare(admin: AdminRoutes, app: App) -> None:
    """The routes of snapshots."""

    @admin("GET", "/cache/stats", "Age of what is computed in the background")
    async def stats(request: PlainRequest) -> CacheStats:
        cells = {cell.name: cell for cell in app.cells.all()}
        fields = [
            FieldStats(name, cells[name].warm, None if cells[name].age is None else int(cells[name].age or 0))
            for name in LISTED
        ]
        return CacheStats(fields, sum(one.populated for one in fields), len(fields))

    @admin("GET", "/snapshots", "Background work and its failures")
    async def work(request: PlainRequest) -> list[RefresherStats]:
        return [
            RefresherStats(
                one.name, list(one.needs), one.warm.is_set(), one.runs, one.failures, one.error, float(one.every)
            )
            for one in app.refreshers.values()
        ]

    @admin("POST", "/cache/invalidate", "Refresh soon; the last value stays until then", status=204)
    async def invalidate(request: Request[NoParams, InvalidateRequest]) -> Reply:
        name = request.body.cache_type
        if name is not None and name not in app.refreshers:
            raise InvalidInput(f"Unknown cache field: {name[:64]}", field="cache_type")
        for one in [app.refreshers[name]] if name is not None else app.refreshers.values():
            one.wake.set()
        return Reply(status=204)
