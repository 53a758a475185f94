"""The market on a running chain: before every block its accounts submit what they would do next."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from leasehold.core import logging
from leasehold.core.clock import NANOSECONDS, Clock
from leasehold.core.errors import LeaseholdError
from leasehold.devnet.chain import Devnet
from leasehold.devnet.consensus.node import SealedBlock
from leasehold.devnet.market.market import Market
from leasehold.devnet.market.standing import MarketState, Rates

_META = "market"
# Livelier than history, so that a developer sees something happen.
LIVE_RATES = Rates(
    openings=360, managements=360, lendings=180, stakings=90, session_seconds=0, feed_seconds=60, alarm_seconds=0
)
_log = logging.get("market")


class MarketNote(msgspec.Struct):
    """What a restart needs to know of the market: where it stood, and the transactions that waited for a block."""

    state: MarketState
    waiting: list[bytes]


@dataclass(slots=True)
class LiveMarket:
    """Follows the chain's blocks; each new one is the moment to prepare the next."""

    devnet: Devnet
    market: Market
    clock: Clock
    interval_ns: int
    _waiting: list[bytes] = field(default_factory=list)

    @classmethod
    def resume(cls, devnet: Devnet, clock: Clock, market: Market | None = None) -> LiveMarket:
        """Go on with a market, or take it up again where the chain's last note left it."""
        interval = max(1, devnet.settings.devnet.block_interval_ms) * 1_000_000
        if market is None:
            market, waiting = _taken_up(devnet, clock)
            return cls(devnet, market, clock, interval, waiting)
        market.quicken(LIVE_RATES)
        return cls(devnet, market, clock, interval)

    def restart(self) -> None:
        """Take the market up anew from the chain's note, after the chain was replaced by another."""
        self.market, self._waiting = _taken_up(self.devnet, self.clock)
        self._submit()

    def stand(self, state: MarketState) -> None:
        """Stand where the market stood, after the chain was taken back; what waited then is submitted by others."""
        self.market.restore(state)
        self._waiting = []
        self.note()

    def attach(self) -> None:
        """Start acting on every new block."""
        self.devnet.node.add_listener(self.on_block)
        self._submit()
        self.note()

    def on_block(self, sealed: SealedBlock) -> None:
        """Submit the market's transactions for the block after this one."""
        self.market.learn(sealed)
        moment = max(self.clock.now_ns(), sealed.block.header.time_ns) + self.interval_ns
        self._waiting = self.market.plan(self.devnet.app.context(), moment).txs
        self._submit()
        self.note()

    def _submit(self) -> None:
        for tx in self._waiting:
            try:
                result = self.devnet.node.submit(tx)
            except LeaseholdError as error:
                _log.warning("market transaction not taken", error=error.message)
                continue
            if result.code:
                _log.warning("market transaction refused", code=result.code, log=result.log)

    def note(self) -> None:
        """Remember where the market stands, so that a restart goes on as if there had been none."""
        store = self.devnet.node.store
        with store.transaction():
            store.put_meta(_META, msgspec.json.encode(MarketNote(self.market.state(), self._waiting)))


def _taken_up(devnet: Devnet, clock: Clock) -> tuple[Market, list[bytes]]:
    """A market on a chain that has one already, where it was last noted, and what had not reached a block."""
    start = max(devnet.node.time_ns, clock.now_ns()) // NANOSECONDS
    market = Market(devnet, start=start, rates=LIVE_RATES, fresh=False)
    note = devnet.node.store.meta(_META)
    if note is None:
        return market, []
    try:
        found = msgspec.json.decode(note, type=MarketNote)
    except msgspec.MsgspecError as error:  # of another version of Leasehold
        _log.warning("the market's note is not understood; it begins anew", error=str(error))
        return market, []
    market.restore(found.state)
    return market, found.waiting
