"""Snapshots and replays: what a stream showed or shows, from the chain at the height in question."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterable

from leasehold.app_api.live.journal import Journal, Notes
from leasehold.app_api.live.sequence import Gone, Passage, height_of, last_of
from leasehold.app_api.live.topics import BALANCES, EARN, LEASES, PRICES, Key
from leasehold.app_api.live.trackers import Trackers
from leasehold.app_api.live.views import Moment, Views, utc
from leasehold.core.errors import NotReady
from leasehold.serving.frames import Item

# Frames kept for those who reconnect; anything else is made again from the chain.
MOST_FRAMES = 20_000
REPLAY_BLOCKS = 20
# A replica may be a little behind the one a client was connected to.
MOST_AHEAD = 100


class Desk:
    """Answers for streams; remembers which leases the followed owners have."""

    def __init__(self, views: Views, journal: Journal, trackers: Trackers) -> None:
        self.views = views
        self.journal = journal
        self.trackers = trackers
        self.prices: Item | None = None
        self.owned: dict[str, set[str]] = {}
        self.positions: dict[str, list[tuple[str, str]]] = {}
        self._made: OrderedDict[tuple[Key, int], list[Item]] = OrderedDict()

    @property
    def height(self) -> int:
        return max(0, self.journal.height)

    def moment(self, notes: Notes) -> Moment:
        return self.views.moment(notes.height, notes.time_ns)

    async def check(self, key: Key) -> None:
        await self.trackers.check(key)

    async def snapshot(self, key: Key) -> Passage:
        """The present state of a stream."""
        newest = self.journal.newest
        if key.topic == PRICES:
            shown = [self.prices] if self.prices is not None else []
            seq = self.prices.seq if self.prices is not None else 0
            return Passage(shown, seq, self.height, utc(newest.time_ns) if newest else "")
        if key.topic not in (LEASES, EARN, BALANCES):
            found = await self.trackers.look(key)
            time = utc(newest.time_ns) if newest else ""
            return Passage([found] if found else [], found.seq if found else 0, self.height, time)
        if newest is None:
            raise NotReady("Blocks not yet available")
        moment = self.moment(newest)
        version = self.views.app.cells.prices.version
        items = await moment.view.once(("live", key, version), lambda: self._state(key, moment))
        return Passage(items, last_of(moment.height), moment.height, moment.time)

    async def _state(self, key: Key, moment: Moment) -> list[Item]:
        if key.topic == LEASES:
            self._know(key.name, await self.views.owned(moment, key.name))
            return await self.views.all_leases(moment, key.name)
        if key.topic == EARN:
            item, self.positions[key.name] = await self.views.positions(moment, key.name, snapshot=True)
            return [item]
        return await self.views.all_balances(moment, key.name)

    async def replay(self, key: Key, after: int) -> Passage:
        """What a stream showed after a place; of what only matters while new, the newest."""
        if key.topic == PRICES:
            newest = self.prices
            fresh = [newest] if newest is not None and newest.seq > after else []
            return Passage(fresh, max(after, newest.seq if newest else -1))
        if key.topic not in (LEASES, EARN, BALANCES):
            found = await self.trackers.look(key)
            return Passage([found] if found and found.seq > after else [], found.seq if found else after)
        known = height_of(after)
        if self.journal.newest is None:
            raise NotReady("Blocks not yet available")
        if known > self.journal.height + MOST_AHEAD:
            raise Gone("that is beyond the newest block")
        blocks = await self.journal.after(known)
        if not blocks:
            return Passage([], after)
        end = last_of(blocks[-1].height)
        if key.topic == EARN:
            return Passage(await self._newest_positions(key, blocks), end)
        if key.topic == BALANCES:
            concerned = [notes for notes in blocks if key.name in notes.named]
        else:
            concerned = await self._lease_blocks(key.name, known, blocks)
        # In parts, so that a client whose connection does not last gets further each time.
        part = concerned[:REPLAY_BLOCKS]
        made = [item for notes in part for item in await self.changes(key, notes)]
        more = len(part) < len(concerned)
        return Passage(
            [item for item in made if item.seq > after], last_of(part[-1].height) if more else end, more=more
        )

    async def _newest_positions(self, key: Key, blocks: Iterable[Notes]) -> list[Item]:
        pools = self.pools()
        acted = [notes for notes in blocks if not pools.isdisjoint(notes.contracts)]
        if not acted:
            return []
        item, self.positions[key.name] = await self.views.positions(self.moment(acted[-1]), key.name)
        return [item]

    async def _lease_blocks(self, owner: str, known: int, blocks: Iterable[Notes]) -> list[Notes]:
        """Blocks in which a lease of an owner acted, leases that came and went in between included."""
        self._know(owner, await self.views.owned(self.views.moment(max(1, known), 0), owner))
        found = []
        for notes in blocks:
            await self._learn(owner, notes)
            if not self.owned[owner].isdisjoint(notes.contracts):
                found.append(notes)
        return found

    def _know(self, owner: str, leases: Iterable[str]) -> None:
        """Remember leases. None is forgotten while its owner is followed: blocks it acted in may still be looked at."""
        self.owned.setdefault(owner, set()).update(leases)

    async def _learn(self, owner: str, notes: Notes) -> None:
        """Note a lease that was opened in a block: its leaser acted, and its owner is named there."""
        if owner in notes.named and not self.leasers().isdisjoint(notes.contracts):
            self._know(owner, await self.views.owned(self.moment(notes), owner))

    def untouched(self, key: Key, notes: Notes) -> bool:
        """Whether a block certainly changed nothing of a stream of events; a look at what is known, for every one."""
        if key.name in notes.named:
            return False
        if key.topic != LEASES:
            return True
        held = self.owned.get(key.name)
        return held is not None and held.isdisjoint(notes.contracts)

    async def concerned(self, key: Key, notes: Notes) -> bool:
        """Whether a block may have changed what a stream of events shows."""
        if key.topic == BALANCES:
            return key.name in notes.named
        if key.topic == EARN:
            return key.name in notes.named and not self.pools().isdisjoint(notes.contracts)
        if key.topic != LEASES:
            return False
        if key.name not in self.owned:
            self._know(key.name, await self.views.owned(self.views.moment(notes.height - 1, 0), key.name))
        await self._learn(key.name, notes)
        return not self.owned[key.name].isdisjoint(notes.contracts)

    async def changes(self, key: Key, notes: Notes) -> list[Item]:
        """What a block changed in a stream, made once."""
        made = self._made.get((key, notes.height))
        if made is None:
            made = await self._changes(key, notes)
            self._made[key, notes.height] = made
            while len(self._made) > MOST_FRAMES:
                self._made.popitem(last=False)
        return made

    async def _changes(self, key: Key, notes: Notes) -> list[Item]:
        moment, before = self.moment(notes), self.views.moment(notes.height - 1, 0)
        if key.topic == BALANCES:
            change = await self.views.balance_change(moment, before, key.name)
            return [change] if change is not None else []
        if key.topic == EARN:
            item, self.positions[key.name] = await self.views.positions(moment, key.name)
            return [item]
        # Those of this very block, whatever is remembered: what is made here is kept for others.
        then, now = await asyncio.gather(self.views.owned(before, key.name), self.views.owned(moment, key.name))
        found = []
        for lease, protocol in (then | now).items():
            ordinal = notes.contracts.get(lease)
            if ordinal is not None:
                change = await self.views.lease_change(moment, before, key.name, lease, protocol, ordinal)
                if change is not None:
                    found.append(change)
        return sorted(found, key=lambda item: item.seq)

    def pools(self) -> set[str]:
        registry = self.views.app.cells.contracts.get()
        return {one.lpp for one in registry.protocols.values()} if registry else set()

    def leasers(self) -> set[str]:
        registry = self.views.app.cells.contracts.get()
        return {one.leaser for one in registry.protocols.values()} if registry else set()

    def forget(self, followed: Iterable[Key]) -> None:
        """Drop what was remembered about owners and lenders nobody follows any more."""
        names = {(key.topic, key.name) for key in followed}
        self.owned = {name: value for name, value in self.owned.items() if (LEASES, name) in names}
        self.positions = {name: value for name, value in self.positions.items() if (EARN, name) in names}
