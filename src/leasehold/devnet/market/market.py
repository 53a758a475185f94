"""The market: what its accounts do next, block by block, the same for the same seed and chain."""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from leasehold.core.clock import NANOSECONDS
from leasehold.devnet.app.context import Context
from leasehold.devnet.chain import Devnet
from leasehold.devnet.genesis.document import VALIDATORS
from leasehold.devnet.genesis.market import BORROWERS, FEEDERS, LENDERS, STAKERS
from leasehold.devnet.genesis.protocols import DEPRECATED, ProtocolSpec
from leasehold.devnet.market.agenda import Agenda
from leasehold.devnet.market.borrowers import Borrower
from leasehold.devnet.market.hands import Hand
from leasehold.devnet.market.keepers import Dispatcher, Feeder
from leasehold.devnet.market.prices import DAY_SECONDS, Move, PriceModel
from leasehold.devnet.market.relay import Dex, Relayer
from leasehold.devnet.market.savers import Lender, Staker
from leasehold.devnet.market.scene import Scene
from leasehold.devnet.market.swaps import SwapDesk

# Seconds between blocks while something is under way, and at the most.
STEP_SECONDS = 5
QUIET_SECONDS = 1800
# Prices are kept fresh for this long after a feed.
FRESH_SECONDS = 540

Deed = Callable[[Context], "tuple[Hand, list[Any]] | None"]


@dataclass(slots=True)
class Rates:
    """How often things happen, a day."""

    openings: float = 22.0
    managements: float = 22.0
    lendings: float = 8.0
    stakings: float = 6.0
    # Deeds gather in sessions this many seconds apart, so that what they set in motion shares its blocks.
    session_seconds: int = 5400


@dataclass(slots=True)
class Plan:
    """The transactions of the next block, and whether another should follow soon."""

    txs: list[bytes] = field(default_factory=list)
    busy: bool = False


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
        seed = devnet.settings.devnet.seed
        self.rates = rates or Rates()
        self.model = PriceModel(seed, start, native=identity.display, moves=moves)
        self.scene = Scene(app, deployment, self.model, random.Random(f"market/{seed}"))
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
        self.start = start
        self._queue: list[tuple[int, int, Deed]] = []
        self._order = itertools.count()
        self._fed = 0
        self._turn = 0
        self._watching = False
        self.active = self._registered(deployment.protocols)
        self.ending: set[str] = set()
        self._schedule_rhythms(start)
        self.agenda = Agenda(self)
        if fresh:
            self.agenda.enter()

    def _registered(self, protocols: tuple[ProtocolSpec, ...]) -> list[ProtocolSpec]:
        """The protocols the chain has; all of them before its first block."""
        app = self.scene.app
        if app.state.height == 0:
            return list(protocols)
        admin = self.scene.deployment.platform["admin"]
        names = self.scene.ask(app.context(), admin, {"protocols": {}}) or []
        return [spec for spec in protocols if spec.name in names]

    # Scheduling.

    def at(self, moment: int, deed: Deed) -> None:
        """Do something in the first block at or after a unix second."""
        heapq.heappush(self._queue, (moment, next(self._order), deed))

    def _schedule_rhythms(self, now: int) -> None:
        self._again(now, lambda rates: rates.openings, self._open)
        self._again(now, lambda rates: rates.managements, self._manage)
        self._again(now, lambda rates: rates.lendings, self._lend)
        self._again(now, lambda rates: rates.stakings, self._stake)

    def quicken(self, rates: Rates) -> None:
        """Live at other rates from now on; what is already planned stays."""
        self.rates = rates

    def _again(self, now: int, rate: Callable[[Rates], float], deed: Deed) -> None:
        per_day = rate(self.rates)
        if per_day <= 0:
            return
        wait = max(STEP_SECONDS, int(self.scene.chance.expovariate(per_day / DAY_SECONDS)))

        def repeat(ctx: Context) -> tuple[Hand, list[Any]] | None:
            self._again(ctx.block.time_s, rate, deed)
            return deed(ctx)

        self.at(self._session(now + wait), repeat)

    def _session(self, moment: int) -> int:
        """The first session at or after a moment."""
        length = self.rates.session_seconds
        return -(-moment // length) * length if length else moment

    # Deeds.

    def _protocol(self) -> ProtocolSpec:
        weights = [6 if spec.is_long else 2 for spec in self.active]
        return self.scene.chance.choices(self.active, weights)[0]

    def _open(self, ctx: Context) -> tuple[Hand, list[Any]] | None:
        spec = self._protocol()
        borrower = self.scene.chance.choice(self.borrowers)
        if spec.name in self.ending:
            return None
        return _one(borrower.hand, borrower.open(ctx, spec))

    def _manage(self, ctx: Context) -> tuple[Hand, list[Any]] | None:
        for _ in range(4):
            spec, borrower = self._protocol(), self.scene.chance.choice(self.borrowers)
            message = borrower.manage(ctx, spec, ending=spec.name in self.ending)
            if message is not None:
                return _one(borrower.hand, message)
        return None

    def _lend(self, ctx: Context) -> tuple[Hand, list[Any]] | None:
        lender = self.scene.chance.choice(self.lenders)
        return _one(lender.hand, lender.change(ctx, self._protocol()))

    def _stake(self, ctx: Context) -> tuple[Hand, list[Any]] | None:
        staker = self.scene.chance.choice(self.stakers)
        return _one(staker.hand, staker.change(ctx))

    # Blocks.

    def plan(self, ctx: Context, now_ns: int) -> Plan:
        """What the next block, at `now_ns`, should hold, judged by the state `ctx` before it."""
        now = now_ns // NANOSECONDS
        self.model.advance(now)
        plan = Plan()
        auth = self.scene.app.modules.auth
        used: set[str] = set()
        deeds = self._due(ctx, now)
        packets = self.relayer.messages(ctx)
        # Prices move with feeds, so oracles are asked for alarms after one, and as long as they have some.
        oracles = [self.scene.deployment.addresses(spec.name).oracle for spec in self.active] if self._watching else []
        self._watching = False
        if now - self._fed >= FRESH_SECONDS or deeds:
            feeder, hand = self._feeders[self._turn], self._feeding[self._turn]
            self._turn = (self._turn + 1) % len(self._feeders)
            plan.txs.append(hand.sign(ctx, auth, [feeder.feed(spec) for spec in self.active]))
            self._fed = now
            self._watching = True
        alarms = self.dispatcher.messages(ctx, oracles)
        if alarms:
            self._watching = True
            plan.txs.append(self._keeper.sign(ctx, auth, alarms, gas=60_000_000))
        # One transaction a packet, so that one that fails holds up no other.
        plan.txs += [self._relaying.sign(ctx, auth, [packet], ahead=i) for i, packet in enumerate(packets)]
        for hand, messages in deeds:
            if hand.address in used:
                self.at(now + STEP_SECONDS, _postponed(hand, messages))
                continue
            used.add(hand.address)
            plan.txs.append(hand.sign(ctx, auth, messages))
        plan.busy = bool(packets or deeds or alarms or self._watching)
        return plan

    def _due(self, ctx: Context, now: int) -> list[tuple[Hand, list[Any]]]:
        deeds = []
        while self._queue and self._queue[0][0] <= now:
            _, _, deed = heapq.heappop(self._queue)
            done = deed(ctx)
            if done is not None:
                deeds.append(done)
        return deeds

    def next_moment(self, now: int, *, busy: bool) -> int:
        """When the next block is wanted."""
        if busy:
            return now + STEP_SECONDS
        wanted = self._queue[0][0] if self._queue else now + QUIET_SECONDS
        return max(now + STEP_SECONDS, min(wanted, now + QUIET_SECONDS))

    def retire(self, name: str = DEPRECATED) -> None:
        """Take a closed protocol out of the market."""
        self.active = [spec for spec in self.active if spec.name != name]


def _one(hand: Hand, message: Any | None) -> tuple[Hand, list[Any]] | None:
    return None if message is None else (hand, [message])


def _postponed(hand: Hand, messages: list[Any]) -> Deed:
    return lambda _: (hand, messages)
