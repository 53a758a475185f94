"""Protocols: the registry, active and deprecated."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import msgspec

from leasehold.data_api.desk import Desk, queries
from leasehold.data_api.directory import Directory
from leasehold.data_api.index import Listing
from leasehold.serving.parameters import Input

TAGS = ("Protocol",)
sql = queries("protocol.sql")


class Contracts(msgspec.Struct):
    """Contract addresses of a protocol."""

    leaser: str | None
    lpp: str | None
    oracle: str | None
    profit: str | None
    reserve: str | None


class ProtocolInfo(msgspec.Struct, omit_defaults=True):
    """A protocol; `deprecated_at` is absent while it is active."""

    name: str
    network: str | None
    dex: str | None
    position_type: str
    lpn_symbol: str
    is_active: bool
    contracts: Contracts
    deprecated_at: str | msgspec.UnsetType = msgspec.UNSET


class Protocols(msgspec.Struct):
    """A list of protocols; the last two counts are of all protocols there are."""

    protocols: list[ProtocolInfo]
    count: int
    active_count: int
    deprecated_count: int


class ProtocolRow(msgspec.Struct):
    """A protocol as the index has it."""

    name: str
    network: str | None
    dex: str | None
    position_type: str
    lpn_symbol: str
    is_active: bool
    leaser: str | None
    lpp: str | None
    oracle: str | None
    profit: str | None
    reserve: str | None
    deprecated_at: datetime | None


class NameParams(msgspec.Struct, frozen=True):
    """One protocol by its exact name."""

    name: Annotated[str, msgspec.Meta(max_length=128), Input(example="OSMOSIS-OSMOSIS-USDC_NOBLE")]


_rows = msgspec.json.Decoder(list[ProtocolRow])


def offset_text(at: datetime) -> str:
    """An instant in the one form that has an offset instead of `Z`, with 0, 3 or 6 digits of a second."""
    at = at.astimezone(UTC)
    if at.microsecond == 0:
        return at.isoformat(timespec="seconds")
    return at.isoformat(timespec="milliseconds" if at.microsecond % 1000 == 0 else "microseconds")


def _info(row: ProtocolRow) -> ProtocolInfo:
    return ProtocolInfo(
        row.name,
        row.network,
        row.dex,
        row.position_type,
        row.lpn_symbol,
        row.is_active,
        Contracts(row.leaser, row.lpp, row.oracle, row.profit, row.reserve),
        offset_text(row.deprecated_at) if row.deprecated_at and not row.is_active else msgspec.UNSET,
    )


def declare(desk: Desk) -> None:
    """Declare the routes of this tag."""
    Directory(
        "protocol",
        Listing("protocols", ProtocolRow, sql.protocols),
        lambda body: [_info(row) for row in _rows.decode(body)],
        lambda info: info.name,
        Protocols,
    ).declare(
        desk,
        "/api/protocols",
        "/api/protocols/{name}",
        NameParams,
        tags=TAGS,
        summaries=("All protocols, active first", "Active protocols", "One protocol"),
        wire_types=(Protocols, ProtocolInfo),
    )
