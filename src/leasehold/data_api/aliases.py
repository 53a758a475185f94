"""Old names of routes that clients still call; each answers what the route of today answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from leasehold.data_api.conventions import CSV
from leasehold.data_api.desk import Desk
from leasehold.serving.routes import NoParams, Reply, Request, Route

EXPORTS = (
    "historical-lenders",
    "realized-pnl-wallet",
    "liquidations",
    "interest-repayments",
    "historically-opened",
    "historically-repaid",
    "historically-liquidated",
    "positions",
)


def declare(desk: Desk) -> None:
    """Declare the aliases."""
    api = desk.api
    openings = api.find("GET", "/api/ls-opening")
    api.get(
        "/api/ls-openings",
        summary="Alias of /api/ls-opening",
        tags=openings.tags,
        response=openings.response,
        responses={304: None},
        cache=openings.cache,
    )(openings.handler)  # type: ignore[type-var]
    for name in EXPORTS:
        _declare_export(desk, api.find("GET", f"/api/{name}"))


def _declare_export(desk: Desk, route: Route) -> None:
    handler = route.handler
    assert handler is not None
    everything: Any = route.params(export=True)

    async def export(request: Request[NoParams, None]) -> Reply:
        reply: Reply = await handler(replace(request, params=everything))
        return reply

    desk.api.get(
        f"{route.path}/export",
        summary=f"Alias of {route.path}?export=true",
        tags=route.tags,
        produces=(CSV,),
        response=str,
    )(export)
