"""What parameters mean on every route: windows, pages, formats, accounts, protocols."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Literal

import msgspec

from leasehold.core.clock import EPOCH, Clock, parse_rfc3339, to_datetime
from leasehold.data_api.examples import ACCOUNT
from leasehold.serving.parameters import Input

CSV = "text/csv"
PERIODS = ("3m", "6m", "12m", "all")
_MONTHS = {"3m": 3, "6m": 6, "12m": 12}
_RFC3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_SMALLEST = timedelta(microseconds=1)


def moment(text: str) -> datetime:
    """An RFC 3339 instant with its zone, to the microsecond; ValueError says that it isn't one."""
    if not _RFC3339.fullmatch(text):
        raise ValueError("expected an RFC 3339 timestamp with a time zone")
    try:
        return to_datetime(parse_rfc3339(text.upper()))
    except OverflowError:
        raise ValueError("out of range") from None


def months_before(now: datetime, months: int) -> datetime:
    """The same day and time so many calendar months earlier, or the last day of a shorter month."""
    year, month = divmod(now.year * 12 + now.month - 1 - months, 12)
    for day in (now.day, 30, 29, 28):
        try:
            return now.replace(year=year, month=month + 1, day=day)
        except ValueError:
            continue
    raise AssertionError("every month has 28 days")


Period = Annotated[
    Literal["3m", "6m", "12m", "all"] | None,
    Input(about="window on the time of what a row tells; 3m unless `from` is given", example="6m"),
]
From = Annotated[
    datetime | None,
    Input(
        parse=moment,
        about="only rows changed after this instant (RFC 3339 with a time zone)",
        example="2026-01-01T00:00:00Z",
        schema={"type": "string", "format": "date-time"},
    ),
]
Format = Annotated[Literal["json", "csv"], Input(about="form of the answer")]
Export = Annotated[
    bool, Input(about="stream the whole dataset as CSV, at most 100,000 rows, whatever `period` and `from` say")
]
Skip = Annotated[int, msgspec.Meta(ge=0), Input(about="rows to leave out")]
Limit = Annotated[int, msgspec.Meta(ge=0, le=100), Input(about="rows to give", clamp=True)]
FewLimit = Annotated[int, msgspec.Meta(ge=0, le=10), Input(about="rows to give", clamp=True)]
Address = Annotated[
    str, msgspec.Meta(max_length=128), Input(about="account, lower-case bech32 of this chain", example=ACCOUNT)
]
Name = Annotated[str, msgspec.Meta(max_length=128)]
ProtocolName = Annotated[Name | None, Input(about="name of a protocol", example="OSMOSIS-OSMOSIS-USDC_NOBLE")]


class FormatParams(msgspec.Struct, frozen=True):
    """JSON or CSV."""

    format: Format = "json"


class WindowParams(msgspec.Struct, frozen=True):
    """Rows of a window."""

    period: Period = None
    from_: From = msgspec.field(name="from", default=None)
    format: Format = "json"


class ExportParams(msgspec.Struct, frozen=True):
    """Rows of a window, or all of them as a stream."""

    period: Period = None
    from_: From = msgspec.field(name="from", default=None)
    format: Format = "json"
    export: Export = False


class FormatExportParams(msgspec.Struct, frozen=True):
    """All rows at once or as a stream."""

    format: Format = "json"
    export: Export = False


class ProtocolParams(msgspec.Struct, frozen=True):
    """One protocol, or all together."""

    protocol: ProtocolName = None


class ProtocolWindowParams(msgspec.Struct, frozen=True):
    """Rows of a window, of one protocol or of all together."""

    protocol: ProtocolName = None
    period: Period = None
    from_: From = msgspec.field(name="from", default=None)
    format: Format = "json"


class AccountParams(msgspec.Struct, frozen=True):
    """One account."""

    address: Address


class AccountPageParams(msgspec.Struct, frozen=True):
    """A page of an account's rows."""

    address: Address
    skip: Skip = 0
    limit: Limit = 10


@dataclass(frozen=True, slots=True)
class Window:
    """Lower bounds, both exclusive: on the time a row tells about, and on its last change."""

    since: datetime = EPOCH
    changed: datetime = EPOCH

    @classmethod
    def of(cls, clock: Clock, period: str | None, from_: datetime | None, *, default: str = "3m") -> Window:
        """The window that a request asks for: `from` alone lifts the default period."""
        name = period or ("all" if from_ is not None else default)
        # The period's own bound is inclusive.
        since = months_before(to_datetime(clock.now_ns()), _MONTHS[name]) - _SMALLEST if name in _MONTHS else EPOCH
        return cls(since, from_ or EPOCH)
