"""A seeded market on a development chain: leases, liquidations, deposits, claims, votes and stakes in a hundred blocks.

Beside what the market does, a few accounts do what it does not: split votes, act for others, send to many, fail.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devnet_reader import ChainReader
from devnet_truth import Truth

from leasehold.core.clock import NANOSECONDS, ManualClock
from leasehold.core.settings import Devnet as DevnetSettings
from leasehold.core.settings import Settings
from leasehold.devnet.app.context import Context
from leasehold.devnet.chain import Devnet
from leasehold.devnet.market.deeds import Action, Deed
from leasehold.devnet.market.hands import Hand
from leasehold.devnet.market.live import LiveMarket
from leasehold.devnet.market.market import Market
from leasehold.devnet.market.relay import Fault
from leasehold.devnet.market.standing import Rates

NOW = 1_800_000_000
# Packets of a lease that end badly now and then: retries, and openings that are finished by a later try.
MISHAPS = (("transfer", "timeout"), ("tx", "timeout"), ("tx", "error"))


def devnet_settings(seed: int) -> Settings:
    return Settings(
        devnet=DevnetSettings(
            seed=seed % 10_000 + 1, seal="demand", block_interval_ms=5000, market=True, history_days=1
        )
    )


def opened(seed: int, folder: Path, clock: ManualClock, begin: int | None = None) -> Devnet:
    """The chain kept in a folder, begun there when it is empty."""
    genesis = None if begin is None else begin * NANOSECONDS
    return Devnet.open(devnet_settings(seed), folder, clock=clock, genesis_time_ns=genesis, durable=False)


@dataclass
class History:
    """A chain in a folder, and the truth about all of it."""

    seed: int
    folder: Path
    height: int
    truth: Truth


def told(seed: int, folder: Path, *, hours: int | None = None) -> History:
    """Simulate a market into a folder; deterministic in the seed."""
    chance = random.Random(seed)
    hours = hours or chance.choice([3, 4, 8, 30])
    begin = NOW - hours * 3600
    devnet = opened(seed, folder, ManualClock(NOW * NANOSECONDS), begin)
    lively = 24 / hours
    rates = Rates(
        openings=26 * lively,
        managements=32 * lively,
        lendings=14 * lively,
        stakings=12 * lively,
        session_seconds=chance.choice([60, 300, 900]),
        feed_seconds=chance.choice([600, 1800]),
    )
    market = Market(devnet, start=begin, rates=rates)
    for _ in range(chance.randint(1, 2)):
        start = begin + int(hours * 3600 * chance.uniform(0.3, 0.7))
        market.model.script_market(start, int(hours * 3600 * 0.2), chance.choice([0.6, 0.75, 1.5]))
    # One proposal that gathers its deposit and one at the vote, which a day later is over.
    market.at(begin + 1800, Deed("keep open"))
    _simulate(devnet, market, Bystanders(market, chance), NOW)
    LiveMarket.resume(devnet, ManualClock(NOW * NANOSECONDS), market).note()
    truth = Truth(ChainReader(devnet))
    truth.follow(devnet.node.height)
    history = History(seed, folder, devnet.node.height, truth)
    devnet.close()
    return history


def _simulate(devnet: Devnet, market: Market, bystanders: Bystanders, until: int) -> None:
    """Drive the chain to a unix second, market and bystanders in the same blocks."""
    node = devnet.node
    node.seal(None, [])
    now = market.start
    while True:
        now = market.next_moment(now, busy=market.is_busy(devnet.app.context()))
        if now > until:
            return
        plan = market.plan(devnet.app.context(), now * NANOSECONDS)
        market.learn(node.seal(now * NANOSECONDS, plan.txs + bystanders.txs(devnet.app.context())))


class Bystanders:
    """Accounts that now and then do what the market does not."""

    def __init__(self, market: Market, chance: random.Random, *, often: float = 0.08) -> None:
        self._market = market
        self._chance = chance
        self._often = often
        self._hands = {name: market.scene.named_hand(name) for name in ("alice", "bob", "carol", "erin")}
        self._granted = False

    def txs(self, ctx: Context) -> list[bytes]:
        """Transactions for the next block, mostly none."""
        if self._chance.random() >= self._often:
            return []
        if self._chance.random() < 0.1:
            self._market.relayer.faults.append(Fault(*self._chance.choice(MISHAPS)))
        make = self._chance.choice([_act_for_another, _send_to_many, _split_vote, _fail, _claim])
        if not self._granted:
            make, self._granted = _grant, True
        done = make(self._market, self._hands, self._chance, ctx)
        return [] if done is None else [done[0].sign(ctx, self._market.scene.app.modules.auth, done[1])]


Hands = dict[str, Hand]


def _coin(market: Market, amount: int) -> dict[str, str]:
    return {"denom": market.scene.app.identity.base_denom, "amount": str(amount)}


def _send(market: Market, sender: Hand, receiver: Hand, amount: int) -> Any:
    coins = [_coin(market, amount)]
    return sender.message(
        "cosmos.bank.v1beta1.MsgSend", from_address=sender.address, to_address=receiver.address, amount=coins
    )


def _grant(market: Market, hands: Hands, chance: random.Random, ctx: Context) -> Action:
    types, bob = market.scene.app.registry, hands["bob"]
    permission = types.new("cosmos.authz.v1beta1.GenericAuthorization", msg="/cosmos.bank.v1beta1.MsgSend")
    grant = {"authorization": types.pack(permission)}
    message = bob.message(
        "cosmos.authz.v1beta1.MsgGrant", granter=bob.address, grantee=hands["carol"].address, grant=grant
    )
    return bob, [message]


def _act_for_another(market: Market, hands: Hands, chance: random.Random, ctx: Context) -> Action:
    """Carol sends Bob's coins, twice in one message, and some of her own."""
    types, carol = market.scene.app.registry, hands["carol"]
    nested = [types.pack(_send(market, hands["bob"], hands["alice"], chance.randint(1, 10**6))) for _ in range(2)]
    execution = carol.message("cosmos.authz.v1beta1.MsgExec", grantee=carol.address, msgs=nested)
    return carol, [execution, _send(market, carol, hands["erin"], 7)]


def _send_to_many(market: Market, hands: Hands, chance: random.Random, ctx: Context) -> Action:
    alice, amount = hands["alice"], chance.randint(1, 10**6)
    outputs = [{"address": hands[name].address, "coins": [_coin(market, amount)]} for name in ("bob", "erin")]
    inputs = [{"address": alice.address, "coins": [_coin(market, 2 * amount)]}]
    return alice, [alice.message("cosmos.bank.v1beta1.MsgMultiSend", inputs=inputs, outputs=outputs)]


def _split_vote(market: Market, hands: Hands, chance: random.Random, ctx: Context) -> Action:
    """A vote over two options; refused while nothing is at the vote, which is as good."""
    erin = hands["erin"]
    options = [{"option": 1, "weight": "0.7"}, {"option": chance.choice([2, 3]), "weight": "0.3"}]
    whole = [{"option": 4, "weight": "1.0"}]
    message = erin.message(
        "cosmos.gov.v1.MsgVoteWeighted",
        proposal_id=_newest_proposal(market, ctx),
        voter=erin.address,
        options=whole if chance.random() < 0.2 else options,
    )
    return erin, [message]


def _newest_proposal(market: Market, ctx: Context) -> int:
    app = market.scene.app
    request = app.registry.new("cosmos.gov.v1.QueryProposalsRequest", pagination={"limit": 100})
    found = app.queries.handlers["/cosmos.gov.v1.Query/Proposals"](ctx, request).proposals
    return max((one.id for one in found), default=1)


def _fail(market: Market, hands: Hands, chance: random.Random, ctx: Context) -> Action:
    """A withdrawal of more than there is, after a transfer that is undone with it."""
    alice = hands["alice"]
    pool = market.scene.deployment.addresses(market.active[0].name).lpp
    burn = alice.execute(pool, {"burn": {"amount": {"amount": str(10**30)}}})
    return alice, [_send(market, alice, hands["bob"], 5), burn]


def _claim(market: Market, hands: Hands, chance: random.Random, ctx: Context) -> Action:
    """A lender takes rewards out of a pool that has some."""
    for lender in market.lenders:
        for spec in market.active:
            pool = market.scene.deployment.addresses(spec.name).lpp
            found = market.scene.ask(ctx, pool, {"rewards": {"address": lender.hand.address}})
            if found and int(found["rewards"]["amount"]):
                return lender.hand, [lender.hand.execute(pool, {"claim_rewards": {"other_recipient": None}})]
    return None
