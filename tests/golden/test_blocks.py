"""Recorded blocks: every hash is recomputed, every signature verified, every proposer elected again."""

from __future__ import annotations

import json
from base64 import b64decode
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from leasehold.chain.comet import blocks, merkle, rendering, votes
from leasehold.chain.comet.validators import Validator, ValidatorSet

pytestmark = pytest.mark.golden

Recorded = dict[int, dict[str, Any]]


@cache
def recorded_blocks(golden: Path) -> Recorded:
    """Every recorded block with its commit and validators, found by content, by height."""
    found: Recorded = {}
    for path in sorted(golden.glob("chain/**/*.json")):
        document = json.loads(path.read_text())
        if not isinstance(document, dict):
            continue
        for entry in document.get("blocks", []):
            if isinstance(entry, dict) and isinstance(entry.get("block"), dict) and "block" in entry["block"]:
                found.setdefault(int(entry["height"]), {}).update(entry)
    return found


@pytest.fixture
def recorded(golden: Path) -> Recorded:
    found = recorded_blocks(golden)
    assert found, "no recorded block found"
    return found


def validator_set(entry: dict[str, Any]) -> ValidatorSet:
    listed = [rendering.read_validator(value) for value in entry["validators"]["validators"]]
    return ValidatorSet(listed, None)


def test_block_ids_are_those_of_the_recorded_contents(recorded: Recorded) -> None:
    """Header hash, parts hash, data hash and last-commit hash follow from the recorded block alone."""
    for height, entry in recorded.items():
        block = rendering.read_block(entry["block"]["block"])
        assert block.id() == rendering.read_block_id(entry["block"]["block_id"]), height
        assert block.header.data_hash == blocks.data_hash(block.txs), height
        assert block.header.last_commit_hash == block.last_commit.hash(), height
        assert block.header.evidence_hash == blocks.evidence_hash(block.evidence), height


def test_blocks_survive_encoding_and_rendering(recorded: Recorded) -> None:
    """Decoding the encoding, and rendering what was read, give the recorded block back."""
    for height, entry in recorded.items():
        block = rendering.read_block(entry["block"]["block"])
        assert blocks.Block.decode(block.encode()) == block, height
        assert rendering.block(block) == entry["block"]["block"], height


def test_consensus_and_validator_hashes(recorded: Recorded) -> None:
    """The header commits to the recorded parameters, validators and, a block ahead, next validators."""
    for height, entry in recorded.items():
        header = rendering.read_header(entry["block"]["block"]["header"])
        limits = entry["consensus_params"]["block"]
        assert header.consensus_hash == blocks.consensus_hash(int(limits["max_bytes"]), int(limits["max_gas"]))
        assert header.validators_hash == validator_set(entry).hash(), height
        if height + 1 in recorded:
            assert header.next_validators_hash == validator_set(recorded[height + 1]).hash(), height


def test_results_of_a_block_are_in_the_next_header(recorded: Recorded) -> None:
    """Last-results hash and app hash of a header are those of the results recorded a block before."""
    for height, entry in recorded.items():
        if height + 1 not in recorded:
            continue
        results = entry["block_results"]
        header = rendering.read_header(recorded[height + 1]["block"]["block"]["header"])
        listed = [
            (result["code"], b64decode(result["data"] or ""), int(result["gas_wanted"]), int(result["gas_used"]))
            for result in results["txs_results"] or []
        ]
        assert header.last_results_hash == blocks.results_hash(listed), height
        assert header.app_hash == b64decode(results["app_hash"]), height


def test_every_commit_verifies(recorded: Recorded) -> None:
    """Each signature of each commit verifies over the canonical vote, and more than two thirds signed."""
    signatures = 0
    for height, entry in recorded.items():
        signed = entry["commit"]["signed_header"]
        commit = rendering.read_commit(signed["commit"])
        assert rendering.commit(commit) == signed["commit"]
        assert votes.is_decided(signed["header"]["chain_id"], validator_set(entry), commit), height
        signatures += sum(vote.flag == blocks.COMMIT for vote in commit.signatures)
    assert signatures >= len(recorded)


def test_block_time_is_the_median_of_the_votes(recorded: Recorded) -> None:
    """BFT time: a header's time is the weighted median of the votes for the block before."""
    compared = 0
    for height, entry in recorded.items():
        if height - 1 not in recorded:
            continue
        block = rendering.read_block(entry["block"]["block"])
        assert votes.median_time(block.last_commit, validator_set(recorded[height - 1])) == block.header.time_ns
        compared += 1
    assert compared


def test_proposers_are_elected_as_recorded(recorded: Recorded) -> None:
    """Rotating a recorded set gives the next one's priorities, and its proposer at the commit's round."""
    compared = 0
    for height, entry in recorded.items():
        if height < 3 or height + 1 not in recorded:
            continue
        current = validator_set(entry)
        following = validator_set(recorded[height + 1])
        proposer = rendering.read_header(recorded[height + 1]["block"]["block"]["header"]).proposer_address
        changes = changed_powers(current, following)
        current.update(changes)
        assert current.rotate() is current.proposer
        assert [value.priority for value in current.validators] == [v.priority for v in following.validators], height
        commit_round = recorded[height + 1]["commit"]["signed_header"]["commit"]["round"]
        elected = current.rotated(commit_round).proposer if commit_round else current.proposer
        assert elected is not None
        assert elected.address == proposer, height
        compared += 1
    assert compared


def changed_powers(before: ValidatorSet, after: ValidatorSet) -> list[tuple[bytes, int]]:
    old = {value.public_key: value.power for value in before.validators}
    new = {value.public_key: value.power for value in after.validators}
    changed = [(key, power) for key, power in new.items() if old.get(key) != power]
    return changed + [(key, 0) for key in old if key not in new]


def test_transaction_proofs_lead_to_the_data_hash(recorded: Recorded) -> None:
    """An inclusion proof made for any recorded transaction verifies against the header."""
    proved = 0
    for entry in recorded.values():
        block = rendering.read_block(entry["block"]["block"])
        leaves = [blocks.tx_hash(tx) for tx in block.txs]
        for index, leaf in enumerate(leaves):
            assert merkle.prove(leaves, index).verify(block.header.data_hash, leaf)
            proved += 1
    assert proved


def test_validator_addresses_follow_from_their_keys(recorded: Recorded) -> None:
    """The recorded address of a validator is that of its key."""
    for entry in recorded.values():
        for value in validator_set(entry).validators:
            assert Validator.of(value.public_key, value.power).address == value.address
