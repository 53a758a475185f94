"""What newly opened leases bought: the one figure no event carries, taken from the DEX's answer that opened them."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from leasehold.chain.client import wire
from leasehold.chain.client.contracts import decode_smart_answer, members, smart_request
from leasehold.chain.client.errors import PrunedHistory, QueryFailed
from leasehold.chain.client.nodes import Nodes
from leasehold.chain.client.rpc import Call, RpcNode
from leasehold.core import logging
from leasehold.indexer import decode
from leasehold.indexer.chain_events import attribute
from leasehold.indexer.decode import Block, Tx

_log = logging.get("openings")


@dataclass(frozen=True, slots=True)
class Opening:
    """A lease that reports its opening; `amount` is what it bought, where its transaction tells."""

    lease: str
    height: int
    amount: int | None


def openings(blocks: Sequence[Block]) -> list[Opening]:
    """Leases that report their opening in these blocks."""
    return [
        Opening(attribute(event, "id"), block.height, _told(tx, event))
        for block in blocks
        for tx in block.txs
        if tx.code == 0
        for event in tx.events
        if event.type == "wasm-ls-open"
    ]


def _told(tx: Tx, event: wire.Event) -> int | None:
    """What a lease bought: the swaps' outputs in the answer that opened it, and a down-payment already in the asset."""
    number = attribute(event, "msg_index")
    lease = attribute(event, "id")
    for message in tx.messages:
        if message.type_url != decode.IBC_ACKNOWLEDGE or message.content is None or str(message.message) != number:
            continue
        outputs = swap_outputs(message.content.acknowledgement)
        if not outputs or lease not in message.content.packet.source_port:
            continue
        same = attribute(event, "downpayment-symbol") == attribute(event, "currency")
        kept = attribute(event, "downpayment-amount") if same else "0"
        return sum(outputs) + int(kept) if kept.isdigit() else None
    return None


def swap_outputs(acknowledgement: bytes) -> list[int] | None:
    """Amounts that the swaps of an interchain account's transaction paid out; None when it was something else."""
    try:
        answer = msgspec.json.decode(acknowledgement)["result"]
        responses = members(base64.b64decode(answer, validate=True)).get(2, [])
        return [int(members(members(response)[2][0])[1][0]) for response in responses]
    except (msgspec.MsgspecError, KeyError, IndexError, TypeError, ValueError):
        return None


async def bought_amounts(nodes: Nodes, opened: Sequence[Opening]) -> dict[str, int | None]:
    """Amount of the asset each lease bought; read from the chain where its transaction does not tell.

    Only an opening that was finished by a later retry has no answer in its transaction. None where no node knows.
    """
    found: dict[str, int | None] = {opening.lease: opening.amount for opening in opened}
    silent = [opening for opening in opened if opening.amount is None]
    if not silent:
        return found
    calls: list[Call] = []
    for opening in silent:
        path, data = smart_request(opening.lease, {"state": {}})
        params = {"path": path, "data": data.hex(), "height": str(opening.height), "prove": False}
        calls.append(("abci_query", params))

    async def question(node: RpcNode) -> dict[str, int | None]:
        raws = await node.batch(calls)
        return {opening.lease: _amount(node, raw) for opening, raw in zip(silent, raws, strict=True)}

    try:
        return found | await nodes.ask(question)
    except PrunedHistory as error:
        _log.warning("opened amounts are not on the node any more, estimating", leases=len(silent), reason=str(error))
        return found


def _amount(node: RpcNode, raw: msgspec.Raw) -> int | None:
    try:
        state = decode_smart_answer(node.query_value(raw))
        return int(state["opened"]["amount"]["amount"])
    except (QueryFailed, KeyError, TypeError, ValueError):
        return None
