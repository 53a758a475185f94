"""Go's opinion of dates and times: what its parser takes under two layouts, and the texts with which it refuses."""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, datetime

from leasehold.core.clock import from_datetime

DATE_LAYOUT = "2006-01-02"
TIME_LAYOUT = "2006-01-02T15:04:05Z07:00"

_FRACTION = re.compile(r"[.,](\d+)", re.ASCII)
_ZONE = re.compile(r"([+-])(\d\d):(\d\d)", re.ASCII)
# Members of a layout after the year: what stands before each, its sample, and what is out of range when it is.
_DATE = (("-", "01", "month", 1, 12), ("-", "02", "", 0, 99))
_CLOCK = (("T", "15", "hour", 0, 23), (":", "04", "minute", 0, 59), (":", "05", "second", 0, 59))


class BadTime(ValueError):
    """No instant under the layout; the message is Go's."""


@dataclass(slots=True)
class _Reader:
    text: str
    layout: str
    rest: str

    def refuse(self, rest: str, sample: str) -> BadTime:
        return BadTime(f'parsing time "{self.text}" as "{self.layout}": cannot parse "{rest}" as "{sample}"')

    def spoilt(self, reason: str) -> BadTime:
        return BadTime(f'parsing time "{self.text}": {reason}')

    def year(self) -> int:
        digits = self.rest[:4]
        if len(digits) < 4 or not (digits.isascii() and digits.isdigit()):
            raise self.refuse(self.rest, "2006")
        self.rest = self.rest[4:]
        return int(digits)

    def member(self, prefix: str, sample: str, name: str, low: int, high: int) -> int:
        if not self.rest.startswith(prefix):
            raise self.refuse(self.rest, prefix)
        before = self.rest = self.rest[len(prefix) :]
        # Hours alone may have a single digit.
        size = 2 if before[1:2].isdigit() and before.isascii() else 1
        digits = before[:size]
        if not digits.isdigit() or not digits.isascii() or (size == 1 and sample != "15"):
            raise self.refuse(before, sample)
        self.rest = before[size:]
        if not low <= int(digits) <= high:
            raise self.spoilt(f"{name} out of range")
        return int(digits)

    def fraction(self) -> int:
        found = _FRACTION.match(self.rest)
        if found is None:
            return 0
        self.rest = self.rest[found.end() :]
        return int(found[1][:9].ljust(9, "0"))

    def zone(self) -> int:
        """Offset in seconds."""
        if self.rest[:1] == "Z":
            self.rest = self.rest[1:]
            return 0
        found = _ZONE.match(self.rest)
        if found is None:
            raise self.refuse(self.rest, "Z07:00")
        self.rest = self.rest[found.end() :]
        hours, minutes = int(found[2]), int(found[3])
        for name, value, most in (("hour", hours, 24), ("minute", minutes, 60)):
            if value > most:
                raise self.spoilt(f"time zone offset {name} out of range")
        return (hours * 3600 + minutes * 60) * (1 if found[1] == "+" else -1)


def parse_go_time(text: str, layout: str) -> tuple[int, int]:
    """Year and nanoseconds since 1970 of a text under one of the two layouts; BadTime otherwise."""
    reader = _Reader(text, layout, text)
    year = reader.year()
    month, day = (reader.member(*member) for member in _DATE)
    clock, nanoseconds, offset = [0, 0, 0], 0, 0
    if layout == TIME_LAYOUT:
        clock = [reader.member(*member) for member in _CLOCK]
        nanoseconds = reader.fraction()
        offset = reader.zone()
    if reader.rest:
        raise reader.spoilt(f'extra text: "{reader.rest}"')
    # The year 0 is a leap year that Python does not know; nobody means it.
    if not 1 <= day <= monthrange(year or 4, month)[1]:
        raise reader.spoilt("day out of range")
    if year == 0:
        return 0, 0
    hour, minute, second = clock
    whole = from_datetime(datetime(year, month, day, hour, minute, second, tzinfo=UTC))
    return year, whole - offset * 10**9 + nanoseconds
