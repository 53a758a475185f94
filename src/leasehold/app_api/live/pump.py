"""From blocks to streams: each new block's notes are turned into items for whoever listens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

from leasehold.app_api.app import App
from leasehold.app_api.live import messages
from leasehold.app_api.live.desk import Block, Desk
from leasehold.app_api.live.journal import Notes
from leasehold.app_api.live.moments import Moment
from leasehold.app_api.live.sequence import last_of
from leasehold.app_api.live.topics import BALANCES, EARN, LEASES, PRICES, TX_STATUS, Key
from leasehold.app_api.resources import prices
from leasehold.core import logging
from leasehold.core.errors import LeaseholdError
from leasehold.core.metrics import Metrics
from leasehold.serving.frames import Item
from leasehold.serving.hub import Hub

# A lender's worth grows with every payment of any borrower; who is not named waits for the next round.
EARN_SECONDS = 10.0
# Lenders that are looked at together then: a few milliseconds' work.
SWEPT = 24
# A block that touches more streams than this is read in batches, each for a group of streams; so many of these pass
# before the event loop gets to everything else.
CROWD = 24
GROUP = 96
SLICE = 16
# Longest that a block which is being published keeps everything else waiting.
PATIENCE_SECONDS = 5.0
# Unchanged prices are said again after this many blocks, so that a client sees that they are fresh.
PRICE_BLOCKS = 2
_PAUSES = (0.1, 0.4, None)
_PRICES = Key(PRICES)
_log = logging.get("live")


class Pump:
    """Publishes what blocks changed, in the order of blocks; a block whose results can't be read yet is not skipped."""

    def __init__(self, app: App, hub: Hub, desk: Desk, metrics: Metrics) -> None:
        self._app = app
        self._hub = hub
        self._desk = desk
        self._published = -1
        self._priced = -1
        self._last_prices: object = None
        self._pools_acted = False
        self._idle = asyncio.Event()
        self._idle.set()
        buckets = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
        self._seconds = metrics.histogram("live_push_seconds", "From hearing of a block to its pushes", buckets=buckets)
        self._behind = metrics.gauge("live_blocks_behind", "Blocks not yet published")

    async def work(self) -> bool:
        """Publish up to the newest block."""
        self._idle.clear()
        try:
            return await self._follow()
        finally:
            self._idle.set()

    async def _follow(self) -> bool:
        head = await self._app.upstreams.node.head()
        async with self._pricing() as priced:
            await self._desk.journal.follow(head.height)
            if self._published < 0:
                self._published = self._desk.journal.height
            news = self._desk.journal.since(self._published)
            for notes in news:
                await self._publish(notes, priced)
                self._published = notes.height
                self._behind.set(self._desk.journal.height - notes.height)
        if news:
            self._seconds.observe(max(0.0, self._app.clock.monotonic() - head.seen))
        return bool(news)

    @asynccontextmanager
    async def _pricing(self) -> AsyncIterator[asyncio.Task[None]]:
        """Have the prices of the newest block, beside the body of the context: pushes are valued as HTTP answers are,
        but what else they show can be read meanwhile."""
        task = asyncio.create_task(self._publish_prices(), name="live-prices")
        try:
            yield task
        except asyncio.CancelledError:
            task.cancel()
            raise
        finally:
            await task

    async def _publish_prices(self) -> None:
        try:
            await prices.refresh(self._app)
        except LeaseholdError as error:
            _log.info("prices are not fresh", error=str(error))
        cell = self._app.cells.prices
        known = cell.get()
        if known is None or cell.height <= self._priced:
            return
        changed = known != self._last_prices
        if not changed and cell.height < self._priced + PRICE_BLOCKS:
            return
        item = self._desk.views.newest_prices()
        if item is not None:
            self._desk.prices, self._priced, self._last_prices = item, cell.height, known
            await self._hub.publish(_PRICES, item)

    async def _publish(self, notes: Notes, priced: asyncio.Task[None]) -> None:
        followed = [key for key in self._hub.topics() if isinstance(key, Key)]
        self._pools_acted = self._pools_acted or notes.acted(self._desk.pools())
        touched = [
            key for key in followed if key.topic in (LEASES, BALANCES, EARN) and not self._desk.untouched(key, notes)
        ]
        block = self._desk.block(notes, crowded=len(touched) > CROWD)
        groups = [touched[start : start + GROUP] for start in range(0, len(touched), GROUP)]
        await asyncio.gather(
            *(self._publish_group(group, block, priced) for group in groups),
            *(self._publish_inclusion(key, notes) for key in followed if key.topic == TX_STATUS),
        )
        if notes.height % 64 == 0:
            self._desk.forget(followed)

    async def _publish_inclusion(self, key: Key, notes: Notes) -> None:
        name, _, chain_id = key.name.rpartition("@")
        if name.upper() in notes.transactions and chain_id == self._app.settings.identity.chain_id:
            outcome = notes.transactions[name.upper()]
            await self._desk.trackers.included(key, notes.height, notes.time_ns, outcome)

    async def _publish_group(self, keys: Sequence[Key], block: Block, priced: asyncio.Task[None]) -> None:
        """Publish what a block changed in some streams. Groups overlap: while the node answers for one, another goes
        out."""
        if not block.crowded:
            await priced
            await asyncio.gather(*(self._publish_key(key, block) for key in keys))
            return
        try:
            await self._desk.prepare(keys, block)
        except LeaseholdError as error:
            _log.info("not asked for together", height=block.notes.height, error=str(error))
        await priced
        # What is at hand needs no task each.
        failed = []
        for number, key in enumerate(keys, 1):
            if await self._try_key(key, block) is not None:
                failed.append(key)
            if number % SLICE == 0:
                await asyncio.sleep(0)
        await asyncio.gather(*(self._publish_key(key, block) for key in failed))

    async def _publish_key(self, key: Key, block: Block) -> None:
        """Publish what a block changed in a stream; a failure that lasts is told to its listeners only."""
        height = block.notes.height
        for pause in _PAUSES:
            error = await self._try_key(key, block)
            if error is None:
                return
            if pause is not None:
                await asyncio.sleep(pause)
        _log.warning("a change could not be shown", topic=key.topic, height=height, error=str(error))
        seq = last_of(height)
        told = messages.ResyncRequired(topic=key.topic, key=key.name, seq=seq, reason="a change could not be read")
        await self._hub.publish(key, Item(seq, messages.frame(told)))

    async def _try_key(self, key: Key, block: Block) -> LeaseholdError | None:
        """Publish what a block changed in a stream; the error that kept it from being known."""
        try:
            for item in await self._desk.changes(key, block):
                await self._hub.publish(key, item)
        except LeaseholdError as error:
            return error
        return None

    async def idle(self) -> None:
        """Wait until no block is being published: whoever waits for a block has been promised more than others. A
        block that takes very long holds up nobody else."""
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_SECONDS):
                await self._idle.wait()

    async def sweeping(self) -> None:
        """Now and then show lenders what their receipts have become worth, for ever; blocks do not wait for it."""
        while True:
            await asyncio.sleep(EARN_SECONDS)
            newest = self._desk.journal.newest
            if not self._pools_acted or newest is None:
                continue
            self._pools_acted = False
            # Who holds nothing can't hold anything without being named by a block.
            lenders = [
                key
                for key in self._hub.topics()
                if isinstance(key, Key) and key.topic == EARN and self._desk.worth.get(key.name)
            ]
            moment = self._desk.moment(newest)
            for start in range(0, len(lenders), SWEPT):
                await self.idle()
                await self._sweep(lenders[start : start + SWEPT], moment)

    async def _sweep(self, keys: Sequence[Key], moment: Moment) -> None:
        views = self._desk.views
        questions = views.position_questions((key.name, ()) for key in keys)
        await self._app.upstreams.reads.prepare(((moment.view, questions),))
        for key in keys:
            await self._value(key, moment)

    async def _value(self, key: Key, moment: Moment) -> None:
        try:
            lent = await self._desk.views.lent(moment, key.name, at_hand=True)
        except LeaseholdError as error:
            _log.info("positions could not be read", error=str(error))
            return
        if self._desk.worth.get(key.name) != lent.worth:
            await self._hub.publish(key, self._desk.showed(key.name, moment, lent))
