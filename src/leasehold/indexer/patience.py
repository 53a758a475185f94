"""Asking the chain until it answers: nodes come and go, and the order of blocks can't wait without an answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from leasehold.chain.client.errors import NodeRefused, NodeUnreachable, PrunedHistory
from leasehold.chain.client.nodes import Nodes
from leasehold.core import logging

T = TypeVar("T")
Pause = Callable[[float], Awaitable[None]]
_log = logging.get("patience")


async def patiently(question: Callable[[], Awaitable[T]], pause: Pause = asyncio.sleep) -> T:
    """The answer, however long the nodes are away; pruned history and the chain's own refusals are raised."""
    attempt = 0
    while True:
        try:
            return await question()
        except PrunedHistory:
            raise
        except (NodeUnreachable, NodeRefused) as error:
            attempt += 1
            _log.warning("the chain can't be read", reason=str(error), attempt=attempt)
            await pause(min(5.0, 0.05 * 2 ** min(attempt, 7)))


class PatientReader:
    """A state reader that retries each query on its own."""

    def __init__(self, nodes: Nodes, pause: Pause = asyncio.sleep) -> None:
        self._nodes = nodes
        self._pause = pause

    async def abci_query(self, path: str, data: bytes, height: int = 0) -> bytes:
        """Answer bytes as of the end of `height` (0: newest)."""
        return await patiently(lambda: self._nodes.abci_query(path, data, height), self._pause)
