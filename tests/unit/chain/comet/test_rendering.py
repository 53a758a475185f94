"""JSON of blocks and validators on made-up values; recorded ones are compared in tests/golden."""

from __future__ import annotations

from leasehold.chain.comet import merkle, rendering
from leasehold.chain.comet.blocks import ABSENT_SIGNATURE, NO_BLOCK, Block, BlockID, Commit, CommitSig, Header
from leasehold.chain.comet.validators import Validator

HEADER = Header(
    "test-1", 1, 1_700_000_000_120_000_000, NO_BLOCK, merkle.EMPTY, merkle.EMPTY, b"\1" * 32, b"\2" * 32, b"\3" * 32,
    b"", merkle.EMPTY, merkle.EMPTY, b"\xab" * 20,
)  # fmt: skip


def test_headers() -> None:
    """Times are trimmed, hashes upper case, the empty id has empty texts, an app version shows only when set."""
    shown = rendering.header(HEADER)
    assert shown["time"] == "2023-11-14T22:13:20.12Z"
    assert shown["height"] == "1"
    assert shown["proposer_address"] == "AB" * 20
    assert shown["last_block_id"] == {"hash": "", "parts": {"total": 0, "hash": ""}}
    assert shown["app_hash"] == ""
    assert shown["version"] == {"block": "11"}
    versioned = rendering.read_header({**shown, "version": {"block": "11", "app": "7"}})
    assert rendering.header(versioned)["version"] == {"block": "11", "app": "7"}


def test_absent_votes() -> None:
    """Who did not vote has an empty address, the zero time and no signature."""
    assert rendering.commit_signature(ABSENT_SIGNATURE) == {
        "block_id_flag": 1,
        "validator_address": "",
        "timestamp": "0001-01-01T00:00:00Z",
        "signature": None,
    }


def test_blocks_are_read_as_rendered() -> None:
    """Reading gives back what was shown."""
    commit = Commit(
        1, 2, BlockID(b"\5" * 32, 1, b"\6" * 32), (CommitSig(2, b"\7" * 20, 5, b"s" * 64), ABSENT_SIGNATURE)
    )
    block = Block(HEADER, (b"tx", b""), (), commit)
    assert rendering.read_block(rendering.block(block)) == block


def test_validators_and_proofs() -> None:
    """Powers and priorities are strings, proofs have string counts and base64 hashes."""
    validator = Validator(b"\1" * 20, b"\2" * 32, 5, -3)
    shown = rendering.validator(validator)
    assert (shown["voting_power"], shown["proposer_priority"]) == ("5", "-3")
    assert rendering.read_validator(shown) == validator
    proof = rendering.proof(merkle.prove([b"a", b"b"], 1))
    assert (proof["total"], proof["index"], len(proof["aunts"])) == ("2", "1", 1)
