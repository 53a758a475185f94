"""Where consensus stands: what the next header needs to know, and how a finished block moves it on."""

from __future__ import annotations

from dataclasses import dataclass, field

from leasehold.chain.comet import blocks, merkle
from leasehold.chain.comet.blocks import BlockID, Commit
from leasehold.chain.comet.validators import Validator, ValidatorSet
from leasehold.devnet.app.abci import ConsensusParams, FinalizeResult, VoteInfo


@dataclass(slots=True)
class Head:
    """The last block and the sets around it: who decided it, who decides the next one and the one after."""

    height: int
    id: BlockID
    time_ns: int
    app_hash: bytes
    results_hash: bytes
    params: ConsensusParams
    last_validators: ValidatorSet | None
    validators: ValidatorSet
    next_validators: ValidatorSet
    round: int = 0
    consensus_hash: bytes = field(default=b"", init=False)

    def __post_init__(self) -> None:
        self.consensus_hash = blocks.consensus_hash(self.params.block_max_bytes, self.params.block_max_gas)

    def advanced(
        self, block_id: BlockID, time_ns: int, results: FinalizeResult, following: ValidatorSet, round_number: int
    ) -> Head:
        """The head after the next block; `following` decides two heights after it."""
        return Head(
            self.height + 1,
            block_id,
            time_ns,
            results.app_hash,
            results_hash(results),
            results.params,
            self.validators,
            self.next_validators,
            following,
            round_number,
        )


def results_hash(results: FinalizeResult) -> bytes:
    """What the next header says about a block's results."""
    if not results.tx_results:
        return merkle.EMPTY
    return blocks.results_hash((r.code, r.data, r.gas_wanted, r.gas_used) for r in results.tx_results)


def following_set(validators: ValidatorSet, results: FinalizeResult) -> tuple[tuple[Validator, ...], ValidatorSet]:
    """The changes a block made, and the set two heights on: they take effect there, one step further in rotation."""
    following = validators.copy()
    changes = following.update((update.public_key, update.power) for update in results.validator_updates)
    following.rotate()
    return tuple(changes), following


def vote_infos(commit: Commit, validators: ValidatorSet | None) -> tuple[VoteInfo, ...]:
    """How the validators of a set voted, as the application is told."""
    if validators is None:
        return ()
    return tuple(
        VoteInfo(validator.address, validator.power, vote.flag)
        for validator, vote in zip(validators.validators, commit.signatures, strict=True)
    )
