"""Observations of feeders in storage, and the prices made of them.

Under `feed/<base>/<quote>` there is a line per observation, oldest first: instant, both legs, and the number under
which the feeder is known. Feeding appends a line and drops old ones; nothing is parsed for it.

A price is a pure function of the stored bytes, the configuration and the instant, so it is computed once and
remembered: in one block many contracts ask for the same one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from leasehold.devnet.wasm.contract import Storage
from leasehold.protocol.errors import ComputationOverflow, NoPrice, ProtocolError
from leasehold.protocol.oracle import Observation, PriceConfig, average
from leasehold.protocol.price import Price

_FEED = b"feed/"
_KEPT = 4096


class Memory:
    """What stored observations parse to and what prices they make; forgetting it changes nothing."""

    def __init__(self) -> None:
        self._parsed: dict[bytes, list[Observation]] = {}
        self._prices: dict[Any, Price | ProtocolError] = {}

    def observations(self, stored: bytes) -> list[Observation]:
        """Stored observations, oldest first; the list is not to be changed."""
        found = self._parsed.get(stored)
        if found is None:
            found = []
            for line in stored.decode().splitlines():
                at, amount, quote, feeder = line.split(" ")
                found.append(Observation(feeder, int(at), Price(int(amount), int(quote))))
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

    def add(self, feeder: int, now: int, since: int, prices: Iterable[tuple[str, str, Price]]) -> None:
        """Append the prices of a feeder, known by its number, and drop what is too old to count."""
        for base, quote, value in prices:
            key = _key(base, quote)
            stored = self._storage.get(key) or b""
            known = self._memory.observations(stored)
            old = next((number for number, seen in enumerate(known) if seen.at > since), len(known))
            cut = 0
            for _ in range(old):
                cut = stored.index(b"\n", cut) + 1
            line = f"{now} {value.amount} {value.quote} {feeder}\n"
            fresh = stored[cut:] + line.encode()
            self._memory.remember(fresh, [*known[old:], Observation(str(feeder), now, value)])
            self._storage.set(key, fresh)

    def price(self, base: str, quote: str, config: PriceConfig, now: int, registered: int) -> Price:
        """The price of one edge at an instant."""
        stored = self._storage.get(_key(base, quote))
        if stored is None:
            raise NoPrice("No price")
        return self._memory.price(stored, config, now, registered)


def _key(base: str, quote: str) -> bytes:
    return _FEED + base.encode() + b"/" + quote.encode()
