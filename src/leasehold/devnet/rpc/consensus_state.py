"""`consensus_state` and `dump_consensus_state`: between two blocks this node waits for the next height to begin."""

from __future__ import annotations

from typing import Any

from leasehold.chain.comet import rendering as comet
from leasehold.chain.comet.blocks import ABSENT, CommitSig
from leasehold.chain.comet.validators import ValidatorSet
from leasehold.devnet.consensus.node import MILLISECOND, Node

Json = dict[str, Any]

# RoundStepNewHeight: waiting for the next height.
STEP = 1


def summary(node: Node) -> Json:
    head = node.head
    validators = head.validators
    proposer = validators.proposer
    assert proposer is not None
    return {
        "round_state": {
            "height/round/step": f"{head.height + 1}/0/{STEP}",
            "start_time": comet.time(head.time_ns),
            "proposal_block_hash": "",
            "locked_block_hash": "",
            "valid_block_hash": "",
            "height_vote_set": _height_votes(validators),
            "proposer": {
                "address": comet.hexadecimal(proposer.address),
                "index": validators.index_of(proposer.address),
            },
        }
    }


def dump(node: Node) -> Json:
    head = node.head
    last = head.last_validators
    return {
        "round_state": {
            "height": str(head.height + 1),
            "round": 0,
            "step": STEP,
            "start_time": comet.time(head.time_ns + MILLISECOND),
            "commit_time": comet.time(head.time_ns),
            "validators": _validator_set(head.validators),
            "proposal": None,
            "proposal_block": None,
            "proposal_block_parts": None,
            "locked_round": -1,
            "locked_block": None,
            "locked_block_parts": None,
            "valid_round": -1,
            "valid_block": None,
            "valid_block_parts": None,
            "votes": _height_votes(head.validators),
            "commit_round": -1,
            "last_commit": _last_commit(node, last),
            "last_validators": _validator_set(last) if last else None,
            "triggered_timeout_precommit": False,
        },
        "peers": [],
    }


def _validator_set(validators: ValidatorSet) -> Json:
    proposer = validators.proposer
    return {
        "validators": [comet.validator(validator) for validator in validators.validators],
        "proposer": comet.validator(proposer) if proposer else None,
    }


def _height_votes(validators: ValidatorSet) -> list[Json]:
    size = len(validators.validators)
    nobody = ["nil-Vote"] * size
    bits = _bit_array([False] * size, 0, validators.total_power)
    return [
        {
            "round": 0,
            "prevotes": nobody,
            "prevotes_bit_array": bits,
            "precommits": nobody,
            "precommits_bit_array": bits,
        }
    ]


def _bit_array(present: list[bool], power: int, total: int) -> str:
    marks = "".join("x" if here else "_" for here in present)
    hundredths = (power * 200 + total) // (2 * total) if total else 0
    return f"BA{{{len(present)}:{marks}}} {power}/{total} = {hundredths // 100}.{hundredths % 100:02d}"


def _last_commit(node: Node, validators: ValidatorSet | None) -> Json | None:
    commit = node.seen_commit()
    if commit is None or validators is None:
        return None
    present = [vote.flag != ABSENT for vote in commit.signatures]
    power = sum(validator.power for validator, here in zip(validators.validators, present, strict=True) if here)
    block = comet.hexadecimal(commit.block_id.hash[:6])
    return {
        "votes": [
            _vote_text(index, vote, commit.height, commit.round, block) for index, vote in enumerate(commit.signatures)
        ],
        "votes_bit_array": _bit_array(present, power, validators.total_power),
        "peer_maj_23s": {},
    }


def _vote_text(index: int, vote: CommitSig, height: int, round_number: int, block: str) -> str:
    if vote.flag == ABSENT:
        return "nil-Vote"
    address, signature = comet.hexadecimal(vote.address[:6]), comet.hexadecimal(vote.signature[:6])
    return (
        f"Vote{{{index}:{address} {height}/{round_number:02d}/SIGNED_MSG_TYPE_PRECOMMIT(Precommit) "
        f"{block} {signature} 000000000000 @ {comet.time(vote.time_ns)}}}"
    )
