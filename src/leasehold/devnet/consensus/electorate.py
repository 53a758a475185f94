"""The validators this node speaks for: their votes, and whose turn it is to propose.

Validators whose keys are not held are absent, unless a caller says how they voted: such a vote carries an all-zero
signature, because nobody here can make a real one.
"""

from __future__ import annotations

from collections.abc import Mapping

from leasehold.chain.comet.blocks import ABSENT, ABSENT_SIGNATURE, COMMIT, NO_BLOCK, Commit, CommitSig
from leasehold.chain.comet.validators import Validator, ValidatorSet
from leasehold.chain.comet.votes import PRECOMMIT, vote_frame
from leasehold.chain.comet.wire import delimited, message, timestamp
from leasehold.devnet.consensus.head import Head
from leasehold.devnet.consensus.keys import ValidatorKeys

MAX_ROUNDS = 64
UNSIGNED = b"\0" * 64

Flags = Mapping[bytes, int]


class Electorate:
    """Votes and elections on one chain; `absent` lists held validators that are away."""

    def __init__(self, chain_id: str, keys: ValidatorKeys) -> None:
        self._chain_id = chain_id
        self.keys = keys
        self.absent: set[bytes] = set()

    def vote(self, head: Head, time_ns: int, flags: Flags | None = None) -> Commit:
        """Votes for the head, timed `time_ns`; `flags` dictates who voted how (1 absent, 2 commit, 3 nil)."""
        assert head.last_validators is not None
        before, after = vote_frame(self._chain_id, head.height, head.round, head.id, PRECOMMIT)
        nothing, _ = vote_frame(self._chain_id, head.height, head.round, NO_BLOCK, PRECOMMIT)
        timed = message(5, timestamp(time_ns)) + after
        present = self.present(flags) if flags is None else frozenset[bytes]()
        signatures = []
        for validator in head.last_validators.validators:
            address = validator.address
            flag = (COMMIT if address in present else ABSENT) if flags is None else flags.get(address, ABSENT)
            if flag == ABSENT:
                signatures.append(ABSENT_SIGNATURE)
                continue
            signed = delimited((before if flag == COMMIT else nothing) + timed)
            signature = self.keys.sign(address, signed) if address in self.keys else UNSIGNED
            signatures.append(CommitSig(flag, address, time_ns, signature))
        return Commit(head.height, head.round, head.id, tuple(signatures))

    def present(self, flags: Flags | None) -> frozenset[bytes]:
        """Who can be counted on: those who signed, or those held and not away."""
        if flags is not None:
            return frozenset(address for address, flag in flags.items() if flag == COMMIT)
        return frozenset(address for address in self.keys if address not in self.absent)

    def elect(self, validators: ValidatorSet, forced: int | None, flags: Flags | None) -> tuple[int, Validator]:
        """Round and proposer of the next block: a proposer that is not there costs a round."""
        proposer = validators.proposer
        assert proposer is not None
        if forced is not None:
            return forced, (validators.rotated(forced).proposer if forced else proposer) or proposer
        present = self.present(flags)
        if proposer.address in present or not present:
            return 0, proposer
        candidates = validators.copy()
        for number in range(1, MAX_ROUNDS):
            candidate = candidates.rotate()
            if candidate.address in present:
                return number, candidate
        return 0, proposer


def round_of(validators: ValidatorSet, proposer: bytes) -> int:
    """The round in which a validator was the proposer."""
    candidates = validators.copy()
    for number in range(MAX_ROUNDS):
        if candidates.proposer is not None and candidates.proposer.address == proposer:
            return number
        candidates.rotate()
    return 0
