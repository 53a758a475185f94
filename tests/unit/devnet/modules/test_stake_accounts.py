"""Whatever delegators, validators and slashes do, every coin stays accounted for."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.devnet.modules.unsigned_chain import DENOM, UnsignedChain

from leasehold.core.addresses import module_address
from leasehold.core.fixed_point import ONE
from leasehold.devnet.modules.distribution import dec_coins
from leasehold.devnet.modules.staking.shares import BONDED

VALIDATORS = ("one", "two", "three")
DELEGATORS = ("ann", "bob", "one", "two")
MILLION = 1_000_000

actions = st.lists(
    st.tuples(
        st.sampled_from(("delegate", "undelegate", "redelegate", "cancel", "withdraw", "commission", "unjail", "wait")),
        st.sampled_from(DELEGATORS),
        st.sampled_from(VALIDATORS),
        st.sampled_from(VALIDATORS),
        st.integers(1, 30 * MILLION),
        st.lists(st.sampled_from(VALIDATORS), max_size=1),
    ),
    max_size=25,
)


def _message(chain: UnsignedChain, action: tuple[Any, ...]) -> Any:
    kind, delegator, source, target, amount, _ = action
    if kind == "delegate":
        return chain.stake("MsgDelegate", delegator, source, amount)
    if kind == "undelegate":
        return chain.stake("MsgUndelegate", delegator, source, amount)
    if kind == "redelegate":
        return chain.redelegate(delegator, source, target, amount)
    if kind == "cancel":
        height = max(1, chain.block.height - amount % 5)
        return chain.stake("MsgCancelUnbondingDelegation", delegator, source, amount, creation_height=height)
    if kind == "withdraw":
        name = "cosmos.distribution.v1beta1.MsgWithdrawDelegatorReward"
        return chain.message(name, delegator_address=chain.account(delegator), validator_address=chain.operator(source))
    if kind == "commission":
        name = "cosmos.distribution.v1beta1.MsgWithdrawValidatorCommission"
        return chain.message(name, validator_address=chain.operator(source))
    return chain.message("cosmos.slashing.v1beta1.MsgUnjail", validator_addr=chain.operator(source))


@settings(max_examples=25)
@given(actions)
def test_every_coin_is_accounted_for(steps: list[tuple[Any, ...]]) -> None:
    """Pools hold exactly the stake, shares add up, and the distribution account what it owes, to the last digit."""
    chain = UnsignedChain(*VALIDATORS, "ann", "bob")
    chain.seal(*(chain.create_validator(name, (number + 1) * 10 * MILLION) for number, name in enumerate(VALIDATORS)))
    for step in steps:
        absent = tuple(step[5])
        messages = [] if step[0] == "wait" else [_message(chain, step)]
        for _ in range(7 if step[0] == "wait" else 1):
            chain.seal(*messages, seconds=10, absent=absent)
            messages = []
        _check(chain)
    _withdraw_everything(chain)
    _check(chain)


def _check(chain: UnsignedChain) -> None:
    staking, bank, distribution = chain.modules.staking, chain.modules.bank, chain.modules.distribution
    ctx = chain.context()
    bonded = unbonded = 0
    shares: dict[str, int] = defaultdict(int)
    owed = dec_coins.unpack(b"")
    for validator in staking.validators(ctx):
        if validator.status == BONDED:
            bonded += int(validator.tokens)
        else:
            unbonded += int(validator.tokens)
        operator = staking.operator(validator)
        owed = dec_coins.add(owed, distribution.outstanding(ctx, operator))
        assert chain.powers.get(staking.consensus_address(validator), 0) == (
            int(validator.tokens) // MILLION if validator.status == BONDED else 0
        )
    for name in {*VALIDATORS, *DELEGATORS}:
        for delegation in staking.delegations_of(ctx, chain.address(name)):
            shares[delegation.validator_address] += int(delegation.shares)
        for validator in VALIDATORS:
            unbonding = staking.find_unbonding(ctx, chain.address(name), chain.address(validator))
            unbonded += sum(int(entry.balance) for entry in unbonding.entries) if unbonding is not None else 0
    assert staking.pools(ctx) == (unbonded, bonded)
    for validator in staking.validators(ctx):
        assert shares[validator.operator_address] == int(validator.delegator_shares)
    owed = dec_coins.add(owed, distribution.pool(ctx))
    held = bank.balance(ctx, module_address("distribution"), DENOM)
    assert dict(owed).get(DENOM, 0) == held * ONE


def _withdraw_everything(chain: UnsignedChain) -> None:
    ctx = chain.context()
    for name in {*VALIDATORS, *DELEGATORS}:
        for delegation in chain.modules.staking.delegations_of(ctx, chain.address(name)):
            chain.done(
                chain.message(
                    "cosmos.distribution.v1beta1.MsgWithdrawDelegatorReward",
                    delegator_address=chain.account(name),
                    validator_address=delegation.validator_address,
                )
            )
