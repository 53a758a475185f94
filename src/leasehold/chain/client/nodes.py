"""Several nodes behind one face: the preferred one answers, the others step in, an archive node knows the past."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from leasehold.chain.client.blocks import FetchedBlock, fetch_blocks
from leasehold.chain.client.errors import (
    HeightNotReached,
    NodeRefused,
    NodeUnreachable,
    PrunedHistory,
    ResultsNotReady,
)
from leasehold.chain.client.rpc import NodeStatus, RpcNode
from leasehold.core.clock import Clock

T = TypeVar("T")

_FIRST_REST = 0.25
_LONGEST_REST = 30.0


@dataclass(slots=True)
class _Seat:
    """A node with what we know about its recent behaviour."""

    node: RpcNode
    failures: int = 0
    rests_until: float = 0.0


class Nodes:
    """Asks the first node that works; a failing one rests for a growing while before it is asked again."""

    def __init__(self, nodes: Sequence[RpcNode], clock: Clock, *, archive: RpcNode | None = None) -> None:
        if not nodes:
            raise ValueError("at least one node is needed")
        self._seats = [_Seat(node) for node in nodes]
        self._archive = archive
        self._clock = clock

    @property
    def preferred(self) -> RpcNode:
        """The node asked first at this moment."""
        return self._order()[0].node

    async def status(self) -> NodeStatus:
        """Status of the first node that answers."""
        return await self.ask(lambda node: node.status())

    async def blocks(self, first: int, count: int) -> list[FetchedBlock]:
        """Consecutive blocks with results, from whichever node has them."""
        return await self.ask(lambda node: fetch_blocks(node, first, count))

    async def abci_query(self, path: str, data: bytes, height: int = 0) -> bytes:
        """A state query as of the end of `height` (0: newest)."""
        return await self.ask(lambda node: node.abci_query(path, data, height))

    async def ask(self, question: Callable[[RpcNode], Awaitable[T]]) -> T:
        """The first good answer; otherwise the error that says most about why there is none."""
        pruned: PrunedHistory | None = None
        last: NodeUnreachable | NodeRefused | None = None
        for seat in self._order():
            try:
                answer = await question(seat.node)
            except PrunedHistory as error:
                if pruned is None or error.first_available < pruned.first_available:
                    pruned = error
            except (HeightNotReached, ResultsNotReady) as error:
                # A node that lags is not broken: ask the next one, but don't let this one rest.
                last = last or error
            except NodeUnreachable as error:
                self._rest(seat)
                last = error
            else:
                seat.failures, seat.rests_until = 0, 0.0
                return answer
        if pruned is not None and self._archive is not None:
            return await question(self._archive)
        if pruned is not None:
            raise pruned
        assert last is not None
        raise last

    def _order(self) -> list[_Seat]:
        now = self._clock.monotonic()
        awake = [seat for seat in self._seats if seat.rests_until <= now]
        return awake or sorted(self._seats, key=lambda seat: seat.rests_until)

    def _rest(self, seat: _Seat) -> None:
        rest = min(_LONGEST_REST, _FIRST_REST * 2**seat.failures)
        seat.failures = min(seat.failures + 1, 16)
        seat.rests_until = self._clock.monotonic() + rest
