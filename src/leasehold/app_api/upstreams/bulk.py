"""Many questions about one block, asked together: a few batches of the node's RPC where the LCD takes a call for each.

It only spares calls. What it can't answer, for whatever reason, the LCD is asked as it is otherwise, and decides.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from leasehold.chain.client.contracts import members, smart_request
from leasehold.chain.client.errors import QueryFailed
from leasehold.chain.client.nodes import Nodes
from leasehold.chain.client.rpc import RpcNode
from leasehold.core import logging
from leasehold.core.errors import LeaseholdError

# Questions a batch; a node that takes fewer says so, and is sent as many as it takes.
BATCH = 200
# Questions kept ready to be asked again.
REMEMBERED = 8192
_log = logging.get("bulk")


class Question(NamedTuple):
    """A state query: how it is remembered, what the node is asked (in hexadecimal digits), and how its answer is read
    (None: it can't be)."""

    key: Hashable
    path: str
    data: str
    read: Callable[[bytes], Any]


def smart_key(contract: str, query: bytes, kind: Any) -> Hashable:
    """How a contract's answer is remembered within a block."""
    return ("smart", contract, query, kind)


def smart_question(contract: str, query: Any, kind: Any) -> Question:
    """A contract's answer as a type."""
    return _smart_question(contract, msgspec.json.encode(query), kind)


# Streams ask the same questions block after block.
@lru_cache(maxsize=REMEMBERED)
def _smart_question(contract: str, query: bytes, kind: Any) -> Question:
    path, data = smart_request(contract, msgspec.Raw(query))
    return Question(smart_key(contract, query, kind), path, data.hex(), _reader(kind))


@lru_cache
def _reader(kind: Any) -> Callable[[bytes], Any]:
    """Reads a contract's answer as a type."""
    decoder = msgspec.json.Decoder(kind)

    def read(answer: bytes) -> Any:
        (found,) = members(answer).get(1, [b""])
        return decoder.decode(found)

    return read


class Bulk:
    """Batches of questions to whichever node answers."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes

    async def ask(self, questions: Sequence[tuple[int, Question]]) -> list[Any]:
        """Answers as of the end of each one's height, None for those that could not be had."""
        calls = [
            ("abci_query", {"path": one.path, "data": one.data, "height": str(height), "prove": False})
            for height, one in questions
        ]

        async def answers(node: RpcNode) -> list[bytes | None]:
            # As many at once as there are connections, in the order of asking: who asked first is answered first.
            size = node.batch_limit
            parts = [calls[start : start + size] for start in range(0, len(calls), size)]
            found = await asyncio.gather(*(node.batch(part) for part in parts))
            return [_value(node, raw) for raws in found for raw in raws]

        try:
            found = await self._nodes.ask(answers)
        except LeaseholdError as error:
            _log.info("questions are asked one by one", count=len(calls), error=error.message)
            return [None] * len(calls)
        return [_read(one, answer) for (_, one), answer in zip(questions, found, strict=True)]


def _value(node: RpcNode, raw: msgspec.Raw) -> bytes | None:
    try:
        return node.query_value(raw)
    except QueryFailed:
        return None


def _read(question: Question, answer: bytes | None) -> Any:
    if answer is None:
        return None
    try:
        return question.read(answer)
    except (msgspec.MsgspecError, ValueError, LookupError):
        return None
