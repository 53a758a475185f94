"""Prices as blocks bring them: what feeders say, and samples of what it comes to."""

from __future__ import annotations

import msgspec

from leasehold.indexer import accounts, decode
from leasehold.indexer.decode import Block
from leasehold.indexer.knowledge import ORACLE
from leasehold.indexer.moment import Moment
from leasehold.indexer.oracles import Oracle, quotes
from leasehold.indexer.tables import instant, usd_text
from leasehold.indexer.world import World

SAMPLE_NS = 15_000_000_000
MINUTE_NS = 60_000_000_000
_CANDLES = (1, 5, 60)


class Feeds:
    """Takes in observations and notes prices, candles and their changes."""

    def __init__(self, world: World) -> None:
        self.world = world

    def take(self, moment: Moment, block: Block) -> list[Oracle]:
        """Take in all prices of a block first: what is valued in it is valued as of its end."""
        fed: dict[str, Oracle] = {}
        for tx in block.txs:
            if tx.code != 0:
                continue
            for message in tx.messages:
                if message.type_url != decode.EXECUTE or message.content is None:
                    continue
                protocol = self.world.knowledge.of(ORACLE, message.content.contract)
                found = quotes(accounts.contract_call(message)) if protocol is not None else None
                if protocol is None or found is None:
                    continue
                oracle = fed[protocol.name] = self.world.oracles[protocol.name]
                feeder = message.content.sender
                oracle.feed(feeder, moment.time_ns, found)
                text = msgspec.json.encode([[base, quote, *map(str, price)] for base, quote, price in found]).decode()
                moment.rows.append(
                    "price_feeds",
                    (
                        message.content.contract,
                        moment.height,
                        tx.index,
                        message.message,
                        message.inner,
                        feeder,
                        moment.time_ns,
                        text,
                    ),
                )
        return [fed[name] for name in sorted(fed)]

    def sample(self, moment: Moment, oracle: Oracle) -> None:
        """Note an oracle's prices if enough time has passed since the last sample."""
        now = moment.time_ns
        same_minute = now // MINUTE_NS == oracle.sampled_ns // MINUTE_NS
        if same_minute and now - oracle.sampled_ns < SAMPLE_NS:
            return
        prices = oracle.sample(now)
        name = oracle.protocol.name
        for ticker, price in prices.items():
            moment.rows.replace(
                "prices_current",
                {"protocol": name, "ticker": ticker, "price": price, "height": moment.height, "time": moment.time},
            )
            for minutes in _CANDLES:
                start = instant(now - now % (minutes * MINUTE_NS))
                key = (name, ticker, minutes, start)
                candle = moment.rows.candles.get(key)
                if candle is None:
                    moment.rows.candles[key] = [price, price, price, price, 1]
                else:
                    candle[1], candle[2] = max(candle[1], price), min(candle[2], price)
                    candle[3] = price
                    candle[4] += 1
        if prices:
            moment.log("prices", name, {ticker: usd_text(price) for ticker, price in prices.items()})

    def oldest(self) -> int:
        """The instant before which no oracle looks."""
        configs = [oracle.protocol.terms.price_config for oracle in self.world.oracles.values()]
        return min((config.valid_since(self.world.time_ns) for config in configs), default=0)
