"""A few days of market on a chain: everything happens, nothing is lost, and it is the same each time."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from dataclasses import replace as changed

import pytest

from leasehold.core.addresses import decode
from leasehold.core.clock import NANOSECONDS
from leasehold.core.settings import Settings
from leasehold.devnet.app.coins import parse_coins
from leasehold.devnet.chain import Devnet
from leasehold.devnet.consensus.node import SealedBlock
from leasehold.devnet.genesis.document import address, named_accounts
from leasehold.devnet.market.history import simulate
from leasehold.devnet.market.market import Market
from leasehold.devnet.market.prices import DAY_SECONDS
from leasehold.devnet.market.standing import Rates

START = 1_767_225_600
DAYS = 3
BUSY = Rates(openings=40, managements=40, lendings=16, stakings=16)


@dataclass
class Life:
    """A market's chain and what was seen of it."""

    devnet: Devnet
    market: Market
    events: Counter[str] = field(default_factory=Counter)
    codes: Counter[int] = field(default_factory=Counter)
    minted: Counter[str] = field(default_factory=Counter)
    gaps: list[int] = field(default_factory=list)
    _last_ns: int = 0

    def see(self, sealed: SealedBlock) -> None:
        now = sealed.block.header.time_ns
        if self._last_ns:
            self.gaps.append((now - self._last_ns) // NANOSECONDS)
        self._last_ns = now
        self.codes.update(result.code for result in sealed.results.tx_results)
        everything = [*sealed.results.events, *(e for result in sealed.results.tx_results for e in result.events)]
        for event in everything:
            self.events[event.type] += 1
            sign = {"coinbase": 1, "burn": -1}.get(event.type)
            if sign:
                for denom, amount in parse_coins(dict(event.attributes)["amount"]):
                    self.minted[denom] += sign * amount


def live(seed: int, seconds: int, rates: Rates | None = None) -> Life:
    settings = changed(Settings(), devnet=changed(Settings().devnet, seed=seed))
    devnet = Devnet.open(settings, None, genesis_time_ns=START * NANOSECONDS)
    market = Market(devnet, start=START, rates=rates)
    life = Life(devnet, market)
    devnet.node.add_listener(life.see)
    simulate(devnet, market, START + seconds)
    return life


@pytest.fixture(scope="module")
def days() -> Iterator[Life]:
    """Three busy days, with a crash on the second."""
    settings = Settings()
    devnet = Devnet.open(settings, None, genesis_time_ns=START * NANOSECONDS)
    market = Market(devnet, start=START, rates=BUSY)
    market.model.script_market(START + DAY_SECONDS + 12 * 3600, 3 * 3600, 0.62)
    life = Life(devnet, market)
    devnet.node.add_listener(life.see)
    simulate(devnet, market, START + DAYS * DAY_SECONDS)
    yield life
    devnet.close()


def test_the_same_seed_gives_the_same_chain_and_another_gives_another() -> None:
    """Every block, hash for hash, is decided by the seed."""
    lives = [live(seed, 8 * 3600) for seed in (3, 3, 4)]
    heads = [(life.devnet.node.height, life.devnet.node.head.id, life.devnet.app.state.app_hash) for life in lives]
    assert heads[0] == heads[1]
    assert heads[0][2] != heads[2][2]
    for one in lives:
        one.devnet.close()


def test_leases_open_close_are_repaid_and_are_liquidated(days: Life) -> None:
    """Each of a lease's fates occurs, and lenders, stakers and keepers are about."""
    for kind, least in {
        "wasm-ls-open": 40,
        "wasm-ls-close-position": 5,
        "wasm-ls-repay": 3,
        "wasm-ls-close": 1,
        "wasm-ls-liquidation-warning": 10,
        "wasm-ls-liquidation": 10,
        "wasm-lp-deposit": 50,
        "wasm-tr-rewards": 6,
        "delegate": 5,
    }.items():
        assert days.events[kind] >= least, (kind, days.events[kind])


def test_the_market_never_signs_for_a_developer(days: Life) -> None:
    """Whoever signs with a developer's account finds its sequence as they left it, whatever the market does."""
    app, identity = days.devnet.app, days.devnet.app.identity
    developers = [name for name, one in named_accounts().items() if "developer" in one.about]
    assert len(developers) == 5
    accounts = [app.modules.auth.get(app.context(), decode(address(identity, name))[1]) for name in developers]
    assert [account.sequence for account in accounts if account is not None] == [0] * 5
    assert days.events["submit_proposal"] >= 2


def test_hardly_anything_fails(days: Life) -> None:
    """The market's accounts know what they do: fewer than one transaction in a hundred is refused."""
    assert sum(count for code, count in days.codes.items() if code) * 100 <= sum(days.codes.values())


def test_a_block_comes_at_least_every_half_hour_and_five_seconds_apart_at_least(days: Life) -> None:
    """The rhythm of a simulated chain."""
    assert max(days.gaps) <= 1800
    assert min(days.gaps) >= 5


def test_supply_is_what_genesis_had_and_what_was_minted_and_burnt(days: Life) -> None:
    """No coin appears or disappears but in an event, and balances add up to the supply, denom by denom."""
    app = days.devnet.app
    bank, now, first = app.modules.bank, app.context(), app.context(1)
    held: Counter[str] = Counter()
    for key, value in app.state.head.iterate(b"bank/b/", b"bank/b0"):
        rest = key[len(b"bank/b/") :]
        held[rest[1 + rest[0] :].decode()] += int(value)
    # The first block's own events are counted, so its supply is taken with what it minted itself.
    first_block = days.devnet.node.store.results(1)
    assert first_block is not None
    own: Counter[str] = Counter()
    for event in first_block.events:
        if event.type == "coinbase":
            for denom, amount in parse_coins(dict(event.attributes)["amount"]):
                own[denom] += amount
    assert len(held) > 10
    for denom, amount in held.items():
        assert bank.supply(now, denom) == amount
        assert amount - bank.supply(first, denom) == days.minted[denom] - own[denom], denom


def test_nothing_is_stuck(days: Life) -> None:
    """Soon after the last deed no packet is under way and every lease is settled or idle."""
    market, devnet = days.market, days.devnet
    market.quicken(Rates(openings=0, managements=0, lendings=0, stakings=0))
    simulate(devnet, market, devnet.node.time_ns // NANOSECONDS + 3 * 3600, lively_end=False)
    ctx = devnet.app.context()
    assert not market.relayer.has_work(ctx)
    states = [
        market.scene.ask(ctx, lease, {"state": {}})
        for spec in market.active
        for borrower in market.borrowers
        for lease in borrower.leases(ctx, spec)
    ]
    assert len(states) > 10
    assert all(state["opened"]["status"] == "idle" for state in states)


def test_the_actors_are_accounts_of_this_chain(days: Life) -> None:
    """Whoever acts has an address under the chain's prefix."""
    prefix = days.devnet.settings.identity.prefix
    assert {decode(borrower.hand.address)[0] for borrower in days.market.borrowers} == {prefix}


@pytest.mark.parametrize(("appetite", "comes"), [(5, "deposit"), (1000, "burn")])
def test_lenders_follow_what_is_lent(days: Life, appetite: int, comes: str) -> None:
    """Where more is lent than lenders ask for they bring money, where less they take it away; rewards are claimed."""
    market, ctx = days.market, days.devnet.app.context()
    spec = changed(market.active[0], appetite=appetite)
    done: Counter[str] = Counter()
    for lender in market.lenders * 6:
        message = lender.change(ctx, spec)
        if message is not None:
            done[next(iter(json.loads(message.msg)))] += 1
    assert set(done) == {"deposit", "burn", "claim_rewards"}
    assert done[comes] > 2 * done[{"deposit": "burn", "burn": "deposit"}[comes]]


def test_pools_are_lent_each_its_own_way(days: Life) -> None:
    """After three busy days a good part of every pool that borrowers like is lent, and no two pools are alike."""
    market, ctx = days.market, days.devnet.app.context()
    shares = {}
    for spec in market.active:
        pool = days.devnet.deployment.addresses(spec.name).lpp
        state = market.scene.ask(ctx, pool, {"lpp_balance": []})
        free, lent = (int(state[part]["amount"]) for part in ("balance", "total_principal_due"))
        shares[spec.name] = lent * 1000 // (free + lent)
    assert len(set(shares.values())) >= len(shares) - 1
    assert sum(share >= 100 for share in shares.values()) >= 5, shares


def test_there_are_proposals_in_several_states(days: Life) -> None:
    """After a few days some are decided, one gathers its deposit and one is at the vote, voted on by many."""
    app = days.devnet.app
    answer = app.queries.handlers["/cosmos.gov.v1.Query/Proposals"](
        app.context(), app.registry.new("cosmos.gov.v1.QueryProposalsRequest")
    )
    states = {one.title: one.status for one in answer.proposals}
    deposit, voting, passed = 1, 2, 3
    assert states == {"Welcome aboard": passed, "A logo": deposit, "A mascot": deposit, "Longer unbonding": voting}
    assert days.events["proposal_vote"] >= 12
