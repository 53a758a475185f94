"""Markets: what can be leased, and oracle prices now and over time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Any

import msgspec

from leasehold.core.clock import to_datetime
from leasehold.core.errors import InvalidInput, NotFound
from leasehold.data_api.conventions import CSV, FormatParams, Name, ProtocolName
from leasehold.data_api.desk import Desk, queries
from leasehold.data_api.index import Listing, Stated
from leasehold.data_api.shelf import FIVE_MINUTES, Content
from leasehold.serving.envelopes import JSON
from leasehold.serving.parameters import Input

TAGS = ("Market",)
# A minute's bucket changes for a minute; a chart that is this old is fresh enough.
CHART_SECONDS = 15
sql = queries("market.sql")


class LeaseMarket(msgspec.Struct):
    """A market: the asset of a long, what a short sells; USD, and percent over 24 hours."""

    protocol: str
    network: str | None
    position_type: str
    asset: str
    lpn: str
    open_positions: int
    value: str
    mean_leverage: str | None
    openings_24h: int
    price: str | None
    price_change_24h: str | None


class CurrentPrice(msgspec.Struct):
    """USD of a whole token by a protocol's oracle."""

    symbol: str
    protocol: str
    price: str
    timestamp: str


class PriceParams(msgspec.Struct, frozen=True):
    """Current prices, or with `interval` the points of one currency over so many days."""

    interval: Annotated[
        Annotated[int, msgspec.Meta(ge=0, le=100)] | None,
        Input(clamp=True, about="days of history; needs `protocol` and `key`", example=7),
    ] = None
    protocol: ProtocolName = None
    key: Annotated[Name | None, Input(about="ticker", example="OSMO")] = None


def bucket_minutes(days: int) -> int:
    """Width of the points of a chart over so many days."""
    if days <= 7:
        return 1
    return 5 if days < 30 else 60


def declare(desk: Desk) -> None:
    """Declare the routes of this tag."""
    markets = Listing("lease-markets", LeaseMarket, sql.lease_markets)

    async def lease_markets(params: FormatParams) -> Content:
        return await desk.form(markets, params.format)

    desk.kept(
        "/api/lease-markets",
        FormatParams,
        lease_markets,
        FIVE_MINUTES,
        summary="Every market: open positions, value, leverage, openings and price change of 24 hours",
        tags=TAGS,
        produces=(JSON, CSV),
        response=list[LeaseMarket],
    )
    _declare_prices(desk)


def _declare_prices(desk: Desk) -> None:
    current = Listing("prices", CurrentPrice, sql.prices)
    points = f"({sql.price_points})"

    async def chart(days: int, protocol: str, key: str) -> Stated:
        since: datetime = to_datetime(desk.clock.now_ns()) - timedelta(days=days)
        return await desk.index.text(points, protocol, key, bucket_minutes(days), since)

    async def make(params: PriceParams) -> Content:
        protocol = None if params.protocol is None else (await desk.protocol(params.protocol)).name
        if params.interval is None:
            return Content(await desk.index.array(current, protocol, params.key))
        if protocol is None or params.key is None:
            missing = "protocol" if protocol is None else "key"
            raise InvalidInput(f"{missing} is required with interval", field=missing)
        if not await desk.index.value(sql.has_currency, protocol, params.key):
            raise NotFound(f"{protocol} has no currency {params.key!r}")
        if params.interval == 0:
            return Content(await desk.index.text("'[]'"))
        return Content(await chart(params.interval, protocol, params.key))

    response: Any = list[tuple[int, float] | CurrentPrice]
    desk.kept(
        "/api/prices",
        PriceParams,
        make,
        CHART_SECONDS,
        summary="Current oracle prices, or a currency's price over up to 100 days",
        description="Points are pairs of milliseconds and USD, newest first: of 1 minute up to 7 days, of 5 minutes "
        "below 30, of an hour above; each the highest of its bucket.",
        tags=TAGS,
        response=response,
        errors=(404,),
    )
