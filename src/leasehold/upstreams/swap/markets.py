"""What can be traded where: the protocols of the chain, their oracles' swap trees, and the channels to their DEXes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from leasehold.core.clock import Clock
from leasehold.core.errors import NotReady
from leasehold.protocol.currencies import Currency
from leasehold.upstreams.chain_access import ChainAccess

# Seconds for which what was read is good.
FRESH_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Book:
    """One protocol's currencies with their pools; `parents` leads each to the root of its swap tree."""

    protocol: str
    oracle: str
    currencies: tuple[Currency, ...]
    parents: Mapping[str, tuple[int, str]]

    def here(self, denom: str) -> Currency | None:
        """The currency with a bank denom on this chain."""
        return next((currency for currency in self.currencies if currency.bank_symbol == denom), None)

    def there(self, denom: str) -> Currency | None:
        """The currency with a denom on the DEX's chain."""
        return next((currency for currency in self.currencies if currency.dex_symbol == denom), None)

    def path(self, source: str, target: str) -> list[tuple[int, str]]:
        """Pools between two tickers, each with the ticker it leads to."""
        up, down = self._climb(source), self._climb(target)
        while up and down and up[-1] == down[-1]:
            up.pop()
            down.pop()
        # What is left of the way from the target is walked backwards, each pool leading to the currency below it.
        below = [target, *(ticker for _, ticker in down)]
        return up + [(pool, below[place]) for place, (pool, _) in reversed(list(enumerate(down)))]

    def _climb(self, ticker: str) -> list[tuple[int, str]]:
        steps = []
        while ticker in self.parents:
            step = self.parents[ticker]
            steps.append(step)
            ticker = step[1]
        return steps


@dataclass(frozen=True, slots=True)
class Style:
    """How a network is known to wallets and to the public router."""

    title: str
    prefix: str
    venue: str
    fee_denom: str


STYLES = {
    "OSMOSIS": Style("Osmosis", "osmo", "osmosis-poolmanager", "uosmo"),
    "NEUTRON": Style("Neutron", "neutron", "neutron-astroport", "untrn"),
}


@dataclass(frozen=True, slots=True)
class Venue:
    """A DEX on a connected chain."""

    network: str
    chain_id: str
    channel: str
    remote_channel: str
    style: Style
    books: tuple[Book, ...]


@dataclass(slots=True)
class Markets:
    """The venues, read from the chain and kept for a while."""

    chain: ChainAccess
    clock: Clock
    _venues: tuple[Venue, ...] = ()
    _read_at: float = field(default=float("-inf"))
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def venues(self) -> tuple[Venue, ...]:
        """Every venue that some active protocol trades on."""
        async with self._lock:
            if self.clock.monotonic() - self._read_at > FRESH_SECONDS:
                self._venues = await self._read()
                self._read_at = self.clock.monotonic()
            return self._venues

    async def _read(self) -> tuple[Venue, ...]:
        admin = await self.chain.registry_contract()
        if admin is None:
            raise NotReady("the chain has no protocols yet")
        names: list[str] = await self.chain.smart(admin, {"protocols": {}})
        entries = await asyncio.gather(*(self._entry(admin, name) for name in sorted(names)))
        found: dict[str, list[tuple[Book, tuple[str, str]]]] = {}
        for network, book, channel in entries:
            if network in STYLES:
                found.setdefault(network, []).append((book, channel))
        return tuple([await self._venue(network, books) for network, books in sorted(found.items())])

    async def _entry(self, admin: str, name: str) -> tuple[str, Book, tuple[str, str]]:
        entry: Any = await self.chain.smart(admin, {"protocol": name})
        contracts = entry["contracts"]
        oracle = contracts["oracle"]
        listed, tree, leaser = await asyncio.gather(
            self.chain.smart(oracle, {"currencies": {}}),
            self.chain.smart(oracle, {"swap_tree": {}}),
            self.chain.smart(contracts["leaser"], {"config": {}}),
        )
        currencies = tuple(
            Currency(one["ticker"], one["bank_symbol"], one["dex_symbol"], one["decimal_digits"], one["group"])
            for one in listed
        )
        channel = leaser["config"]["dex"]["transfer_channel"]
        book = Book(name, oracle, currencies, parents_of(tree["tree"]))
        return str(entry["network"]).upper(), book, (channel["local_endpoint"], channel["remote_endpoint"])

    async def _venue(self, network: str, books: list[tuple[Book, tuple[str, str]]]) -> Venue:
        channel, remote = books[0][1]
        answer = await self.chain.query(
            "ibc.core.channel.v1.Query/ChannelClientState", {"port_id": "transfer", "channel_id": channel}
        )
        state = self.chain.types.unpack(answer.identified_client_state.client_state)
        return Venue(network, state.chain_id, channel, remote, STYLES[network], tuple(book for book, _ in books))


def parents_of(tree: Any) -> dict[str, tuple[int, str]]:
    """Pool and parent of every ticker of a swap tree but its root."""
    found: dict[str, tuple[int, str]] = {}
    _, ticker = tree["value"]
    for child in tree.get("children", ()):
        pool, name = child["value"]
        found[name] = (pool, ticker)
        found |= parents_of(child)
    return found
