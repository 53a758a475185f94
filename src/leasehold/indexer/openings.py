"""What newly opened leases bought: the one figure no event carries, read once per opening, many in one request."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from leasehold.chain.client.contracts import decode_smart_answer, smart_request
from leasehold.chain.client.errors import PrunedHistory, QueryFailed
from leasehold.chain.client.nodes import Nodes
from leasehold.chain.client.rpc import Call, RpcNode
from leasehold.core import logging
from leasehold.indexer.chain_events import attribute
from leasehold.indexer.decode import Block

_log = logging.get("openings")


def openings(blocks: Sequence[Block]) -> list[tuple[str, int]]:
    """Leases that report their opening in these blocks, each with its height."""
    return [
        (attribute(event, "id"), block.height)
        for block in blocks
        for tx in block.txs
        if tx.code == 0
        for event in tx.events
        if event.type == "wasm-ls-open"
    ]


async def bought_amounts(nodes: Nodes, opened: Sequence[tuple[str, int]]) -> dict[str, int | None]:
    """Amount of the asset each lease held at the end of its opening block; None where no node could tell."""
    if not opened:
        return {}
    calls: list[Call] = []
    for lease, height in opened:
        path, data = smart_request(lease, {"state": {}})
        calls.append(("abci_query", {"path": path, "data": data.hex(), "height": str(height), "prove": False}))

    async def question(node: RpcNode) -> dict[str, int | None]:
        raws = await node.batch(calls)
        return {lease: _amount(node, raw) for (lease, _), raw in zip(opened, raws, strict=True)}

    try:
        return await nodes.ask(question)
    except PrunedHistory as error:
        _log.warning(
            "opened amounts are no longer on the node and are estimated", leases=len(opened), reason=str(error)
        )
        return dict.fromkeys(lease for lease, _ in opened)


def _amount(node: RpcNode, raw: msgspec.Raw) -> int | None:
    try:
        state = decode_smart_answer(node.query_value(raw))
        return int(state["opened"]["amount"]["amount"])
    except (QueryFailed, KeyError, TypeError, ValueError):
        return None
