"""Price alarms in storage, ordered so that those a price fires come first.

A subscriber has one alarm: a price below which, and maybe one from which on, it wants to be called. Both are indexed
by currency and normalised price, which is the asset per 10^18 of the base: larger means cheaper.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from leasehold.devnet.wasm.contract import ContractError, Storage
from leasehold.protocol.errors import ComputationOverflow
from leasehold.protocol.messages.values import PriceAlarm
from leasehold.protocol.oracle import alarm_key
from leasehold.protocol.price import Price

_OF = b"alarm/"
_BELOW = b"below/"
_ABOVE = b"above/"
_DELIVERING = b"delivering"
_NORM = 16

_alarm = msgspec.json.Decoder(PriceAlarm)
_delivery = msgspec.json.Decoder(list[tuple[str, PriceAlarm]])


class PriceAlarms:
    """The alarms of one oracle at one state."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def set(self, subscriber: str, alarm: PriceAlarm) -> None:
        """Replace the subscriber's alarm, whatever currency it was on."""
        self.remove(subscriber)
        for key in _index(subscriber, alarm):
            self._storage.set(key, b"")
        self._storage.set(_OF + subscriber.encode(), msgspec.json.encode(alarm))

    def remove(self, subscriber: str) -> PriceAlarm | None:
        """Forget and return the subscriber's alarm."""
        stored = self._storage.get(_OF + subscriber.encode())
        if stored is None:
            return None
        alarm = _alarm.decode(stored)
        for key in _index(subscriber, alarm):
            self._storage.delete(key)
        self._storage.delete(_OF + subscriber.encode())
        return alarm

    def fired(self, ticker: str, current: Price) -> Iterator[str]:
        """Subscribers whose alarm a price fires: those below first, each side by normalised price, then address."""
        norm = _norm(current)
        below, above = _BELOW + ticker.encode() + b"/", _ABOVE + ticker.encode() + b"/"
        for key, _ in self._storage.iterate(below, below + norm):
            yield key[len(below) + _NORM :].decode()
        for key, _ in self._storage.iterate(above + norm, above[:-1] + b"0"):
            yield key[len(above) + _NORM :].decode()

    def check_settled(self) -> None:
        """Refuse a dispatch from within a delivery."""
        if self._storage.get(_DELIVERING) is not None:
            text = "[Oracle] [Market Price; Alarm] Alarms delivery queue is not empty! Cause: Assertion requested"
            raise ContractError(text)

    def send(self, subscribers: list[str]) -> None:
        """Move alarms out for delivery; their outcomes come in the same order."""
        moved = [(subscriber, self.remove(subscriber)) for subscriber in subscribers]
        if moved:
            self._storage.set(_DELIVERING, msgspec.json.encode(moved))

    def settle(self, delivered: bool) -> None:
        """Take note of the oldest outcome awaited; an undelivered alarm is set again."""
        (subscriber, alarm), *rest = _delivery.decode(self._storage.get(_DELIVERING) or b"[]")
        if rest:
            self._storage.set(_DELIVERING, msgspec.json.encode(rest))
        else:
            self._storage.delete(_DELIVERING)
        if not delivered:
            self.set(subscriber, alarm)


def _index(subscriber: str, alarm: PriceAlarm) -> Iterator[bytes]:
    for side, value in ((_BELOW, alarm.below), (_ABOVE, alarm.above)):
        if value is not None:
            yield side + value.amount.ticker.encode() + b"/" + _norm(value.value()) + subscriber.encode()


def _norm(value: Price) -> bytes:
    try:
        return alarm_key(value).to_bytes(_NORM, "big")
    except ComputationOverflow as error:
        text = "[Oracle] [Market Price; Alarm] Overflow during normalizing the market price"
        raise ContractError(text) from error
