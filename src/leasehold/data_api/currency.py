"""Currencies: tickers, decimals and what they are called on each network."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import msgspec

from leasehold.data_api.desk import Desk, queries
from leasehold.data_api.directory import Directory
from leasehold.data_api.index import Listing
from leasehold.data_api.protocol import offset_text
from leasehold.serving.parameters import Input

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
    Directory(
        "currency",
        Listing("currencies", CurrencyRow, sql.currencies),
        lambda body: [_info(row) for row in _rows.decode(body)],
        lambda info: info.ticker,
        Currencies,
    ).declare(
        desk,
        "/api/currencies",
        "/api/currencies/{ticker}",
        TickerParams,
        tags=TAGS,
        summaries=(
            "All currencies, active first",
            "Active currencies with decimals and bank denoms per protocol",
            "One currency",
        ),
        wire_types=(Currencies, CurrencyInfo),
    )
