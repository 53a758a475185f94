"""Treasury: what the protocols earned, bought back and gave out. Native amounts are whole tokens."""

from __future__ import annotations

import msgspec

from leasehold.data_api.desk import Desk, queries
from leasehold.data_api.index import Listing
from leasehold.data_api.shelf import FIVE_MINUTES, Content
from leasehold.serving.routes import NoParams

TAGS = ("Treasury",)
sql = queries("treasury.sql")


class Revenue(msgspec.Struct):
    """USD of all buy-backs, each at its time."""

    revenue: str


class RevenueDay(msgspec.Struct):
    """Revenue of a day in USD; `cumulative` is since the beginning."""

    time: str
    daily: str
    cumulative: str


class Distributed(msgspec.Struct):
    """Native tokens distributed to pools."""

    distributed: str


class Buyback(msgspec.Struct):
    """A buy-back; `bought_back` is all native tokens bought back up to it, since the beginning."""

    bought_back: str
    timestamp: str


class BuybackTotal(msgspec.Struct):
    """Native tokens bought back."""

    buyback_total: str


class IncentivesPool(msgspec.Struct):
    """Native tokens the treasury holds."""

    incentives_pool: str


class ReserveCover(msgspec.Struct):
    """A loss that a reserve paid for; `amount` in whole tokens."""

    timestamp: str
    protocol: str | None
    contract_id: str
    symbol: str
    amount: str
    amount_usd: str | None
    tx_hash: str


def declare(desk: Desk) -> None:
    """Declare the routes of this tag."""
    identity = desk.settings.identity
    decimals = identity.exponent
    desk.figure(
        "/api/revenue",
        Listing("revenue", Revenue, sql.revenue),
        FIVE_MINUTES,
        summary="Protocol revenue in USD",
        tags=TAGS,
    )
    desk.listing(
        "/api/revenue-series",
        Listing("revenue-series", RevenueDay, sql.revenue_series),
        FIVE_MINUTES,
        summary="Revenue by day in USD",
        tags=TAGS,
    )
    _native(desk, "/api/distributed", Listing("distributed", Distributed, sql.distributed), decimals)
    desk.listing(
        "/api/buyback",
        Listing("buyback", Buyback, sql.buyback.replace("{decimals}", str(decimals))),
        FIVE_MINUTES,
        summary="Buy-backs with their running total in native tokens",
        tags=TAGS,
    )
    _native(desk, "/api/buyback-total", Listing("buyback-total", BuybackTotal, sql.buyback_total), decimals)
    _native(
        desk,
        "/api/incentives-pool",
        Listing("incentives-pool", IncentivesPool, sql.incentives_pool),
        decimals,
        identity.base_denom,
    )
    desk.exported(
        "/api/reserve-covers",
        Listing("reserve-covers", ReserveCover, sql.reserve_covers),
        FIVE_MINUTES,
        summary="Losses that reserves covered, newest first",
        tags=TAGS,
    )


def _native(desk: Desk, path: str, listing: Listing, *arguments: object) -> None:
    summaries = {
        "distributed": "Native tokens distributed to pools",
        "buyback-total": "Native tokens bought back",
        "incentives-pool": "Native tokens in the incentives pool",
    }

    async def make(_: NoParams) -> Content:
        return Content(await desk.index.first(listing, *arguments))

    desk.kept(path, NoParams, make, FIVE_MINUTES, summary=summaries[listing.name], tags=TAGS, response=listing.row)
