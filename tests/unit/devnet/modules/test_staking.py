"""Staking: who signs, what stake is worth, and how it leaves."""

from __future__ import annotations

import pytest
from tests.unit.devnet.modules.unsigned_chain import DENOM, SECOND, START_NS, UnsignedChain

from leasehold.core.addresses import ed25519_address, module_address
from leasehold.devnet.modules.staking.shares import BONDED, UNBONDED, UNBONDING

MILLION = 1_000_000


@pytest.fixture
def chain() -> UnsignedChain:
    """Two bonded validators and a third without a seat, all with a delegator beside them."""
    chain = UnsignedChain("one", "two", "three", "ann", "bob")
    chain.seal(
        chain.create_validator("one", 50 * MILLION),
        chain.create_validator("two", 20 * MILLION),
        chain.create_validator("three", 10 * MILLION),
    )
    return chain


def pools(chain: UnsignedChain) -> tuple[int, int]:
    return chain.modules.staking.pools(chain.context())


def test_the_most_powerful_validators_are_bonded(chain: UnsignedChain) -> None:
    """Seats go by power; the stake of those without one lies in the other pool."""
    assert [chain.validator(name).status for name in ("one", "two", "three")] == [BONDED, BONDED, UNBONDED]
    assert pools(chain) == (10 * MILLION, 70 * MILLION)
    assert sorted(chain.powers.values()) == [20, 50]


def test_a_delegation_moves_a_seat(chain: UnsignedChain) -> None:
    """Who is overtaken leaves the set and unbonds; the update removing it comes last."""
    sealed = chain.seal(chain.stake("MsgDelegate", "ann", "three", 15 * MILLION))
    assert [(update.public_key, update.power) for update in sealed.updates] == [
        (chain.consensus_key("three"), 25),
        (chain.consensus_key("two"), 0),
    ]
    assert chain.validator("two").status == UNBONDING
    assert pools(chain) == (20 * MILLION, 75 * MILLION)
    chain.seal(seconds=100)
    assert chain.validator("two").status == UNBONDED


def test_equal_power_ranks_by_operator_address() -> None:
    """Of two validators with equal stake the one with the lower address has the seat."""
    chain = UnsignedChain("one", "two", "three")
    chain.seal(*(chain.create_validator(name, 5 * MILLION) for name in ("one", "two", "three")))
    seated = sorted(("one", "two", "three"), key=chain.address)[:2]
    assert set(chain.powers) == {ed25519_address(chain.consensus_key(name)) for name in seated}


def test_an_undelegation_is_paid_out_when_it_matures(chain: UnsignedChain) -> None:
    """Coins come back after the unbonding time, not before, with one event per pair."""
    chain.seal(chain.stake("MsgDelegate", "ann", "one", 3 * MILLION))
    outcome = chain.seal(chain.stake("MsgUndelegate", "ann", "one", MILLION)).outcomes[0]
    assert outcome.of_type("unbond")[0]["amount"] == f"{MILLION}{DENOM}"
    before = chain.balance("ann")
    assert chain.seal(seconds=99).of_type("complete_unbonding") == []
    paid = chain.seal(seconds=1).of_type("complete_unbonding")
    assert [event["amount"] for event in paid] == [f"{MILLION}{DENOM}"]
    assert chain.balance("ann") == before + MILLION


def test_unbondings_of_one_block_share_an_entry(chain: UnsignedChain) -> None:
    """Two undelegations in one block are one entry; it counts once against the limit."""
    chain.seal(chain.stake("MsgDelegate", "ann", "one", 3 * MILLION))
    undelegate = chain.stake("MsgUndelegate", "ann", "one", 1000)
    chain.seal(undelegate, undelegate)
    unbonding = chain.modules.staking.find_unbonding(chain.context(), chain.address("ann"), chain.address("one"))
    assert [(entry.initial_balance, entry.unbonding_id) for entry in unbonding.entries] == [("2000", 1)]


def test_too_many_unbonding_entries_are_refused(chain: UnsignedChain) -> None:
    """The eighth entry of a pair is refused."""
    chain.seal(chain.stake("MsgDelegate", "ann", "one", 3 * MILLION))
    logs = [chain.seal(chain.stake("MsgUndelegate", "ann", "one", 1000), seconds=1).outcomes[0].log for _ in range(8)]
    assert logs[:7] == [""] * 7
    assert logs[7] == "too many unbonding delegation entries for (delegator, validator) tuple"


def test_cancelling_an_unbonding_delegates_again(chain: UnsignedChain) -> None:
    """What is cancelled counts as stake at once; the rest of the entry shrinks by it."""
    chain.seal(chain.stake("MsgDelegate", "ann", "one", 3 * MILLION))
    chain.seal(chain.stake("MsgUndelegate", "ann", "one", MILLION))
    height = chain.block.height
    cancel = chain.stake("MsgCancelUnbondingDelegation", "ann", "one", 400_000, creation_height=height)
    chain.seal(cancel)
    staking, pair = chain.modules.staking, (chain.address("ann"), chain.address("one"))
    entry = staking.find_unbonding(chain.context(), *pair).entries[0]
    assert (entry.initial_balance, entry.balance) == ("600000", "600000")
    shares = int(staking.find_delegation(chain.context(), *pair).shares)
    assert shares == 2_400_000 * 10**18


def test_redelegation_rules(chain: UnsignedChain) -> None:
    """Not to oneself, not onwards before it matured; stake moves at once and is free after the unbonding time."""
    chain.seal(chain.stake("MsgDelegate", "ann", "one", 3 * MILLION))
    assert chain.run(chain.redelegate("ann", "one", "one", 5)).log == "cannot redelegate to the same validator"
    chain.seal(chain.redelegate("ann", "one", "two", MILLION))
    refused = chain.run(chain.redelegate("ann", "two", "three", 5))
    assert refused.log.startswith("redelegation to this validator already in progress")
    assert len(chain.seal(seconds=100).of_type("complete_redelegation")) == 1
    chain.done(chain.redelegate("ann", "two", "three", 5))


def test_a_redelegation_from_an_unbonded_validator_completes_at_once(chain: UnsignedChain) -> None:
    """Stake that is not bonded has nothing to wait for."""
    chain.seal(chain.stake("MsgDelegate", "ann", "three", MILLION))
    outcome = chain.done(chain.redelegate("ann", "three", "one", MILLION))
    assert outcome.of_type("redelegate")[0]["completion_time"] == "0001-01-01T00:00:00Z"
    chain.done(chain.redelegate("ann", "one", "two", MILLION))


def test_leaving_one_s_own_validator_below_the_minimum_jails_it(chain: UnsignedChain) -> None:
    """An operator that takes its own stake out loses the seat."""
    sealed = chain.seal(chain.stake("MsgUndelegate", "two", "two", 20 * MILLION))
    assert chain.validator("two").jailed
    assert (chain.consensus_key("two"), 0) in [(update.public_key, update.power) for update in sealed.updates]


def test_a_validator_nobody_delegates_to_disappears(chain: UnsignedChain) -> None:
    """Without a seat and without shares it is forgotten at once; its name and key may be used again."""
    chain.seal(chain.stake("MsgUndelegate", "three", "three", 10 * MILLION))
    assert chain.modules.staking.find_validator(chain.context(), chain.address("three")) is None
    chain.done(chain.create_validator("three", MILLION))


def test_commission_changes_are_slow(chain: UnsignedChain) -> None:
    """A rate changes once a day and by no more than its owner promised."""
    edit = chain.message(
        "cosmos.staking.v1beta1.MsgEditValidator",
        validator_address=chain.operator("one"),
        commission_rate="150000000000000000",
    )
    edit.description.moniker = "[do-not-modify]"
    edit.description.details = "new"
    assert chain.run(edit).log == "commission cannot be changed more than once in 24h"
    chain.seal(seconds=86_400)
    chain.done(edit)
    assert (chain.validator("one").description.moniker, chain.validator("one").description.details) == ("one", "new")
    chain.seal(seconds=86_400)
    edit.commission_rate = "400000000000000000"
    assert chain.run(edit).log == "commission cannot be changed more than max change rate"


@pytest.mark.parametrize(
    ("amount", "denom", "log"),
    [
        (0, DENOM, "invalid delegation amount: invalid request"),
        (5, "other", f"invalid coin denomination: got other, expected {DENOM}: invalid request"),
    ],
)
def test_bad_delegations_are_refused(chain: UnsignedChain, amount: int, denom: str, log: str) -> None:
    """Amounts and denoms are checked with the texts clients know."""
    message = chain.stake("MsgDelegate", "ann", "one", amount)
    message.amount.denom = denom
    assert chain.run(message).log == log


def test_an_account_is_no_validator(chain: UnsignedChain) -> None:
    """An address of another kind is refused with both prefixes."""
    message = chain.stake("MsgDelegate", "ann", "one", 5)
    message.validator_address = chain.account("one")
    prefix = chain.identity.prefix
    assert chain.run(message).log == (
        f"invalid validator address: hrp does not match bech32 prefix: expected '{prefix}valoper' got '{prefix}': "
        "internal logic error: invalid address"
    )


def test_history_keeps_recent_sets_only(chain: UnsignedChain) -> None:
    """Header and set of the last heights are kept, older ones dropped."""
    for _ in range(10):
        chain.seal()
    staking, ctx = chain.modules.staking, chain.context()
    assert staking.historical_info(ctx, chain.block.height).header.height == chain.block.height
    kept = [height for height in range(1, chain.block.height + 1) if staking.historical_info(ctx, height)]
    assert kept == list(range(chain.block.height - 4, chain.block.height + 1))
    powers = [int(member.tokens) for member in staking.historical_info(ctx, chain.block.height).valset]
    assert powers == sorted(powers, reverse=True)


def test_slashing_burns_unbonding_stake_first(chain: UnsignedChain) -> None:
    """Stake that left after the infraction pays its part, and the validator only the rest."""
    chain.seal(chain.stake("MsgDelegate", "ann", "one", 10 * MILLION))
    infraction = chain.block.height
    chain.seal(chain.stake("MsgUndelegate", "ann", "one", 10 * MILLION))
    supply = chain.modules.bank.supply(chain.context(), DENOM)
    ctx = chain.context()
    consensus = ed25519_address(chain.consensus_key("one"))
    burned = chain.modules.staking.slash(ctx, consensus, infraction, 60, 10**17)
    assert burned == 5 * MILLION
    entry = chain.modules.staking.find_unbonding(ctx, chain.address("ann"), chain.address("one")).entries[0]
    assert (entry.initial_balance, entry.balance) == (str(10 * MILLION), str(9 * MILLION))
    assert chain.modules.bank.supply(ctx, DENOM) == supply - 6 * MILLION


def test_slashing_follows_redelegated_stake(chain: UnsignedChain) -> None:
    """Stake moved to another validator after the infraction is slashed where it is now."""
    chain.seal(chain.stake("MsgDelegate", "ann", "one", 10 * MILLION))
    infraction = chain.block.height
    chain.seal(chain.redelegate("ann", "one", "two", 10 * MILLION))
    ctx = chain.context()
    burned = chain.modules.staking.slash(ctx, ed25519_address(chain.consensus_key("one")), infraction, 60, 10**17)
    assert burned == 5 * MILLION
    delegation = chain.modules.staking.find_delegation(ctx, chain.address("ann"), chain.address("two"))
    assert int(delegation.shares) == 9 * MILLION * 10**18


def test_the_queue_is_in_order_of_time(chain: UnsignedChain) -> None:
    """Payouts of one block come in the order in which they were begun."""
    chain.seal(chain.stake("MsgDelegate", "bob", "one", MILLION), chain.stake("MsgDelegate", "ann", "one", MILLION))
    chain.seal(chain.stake("MsgUndelegate", "bob", "one", 10), seconds=1)
    chain.seal(chain.stake("MsgUndelegate", "ann", "one", 20), seconds=1)
    paid = chain.seal(seconds=200).of_type("complete_unbonding")
    assert [event["amount"] for event in paid] == [f"10{DENOM}", f"20{DENOM}"]
    assert chain.block.time_ns > START_NS + 200 * SECOND
    assert chain.modules.bank.balance(chain.context(), module_address("not_bonded_tokens_pool"), DENOM) == 10 * MILLION


def test_entries_that_mature_together_are_paid_in_order(chain: UnsignedChain) -> None:
    """Several entries of one pair are paid one by one, oldest first, and told as one sum."""
    chain.seal(chain.stake("MsgDelegate", "ann", "one", MILLION))
    for amount in (10, 20, 30):
        chain.seal(chain.stake("MsgUndelegate", "ann", "one", amount), seconds=1)
    sealed = chain.seal(seconds=99)
    received = [
        event["amount"] for event in sealed.of_type("coin_received") if event["receiver"] == chain.account("ann")
    ]
    assert received == [f"10{DENOM}", f"20{DENOM}"]
    assert sealed.of_type("complete_unbonding")[0]["amount"] == f"30{DENOM}"
    assert chain.seal(seconds=1).of_type("complete_unbonding")[0]["amount"] == f"30{DENOM}"


def test_the_bond_denom_stays_while_there_is_stake(chain: UnsignedChain) -> None:
    """Changing it would leave the pools without the coins they owe."""
    message = chain.message("cosmos.staking.v1beta1.MsgUpdateParams", authority=chain.modules.gov.authority)
    message.params.CopyFrom(chain.modules.staking.params(chain.context()))
    message.params.bond_denom = "other"
    assert chain.run(message).log == "bond denom cannot be changed while tokens are staked: invalid request"
