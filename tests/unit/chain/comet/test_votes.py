"""Canonical votes, commits and BFT time."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from leasehold.chain.comet import votes
from leasehold.chain.comet.blocks import ABSENT_SIGNATURE, COMMIT, NIL, BlockID, Commit, CommitSig
from leasehold.chain.comet.validators import ValidatorSet

BLOCK = BlockID(b"\x01" * 32, 1, b"\x02" * 32)
KEYS = [Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32) for number in (1, 2, 3)]
VALIDATORS = ValidatorSet.create((key.public_key().public_bytes_raw(), 10) for key in KEYS)
BY_ADDRESS = {
    ValidatorSet.create([(key.public_key().public_bytes_raw(), 1)]).validators[0].address: key for key in KEYS
}


def signed(index: int, *, flag: int = COMMIT, time_ns: int = 5) -> CommitSig:
    validator = VALIDATORS.validators[index]
    target = BLOCK if flag == COMMIT else BlockID()
    data = votes.sign_bytes("test-1", 9, 0, target, time_ns)
    return CommitSig(flag, validator.address, time_ns, BY_ADDRESS[validator.address].sign(data))


def test_a_commit_needs_more_than_two_thirds() -> None:
    """Three of three decide; two of three are exactly two thirds and don't."""
    full = Commit(9, 0, BLOCK, tuple(signed(index) for index in range(3)))
    assert votes.is_decided("test-1", VALIDATORS, full)
    partial = Commit(9, 0, BLOCK, (signed(0), ABSENT_SIGNATURE, signed(2)))
    assert votes.signed_power("test-1", VALIDATORS, partial) == 20
    assert not votes.is_decided("test-1", VALIDATORS, partial)


def test_votes_for_nothing_are_verified_but_not_counted() -> None:
    """A nil vote signs a vote without a block id."""
    commit = Commit(9, 0, BLOCK, (signed(0), signed(1, flag=NIL), signed(2)))
    assert votes.signed_power("test-1", VALIDATORS, commit) == 20


def test_wrong_signatures_and_places_are_told() -> None:
    """A signature for another chain, or in another's place, is an error."""
    commit = Commit(9, 0, BLOCK, (signed(1), signed(0), signed(2)))
    with pytest.raises(ValueError, match="in the place of"):
        votes.signed_power("test-1", VALIDATORS, commit)
    commit = Commit(9, 0, BLOCK, (signed(0), signed(1), signed(2)))
    with pytest.raises(ValueError, match="wrong signature"):
        votes.signed_power("test-2", VALIDATORS, commit)
    with pytest.raises(ValueError, match="2 signatures for 3"):
        votes.signed_power("test-1", VALIDATORS, Commit(9, 0, BLOCK, (signed(0), signed(1))))


def test_bft_time_is_the_weighted_median() -> None:
    """The heaviest vote decides; absent votes don't count."""
    assert votes.weighted_median([(10, 1), (30, 5), (20, 1)]) == 30
    assert votes.weighted_median([(10, 1), (20, 1), (30, 1)]) == 10
    assert votes.weighted_median([]) is None
    commit = Commit(9, 0, BLOCK, (signed(0, time_ns=7), ABSENT_SIGNATURE, ABSENT_SIGNATURE))
    assert votes.median_time(commit, VALIDATORS) == 7
