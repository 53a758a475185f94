"""Raw blocks come back as they were."""

from __future__ import annotations

import zstandard

from leasehold.chain.client import wire
from leasehold.chain.client.blocks import FetchedBlock
from leasehold.indexer import raw


def test_a_raw_block_comes_back_with_everything_the_projections_read() -> None:
    """Nanoseconds, hashes, transactions and the node's own bytes survive."""
    results = b'{"height":"9","txs_results":[{"code":5,"events":[]}],"finalize_block_events":[{"type":"mint"}]}'
    decoded = wire.BLOCK_RESULTS.decode(results)
    block = FetchedBlock(9, 1_735_689_600_123_456_789, b"h", b"p", "c-1", b"v", [b"\x00tx"], decoded, results)
    assert raw.decompress(9, zstandard.ZstdCompressor().compress(raw.encode(block))) == block
