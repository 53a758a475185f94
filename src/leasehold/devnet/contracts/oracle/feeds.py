"""Observations of feeders in storage, and the prices made of them.

A price is a pure function of the stored bytes, the configuration and the instant, so it is computed once and
remembered: in one block many contracts ask for the same one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from leasehold.devnet.wasm.contract import Storage
from leasehold.protocol.errors import ComputationOverflow, NoPrice, ProtocolError
from leasehold.protocol.oracle import Observation, PriceConfig, average
from leasehold.protocol.price import Price

_FEED = b"feed/"
_KEPT = 4096

Row = tuple[str, int, str, str]
_rows = msgspec.msgpack.Decoder(list[Row])
_encode = msgspec.msgpack.Encoder().encode


class Memory:
    """What stored observations parse to and what prices they make; forgetting it changes nothing."""

    def __init__(self) -> None:
        self._parsed: dict[bytes, list[Observation]] = {}
        self._prices: dict[Any, Price | ProtocolError] = {}

    def observations(self, stored: bytes) -> list[Observation]:
        found = self._parsed.get(stored)
        if found is None:
            rows = _rows.decode(stored)
            found = [Observation(feeder, at, Price(int(amount), int(quote))) for feeder, at, amount, quote in rows]
            self.remember(stored, found)
        return found

    def remember(self, stored: bytes, observations: list[Observation]) -> None:
        if len(self._parsed) >= _KEPT:
            self._parsed.clear()
        self._parsed[stored] = observations

    def price(self, stored: bytes, config: PriceConfig, now: int, registered: int) -> Price:
        """The average of stored observations; raises NoPrice or ComputationOverflow."""
        key = (stored, config, now, registered)
        found = self._prices.get(key)
        if found is None:
            if len(self._prices) >= _KEPT:
                self._prices.clear()
            try:
                found = average(self.observations(stored), config, now, registered)
            except (NoPrice, ComputationOverflow) as error:
                found = error
            self._prices[key] = found
        if isinstance(found, ProtocolError):
            raise found
        return found


class Feeds:
    """The observations of one oracle at one state."""

    def __init__(self, storage: Storage, memory: Memory) -> None:
        self._storage = storage
        self._memory = memory

    def add(self, feeder: str, now: int, since: int, prices: Iterable[tuple[str, str, Price]]) -> None:
        """Append a feeder's prices and drop what is too old to count."""
        for base, quote, value in prices:
            key = _key(base, quote)
            stored = self._storage.get(key)
            kept = [] if stored is None else [seen for seen in self._memory.observations(stored) if seen.at > since]
            kept.append(Observation(feeder, now, value))
            encoded = _encode([(seen.feeder, seen.at, str(seen.price[0]), str(seen.price[1])) for seen in kept])
            self._memory.remember(encoded, kept)
            self._storage.set(key, encoded)

    def price(self, base: str, quote: str, config: PriceConfig, now: int, registered: int) -> Price:
        """The price of one edge at an instant."""
        stored = self._storage.get(_key(base, quote))
        if stored is None:
            raise NoPrice("No price")
        return self._memory.price(stored, config, now, registered)


def _key(base: str, quote: str) -> bytes:
    return _FEED + base.encode() + b"/" + quote.encode()
