"""Slashing: who misses too many blocks is jailed, and may come back; who signs twice may not."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.devnet.modules.unsigned_chain import DENOM, UnsignedChain

from leasehold.core.addresses import ed25519_address
from leasehold.devnet.app import abci
from leasehold.devnet.app.context import Block

MILLION = 1_000_000


@pytest.fixture
def chain() -> UnsignedChain:
    chain = UnsignedChain("one", "two", "three")
    chain.seal(
        chain.create_validator("one", 50 * MILLION),
        chain.create_validator("two", 20 * MILLION),
        chain.create_validator("three", 10 * MILLION),
    )
    return chain


def miss_until_jailed(chain: UnsignedChain) -> Any:
    for _ in range(30):
        sealed = chain.seal(absent=("two",))
        if sealed.of_type("slash"):
            return sealed
    raise AssertionError("never jailed")


def test_missed_blocks_are_told_each_time(chain: UnsignedChain) -> None:
    """Every absence is an event with the count so far; a signature tells nothing."""
    counts = [chain.seal(absent=("two",)).of_type("liveness")[0]["missed_blocks"] for _ in range(3)]
    assert counts == ["1", "2", "3"]
    assert chain.seal().of_type("liveness") == []


def test_absence_beyond_the_window_jails_and_slashes(chain: UnsignedChain) -> None:
    """Only after a whole window; then a part of the stake burns and the seat is lost to the next."""
    sealed = miss_until_jailed(chain)
    assert chain.block.height == 12
    slash = sealed.of_type("slash")[0]
    assert (slash["reason"], slash["power"], slash["burned_coins"]) == ("missing_signature", "20", "200000")
    assert [(update.public_key, update.power) for update in sealed.updates] == [
        (chain.consensus_key("three"), 10),
        (chain.consensus_key("two"), 0),
    ]
    assert chain.validator("two").jailed
    assert chain.seal().of_type("liveness") == []


def test_the_jail_opens_after_its_time(chain: UnsignedChain) -> None:
    """Unjailing too early is refused; afterwards the validator is back with what is left."""
    miss_until_jailed(chain)
    unjail = chain.message("cosmos.slashing.v1beta1.MsgUnjail", validator_addr=chain.operator("two"))
    assert chain.run(unjail).log == "validator still jailed; cannot be unjailed"
    sealed = chain.seal(unjail, seconds=61)
    assert sealed.outcomes[0].error is None
    assert sealed.outcomes[0].events == []
    assert (chain.consensus_key("two"), 19) in [(update.public_key, update.power) for update in sealed.updates]
    info = chain.modules.slashing.find_info(chain.context(), ed25519_address(chain.consensus_key("two")))
    assert (info.start_height, info.missed_blocks_counter, info.index_offset) == (chain.block.height, 0, 0)


def test_a_free_validator_can_not_be_unjailed(chain: UnsignedChain) -> None:
    """Nothing to unjail."""
    message = chain.message("cosmos.slashing.v1beta1.MsgUnjail", validator_addr=chain.operator("one"))
    assert chain.run(message).log == "validator not jailed; cannot be unjailed"
    message.validator_addr = chain.operator("nobody")
    refused = chain.run(message).error
    assert refused is not None
    assert (refused.kind.codespace, refused.log) == ("staking", "validator does not exist")


def test_old_absences_are_forgiven(chain: UnsignedChain) -> None:
    """The count runs over a window: signing again lowers it."""
    for _ in range(4):
        chain.seal(absent=("two",))
    for _ in range(12):
        chain.seal()
    info = chain.modules.slashing.find_info(chain.context(), ed25519_address(chain.consensus_key("two")))
    assert info.missed_blocks_counter == 0


def test_signing_twice_is_for_ever(chain: UnsignedChain) -> None:
    """A double sign burns its fraction once, jails, and no unjail helps."""
    consensus = ed25519_address(chain.consensus_key("two"))
    report = abci.Misbehavior(1, consensus, 20, chain.block.height, chain.block.time_ns, 70)
    block = chain.block
    chain.block = Block(block.height + 1, block.time_ns + 10**9, block.chain_id, misbehavior=(report, report))
    ctx = chain.context()
    chain.modules.evidence.begin_block(ctx)
    burned = [dict(event.attributes).get("burned_coins") for event in ctx.events if event.type == "slash"]
    assert burned == ["1000000", None]
    assert chain.validator("two").jailed
    unjail = chain.message("cosmos.slashing.v1beta1.MsgUnjail", validator_addr=chain.operator("two"))
    chain.block = Block(block.height + 2, block.time_ns + 10**18, block.chain_id)
    assert chain.run(unjail).log == "validator still jailed; cannot be unjailed"
    listed = chain.ask("cosmos.evidence.v1beta1.Query/AllEvidence")
    assert len(listed.evidence) == 1
    assert chain.modules.bank.supply(chain.context(), DENOM) > 0


def test_bad_parameters_are_refused(chain: UnsignedChain) -> None:
    """Governance can't set a window of nothing."""
    message = chain.message("cosmos.slashing.v1beta1.MsgUpdateParams", authority=chain.modules.gov.authority)
    message.params.CopyFrom(chain.modules.slashing.params(chain.context()))
    message.params.signed_blocks_window = 0
    assert chain.run(message).log == "signed blocks window must be positive: 0"
