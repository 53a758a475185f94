"""Control over a chain: blocks, time, money, prices, snapshots."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from tests.unit.devnet.control.controlled_chain import START, Ground

from leasehold.core.clock import NANOSECONDS
from leasehold.core.errors import Conflict, InvalidInput, NotFound, Unavailable
from leasehold.devnet.genesis.document import address

Make = Callable[..., Ground]


def _alice(ground: Ground) -> str:
    return address(ground.devnet.settings.identity, "alice")


def test_mining_moves_height_and_time_by_what_is_asked(ground: Make) -> None:
    """N blocks at an interval end N intervals later, and the clock follows."""
    chain = ground()
    before = chain.devnet.node.time_ns
    sealed = chain.control.mine(5, 60)
    assert sealed.height == 6
    assert sealed.block.header.time_ns - before == 5 * 60 * NANOSECONDS
    assert chain.control.clock.now_ns() == sealed.block.header.time_ns


def test_mining_politely_reaches_the_same_height(ground: Make) -> None:
    """Slices change nothing about how many blocks there are."""
    chain = ground()
    assert asyncio.run(chain.control.mine_politely(120, 1)) == 121


@pytest.mark.parametrize(("blocks", "interval"), [(0, None), (-1, 5), (100_001, None), (1, 0), (1, -5)])
def test_senseless_mining_is_refused(ground: Make, blocks: int, interval: int | None) -> None:
    """A wrong count or interval seals nothing."""
    chain = ground()
    with pytest.raises(InvalidInput):
        chain.control.mine(blocks, interval)
    assert chain.devnet.node.height == 1


def test_time_can_be_advanced_and_set_but_not_turned_back(ground: Make) -> None:
    """Travel seals a block at the new time; the past is refused."""
    chain = ground()
    chain.control.advance(3600)
    assert chain.devnet.node.time_ns == (START + 3600) * NANOSECONDS
    chain.control.set_time((START + 10_000) * NANOSECONDS)
    assert chain.devnet.node.time_ns == (START + 10_000) * NANOSECONDS
    with pytest.raises(InvalidInput, match="snapshot"):
        chain.control.set_time(START * NANOSECONDS)
    with pytest.raises(InvalidInput):
        chain.control.advance(-5)


def test_funding_is_a_transaction_of_the_faucet(ground: Make) -> None:
    """The coins arrive in a block, paid by the faucet, and can be found by their hash."""
    chain = ground()
    identity = chain.devnet.settings.identity
    denom = identity.base_denom
    before = chain.balance(_alice(chain), denom)
    done = chain.control.fund(_alice(chain), ["2.5LSH", "7USDC_NOBLE"])
    assert chain.balance(_alice(chain), denom) - before == 2_500_000
    found = chain.devnet.node.store.tx(bytes.fromhex(done.hash))
    assert found is not None
    assert (found.height, found.result.code) == (done.height, 0)


@pytest.mark.parametrize("coins", [[], ["0LSH"], ["LSH"], ["1.0000001LSH"], ["-5LSH"], ["five LSH"]])
def test_funding_with_no_coin_is_refused(ground: Make, coins: list[str]) -> None:
    """What is no coin funds nobody and seals nothing."""
    chain = ground()
    with pytest.raises(InvalidInput):
        chain.control.fund(_alice(chain), coins)
    assert chain.devnet.node.height == 1


def test_funding_more_than_the_faucet_has_is_a_conflict(ground: Make) -> None:
    """The chain's own refusal comes back to the caller."""
    chain = ground()
    with pytest.raises(Conflict, match="insufficient funds"):
        chain.control.fund(_alice(chain), ["900000000LSH"])


def test_an_address_of_another_chain_is_refused(ground: Make) -> None:
    """Only this chain's accounts can be funded."""
    chain = ground()
    with pytest.raises(InvalidInput):
        chain.control.fund("cosmos1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqnrql8a", ["1LSH"])


@pytest.mark.parametrize("amount", [0, 5, 10**15])
def test_a_balance_is_set_exactly_and_supply_follows(ground: Make, amount: int) -> None:
    """Up or down, the account holds what was said and the supply changed by the difference."""
    chain = ground()
    denom = chain.control.assets.coin("1USDC_NOBLE")[0]
    bank = chain.devnet.app.modules.bank
    before, supply = chain.balance(_alice(chain), denom), bank.supply(chain.devnet.app.context(), denom)
    chain.control.set_balance(_alice(chain), f"{amount}{denom}")
    assert chain.balance(_alice(chain), denom) == amount
    assert bank.supply(chain.devnet.app.context(), denom) - supply == amount - before


def test_revert_takes_back_state_blocks_clock_and_mempool(ground: Make) -> None:
    """After going back everything is as it was, and the same again the second time."""
    chain = ground()
    chain.control.mine(3, 10)
    taken = chain.control.snapshot()
    node, app = chain.devnet.node, chain.devnet.app
    before = (node.height, node.time_ns, app.state.app_hash, chain.control.clock.now_ns())
    for _ in range(3):
        chain.control.fund(_alice(chain), ["5LSH"])
        chain.control.mine(300, 5)
        assert node.height > taken.height + 256
        chain.control.revert(taken.id)
        assert (node.height, node.time_ns, app.state.app_hash, chain.control.clock.now_ns()) == before
        assert len(node.mempool) == 0
        assert node.store.block(taken.height + 1) is None


def test_the_same_deeds_after_a_revert_give_the_same_chain(ground: Make) -> None:
    """With a market alive, twenty blocks after a snapshot are the same twenty blocks after going back to it."""
    chain = ground(market=True)
    chain.control.mine(5, 5)
    taken = chain.control.snapshot()
    first = chain.control.mine(20, 30)
    chain.control.revert(taken.id)
    second = chain.control.mine(20, 30)
    assert (first.height, first.stored.id, first.results.app_hash) == (
        second.height,
        second.stored.id,
        second.results.app_hash,
    )
    assert chain.devnet.node.store.height == second.height


def test_a_waiting_transaction_waits_again_after_a_revert(ground: Make) -> None:
    """The mempool is part of the moment."""
    chain = ground(market=True)
    chain.control.mine(2, 60)
    waiting = chain.devnet.node.mempool.first(100)
    assert waiting
    taken = chain.control.snapshot()
    chain.control.mine(1, 60)
    chain.control.revert(taken.id)
    assert chain.devnet.node.mempool.first(100) == waiting


def test_later_snapshots_end_with_a_revert_and_earlier_ones_stay(ground: Make) -> None:
    """Going back to the first moment forgets the second, not the first."""
    chain = ground()
    first = chain.control.snapshot()
    chain.control.mine(2, 5)
    second = chain.control.snapshot()
    chain.control.revert(first.id)
    assert [snapshot.id for snapshot in chain.control.snapshots] == [first.id]
    with pytest.raises(NotFound, match=first.id):
        chain.control.revert(second.id)
    chain.control.forget(first.id)
    assert chain.devnet.app.state.pinned is None


def test_a_price_reaches_the_oracle(ground: Make) -> None:
    """A settled price is the oracle's price within a few percent, and the market goes on from there."""
    chain = ground(market=True)
    chain.control.mine(3, 60)
    chain.control.set_price("ALL_BTC", 40_000, settle=True)
    market = chain.control.live.market if chain.control.live else None
    assert market is not None
    oracle = chain.devnet.deployment.addresses("OSMOSIS-OSMOSIS-USDC_NOBLE").oracle
    answer = market.scene.ask(chain.devnet.app.context(), oracle, {"base_price": {"currency": "ALL_BTC"}})
    fed = int(answer["amount_quote"]["amount"]) / int(answer["amount"]["amount"]) * 100
    assert fed == pytest.approx(40_000, rel=0.05)


def test_prices_need_a_market_and_a_known_asset(ground: Make) -> None:
    """What can't be priced says why."""
    with pytest.raises(Unavailable, match="no market"):
        ground().control.set_price("ALL_BTC", 1.0)
    lively = ground(market=True).control
    with pytest.raises(NotFound, match="ALL_BTC"):
        lively.set_price("DOGE", 1.0)
    with pytest.raises(InvalidInput):
        lively.set_price("ALL_BTC", 0.0)
    with pytest.raises(InvalidInput):
        lively.set_price("ALL_BTC", float("nan"))
