"""Block encodings and hashes on made-up blocks; recorded ones are compared in tests/golden."""

from __future__ import annotations

from hashlib import sha256

from leasehold.chain.comet import blocks, merkle
from leasehold.chain.comet.blocks import ABSENT_SIGNATURE, NO_BLOCK, Block, BlockID, Commit, CommitSig, Header
from leasehold.chain.comet.wire import message


def header(**changes: object) -> Header:
    fields: dict[str, object] = {
        "chain_id": "test-1",
        "height": 7,
        "time_ns": 1_700_000_000_123_456_789,
        "last_block_id": BlockID(b"\x01" * 32, 1, b"\x02" * 32),
        "last_commit_hash": merkle.EMPTY,
        "data_hash": merkle.EMPTY,
        "validators_hash": b"\x03" * 32,
        "next_validators_hash": b"\x04" * 32,
        "consensus_hash": b"\x05" * 32,
        "app_hash": b"\x06" * 32,
        "last_results_hash": merkle.EMPTY,
        "evidence_hash": merkle.EMPTY,
        "proposer_address": b"\x07" * 20,
    }
    return Header(**{**fields, **changes})  # type: ignore[arg-type]


def test_the_empty_block_id_keeps_its_part_set_member() -> None:
    """The id before the first block encodes as 12 00, as the header hash of block 1 needs."""
    assert NO_BLOCK.encode() == b"\x12\x00"


def test_every_header_field_is_in_the_hash() -> None:
    """Changing any field changes the block hash."""
    base = header()
    variants = [
        header(chain_id="test-2"),
        header(height=8),
        header(time_ns=base.time_ns + 1),
        header(last_block_id=NO_BLOCK),
        header(app_hash=b""),
        header(app_version=1),
        header(proposer_address=b"\x08" * 20),
    ]
    assert len({base.hash(), *(variant.hash() for variant in variants)}) == len(variants) + 1


def test_blocks_decode_to_what_was_encoded() -> None:
    """Transactions (empty ones too), absent votes and app versions survive a round trip."""
    commit = Commit(
        6, 1, BlockID(b"\x01" * 32, 1, b"\x02" * 32), (CommitSig(2, b"\x09" * 20, 5, b"s" * 64), ABSENT_SIGNATURE)
    )
    block = Block(header(app_version=3), (b"tx", b"", b"other"), (), commit)
    assert Block.decode(block.encode()) == block


def test_large_blocks_travel_in_several_parts() -> None:
    """A block above 65,536 bytes has as many parts as needed, hashed as leaves."""
    encoded = Block(header(), (b"\x00" * 150_000,)).encode()
    total, root = blocks.parts_header(encoded)
    assert total == 3
    assert root == merkle.root([encoded[:65536], encoded[65536:131072], encoded[131072:]])


def test_results_hash_covers_only_what_consensus_agrees_on() -> None:
    """Code, data and gas count; an absent and an empty data are the same."""
    assert blocks.results_hash([(0, None, 1, 2)]) == blocks.results_hash([(0, b"", 1, 2)])
    assert blocks.results_hash([(0, b"x", 1, 2)]) != blocks.results_hash([(0, b"x", 1, 3)])
    assert blocks.results_hash([]) == sha256(b"").digest()


def test_evidence_is_hashed_without_its_wrapper() -> None:
    """A list entry wraps evidence in a oneof member that the hash leaves out."""
    assert blocks.evidence_hash([message(1, b"evidence")]) == merkle.root([b"evidence"])
