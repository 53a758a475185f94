"""Profit and loss: realized by account, by position and in total; unrealized on the hour."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

import msgspec

from leasehold.core.clock import to_datetime
from leasehold.data_api.conventions import AccountParams, Address
from leasehold.data_api.desk import Desk, encoded, queries
from leasehold.data_api.index import Listing, Stated
from leasehold.data_api.shelf import FIVE_MINUTES, HOURLY
from leasehold.serving.parameters import Input

TAGS = ("PnL",)
sql = queries("pnl.sql")


class RealizedPnl(msgspec.Struct):
    """USD, a JSON number as clients of old expect it."""

    realized_pnl: float


class PnlText(msgspec.Struct):
    """A sum as the index has it."""

    pnl: str


class Trade(msgspec.Struct):
    """One side of a closed position in the form tax tools read."""

    position: str = msgspec.field(name="Position ID")
    sent: str = msgspec.field(name="Sent Amount")
    sent_currency: str = msgspec.field(name="Sent Currency")
    received: str = msgspec.field(name="Received Amount")
    received_currency: str = msgspec.field(name="Received Currency")
    fee: str = msgspec.field(name="Fee Amount")
    fee_currency: str = msgspec.field(name="Fee Currency")
    label: str = msgspec.field(name="Label")
    description: str = msgspec.field(name="Description")
    tx: str = msgspec.field(name="TxHash")
    date: str = msgspec.field(name="Date")


class RealizedTotal(msgspec.Struct):
    """USD of all closed positions, two decimals."""

    amount: str


class ClosedPosition(msgspec.Struct):
    """A closed position; `_stable` members in USD, `returned_amount_lpn_units` in whole tokens."""

    contract_id: str
    user: str
    leased_asset: str
    down_payment_asset: str
    opening_date: str
    close_timestamp: str
    down_payment_stable: str
    manual_repayments_stable: str
    total_outflow_stable: str
    liquidations_stable: str
    liquidation_events: int
    returned_lpn: str | None
    returned_amount_lpn_units: str | None
    returned_amount_stable: str
    realized_pnl_stable: str


class UnrealizedPnl(msgspec.Struct):
    """USD."""

    unrealized_pnl: str


class PnlPoint(msgspec.Struct):
    """USD at the end of an hour."""

    amount: str
    date: str


class PnlOverTimeParams(msgspec.Struct, frozen=True):
    """A lease over some days."""

    address: Annotated[Address, Input(about="lease contract")]
    interval: Annotated[int, msgspec.Meta(ge=0, le=30), Input(clamp=True, about="days", example=7)]


def declare(desk: Desk) -> None:
    """Declare the routes of this tag."""
    _declare_realized(desk)
    desk.figure(
        "/api/realized-pnl-stats",
        Listing("realized-pnl-stats", RealizedTotal, sql.realized_pnl_stats),
        FIVE_MINUTES,
        summary="Realized profit of all closed positions in USD",
        tags=TAGS,
    )
    desk.exported(
        "/api/realized-pnl-wallet",
        Listing("realized-pnl-wallet", ClosedPosition, sql.realized_pnl_wallet),
        FIVE_MINUTES,
        summary="Closed positions with what went in and came out, the last closed first",
        tags=TAGS,
    )
    desk.figure(
        "/api/unrealized-pnl",
        Listing("unrealized-pnl", UnrealizedPnl, sql.unrealized_pnl),
        HOURLY,
        summary="Unrealized profit of all open positions in USD",
        tags=TAGS,
    )
    points = Listing("pnl-over-time", PnlPoint, sql.pnl_over_time)

    async def over_time(params: PnlOverTimeParams) -> Stated:
        since = to_datetime(desk.clock.now_ns()) - timedelta(days=params.interval)
        return await desk.index.array(points, desk.account(params.address), since)

    desk.live(
        "/api/pnl-over-time",
        PnlOverTimeParams,
        over_time,
        summary="Unrealized profit of a lease hour by hour in USD",
        tags=TAGS,
        response=list[PnlPoint],
    )


def _declare_realized(desk: Desk) -> None:
    total = Listing("realized-pnl", PnlText, sql.realized_pnl)
    trades = Listing("realized-pnl-data", Trade, sql.realized_pnl_data)

    async def realized(params: AccountParams) -> Stated:
        stated = await desk.index.first(total, desk.account(params.address))
        text = msgspec.json.decode(stated.body, type=PnlText).pnl
        return encoded(RealizedPnl(float(text)), stated)

    async def data(params: AccountParams) -> Stated:
        return await desk.index.array(trades, desk.account(params.address))

    desk.live(
        "/api/realized-pnl",
        AccountParams,
        realized,
        summary="Realized profit of an account in USD",
        tags=TAGS,
        response=RealizedPnl,
    )
    desk.live(
        "/api/realized-pnl-data",
        AccountParams,
        data,
        summary="Closed positions of an account as trades",
        tags=TAGS,
        response=list[Trade],
    )
