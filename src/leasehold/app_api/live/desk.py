"""Snapshots and replays: what a stream showed or shows, from the chain at the height in question."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from leasehold.app_api.live.holdings import Holdings
from leasehold.app_api.live.journal import Journal, Notes
from leasehold.app_api.live.lease_frames import Acted, LeaseFrames
from leasehold.app_api.live.moments import Moment, utc
from leasehold.app_api.live.sequence import Gone, Passage, height_of, last_of
from leasehold.app_api.live.standing import Standing
from leasehold.app_api.live.topics import BALANCES, EARN, LEASES, PRICES, Key
from leasehold.app_api.live.trackers import Trackers
from leasehold.app_api.live.views import Lent, Views
from leasehold.app_api.upstreams import chain
from leasehold.app_api.upstreams.bulk import Question
from leasehold.app_api.upstreams.openings import Sign
from leasehold.core.errors import NotReady
from leasehold.serving.frames import Item

# Frames kept for those who reconnect; anything else is made again from the chain.
MOST_FRAMES = 20_000
REPLAY_BLOCKS = 20
# A replica may be a little behind the one a client was connected to.
MOST_AHEAD = 100


@dataclass(frozen=True, slots=True)
class Block:
    """A block and the one before it; `crowded` where it touches so many streams that what they show is read together
    beforehand, and the index is not asked about each lease."""

    notes: Notes
    moment: Moment
    before: Moment
    crowded: bool


class Desk:
    """Answers for streams."""

    def __init__(self, views: Views, journal: Journal, trackers: Trackers) -> None:
        self.views = views
        self.leases = LeaseFrames(views)
        self.journal = journal
        self.trackers = trackers
        self.prices: Item | None = None
        self.holdings = Holdings(journal, self._listed, views.leasers)
        # What lenders were shown last, their receipts by pool, what wallets have, and the signs of owners' leases.
        self.worth: dict[str, list[tuple[str, str]]] = {}
        self._signs: Standing[Mapping[str, Sign]] = Standing()
        self._receipts: Standing[Mapping[str, int]] = Standing()
        self._coins: Standing[list[chain.Coin]] = Standing()
        self._met: tuple[Notes | None, frozenset[str]] = (None, frozenset())
        self._made: OrderedDict[tuple[Key, int], list[Item]] = OrderedDict()

    @property
    def height(self) -> int:
        return max(0, self.journal.height)

    def moment(self, notes: Notes) -> Moment:
        return self.views.moment(notes.height, notes.time_ns)

    def block(self, notes: Notes, *, crowded: bool = False) -> Block:
        """A block to look at, with the one before."""
        return Block(notes, self.moment(notes), self.views.moment(notes.height - 1, 0), crowded)

    async def _listed(self, owner: str, height: int) -> dict[str, str]:
        return await self.leases.owned(self.views.moment(max(1, height), 0), owner)

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
            self.holdings.saw(key.name, moment.height, await self.leases.owned(moment, key.name))
            return await self.leases.all_of_owner(moment, key.name)
        if key.topic == EARN:
            return [self.showed(key.name, moment, await self.views.lent(moment, key.name, snapshot=True))]
        coins = await self.views.coins(moment, key.name)
        if coins is None:
            return []
        self._coins.saw(key.name, moment.height, coins)
        return [await self.views.balances(moment, key.name, coins, snapshot=True)]

    def showed(self, lender: str, moment: Moment, lent: Lent) -> Item:
        """Note what a lender is shown."""
        self.worth[lender] = lent.worth
        self._receipts.saw(lender, moment.height, lent.receipts)
        return lent.item

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
            concerned = await self.holdings.acted(key.name, max(1, known), blocks)
        # In parts, so that a client whose connection does not last gets further each time.
        part = concerned[:REPLAY_BLOCKS]
        made = [item for notes in part for item in await self.changes(key, self.block(notes))]
        more = len(part) < len(concerned)
        return Passage(
            [item for item in made if item.seq > after], last_of(part[-1].height) if more else end, more=more
        )

    async def _newest_positions(self, key: Key, blocks: Iterable[Notes]) -> list[Item]:
        pools = self.pools()
        acted = [notes for notes in blocks if notes.acted(pools)]
        if not acted:
            return []
        moment = self.moment(acted[-1])
        return [self.showed(key.name, moment, await self.views.lent(moment, key.name))]

    def untouched(self, key: Key, notes: Notes) -> bool:
        """Whether a block certainly changed nothing of a stream of events; a look at what is known, for every one."""
        name = key.name
        if key.topic == LEASES:
            if self.holdings.opened(name, notes) or not self.holdings.untouched(name, notes):
                return False
            self._signs.passed(name, notes.height)
            return True
        if name in notes.named and (key.topic != EARN or name in self._lenders(notes)):
            return False
        (self._receipts if key.topic == EARN else self._coins).passed(name, notes.height)
        return True

    def _lenders(self, notes: Notes) -> frozenset[str]:
        """Who may have paid into a pool, or taken out of it, in a block."""
        if self._met[0] is not notes:
            self._met = (notes, notes.named_with(self.pools()))
        return self._met[1]

    async def prepare(self, keys: Iterable[Key], block: Block) -> None:
        """Have at hand what `changes` of many streams will ask for."""
        notes = block.notes
        await self._prepare_holdings([key.name for key in keys if key.topic == LEASES], block)
        now: list[Question] = []
        before: list[Question] = []
        signs: dict[str, Sign] = {}
        lenders: list[tuple[str, Mapping[str, int]]] = []
        for key in keys:
            if key.topic == BALANCES:
                question = chain.balances_question(key.name)
                now.append(question)
                if self._coins.at(key.name, notes.height - 1) is None:
                    before.append(question)
            elif key.topic == LEASES:
                known = self._signs.at(key.name, notes.height - 1) or {}
                for lease in await self.holdings.around(key.name, notes):
                    if lease in notes.contracts:
                        now.append(self.leases.question(lease))
                        if lease in known:
                            signs[lease] = known[lease]
                        else:
                            before.append(now[-1])
            else:
                lenders.append((key.name, self._standing_receipts(key.name, notes)))
        now += self.views.position_questions(lenders)
        reads = self.views.app.upstreams.reads
        await reads.prepare(((block.moment.view, now), (block.before.view, before)))
        await reads.prepare(((block.before.view, self._unchanged(signs, block.moment)),))

    def _unchanged(self, signs: Mapping[str, Sign], moment: Moment) -> list[Question]:
        """What is asked about leases that may be what they were, by their signs."""
        found = ((lease, self.leases.sign_at_hand(moment, lease), last) for lease, last in signs.items())
        return [self.leases.question(lease) for lease, sign, last in found if sign and sign.follows(last)]

    def _standing_receipts(self, lender: str, notes: Notes) -> Mapping[str, int]:
        """Receipts of a lender, by pool, that a block did not change: those of the pools that did not act."""
        known = self._receipts.at(lender, notes.height - 1) or {}
        return {pool: receipts for pool, receipts in known.items() if pool not in notes.contracts}

    async def _prepare_holdings(self, owners: Iterable[str], block: Block) -> None:
        """Have the leases of owners at hand: of most they are."""
        unknown = [owner for owner in owners if owner not in self.holdings]
        opening = [owner for owner in owners if self.holdings.opened(owner, block.notes)]
        before = [one for owner in unknown for one in self.leases.owned_questions(owner)]
        now = [one for owner in opening for one in self.leases.owned_questions(owner)]
        await self.views.app.upstreams.reads.prepare(((block.before.view, before), (block.moment.view, now)))

    async def changes(self, key: Key, block: Block) -> list[Item]:
        """What a block changed in a stream, made once."""
        made = self._made.get((key, block.notes.height))
        if made is None:
            made = await self._changes(key, block)
            self._made[key, block.notes.height] = made
            while len(self._made) > MOST_FRAMES:
                self._made.popitem(last=False)
        return made

    async def _changes(self, key: Key, block: Block) -> list[Item]:
        moment, before, notes = block.moment, block.before, block.notes
        if key.topic == BALANCES:
            known = self._coins.at(key.name, before.height)
            now, then = await self.views.coins_around(moment, before, key.name, known, at_hand=block.crowded)
            self._coins.saw(key.name, moment.height, now)
            return [await self.views.balances(moment, key.name, now)] if now != then else []
        if key.topic == EARN:
            standing = self._standing_receipts(key.name, notes)
            return [
                self.showed(key.name, moment, await self.views.lent(moment, key.name, standing, at_hand=block.crowded))
            ]
        found = []
        signs = dict(self._signs.at(key.name, before.height) or ())
        for lease, protocol in (await self.holdings.around(key.name, notes)).items():
            ordinal = notes.contracts.get(lease)
            if ordinal is not None:
                acted, last = Acted(lease, protocol, ordinal), signs.pop(lease, None)
                change, sign = await self.leases.change(moment, before, key.name, acted, last, at_hand=block.crowded)
                if change is not None:
                    found.append(change)
                if sign is not None:
                    signs[lease] = sign
        self._signs.saw(key.name, moment.height, signs)
        return sorted(found, key=lambda item: item.seq)

    def pools(self) -> set[str]:
        registry = self.views.app.cells.contracts.get()
        return {one.lpp for one in registry.protocols.values()} if registry else set()

    def forget(self, followed: Iterable[Key]) -> None:
        """Drop what was remembered about owners, lenders and wallets nobody follows any more."""
        names = {(key.topic, key.name) for key in followed}
        owners = {name for topic, name in names if topic == LEASES}
        self.holdings.forget(owners)
        self._signs.forget(owners)
        self._coins.forget({name for topic, name in names if topic == BALANCES})
        lenders = {name for topic, name in names if topic == EARN}
        self._receipts.forget(lenders)
        self.worth = {name: worth for name, worth in self.worth.items() if name in lenders}
