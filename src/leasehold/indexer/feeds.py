"""Prices as blocks bring them: what feeders say, and samples of what it comes to."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import msgspec

from leasehold.chain.client.errors import PrunedHistory
from leasehold.chain.client.nodes import Nodes
from leasehold.indexer import accounts, decode
from leasehold.indexer.decode import Block, Decoder
from leasehold.indexer.knowledge import ORACLE
from leasehold.indexer.moment import Moment
from leasehold.indexer.oracles import Oracle, quotes
from leasehold.indexer.patience import Pause, patiently
from leasehold.indexer.tables import Rows, instant, usd_text
from leasehold.indexer.world import World
from leasehold.protocol.price import Price

SAMPLE_NS = 15_000_000_000
MINUTE_NS = 60_000_000_000
_CANDLES = (1, 5, 60)
# Earlier blocks fetched at a time when an index begins in the middle of a chain.
_SPAN = 10


class Feed(msgspec.Struct):
    """What a feeder said, and where; prices are pair, amount and quote, the numbers as text."""

    protocol: str
    height: int
    tx: int
    message: int
    inner: int
    feeder: str
    time_ns: int
    prices: list[tuple[str, str, str, str]]


def observed(world: World, block: Block) -> Iterator[Feed]:
    """The feeds of a block that the oracles took."""
    for tx in block.txs:
        if tx.code != 0:
            continue
        for message in tx.messages:
            if message.type_url != decode.EXECUTE or message.content is None:
                continue
            protocol = world.knowledge.of(ORACLE, message.content.contract)
            found = quotes(accounts.contract_call(message)) if protocol is not None else None
            if protocol is None or found is None:
                continue
            prices = [(base, quote, str(price.amount), str(price.quote)) for base, quote, price in found]
            place = (block.height, tx.index, message.message, message.inner)
            yield Feed(protocol.name, *place, message.content.sender, block.time_ns, prices)


async def earlier_feeds(nodes: Nodes, decoder: Decoder, world: World, block: Block, pause: Pause) -> list[Feed]:
    """Observations before a block that its oracles still average over, as far back as the nodes go."""
    since = min((o.protocol.terms.price_config.valid_since(block.time_ns) for o in world.oracles.values()), default=0)
    found: list[Feed] = []
    last = block.height - 1
    while last >= 1:
        first = max(last - _SPAN + 1, 1)
        try:
            fetched = await patiently(partial(nodes.blocks, first, last - first + 1), pause)
        except PrunedHistory as error:
            if not first < error.first_available <= last:
                break
            first = error.first_available
            fetched = await patiently(partial(nodes.blocks, first, last - first + 1), pause)
        decoded = [decoder.block(one) for one in fetched]
        found = [feed for one in decoded for feed in observed(world, one) if feed.time_ns > since] + found
        if fetched[0].time_ns <= since:
            break
        last = first - 1
    return found


class Feeds:
    """Takes in observations and notes prices, candles and their changes."""

    def __init__(self, world: World) -> None:
        self.world = world

    def take(self, moment: Moment, block: Block) -> list[Oracle]:
        """Take in all prices of a block first: what is valued in it is valued as of its end."""
        fed: dict[str, Oracle] = {}
        for feed in observed(self.world, block):
            oracle = self.world.oracles[feed.protocol]
            fed[feed.protocol] = oracle
            self.note(feed, moment.rows)
        return [fed[name] for name in sorted(fed)]

    def note(self, feed: Feed, rows: Rows) -> None:
        """Take in what a feeder said and keep it for a restart."""
        oracle = self.world.oracles[feed.protocol]
        oracle.feed(
            feed.feeder, feed.time_ns, [(base, quote, Price(int(a), int(q))) for base, quote, a, q in feed.prices]
        )
        key = (oracle.protocol.contracts[ORACLE], feed.height, feed.tx, feed.message, feed.inner)
        rows.append("price_feeds", (*key, feed.feeder, feed.time_ns, msgspec.json.encode(feed.prices).decode()))

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
