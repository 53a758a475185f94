"""The market: what its accounts do next, block by block, the same for the same seed and chain."""

from __future__ import annotations

import heapq
import random
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from leasehold.core.clock import NANOSECONDS
from leasehold.devnet.app.context import Context, Mode
from leasehold.devnet.chain import Devnet
from leasehold.devnet.consensus.node import SealedBlock
from leasehold.devnet.genesis.document import VALIDATORS
from leasehold.devnet.genesis.market import BORROWERS, FEEDERS, LENDERS, STAKERS
from leasehold.devnet.genesis.protocols import DEPRECATED, ProtocolSpec
from leasehold.devnet.market.agenda import Agenda
from leasehold.devnet.market.borrowers import Borrower
from leasehold.devnet.market.deeds import Action, Deed, Planned, Repertoire, one
from leasehold.devnet.market.keepers import Dispatcher, Feeder
from leasehold.devnet.market.prices import DAY_SECONDS, Move, PriceModel
from leasehold.devnet.market.relay import Dex, Relayer
from leasehold.devnet.market.savers import Lender, Staker
from leasehold.devnet.market.scene import Scene
from leasehold.devnet.market.standing import MarketState, Rates
from leasehold.devnet.market.swaps import SwapDesk

# Seconds between blocks while something is under way, and at the most.
STEP_SECONDS = 5
QUIET_SECONDS = 1800
# A feed serves alarms for so long; who opens or closes something wants prices no older than the second.
FRESH_SECONDS = 540
RECENT_SECONDS = 60
# What comes again and again, and the rate it comes at.
RHYTHMS = {"open": "openings", "manage": "managements", "lend": "lendings", "stake": "stakings"}


@dataclass(slots=True)
class Plan:
    """The transactions of the next block, and which of them dispatches alarms."""

    txs: list[bytes] = field(default_factory=list)
    dispatch: bytes = b""


class Market:
    """Keepers and actors over one chain."""

    def __init__(
        self,
        devnet: Devnet,
        *,
        start: int,
        rates: Rates | None = None,
        moves: Iterable[Move] = (),
        fresh: bool = True,
    ) -> None:
        """`fresh` enters what happens once on a new chain: first deposits, proposals, the end of a protocol."""
        app, deployment = devnet.app, devnet.deployment
        identity = app.identity
        self._seed = devnet.settings.devnet.seed
        self.rates = rates or Rates()
        self.model = PriceModel(self._seed, start, native=identity.display, moves=moves)
        self.scene = Scene(app, deployment, self.model, random.Random(f"market/{self._seed}"))
        self._feeders = [Feeder(self.scene.named_hand(name), deployment, self.model) for name in FEEDERS]
        self._feeding = [self.scene.named_hand(name) for name in FEEDERS]
        self._keeper = self.scene.named_hand("keeper")
        self._relaying = self.scene.named_hand("relayer")
        self.dispatcher = Dispatcher(self._keeper, app.modules.wasm, deployment)
        dex = Dex(self.model, identity.display, identity.exponent, identity.base_denom)
        self.relayer = Relayer(self._relaying, app.modules.interchain, dex, SwapDesk(self.scene))
        self.borrowers = [Borrower(self.scene.actor_hand(f"borrower-{n}"), self.scene) for n in range(1, BORROWERS + 1)]
        self.lenders = [Lender(self.scene.actor_hand(f"lender-{n}"), self.scene) for n in range(1, LENDERS + 1)]
        self.stakers = [Staker(self.scene.actor_hand(f"staker-{n}"), self.scene) for n in range(1, STAKERS + 1)]
        self.validators = [self.scene.named_hand(name) for name in VALIDATORS]
        # The unix second for which plans are made.
        self.start = self.now = start
        self._queue: list[Planned] = []
        self._order = 0
        self._rhythm = 0
        self._fed = 0
        self._turn = 0
        # When something last happened, and when time alarms were last delivered.
        self._stirred = 0
        self._dispatched = 0
        self._dispatch = b""
        # Transactions of the last plan that feed, with the protocols they feed; and protocols that are fed apart.
        self._feeds: dict[bytes, tuple[str, ...]] = {}
        self._apart: set[str] = set()
        self.active = list(deployment.protocols)
        if app.state.height:
            self.take_stock(app.context())
        self.ending: set[str] = set()
        self.agenda = Agenda(self)
        self._repertoire = Repertoire()
        self._repertoire.learn({"rhythm": self._repeat})
        self._repertoire.learn(self.agenda.doers())
        self._deeds = {"open": self._open, "manage": self._manage, "lend": self._lend, "stake": self._stake}
        self._schedule_rhythms(start)
        if fresh:
            self.agenda.enter()

    def take_stock(self, ctx: Context) -> None:
        """Trade in the protocols that are registered on the chain."""
        deployment = self.scene.deployment
        names = self.scene.ask(ctx, deployment.platform["admin"], {"protocols": {}}) or []
        self.active = [spec for spec in deployment.protocols if spec.name in names]

    # Scheduling.

    def at(self, moment: int, deed: Deed) -> None:
        """Do something in the first block at or after a unix second."""
        heapq.heappush(self._queue, (moment, self._order, deed))
        self._order += 1

    def _schedule_rhythms(self, now: int) -> None:
        for name in RHYTHMS:
            self._again(name, now)

    def quicken(self, rates: Rates) -> None:
        """Live at other rates from now on; only what happens once stays as planned."""
        self.rates = rates
        self._rhythm += 1
        self._schedule_rhythms(self.now)

    def _again(self, name: str, now: int) -> None:
        per_day: float = getattr(self.rates, RHYTHMS[name])
        if per_day > 0:
            due = now + max(STEP_SECONDS, int(self.scene.chance.expovariate(per_day / DAY_SECONDS)))
            self.at(self._session(due), Deed("rhythm", (name, due, self._rhythm)))

    def _repeat(self, ctx: Context, name: str, due: int, rhythm: int) -> Action:
        if rhythm != self._rhythm:
            return None
        # From when it was due rather than from the session it waited for, but never far behind.
        self._again(name, max(due, self.now - self.rates.session_seconds))
        return self._deeds[name](ctx)

    def _session(self, moment: int) -> int:
        """The first session at or after a moment."""
        length = self.rates.session_seconds
        return -(-moment // length) * length if length else moment

    # Deeds.

    def _protocol(self) -> ProtocolSpec:
        return self.scene.chance.choices(self.active, [spec.appeal for spec in self.active])[0]

    def _open(self, ctx: Context) -> Action:
        spec = self._protocol()
        borrower = self.scene.chance.choice(self.borrowers)
        if spec.name in self.ending:
            return None
        return one(borrower.hand, borrower.open(ctx, spec))

    def _manage(self, ctx: Context) -> Action:
        for _ in range(4):
            spec, borrower = self._protocol(), self.scene.chance.choice(self.borrowers)
            message = borrower.manage(ctx, spec, ending=spec.name in self.ending)
            if message is not None:
                return one(borrower.hand, message)
        return None

    def _lend(self, ctx: Context) -> Action:
        lender, spec = self.scene.chance.choice(self.lenders), self.scene.chance.choice(self.active)
        return one(lender.hand, lender.change(ctx, spec, ending=spec.name in self.ending))

    def _stake(self, ctx: Context) -> Action:
        staker = self.scene.chance.choice(self.stakers)
        return one(staker.hand, staker.change(ctx))

    # Blocks.

    def plan(self, ctx: Context, now_ns: int) -> Plan:
        """What the next block, at `now_ns`, should hold, judged by the state `ctx` before it."""
        now = self.now = now_ns // NANOSECONDS
        # By the instant: a market taken up again after a stop rolls the same dice.
        self.scene.chance.seed(f"market/{self._seed}/{now}")
        self.model.advance(now)
        plan = Plan()
        auth = self.scene.app.modules.auth
        deeds = self._due(ctx, now)
        packets = self.relayer.messages(ctx)
        if deeds or packets or self._fed == 0:
            self._stirred = now
        ready = self._alarms(_at(ctx, now_ns))
        if self.scene.deployment.platform["timealarms"] in ready:
            self._dispatched = now
        alarms = [self.dispatcher.dispatch(contract) for contract in ready]
        self._feeds = {}
        if now - self._fed >= self._patience(deeds, alarms):
            plan.txs += self._feed(ctx)
            self._fed = now
        if alarms:
            plan.dispatch = self._keeper.sign(ctx, auth, alarms, gas=60_000_000)
            plan.txs.append(plan.dispatch)
        # One transaction a packet, so that one that fails holds up no other.
        plan.txs += [self._relaying.sign(ctx, auth, [packet], ahead=i) for i, packet in enumerate(packets)]
        signed: dict[str, int] = {}
        for hand, messages in deeds:
            ahead = signed.get(hand.address, 0)
            signed[hand.address] = ahead + 1
            plan.txs.append(hand.sign(ctx, auth, messages, ahead=ahead))
        self._dispatch = plan.dispatch
        return plan

    def _feed(self, ctx: Context) -> list[bytes]:
        """Feeds of all protocols by the next feeder: one transaction, and one each for those that failed it."""
        feeder, hand = self._feeders[self._turn], self._feeding[self._turn]
        self._turn = (self._turn + 1) % len(self._feeders)
        together = [spec for spec in self.active if spec.name not in self._apart]
        alone = [[spec] for spec in self.active if spec.name in self._apart]
        auth = self.scene.app.modules.auth
        for ahead, specs in enumerate([*([together] if together else ()), *alone]):
            tx = hand.sign(ctx, auth, [feeder.feed(spec) for spec in specs], ahead=ahead)
            self._feeds[tx] = tuple(spec.name for spec in specs)
        self.dispatcher.watch([self.scene.deployment.addresses(spec.name).oracle for spec in self.active])
        return list(self._feeds)

    def _patience(self, deeds: list[Any], alarms: list[Any]) -> int:
        """How old the last feed may be, in seconds, given what is about to read it."""
        limits: list[int] = [
            self.rates.feed_seconds,
            *([RECENT_SECONDS] if deeds else ()),
            *([FRESH_SECONDS] if alarms else ()),
        ]
        return min(limits)

    def learn(self, sealed: SealedBlock) -> None:
        """Take note of what became of the last plan."""
        if self._dispatch in sealed.block.txs:
            result = sealed.results.tx_results[sealed.block.txs.index(self._dispatch)]
            self.dispatcher.learn(sealed.block.header.time_ns // NANOSECONDS, result.events)
        for tx, result in zip(sealed.block.txs, sealed.results.tx_results, strict=True) if self._feeds else ():
            names = self._feeds.get(tx, ())
            if result.code == 0:
                self._apart.difference_update(names)
            elif len(names) > 1:
                # An oracle that takes no prices must not keep them from the others: each is fed alone, and at once.
                self._apart.update(names)
                self.feed_soon()

    def is_busy(self, ctx: Context) -> bool:
        """Whether a state calls for a block soon: packets on their way or alarms due."""
        return self.relayer.has_work(ctx) or bool(self._alarms(ctx))

    def _alarms(self, ctx: Context) -> list[str]:
        """Contracts whose alarms are to be delivered: time alarms that nobody waits for, those of a while together."""
        now = ctx.block.time_s
        stirring = now - self._stirred <= RECENT_SECONDS
        return self.dispatcher.ready(ctx, timely=stirring or now - self._dispatched >= self.rates.alarm_seconds)

    def _due(self, ctx: Context, now: int) -> list[tuple[Any, list[Any]]]:
        # What a deed schedules is for a later block, even if its moment has already come.
        due = []
        while self._queue and self._queue[0][0] <= now:
            due.append(heapq.heappop(self._queue)[2])
        actions = [self._repertoire.do(ctx, deed) for deed in due]
        return [action for action in actions if action is not None]

    def next_moment(self, now: int, *, busy: bool) -> int:
        """When the next block is wanted."""
        if busy:
            return now + STEP_SECONDS
        wanted = self._queue[0][0] if self._queue else now + QUIET_SECONDS
        return max(now + STEP_SECONDS, min(wanted, now + QUIET_SECONDS))

    # Going back, or going on.

    def state(self) -> MarketState:
        """Where the market stands, for `restore`."""
        return MarketState(
            now=self.now,
            rates=replace(self.rates),
            queue=tuple(self._queue),
            order=self._order,
            rhythm=self._rhythm,
            fed=self._fed,
            turn=self._turn,
            stirred=self._stirred,
            dispatched=self._dispatched,
            dispatch=self._dispatch,
            feeds=tuple(self._feeds.items()),
            apart=tuple(sorted(self._apart)),
            active=tuple(spec.name for spec in self.active),
            ending=tuple(sorted(self.ending)),
            prices=self.model.state(),
            alarms=self.dispatcher.state(),
            faults=tuple(self.relayer.faults),
        )

    def restore(self, state: MarketState) -> None:
        """Stand where the market stood; the chain must stand where it stood then."""
        self.now = state.now
        self.rates = replace(state.rates)
        self._queue = list(state.queue)
        self._order, self._rhythm = state.order, state.rhythm
        self._fed, self._turn, self._dispatch = state.fed, state.turn, state.dispatch
        self._stirred, self._dispatched = state.stirred, state.dispatched
        self._feeds, self._apart = dict(state.feeds), set(state.apart)
        self.active = [spec for spec in self.scene.deployment.protocols if spec.name in state.active]
        self.ending = set(state.ending)
        self.model.restore(state.prices)
        self.dispatcher.restore(state.alarms)
        self.relayer.faults[:] = state.faults

    def feed_soon(self) -> None:
        """Feed prices in the next block, however fresh they are."""
        self._fed = 0

    def retire(self, name: str = DEPRECATED) -> None:
        """Take a closed protocol out of the market."""
        self.active = [spec for spec in self.active if spec.name != name]


def _at(ctx: Context, now_ns: int) -> Context:
    """The same state at a later time."""
    return Context(ctx.overlay, replace(ctx.block, time_ns=now_ns), Mode.QUERY)
