"""Oracle prices as the chain would answer them, computed from the feeders' transactions."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from leasehold.chain.client.contracts import StateReader, smart_query
from leasehold.indexer.knowledge import ORACLE, Protocol
from leasehold.indexer.tables import USD_UNIT, ten
from leasehold.protocol.errors import ProtocolError
from leasehold.protocol.oracle import Observation, PriceTree, average, stable_price
from leasehold.protocol.price import IDENTITY, Price, price

Quote = tuple[str, str, Price]


def quotes(call: Any) -> list[Quote] | None:
    """Pairs and prices of a `feed_prices` message; None when it is none."""
    try:
        return [
            (
                item["amount"]["ticker"],
                item["amount_quote"]["ticker"],
                price(int(item["amount"]["amount"]), int(item["amount_quote"]["amount"])),
            )
            for item in call["feed_prices"]["prices"]
        ]
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        return None


@dataclass(slots=True)
class Oracle:
    """The observations of one protocol's oracle and the prices they make."""

    protocol: Protocol
    observations: dict[tuple[str, str], deque[Observation]] = field(default_factory=dict)
    last: dict[str, int] = field(default_factory=dict)
    sampled_ns: int = 0
    _tree: PriceTree | None = None
    _at: int = -1
    _cache: dict[str, int | None] = field(default_factory=dict)
    _edges: dict[tuple[str, str], Price] = field(default_factory=dict)

    def feed(self, feeder: str, at_ns: int, prices: Iterable[Quote]) -> None:
        """Take in what a feeder said at an instant."""
        oldest = self.protocol.terms.price_config.valid_since(at_ns)
        for base, quote, value in prices:
            known = self.observations.setdefault((base, quote), deque())
            while known and known[0].at <= oldest:
                known.popleft()
            known.append(Observation(feeder, at_ns, value))
        self._at = -1

    def changed(self) -> None:
        """The terms or the tree are others now."""
        self._tree = None
        self._at = -1

    def in_usd(self, ticker: str, now_ns: int) -> int | None:
        """Price of a whole token in 10^-18 USD as of the end of a block; the last known one while there is none."""
        if now_ns != self._at:
            self._at = now_ns
            self._cache.clear()
            self._edges.clear()
        if ticker not in self._cache:
            found = self._price(ticker, now_ns)
            self._cache[ticker] = self.last.get(ticker) if found is None else found
        return self._cache[ticker]

    def sample(self, now_ns: int) -> dict[str, int]:
        """All prices that stand at an instant, by ticker."""
        found = {}
        for edge in self._priced_tree().edges:
            value = self.in_usd(edge.ticker, now_ns)
            if value is not None:
                found[edge.ticker] = value
        # Only samples are remembered, and to the microsecond: a restart then falls back on the same prices.
        self.last.update(found)
        self.sampled_ns = now_ns // 1000 * 1000
        return found

    def _price(self, ticker: str, now_ns: int) -> int | None:
        tree = self._priced_tree()
        protocol = self.protocol
        if ticker not in tree.by_ticker or ticker not in protocol.currencies:
            return None

        def edge_price(base: str, quote: str) -> Price:
            known = self._edges.get((base, quote))
            if known is None:
                terms = protocol.terms
                observed = self.observations.get((base, quote), ())
                known = average(observed, terms.price_config, now_ns, len(terms.feeders))
                self._edges[base, quote] = known
            return known

        try:
            base = tree.base_price(ticker, edge_price)
            if protocol.stable == protocol.lpn:
                in_stable = base
            elif ticker == protocol.stable:
                in_stable = IDENTITY
            else:
                in_stable = stable_price(base, tree.base_price(protocol.stable, edge_price))
        except (ProtocolError, KeyError):
            return None
        shift = protocol.decimals(ticker) - protocol.decimals(protocol.stable)
        scaled = in_stable.quote * USD_UNIT
        return scaled * ten(shift) // in_stable.amount if shift >= 0 else scaled // (in_stable.amount * ten(-shift))

    def _priced_tree(self) -> PriceTree:
        if self._tree is None:
            self._tree = PriceTree(self.protocol.terms.edges)
        return self._tree


def worth(amount: int, unit_price: int | None, decimals: int) -> int | None:
    """USD (10^-18) of a base-unit amount at a price of the whole token, floored."""
    return None if unit_price is None else amount * unit_price // ten(decimals)


async def chain_price(reader: StateReader, protocol: Protocol, ticker: str, height: int) -> int:
    """USD (10^-18) of a whole token as an oracle says at the end of `height`; QueryFailed while it has no price."""
    answer = await smart_query(reader, protocol.contracts[ORACLE], {"stable_price": {"currency": ticker}}, height)
    shift = protocol.decimals(ticker) - protocol.decimals(protocol.stable)
    amount, quote = int(answer["amount"]["amount"]), int(answer["amount_quote"]["amount"])
    return quote * USD_UNIT * ten(max(shift, 0)) // (amount * ten(max(-shift, 0)))
