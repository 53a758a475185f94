"""Instants and durations in protobuf messages, as nanoseconds."""

from __future__ import annotations

from typing import Any

_SECOND = 1_000_000_000
# The first instant of year one: what an unset time is on the wire.
ZERO_NS = -62_135_596_800 * _SECOND


def set_instant(field: Any, nanoseconds: int) -> None:
    """Write an instant into a Timestamp field."""
    field.seconds, field.nanos = divmod(nanoseconds, _SECOND)
    field.SetInParent()


def instant(field: Any) -> int:
    """Nanoseconds since the epoch of a Timestamp."""
    return int(field.seconds) * _SECOND + int(field.nanos)


def duration(field: Any) -> int:
    """Nanoseconds of a Duration."""
    return int(field.seconds) * _SECOND + int(field.nanos)


def sortable(nanoseconds: int) -> bytes:
    """Eight bytes in the order of time."""
    return nanoseconds.to_bytes(8, "big")
