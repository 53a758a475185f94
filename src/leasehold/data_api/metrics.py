"""Metrics: totals of the whole platform and their history."""

from __future__ import annotations

import msgspec

from leasehold.data_api.conventions import CSV, ProtocolParams, ProtocolWindowParams, Window
from leasehold.data_api.desk import Desk, queries
from leasehold.data_api.index import Listing
from leasehold.data_api.shelf import FIVE_MINUTES, HOURLY, Content
from leasehold.serving.envelopes import JSON

TAGS = ("Metrics",)
sql = queries("metrics.sql")


class TotalValueLocked(msgspec.Struct):
    """USD of open positions and of what pools have not lent."""

    total_value_locked: str


class TotalTxValue(msgspec.Struct):
    """Lifetime volume in USD."""

    total_tx_value: str


class SuppliedFunds(msgspec.Struct):
    """USD that lenders have in active pools, two decimals."""

    amount: str


class Borrowed(msgspec.Struct):
    """USD of principal that is lent now."""

    borrowed: str


class OpenInterest(msgspec.Struct):
    """USD that all open positions owe."""

    open_interest: str


class OpenPositionValue(msgspec.Struct):
    """USD that all open positions are worth."""

    open_position_value: str


class SuppliedBorrowed(msgspec.Struct):
    """USD supplied and borrowed at the end of an hour."""

    lp_pool_timestamp: str
    supplied: str
    borrowed: str


class LockedPoint(msgspec.Struct):
    """Total value locked at the end of an hour, in USD, and its two parts."""

    timestamp: str
    total_value_locked: str
    positions: str
    available: str


class ActiveWallets(msgspec.Struct):
    """Accounts active in a month."""

    month: str
    unique_addresses: int


def declare(desk: Desk) -> None:
    """Declare the routes of this tag."""
    desk.figure(
        "/api/total-value-locked",
        Listing("total-value-locked", TotalValueLocked, sql.total_value_locked),
        HOURLY,
        summary="Total value locked in USD, on the hour",
        description="Value of open positions plus what active pools hold and have not lent; nothing counts twice.",
        tags=TAGS,
    )
    desk.figure(
        "/api/total-tx-value",
        Listing("total-tx-value", TotalTxValue, sql.total_tx_value),
        FIVE_MINUTES,
        summary="Lifetime volume in USD",
        tags=TAGS,
    )
    desk.figure(
        "/api/supplied-funds",
        Listing("supplied-funds", SuppliedFunds, sql.supplied_funds),
        HOURLY,
        summary="Funds supplied to active pools in USD",
        tags=TAGS,
    )
    _declare_borrowed(desk)
    desk.figure(
        "/api/open-interest",
        Listing("open-interest", OpenInterest, sql.open_interest),
        HOURLY,
        summary="Outstanding debt of all open positions in USD",
        tags=TAGS,
    )
    desk.figure(
        "/api/open-position-value",
        Listing("open-position-value", OpenPositionValue, sql.open_position_value),
        HOURLY,
        summary="Value of all open positions in USD",
        tags=TAGS,
    )
    _declare_supplied_borrowed(desk)
    desk.listing(
        "/api/total-value-locked-series",
        Listing("total-value-locked-series", LockedPoint, sql.total_value_locked_series),
        HOURLY,
        summary="Total value locked hour by hour, newest first",
        tags=TAGS,
    )
    desk.listing(
        "/api/monthly-active-wallets",
        Listing("monthly-active-wallets", ActiveWallets, sql.monthly_active_wallets),
        FIVE_MINUTES,
        summary="Distinct active accounts by month",
        tags=TAGS,
    )


def _declare_borrowed(desk: Desk) -> None:
    total = Listing("borrowed", Borrowed, sql.borrowed)
    of_pool = Listing("borrowed", Borrowed, sql.borrowed_of)

    async def make(params: ProtocolParams) -> Content:
        if params.protocol is None:
            return Content(await desk.index.first(total))
        protocol = await desk.protocol(params.protocol)
        return Content(await desk.index.first(of_pool, protocol.pool))

    desk.kept(
        "/api/borrowed",
        ProtocolParams,
        make,
        HOURLY,
        summary="Outstanding principal in USD, of one protocol or of all active ones",
        tags=TAGS,
        response=Borrowed,
        errors=(404,),
    )


def _declare_supplied_borrowed(desk: Desk) -> None:
    path = "/api/supplied-borrowed-history"
    total = Listing("supplied-borrowed-history", SuppliedBorrowed, sql.supplied_borrowed_history)
    of_pool = Listing("supplied-borrowed-history", SuppliedBorrowed, sql.supplied_borrowed_history_of)

    async def make(params: ProtocolWindowParams) -> Content:
        window = Window.of(desk.clock, params.period, params.from_)
        if params.protocol is None:
            return await desk.form(total, params.format, window.since, window.changed)
        protocol = await desk.protocol(params.protocol)
        return await desk.form(of_pool, params.format, window.since, window.changed, protocol.pool)

    desk.windowed(
        path,
        ProtocolWindowParams,
        make,
        HOURLY,
        summary="Supplied and borrowed in USD hour by hour, newest first",
        tags=TAGS,
        produces=(JSON, CSV),
        response=list[SuppliedBorrowed],
        errors=(404,),
    )
