"""Time as an argument: services ask a Clock, tests and the devnet own one."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from functools import lru_cache
from typing import Protocol

NANOSECONDS = 1_000_000_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Clock(Protocol):
    """A source of UTC time and of a monotonic reading for intervals."""

    def now_ns(self) -> int:
        """Nanoseconds since the epoch, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary origin that never goes back."""
        ...


class SystemClock:
    """The machine's clock."""

    def now_ns(self) -> int:
        return time.time_ns()

    def monotonic(self) -> float:
        return time.monotonic()


class ManualClock:
    """A clock that moves only when told to."""

    def __init__(self, now_ns: int = 0) -> None:
        self._now_ns = now_ns

    def now_ns(self) -> int:
        return self._now_ns

    def monotonic(self) -> float:
        return self._now_ns / NANOSECONDS

    def advance(self, *, seconds: int = 0, nanoseconds: int = 0) -> None:
        """Move forward by a non-negative amount."""
        step = seconds * NANOSECONDS + nanoseconds
        if step < 0:
            raise ValueError("a clock can't be advanced by a negative amount; use set()")
        self._now_ns += step

    def set(self, now_ns: int) -> None:
        self._now_ns = now_ns


def to_datetime(nanoseconds: int) -> datetime:
    """UTC datetime of an instant, truncated to microseconds."""
    seconds, rest = divmod(nanoseconds, NANOSECONDS)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest // 1000)


def from_datetime(moment: datetime) -> int:
    """Nanoseconds since the epoch of an aware datetime, exactly."""
    if moment.tzinfo is None:
        raise ValueError("a naive datetime has no place on the UTC axis")
    delta = moment - EPOCH
    return ((delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds) * 1000


def rfc3339(nanoseconds: int, *, digits: str = "trimmed") -> str:
    """RFC 3339 text of an instant in UTC.

    `trimmed` drops trailing zeros of the fraction (CometBFT's form); `grouped` keeps 0, 3, 6 or 9 digits
    (protobuf JSON's form); `seconds` has no fraction.
    """
    seconds, rest = divmod(nanoseconds, NANOSECONDS)
    head = _second(seconds)
    if rest == 0 or digits == "seconds":
        return head + "Z"
    fraction = f"{rest:09d}"
    if digits == "trimmed":
        fraction = fraction.rstrip("0")
    elif digits == "grouped":
        while fraction.endswith("000"):
            fraction = fraction[:-3]
    else:
        raise ValueError(f"unknown form {digits!r}")
    return f"{head}.{fraction}Z"


@lru_cache(maxsize=256)
def _second(seconds: int) -> str:
    """A second without its zone; what is shown was mostly shown just before."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S").zfill(19)


def parse_rfc3339(text: str) -> int:
    """Nanoseconds since the epoch of an RFC 3339 text with up to nine fractional digits and any offset."""
    head, _, tail = text.partition(".")
    fraction = ""
    if tail:
        index = next((i for i, char in enumerate(tail) if not char.isdigit()), len(tail))
        fraction, zone = tail[:index], tail[index:]
        if not fraction or len(fraction) > 9 or not zone:
            raise ValueError(f"not an RFC 3339 instant: {text!r}")
        head += zone
    if len(head) < 20:
        raise ValueError(f"not an RFC 3339 instant: {text!r}")
    moment = datetime.fromisoformat(head)
    if moment.tzinfo is None:
        raise ValueError(f"not an RFC 3339 instant: {text!r}")
    return from_datetime(moment) + int(fraction.ljust(9, "0") or "0")
