"""What validators sign: canonical votes, and the checks a light client makes on a commit."""

from __future__ import annotations

from collections.abc import Iterable

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from leasehold.chain.comet.blocks import ABSENT, COMMIT, BlockID, Commit
from leasehold.chain.comet.validators import ValidatorSet
from leasehold.chain.comet.wire import blob, delimited, fixed64, integer, message, timestamp

PREVOTE, PRECOMMIT = 1, 2


def sign_bytes(
    chain_id: str, height: int, round_number: int, block_id: BlockID, time_ns: int, *, kind: int = PRECOMMIT
) -> bytes:
    """The bytes an ed25519 key signs for a vote; a vote for no block leaves the block id out."""
    head, tail = vote_frame(chain_id, height, round_number, block_id, kind)
    return delimited(head + message(5, timestamp(time_ns)) + tail)


def vote_frame(chain_id: str, height: int, round_number: int, block_id: BlockID, kind: int) -> tuple[bytes, bytes]:
    """What stands before and after the timestamp in a canonical vote, equal for all votes on one block."""
    target = message(4, block_id.encode()) if block_id.hash else b""
    head = integer(1, kind) + fixed64(2, height) + fixed64(3, round_number) + target
    return head, blob(6, chain_id.encode())


def verify_signature(public_key: bytes, message_bytes: bytes, signature: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, message_bytes)
    except (InvalidSignature, ValueError):
        return False
    return True


def signed_power(chain_id: str, validators: ValidatorSet, commit: Commit) -> int:
    """Voting power whose signatures for the commit's block verify; ValueError on any bad signature or misfit."""
    if len(commit.signatures) != len(validators.validators):
        raise ValueError(f"{len(commit.signatures)} signatures for {len(validators.validators)} validators")
    power = 0
    for validator, vote in zip(validators.validators, commit.signatures, strict=True):
        if vote.flag == ABSENT:
            continue
        if vote.address != validator.address:
            raise ValueError(f"vote of {vote.address.hex()} in the place of {validator.address.hex()}")
        target = commit.block_id if vote.flag == COMMIT else BlockID()
        expected = sign_bytes(chain_id, commit.height, commit.round, target, vote.time_ns)
        if not verify_signature(validator.public_key, expected, vote.signature):
            raise ValueError(f"wrong signature of {validator.address.hex()}")
        if vote.flag == COMMIT:
            power += validator.power
    return power


def is_decided(chain_id: str, validators: ValidatorSet, commit: Commit) -> bool:
    """Whether more than two thirds of the power signed; ValueError as in `signed_power`."""
    return signed_power(chain_id, validators, commit) * 3 > validators.total_power * 2


def median_time(commit: Commit, validators: ValidatorSet) -> int | None:
    """Median of the vote times weighted by power: BFT time of the next block. None when nobody voted."""
    powers = {validator.address: validator.power for validator in validators.validators}
    votes = [
        (vote.time_ns, powers[vote.address])
        for vote in commit.signatures
        if vote.flag != ABSENT and vote.address in powers
    ]
    return weighted_median(votes)


def weighted_median(votes: Iterable[tuple[int, int]]) -> int | None:
    ordered = sorted(votes)
    remaining = sum(power for _, power in ordered) // 2
    for time_ns, power in ordered:
        if remaining <= power:
            return time_ns
        remaining -= power
    return None
