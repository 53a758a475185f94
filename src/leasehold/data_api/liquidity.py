"""Liquidity: pools, their utilization and rates, and who lends to them."""

from __future__ import annotations

import re
from typing import Annotated

import msgspec

from leasehold.core.errors import NotFound
from leasehold.data_api.conventions import CSV, Format, FormatParams, From, Period, Window
from leasehold.data_api.desk import Desk, queries
from leasehold.data_api.index import Listing, Stated
from leasehold.data_api.shelf import FIVE_MINUTES, HOURLY, Content
from leasehold.serving.envelopes import JSON
from leasehold.serving.parameters import Input
from leasehold.serving.routes import NoParams

TAGS = ("Liquidity",)
sql = queries("liquidity.sql")
_HASH = re.compile(r"[0-9A-F]{64}")


class Pool(msgspec.Struct):
    """An active pool on the hour: USD, and percents (`5.4` is 5.4 %)."""

    protocol: str
    utilization: str
    supplied: str
    borrowed: str
    borrow_apr: str
    earn_apr: str
    deposit_suspension: str
    utilization_optimal: str
    pool: str


class PoolsPage(msgspec.Struct):
    """All active pools, and the optimal utilization in percent of the largest."""

    protocols: list[Pool]
    optimal: str


class UtilizationPoint(msgspec.Struct):
    """Utilization in percent at the end of an hour."""

    timestamp: str
    utilization_level: str


class RatePoint(msgspec.Struct):
    """Rates in percent a year at the end of an hour."""

    timestamp: str
    borrow_apr: str
    earn_apr: str


class Lender(msgspec.Struct):
    """A lender in a pool; `lent_stables` in USD, `joined` the first deposit into that pool."""

    joined: str
    pool: str
    lender: str
    lent_stables: str


class LenderAction(msgspec.Struct):
    """A deposit or withdrawal in USD at its time."""

    transaction_type: str
    timestamp: str
    user: str
    amount: str
    pool: str


class LpWithdraw(msgspec.Struct):
    """A withdrawal; `LP_amnt_asset`, `LP_amnt_receipts` and `amount` in base units of `asset`."""

    tx_hash: str = msgspec.field(name="Tx_Hash")
    height: int = msgspec.field(name="LP_withdraw_height")
    idx: int = msgspec.field(name="LP_withdraw_idx")
    address: str = msgspec.field(name="LP_address_id")
    timestamp: str = msgspec.field(name="LP_timestamp")
    pool_id: str = msgspec.field(name="LP_Pool_id")
    stable: str = msgspec.field(name="LP_amnt_stable")
    raw: str = msgspec.field(name="LP_amnt_asset")
    receipts: str = msgspec.field(name="LP_amnt_receipts")
    closes: bool = msgspec.field(name="LP_deposit_close")
    tx: str
    amount: str
    asset: str
    pool: str
    amount_usd: str | None


class PoolWindowParams(msgspec.Struct, frozen=True):
    """The history of one pool."""

    protocol: Annotated[str, msgspec.Meta(max_length=128), Input(about="name of a protocol")]
    period: Period = None
    from_: From = msgspec.field(name="from", default=None)
    format: Format = "json"


class TxParams(msgspec.Struct, frozen=True):
    """A transaction."""

    tx: Annotated[str, msgspec.Meta(max_length=128), Input(about="hash, 64 upper-case hexadecimal digits")]


def declare(desk: Desk) -> None:
    """Declare the routes of this tag."""
    _declare_pools(desk)
    _declare_history(desk)
    lenders = Listing("current-lenders", Lender, sql.current_lenders)

    async def current(params: FormatParams) -> Content:
        return await desk.form(lenders, params.format)

    desk.kept(
        "/api/current-lenders",
        FormatParams,
        current,
        HOURLY,
        summary="Who lends now, and how much",
        tags=TAGS,
        produces=(JSON, CSV),
        response=list[Lender],
    )
    desk.exported(
        "/api/historical-lenders",
        Listing("historical-lenders", LenderAction, sql.historical_lenders),
        FIVE_MINUTES,
        summary="Deposits and withdrawals, newest first",
        tags=TAGS,
    )
    withdrawals = Listing("lp-withdraw", LpWithdraw, sql.lp_withdraw)

    async def withdrawal(params: TxParams) -> Stated:
        if not _HASH.fullmatch(params.tx):
            raise NotFound("no such transaction")
        stated = await desk.index.first(withdrawals, bytes.fromhex(params.tx))
        if stated.body == b"null":
            raise NotFound("no withdrawal in this transaction")
        return stated

    desk.live(
        "/api/lp-withdraw",
        TxParams,
        withdrawal,
        summary="The withdrawal of a transaction",
        tags=TAGS,
        response=LpWithdraw,
        errors=(404,),
    )


def _declare_pools(desk: Desk) -> None:
    listing = Listing("pools", Pool, sql.pools)
    expression = f"""'{{"protocols":' || {listing.array} || ',"optimal":"' || ({sql.optimal}) || '"}}'"""

    async def pools(_: NoParams) -> Content:
        return Content(await desk.index.text(expression))

    desk.kept(
        "/api/pools",
        NoParams,
        pools,
        HOURLY,
        summary="Every active pool: utilization, supplied, borrowed, rates",
        tags=TAGS,
        response=PoolsPage,
    )


def _declare_history(desk: Desk) -> None:
    levels = Listing("utilization-level", UtilizationPoint, sql.utilization_level, bare="utilization_level")
    rates = Listing("pool-rates", RatePoint, sql.rates)

    async def level(params: PoolWindowParams) -> Content:
        window = Window.of(desk.clock, params.period, params.from_)
        protocol = await desk.protocol(params.protocol)
        return await desk.form(levels, params.format, window.since, window.changed, protocol.pool)

    async def rate(params: PoolWindowParams) -> Content:
        window = Window.of(desk.clock, params.period, params.from_)
        protocol = await desk.protocol(params.protocol)
        return await desk.form(rates, params.format, window.since, window.changed, protocol.pool)

    desk.windowed(
        "/api/utilization-level",
        PoolWindowParams,
        level,
        HOURLY,
        periods=(),
        summary="Utilization of a pool hour by hour in percent, newest first",
        description="JSON has the bare figures; CSV has the hour beside each.",
        tags=TAGS,
        produces=(JSON, CSV),
        response=list[str],
        errors=(404,),
    )
    desk.windowed(
        "/api/pool-rates",
        PoolWindowParams,
        rate,
        HOURLY,
        periods=(),
        summary="Borrow and earn rates of a pool hour by hour, newest first",
        tags=TAGS,
        produces=(JSON, CSV),
        response=list[RatePoint],
        errors=(404,),
    )
