"""The market on a running chain: before every block its accounts submit what they would do next."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from leasehold.core import logging
from leasehold.core.clock import NANOSECONDS, Clock
from leasehold.core.errors import LeaseholdError
from leasehold.devnet.chain import Devnet
from leasehold.devnet.consensus.node import SealedBlock
from leasehold.devnet.market.market import Market, Rates

_META = "market"
# Blocks between two notes of where the prices stand; a restart continues from the last.
NOTE_BLOCKS = 30
# Livelier than history, so that a developer sees something happen.
LIVE_RATES = Rates(openings=360, managements=360, lendings=180, stakings=90, session_seconds=0, feed_seconds=60)
_log = logging.get("market")


class MarketNote(msgspec.Struct):
    """What a restart needs to know of the market."""

    prices: dict[str, float]


@dataclass(slots=True)
class LiveMarket:
    """Follows the chain's blocks; each new one is the moment to prepare the next."""

    devnet: Devnet
    market: Market
    clock: Clock
    interval_ns: int

    @classmethod
    def resume(cls, devnet: Devnet, clock: Clock, market: Market | None = None) -> LiveMarket:
        """Go on with a market, or take it up again where the chain's last note left it."""
        interval = max(1, devnet.settings.devnet.block_interval_ms) * 1_000_000
        if market is None:
            market = _taken_up(devnet, clock)
        else:
            market.quicken(LIVE_RATES)
        return cls(devnet, market, clock, interval)

    def restart(self) -> None:
        """Take the market up anew from the chain's note, after the chain was replaced by another."""
        self.market = _taken_up(self.devnet, self.clock)

    def attach(self) -> None:
        """Start acting on every new block."""
        self.devnet.node.add_listener(self.on_block)

    def on_block(self, sealed: SealedBlock) -> None:
        """Submit the market's transactions for the block after this one."""
        self.market.learn(sealed)
        moment = max(self.clock.now_ns(), sealed.block.header.time_ns) + self.interval_ns
        plan = self.market.plan(self.devnet.app.context(), moment)
        for tx in plan.txs:
            try:
                result = self.devnet.node.submit(tx)
            except LeaseholdError as error:
                _log.warning("market transaction not taken", error=error.message)
                continue
            if result.code:
                _log.warning("market transaction refused", code=result.code, log=result.log)
        if sealed.height % NOTE_BLOCKS == 0:
            self.note()

    def note(self) -> None:
        """Remember where the prices stand."""
        store = self.devnet.node.store
        with store.transaction():
            store.put_meta(_META, msgspec.json.encode(MarketNote(self.market.model.prices())))


def _taken_up(devnet: Devnet, clock: Clock) -> Market:
    """A market on a chain that has one already, at the prices last noted."""
    start = max(devnet.node.time_ns, clock.now_ns()) // NANOSECONDS
    market = Market(devnet, start=start, rates=LIVE_RATES, fresh=False)
    note = devnet.node.store.meta(_META)
    if note is not None:
        market.model.set_prices(msgspec.json.decode(note, type=MarketNote).prices)
    return market
