"""Positions: what is open, how large it is, and how that came about."""

from __future__ import annotations

from datetime import timedelta

import msgspec

from leasehold.core.clock import to_datetime
from leasehold.data_api.conventions import (
    CSV,
    AccountParams,
    Address,
    Format,
    FormatExportParams,
    Limit,
    Skip,
)
from leasehold.data_api.desk import Desk, encoded, queries
from leasehold.data_api.index import Listing, Stated
from leasehold.data_api.lease import with_openings
from leasehold.data_api.lease_rows import Opened
from leasehold.data_api.shelf import HOURLY, Content
from leasehold.serving.envelopes import JSON
from leasehold.serving.routes import NoParams

TAGS = ("Position",)
DEBT_DAYS = 20
sql = queries("position.sql")


class OpenPosition(msgspec.Struct):
    """An open position on the hour: USD, the last two are prices of `symbol`."""

    date: str
    position_type: str
    symbol: str
    asset: str
    contract_id: str
    user: str
    loan: str
    down_payment: str
    lease_value: str
    pnl: str | None
    pnl_percent: str | None
    current_price: str | None
    liquidation_price: str | None


class Bucket(msgspec.Struct):
    """Open positions whose principal is in a range of USD."""

    loan_category: str
    loan_count: int
    loan_size: str


class PositionDay(msgspec.Struct):
    """USD of loans paid back and opened on a day."""

    date: str
    closed_loans: str
    opened_loans: str


class TokenValue(msgspec.Struct):
    """USD of open positions in a token."""

    token: str
    market_value: str


class Point(msgspec.Struct):
    """USD at the end of an hour."""

    amount: str
    time: str


class DebtValue(msgspec.Struct):
    """What an account's open positions were worth and owed, hour by hour."""

    position: list[Point]
    debt: list[Point]


class DebtRow(msgspec.Struct):
    """An hour of an account."""

    time: str
    position: str
    debt: str


class OpensParams(msgspec.Struct, frozen=True):
    """Openings of an account."""

    address: Address
    skip: Skip = 0
    limit: Limit = 10
    format: Format = "json"


_hours = msgspec.json.Decoder(list[DebtRow])


def declare(desk: Desk) -> None:
    """Declare the routes of this tag."""
    _declare_open(desk)
    _declare_of_account(desk)
    for path, row, query, summary in (
        ("position-buckets", Bucket, sql.position_buckets, "Open positions by size of their principal"),
        ("open-positions-by-token", TokenValue, sql.open_positions_by_token, "USD of open positions by token"),
    ):
        _declare_list(desk, Listing(path, row, query), summary)
    desk.listing(
        "/api/daily-positions",
        Listing("daily-positions", PositionDay, sql.daily_positions),
        HOURLY,
        summary="USD of loans opened and paid back by day",
        tags=TAGS,
    )


def _declare_list(desk: Desk, listing: Listing, summary: str) -> None:
    async def make(_: NoParams) -> Content:
        return Content(await desk.index.array(listing))

    desk.kept(
        f"/api/{listing.name}",
        NoParams,
        make,
        HOURLY,
        summary=summary,
        tags=TAGS,
        response=listing.wire_type,
    )


def _declare_open(desk: Desk) -> None:
    listing = Listing("positions", OpenPosition, sql.positions)

    async def make(params: FormatExportParams) -> Content:
        return await desk.form(listing, params.format)

    desk.kept(
        "/api/positions",
        FormatExportParams,
        make,
        HOURLY,
        export=listing,
        summary="All open positions with profit, current and liquidation price",
        tags=TAGS,
        produces=(JSON, CSV),
        response=list[OpenPosition],
    )


def _declare_of_account(desk: Desk) -> None:
    hours = Listing("position-debt-value", DebtRow, sql.position_debt_value)
    opens = Listing("position-opens", Opened, with_openings(sql.position_opens))

    async def debt_value(params: AccountParams) -> Stated:
        since = to_datetime(desk.clock.now_ns()) - timedelta(days=DEBT_DAYS)
        stated = await desk.index.array(hours, desk.account(params.address), since)
        found = _hours.decode(stated.body)
        value = DebtValue(
            [Point(row.position, row.time) for row in found], [Point(row.debt, row.time) for row in found]
        )
        return encoded(value, stated)

    desk.live(
        "/api/position-debt-value",
        AccountParams,
        debt_value,
        summary="Value and debt of an account's positions over twenty days",
        tags=TAGS,
        response=DebtValue,
    )
    desk.page(
        "/api/position-opens",
        OpensParams,
        opens,
        summary="Every position an account opened, newest first",
        tags=TAGS,
    )
