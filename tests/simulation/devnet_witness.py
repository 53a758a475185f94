"""Where a truth about a development chain stands: the block at hand, its prices, and the rows so far."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from typing import Any

from devnet_reader import UNIT, ChainReader, Traded, instant

MINUTE = 60 * 10**9
Row = dict[str, Any]


def worth(amount: int, price: int | None, decimals: int) -> int | None:
    """USD of base units at a price of the whole token, floored."""
    return None if price is None else amount * price // 10**decimals


def decimal(usd: int) -> str:
    """USD as its shortest decimal text with 18 places."""
    sign = "-" if usd < 0 else ""
    return f"{sign}{abs(usd) // UNIT}.{abs(usd) % UNIT:018d}"


class Witness:
    """The chain, the block at hand and what was seen; `price` is the oracle's own word at that height."""

    at: int
    now: int
    time: datetime
    key: Row

    def __init__(self, chain: ChainReader) -> None:
        self.chain = chain
        self.height = 0
        self.tables: dict[str, list[Row]] = defaultdict(list)
        self.pools: dict[str, Row] = {}
        self.last_price: dict[tuple[str, str], int] = {}
        self.sampled: dict[str, int] = {}
        self.candles: dict[tuple[str, str, int, datetime], Row] = {}
        self.current: dict[tuple[str, str], Row] = {}
        self.changes = 0

    def price(self, protocol: Traded, ticker: str, height: int | None = None) -> int | None:
        """The oracle's price, or the last one noted while it has none."""
        found = self.chain.price(protocol, ticker, height or self.at)
        return self.last_price.get((protocol.name, ticker)) if found is None else found

    def usd(self, protocol: Traded, ticker: str, amount: int) -> int | None:
        return worth(amount, self.price(protocol, ticker), protocol.decimals(ticker))

    def native_price(self, preferred: Traded | None = None, height: int | None = None) -> int | None:
        others = [one for one in self.chain.protocols.values() if one is not preferred]
        for protocol in ([preferred] if preferred else []) + others:
            if self.chain.native in protocol.currencies:
                found = self.price(protocol, self.chain.native, height)
                if found is not None:
                    return found
        return None

    def sample(self, protocol: Traded) -> None:
        before = self.sampled.get(protocol.name, 0)
        if self.now // MINUTE == before // MINUTE and self.now - before < 15 * 10**9:
            return
        self.sampled[protocol.name] = self.now // 1000 * 1000
        prices = {}
        for ticker in self._tree(protocol):
            price = self.price(protocol, ticker)
            if price is None:
                continue
            prices[ticker] = price
            at = {"protocol": protocol.name, "ticker": ticker}
            self.current[protocol.name, ticker] = {**at, "price": price, "height": self.at, "time": self.time}
            for minutes in (1, 5, 60):
                start = instant(self.now - self.now % (minutes * MINUTE))
                row = self.candles.setdefault(
                    (protocol.name, ticker, minutes, start),
                    {**at, "minutes": minutes, "start": start, "open": price, "high": price, "low": price, "points": 0},
                )
                row["high"], row["low"] = max(row["high"], price), min(row["low"], price)
                row["close"] = price
                row["points"] += 1
        for ticker, price in prices.items():
            self.last_price[protocol.name, ticker] = price
        if prices:
            self.log("prices", protocol.name, {ticker: decimal(price) for ticker, price in prices.items()})

    def _tree(self, protocol: Traded) -> list[str]:
        tree = self.chain.ask(protocol.contracts["oracle"], {"swap_tree": {}}, self.at)["tree"]
        found, left = [], [tree]
        while left:
            node = left.pop(0)
            found.append(node["value"][1])
            left = node.get("children", []) + left
        return found

    def log(self, topic: str, key: str, payload: Row) -> None:
        row = {"height": self.at, "ordinal": self.changes, "topic": topic, "key": key, "payload": payload}
        self.tables["change_log"].append(row)
        self.changes += 1
