"""Blocks as they are kept for rebuilds: everything a node said that the projections read, in one value."""

from __future__ import annotations

from typing import Any

import msgspec
import zstandard

from leasehold.chain.client.blocks import FetchedBlock
from leasehold.chain.client.results import read_results

VERSION = 1


def encode(block: FetchedBlock) -> bytes:
    """The uncompressed form."""
    return msgspec.msgpack.encode(
        [
            VERSION,
            block.time_ns,
            block.hash,
            block.previous_hash,
            block.chain_id,
            block.proposer,
            block.txs,
            block.results_json,
        ]
    )


def decompress(height: int, content: bytes) -> FetchedBlock:
    """The block of a height from what was stored."""
    fields: list[Any] = msgspec.msgpack.decode(zstandard.ZstdDecompressor().decompress(content))
    version, time_ns, block_hash, previous, chain_id, proposer, txs, results = fields
    assert version == VERSION, f"raw block {height} has form {version}"
    decoded = read_results(results)
    return FetchedBlock(height, time_ns, block_hash, previous, chain_id, proposer, txs, decoded, results)
