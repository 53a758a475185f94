"""Distribution: fees by power, commission, rewards by stake and time, slashes included."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from tests.unit.devnet.modules.unsigned_chain import DENOM, UnsignedChain

from leasehold.core.addresses import ed25519_address, module_address
from leasehold.core.fixed_point import ONE
from leasehold.devnet.app.coins import Coin

MILLION = 1_000_000
PACKAGE = "cosmos.distribution.v1beta1."


@pytest.fixture
def chain() -> UnsignedChain:
    chain = UnsignedChain("one", "two", "ann", "bob")
    chain.seal(chain.create_validator("one", 30 * MILLION), chain.create_validator("two", 10 * MILLION))
    return chain


def withdraw(chain: UnsignedChain, delegator: str, validator: str) -> Any:
    return chain.message(
        PACKAGE + "MsgWithdrawDelegatorReward",
        delegator_address=chain.account(delegator),
        validator_address=chain.operator(validator),
    )


def pay_fees(chain: UnsignedChain, amount: int) -> None:
    """Put coins where fees lie before they are shared."""
    ctx = chain.context()
    collector = chain.modules.auth.module_account(ctx, "fee_collector")
    chain.modules.bank.send(ctx, chain.address("bob"), collector, (Coin(DENOM, amount),))


def pending(chain: UnsignedChain, delegator: str, validator: str) -> Fraction:
    answer = chain.ask(
        PACKAGE + "Query/DelegationRewards",
        delegator_address=chain.account(delegator),
        validator_address=chain.operator(validator),
    )
    return Fraction(sum(int(coin.amount) for coin in answer.rewards), ONE)


def test_fees_are_shared_by_power(chain: UnsignedChain) -> None:
    """After the community's part, validators get fees by power; their commission comes out of that."""
    pay_fees(chain, 1_000_000)
    sealed = chain.seal()
    minted = int(sealed.of_type("mint")[0]["amount"])
    shared = Fraction((1_000_000 + minted) * 98, 100)
    rewards = {event["validator"]: event["amount"] for event in sealed.of_type("rewards")}
    assert rewards == {
        chain.operator("one"): _text(shared * 3 / 4),
        chain.operator("two"): _text(shared / 4),
    }
    commission = {event["validator"]: event["amount"] for event in sealed.of_type("commission")}
    assert commission[chain.operator("one")] == _text(shared * 3 / 40)


def _text(value: Fraction) -> str:
    scaled = value * ONE
    assert scaled.denominator == 1
    return f"{scaled.numerator // ONE}.{scaled.numerator % ONE:018d}{DENOM}"


def test_the_first_block_shares_nothing() -> None:
    """There is no commit yet to share among."""
    assert UnsignedChain("one").seal().of_type("rewards") == []


def test_rewards_count_from_the_delegation_on(chain: UnsignedChain) -> None:
    """Whoever comes later gets nothing of before, and then a share by stake."""
    chain.seal(chain.stake("MsgDelegate", "ann", "one", 30 * MILLION))
    assert pending(chain, "ann", "one") == 0
    before = pending(chain, "one", "one")
    chain.seal()
    assert pending(chain, "ann", "one") == pending(chain, "one", "one") - before > 0


def test_whole_units_are_paid_and_the_rest_goes_to_the_community(chain: UnsignedChain) -> None:
    """A withdrawal pays what is whole; what is left over joins the community pool."""
    chain.seal(chain.stake("MsgDelegate", "ann", "one", 7))
    for _ in range(3):
        chain.seal()
    owed = pending(chain, "ann", "one")
    pool = dict(chain.modules.distribution.pool(chain.context()))[DENOM]
    outcome = chain.done(withdraw(chain, "ann", "one"))
    assert outcome.of_type("withdraw_rewards")[0]["amount"] == f"{int(owed)}{DENOM}"
    gained = dict(chain.modules.distribution.pool(chain.context()))[DENOM] - pool
    assert Fraction(gained, ONE) == owed - int(owed)
    assert pending(chain, "ann", "one") == 0


def test_a_zero_reward_is_shown_in_the_base_denom(chain: UnsignedChain) -> None:
    """Withdrawing twice in a block shows a zero coin and moves nothing."""
    chain.seal()
    chain.done(withdraw(chain, "one", "one"))
    outcome = chain.done(withdraw(chain, "one", "one"))
    assert outcome.of_type("withdraw_rewards")[0]["amount"] == f"0{DENOM}"
    assert outcome.of_type("coin_spent") == []


def test_a_slash_lowers_later_rewards_only(chain: UnsignedChain) -> None:
    """What was earned before a slash stays; after it the smaller stake counts."""
    chain.seal(chain.stake("MsgDelegate", "ann", "one", 30 * MILLION))
    chain.seal()
    before = pending(chain, "ann", "one")
    ctx = chain.context()
    chain.modules.staking.slash(ctx, ed25519_address(chain.consensus_key("one")), chain.block.height, 60, ONE // 2)
    assert pending(chain, "ann", "one") == before
    chain.seal()
    chain.seal()
    grown = pending(chain, "ann", "one") - before
    own = pending(chain, "one", "one")
    assert grown > 0
    assert own > before + grown
    slashes = chain.ask(
        PACKAGE + "Query/ValidatorSlashes",
        validator_address=chain.operator("one"),
        starting_height=1,
        ending_height=100,
    )
    assert [event.fraction for event in slashes.slashes] == [str(ONE // 2)]
    chain.done(withdraw(chain, "ann", "one"))


def test_rewards_go_to_the_withdraw_address(chain: UnsignedChain) -> None:
    """A delegator may send rewards elsewhere, but not to a module."""
    blocked = chain.prefixes.account_text(module_address("gov"))
    change = chain.message(
        PACKAGE + "MsgSetWithdrawAddress", delegator_address=chain.account("ann"), withdraw_address=blocked
    )
    assert chain.run(change).log == f"{blocked} is not allowed to receive external funds: unauthorized"
    change.withdraw_address = chain.account("bob")
    chain.done(change)
    chain.seal(chain.stake("MsgDelegate", "ann", "one", 30 * MILLION))
    chain.seal()
    before = chain.balance("bob")
    chain.done(withdraw(chain, "ann", "one"))
    assert chain.balance("bob") > before


def test_commission_is_withdrawn_by_validators_only(chain: UnsignedChain) -> None:
    """Who has none is told so; the fraction of a unit stays for next time."""
    name = PACKAGE + "MsgWithdrawValidatorCommission"
    refused = chain.run(chain.message(name, validator_address=chain.operator("ann")))
    assert refused.log == "no validator commission to withdraw"
    chain.seal()
    outcome = chain.done(chain.message(name, validator_address=chain.operator("one")))
    assert outcome.of_type("withdraw_commission")[0]["amount"].endswith(DENOM)
    left = dict(chain.modules.distribution.commission(chain.context(), chain.address("one"))).get(DENOM, 0)
    assert 0 <= left < ONE


def test_the_community_pool_takes_and_gives(chain: UnsignedChain) -> None:
    """Anyone may fund it; only governance may spend it."""
    chain.done(
        chain.message(PACKAGE + "MsgFundCommunityPool", amount=[chain.coin(500)], depositor=chain.account("ann"))
    )
    assert dict(chain.modules.distribution.pool(chain.context()))[DENOM] == 500 * ONE
    spend = chain.message(
        PACKAGE + "MsgCommunityPoolSpend",
        authority=chain.account("ann"),
        recipient=chain.account("bob"),
        amount=[chain.coin(200)],
    )
    assert "expected gov account as only signer" in chain.run(spend).log
    spend.authority = chain.prefixes.account_text(module_address("gov"))
    chain.done(spend)
    assert dict(chain.modules.distribution.pool(chain.context()))[DENOM] == 300 * ONE
    spend.amount[0].amount = "301"
    assert chain.run(spend).log == "community pool does not have sufficient coins to distribute"


def test_queries_change_nothing(chain: UnsignedChain) -> None:
    """Asking for rewards closes a period only in its own throw-away state."""
    chain.seal()
    first = pending(chain, "one", "one")
    assert pending(chain, "one", "one") == first
