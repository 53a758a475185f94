"""Following a chain by height: every block from a cursor on, in order, once, fetched ahead while catching up.

Heights are the truth. A hint (WebSocket) or a poll only says that a height exists; blocks are always asked for by
height, so a lost, late or doubled hint changes nothing but latency.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from leasehold.chain.client.blocks import FetchedBlock, check_link
from leasehold.chain.client.errors import (
    ChainMismatch,
    HeightNotReached,
    NodeRefused,
    NodeUnreachable,
    PrunedHistory,
    ResultsNotReady,
)
from leasehold.chain.client.nodes import Nodes
from leasehold.core import logging

_log = logging.get("follow")

Pause = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Pace:
    """How hard to pull: blocks per batch and per request, requests in flight, seconds between polls at the head."""

    batch_blocks: int = 200
    request_blocks: int = 5
    requests: int = 8
    poll_seconds: float = 1.0


@dataclass(frozen=True, slots=True)
class Position:
    """The last block a reader has; height 0 and no hash for none."""

    height: int = 0
    hash: bytes | None = None
    chain_id: str = ""


class Follower:
    """Delivers batches of consecutive blocks after a position, for ever."""

    def __init__(self, nodes: Nodes, *, pace: Pace | None = None, pause: Pause = asyncio.sleep) -> None:
        self._nodes = nodes
        self._pace = pace or Pace()
        self._pause = pause
        self._wake = asyncio.Event()
        self.target = 0
        self.retries = 0

    def announce(self, height: int) -> None:
        """Take note that a height exists."""
        if height > self.target:
            self.target = height
            self._wake.set()

    async def verify(self, position: Position) -> None:
        """Refuse to continue when the chain holds another block at the position than the reader does."""
        if position.height == 0:
            return
        while True:
            try:
                status = await self._nodes.status()
                if position.chain_id and status.chain_id != position.chain_id:
                    raise ChainMismatch(
                        f"the node follows chain {status.chain_id}, the index holds {position.chain_id}",
                        hint="point chain.rpc_urls at the right chain or start with an empty database",
                    )
                if status.latest_height < position.height:
                    return
                block = (await self._nodes.blocks(position.height, 1))[0]
            except PrunedHistory:
                return
            except (NodeUnreachable, NodeRefused) as error:
                await self._again(0, error)
                continue
            if position.hash is not None and block.hash != position.hash:
                raise ChainMismatch(
                    f"block {position.height} is {block.hash.hex()} on the chain, {position.hash.hex()} in the index",
                    hint="the chain was reset or forked; start with an empty database",
                )
            return

    @asynccontextmanager
    async def batches(self, position: Position) -> AsyncIterator[AsyncIterator[list[FetchedBlock]]]:
        """Batches of linked blocks after `position`; leaving the context ends all fetching."""
        pump = _Pump(self, self._pace, position.height + 1)
        pump.start()
        try:
            yield self._linked(pump, position)
        finally:
            await pump.stop()

    async def _linked(self, pump: _Pump, position: Position) -> AsyncIterator[list[FetchedBlock]]:
        chain_id, previous = position.chain_id, position.hash
        while True:
            batch = await pump.take()
            for block in batch:
                check_link(block, chain_id=chain_id, previous_hash=previous)
                chain_id, previous = block.chain_id, block.hash
            yield batch

    async def reach(self, height: int) -> None:
        """Return once `height` is known to exist."""
        failures = 0
        while self.target < height:
            self._wake.clear()
            if failures:
                await self._pause(min(5.0, 0.05 * 2**failures))
            else:
                try:
                    async with asyncio.timeout(self._pace.poll_seconds):
                        await self._wake.wait()
                    continue
                except TimeoutError:
                    pass
            failures = await self._poll(failures)

    async def poll(self) -> None:
        """Ask the node for its newest height once."""
        await self._poll(0)

    async def _poll(self, failures: int) -> int:
        try:
            self.announce((await self._nodes.status()).latest_height)
        except (NodeUnreachable, NodeRefused) as error:
            self.retries += 1
            _log.warning("node does not tell its height", reason=str(error))
            return min(failures + 1, 7)
        return 0

    async def fetch(self, first: int, count: int) -> list[FetchedBlock]:
        """Blocks that are known to exist, retried until a node delivers them; pruned history is raised."""
        attempt = 0
        while True:
            try:
                return await self._nodes.blocks(first, count)
            except PrunedHistory:
                raise
            except (NodeUnreachable, NodeRefused) as error:
                attempt += 1
                await self._again(attempt, error)

    async def _again(self, attempt: int, error: NodeUnreachable | NodeRefused) -> None:
        self.retries += 1
        if isinstance(error, ResultsNotReady | HeightNotReached):
            # The usual race at the head: the block is announced before its results are stored.
            await self._pause(min(0.5, 0.005 * 2 ** min(attempt, 7)))
        else:
            _log.warning("node does not deliver", reason=str(error), attempt=attempt)
            await self._pause(min(5.0, 0.05 * 2 ** min(attempt, 7)))


class _Pump:
    """Keeps requests in flight ahead of the reader and hands their blocks over in order."""

    def __init__(self, follower: Follower, pace: Pace, first: int) -> None:
        self._follower = follower
        self._pace = pace
        self._next = first
        self._flights: deque[asyncio.Task[list[FetchedBlock]]] = deque()
        self._ready: deque[FetchedBlock] = deque()
        self._delivered = first - 1
        self._room = asyncio.Event()
        self._landed = asyncio.Event()
        self._runner: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin fetching ahead."""
        self._runner = asyncio.create_task(self._run())
        self._runner.add_done_callback(lambda _: self._landed.set())

    async def _run(self) -> None:
        pace = self._pace
        await self._follower.poll()
        while True:
            await self._follower.reach(self._next)
            while len(self._flights) >= pace.requests or self._next - self._delivered > 2 * pace.batch_blocks + 1:
                self._room.clear()
                await self._room.wait()
            count = min(pace.request_blocks, self._follower.target - self._next + 1)
            self._flights.append(asyncio.create_task(self._follower.fetch(self._next, count)))
            self._next += count
            self._landed.set()

    async def take(self) -> list[FetchedBlock]:
        """The next blocks: a full batch while far behind, else all that have arrived, at least one."""
        pace = self._pace
        while True:
            while self._flights and (self._flights[0].done() or not self._ready or self._far_behind()):
                if len(self._ready) >= pace.batch_blocks:
                    break
                self._ready.extend(await self._flights[0])
                self._flights.popleft()
                self._room.set()
            if self._ready:
                count = min(len(self._ready), pace.batch_blocks)
                batch = [self._ready.popleft() for _ in range(count)]
                self._delivered += count
                self._room.set()
                return batch
            if self._runner is not None and self._runner.done():
                self._runner.result()
            self._landed.clear()
            await self._landed.wait()

    async def stop(self) -> None:
        """Drop what is in flight and wait until it is gone."""
        tasks: list[asyncio.Task[Any]] = [*self._flights]
        if self._runner is not None:
            tasks.append(self._runner)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _far_behind(self) -> bool:
        return self._follower.target - self._delivered >= self._pace.batch_blocks
