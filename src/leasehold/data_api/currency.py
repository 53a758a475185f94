"""Currencies: tickers, decimals and what they are called on each network."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import msgspec

from leasehold.core.errors import NotFound
from leasehold.data_api.desk import Desk, encoded, queries
from leasehold.data_api.index import Listing, Stated
from leasehold.data_api.protocol import offset_text
from leasehold.serving.parameters import Input
from leasehold.serving.routes import NoParams

TAGS = ("Currency",)
sql = queries("currency.sql")


class CurrencyLink(msgspec.Struct):
    """A currency in one protocol; `group` is native, lpn, lease or payment_only."""

    protocol: str
    group: str
    bank_symbol: str
    dex_symbol: str
    decimal_digits: int


class CurrencyInfo(msgspec.Struct, omit_defaults=True, kw_only=True):
    """A currency; `deprecated_at` is absent while it is active."""

    ticker: str
    decimal_digits: int
    is_active: bool
    deprecated_at: str | msgspec.UnsetType = msgspec.UNSET
    protocols: list[CurrencyLink]


class Currencies(msgspec.Struct):
    """A list of currencies; the last two counts are of all currencies there are."""

    currencies: list[CurrencyInfo]
    count: int
    active_count: int
    deprecated_count: int


class CurrencyRow(msgspec.Struct):
    """A currency as the index has it."""

    ticker: str
    decimal_digits: int
    is_active: bool
    deprecated_at: datetime | None
    protocols: list[CurrencyLink]


class TickerParams(msgspec.Struct, frozen=True):
    """One currency by its exact ticker."""

    ticker: Annotated[str, msgspec.Meta(max_length=128), Input(example="OSMO")]


_rows = msgspec.json.Decoder(list[CurrencyRow])


def _info(row: CurrencyRow) -> CurrencyInfo:
    gone = offset_text(row.deprecated_at) if row.deprecated_at and not row.is_active else msgspec.UNSET
    return CurrencyInfo(
        ticker=row.ticker,
        decimal_digits=row.decimal_digits,
        is_active=row.is_active,
        deprecated_at=gone,
        protocols=row.protocols,
    )


def declare(desk: Desk) -> None:
    """Declare the routes of this tag."""
    listing = Listing("currencies", CurrencyRow, sql.currencies)

    async def read() -> tuple[list[CurrencyInfo], Stated]:
        stated = await desk.index.array(listing)
        return [_info(row) for row in _rows.decode(stated.body)], stated

    def page(found: list[CurrencyInfo], shown: list[CurrencyInfo]) -> Currencies:
        active = sum(currency.is_active for currency in found)
        return Currencies(shown, len(shown), active, len(found) - active)

    async def everything(_: NoParams) -> Stated:
        found, stated = await read()
        return encoded(page(found, found), stated)

    async def active(_: NoParams) -> Stated:
        found, stated = await read()
        return encoded(page(found, [currency for currency in found if currency.is_active]), stated)

    async def one(params: TickerParams) -> Stated:
        found, stated = await read()
        for currency in found:
            if currency.ticker == params.ticker:
                return encoded(currency, stated)
        raise NotFound(f"no currency {params.ticker!r}")

    desk.live(
        "/api/currencies", NoParams, everything, summary="All currencies, active first", tags=TAGS, response=Currencies
    )
    desk.live(
        "/api/currencies/active",
        NoParams,
        active,
        summary="Active currencies with decimals and bank denoms per protocol",
        tags=TAGS,
        response=Currencies,
    )
    desk.live(
        "/api/currencies/{ticker}",
        TickerParams,
        one,
        summary="One currency",
        tags=TAGS,
        response=CurrencyInfo,
        errors=(404,),
    )
