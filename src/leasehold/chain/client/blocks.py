"""Blocks as a follower wants them: header facts, raw transactions and decoded results of one height."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from leasehold.chain.client import wire
from leasehold.chain.client.errors import ChainMismatch, HeightNotReached, NodeUnreachable, ResultsNotReady
from leasehold.chain.client.results import read_results
from leasehold.chain.client.rpc import Call, RpcNode
from leasehold.core.clock import parse_rfc3339


@dataclass(slots=True)
class FetchedBlock:
    """One block with its results; `results_json` are the exact bytes the node sent."""

    height: int
    time_ns: int
    hash: bytes
    previous_hash: bytes
    chain_id: str
    proposer: bytes
    txs: list[bytes]
    results: wire.BlockResults
    results_json: bytes


async def fetch_blocks(node: RpcNode, first: int, count: int) -> list[FetchedBlock]:
    """The blocks `first` … `first + count - 1` of a node, each with its results."""
    calls: list[Call] = []
    for height in range(first, first + count):
        params = {"height": str(height)}
        calls += [("block", params), ("block_results", params)]
    raws = await node.batch(calls)
    return [
        assemble(first + index, bytes(raws[2 * index]), bytes(raws[2 * index + 1]), node.url) for index in range(count)
    ]


def assemble(height: int, block_json: bytes, results_json: bytes, upstream: str) -> FetchedBlock:
    """A block from the two answers about it; refuses answers that speak of different heights."""
    try:
        answer = wire.BLOCK.decode(block_json)
        results = read_results(results_json)
        if answer.block is None:
            raise HeightNotReached(
                f"height {height} has no block", height=height, latest=height - 1, rpc_code=0, upstream=upstream
            )
        header = answer.block.header
        if int(header.height) != height or int(results.height) != height:
            raise NodeUnreachable(
                f"node {upstream} answered heights {header.height}/{results.height} for {height}", upstream=upstream
            )
        txs = answer.block.data.txs or []
        # A node that stores results after publishing the block can answer with none of them.
        if len(results.txs_results or []) != len(txs):
            raise ResultsNotReady(
                f"block {height} has {len(txs)} transactions but {len(results.txs_results or [])} results",
                height=height,
                rpc_code=0,
                upstream=upstream,
            )
        return FetchedBlock(
            height=height,
            time_ns=parse_rfc3339(header.time),
            hash=bytes.fromhex(answer.block_id.hash),
            previous_hash=bytes.fromhex(header.last_block_id.hash),
            chain_id=header.chain_id,
            proposer=bytes.fromhex(header.proposer_address),
            txs=txs,
            results=results,
            results_json=results_json,
        )
    except (msgspec.MsgspecError, ValueError) as error:
        raise NodeUnreachable(
            f"node {upstream} answered something else for height {height}: {error}", upstream=upstream
        ) from error


def check_link(block: FetchedBlock, *, chain_id: str, previous_hash: bytes | None) -> None:
    """Refuse a block that does not continue the chain whose last known block hash is given."""
    if chain_id and block.chain_id != chain_id:
        raise ChainMismatch(
            f"the node follows chain {block.chain_id}, the index holds {chain_id}",
            hint="point chain.rpc_urls at the right chain or start with an empty database",
        )
    if previous_hash is not None and block.previous_hash != previous_hash:
        raise ChainMismatch(
            f"block {block.height} follows {block.previous_hash.hex()}, the index holds {previous_hash.hex()}",
            hint="the chain was reset or forked; start with an empty database",
        )
