"""When blocks are sealed: at an interval, on transactions, or on demand; never silent for longer than 45 seconds."""

from __future__ import annotations

import asyncio
from enum import StrEnum

from leasehold.devnet.consensus.node import Node, SealedBlock

# Clients of the chain take a minute without a block for a dead connection.
HEARTBEAT_SECONDS = 45.0


class SealMode(StrEnum):
    INTERVAL = "interval"
    TRANSACTIONS = "transactions"
    DEMAND = "demand"


class Sealer:
    """Drives a node's sealing in the running event loop until cancelled."""

    def __init__(
        self,
        node: Node,
        *,
        mode: SealMode = SealMode.INTERVAL,
        interval_seconds: float = 1.0,
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
    ) -> None:
        self.node = node
        self.mode = mode
        self.interval_seconds = interval_seconds
        self.heartbeat_seconds = heartbeat_seconds
        self._wake = asyncio.Event()
        self._paused = False
        self._wanted = False

    def pause(self) -> None:
        """Seal nothing until resumed, except what is asked for."""
        self._paused = True

    def resume(self) -> None:
        self._paused = False
        self._wake.set()

    @property
    def is_paused(self) -> bool:
        return self._paused

    def seal_soon(self) -> None:
        """Seal a block as soon as the loop gets to it, whatever the mode."""
        self._wanted = True
        self._wake.set()

    def mine(self, count: int = 1, interval_ns: int | None = None) -> SealedBlock:
        """Seal `count` blocks now; block time moves by `interval_ns` each, or follows the clock."""
        if count < 1:
            raise ValueError("at least one block")
        if interval_ns is not None or count > 1:
            last: list[SealedBlock] = []
            step = interval_ns if interval_ns is not None else int(self.interval_seconds * 1_000_000_000)
            self.node.fast_forward(count, step, each=lambda sealed: last.__setitem__(slice(None), [sealed]))
            return last[0]
        return self.node.seal()

    async def mine_many(self, count: int, interval_ns: int, *, slice_blocks: int = 100) -> None:
        """Seal many blocks in slices, so that whoever asks something meanwhile is answered."""
        while count > 0:
            self.node.fast_forward(min(count, slice_blocks), interval_ns, group=slice_blocks)
            count -= slice_blocks
            await asyncio.sleep(0)

    async def run(self) -> None:
        """Seal until cancelled; a failure of the application stops the chain and is raised."""
        self.node.mempool.on_available = self._transactions_arrived
        loop = asyncio.get_running_loop()
        due = loop.time() + self._period()
        try:
            while True:
                await self._wait(due - loop.time())
                if self._is_due(loop.time() >= due):
                    self._wanted = False
                    self.node.seal()
                    due = self._next_due(due, loop.time())
                elif loop.time() >= due:
                    due = loop.time() + self._period()
        finally:
            self.node.mempool.on_available = None

    def _next_due(self, due: float, now: float) -> float:
        # Keep the beat without trying to make up for blocks that were missed.
        period = self._period()
        return due + period if self.mode is SealMode.INTERVAL and now - due < period else now + period

    def _period(self) -> float:
        return self.interval_seconds if self.mode is SealMode.INTERVAL else self.heartbeat_seconds

    def _is_due(self, elapsed: bool) -> bool:
        if self._wanted:
            return True
        if self._paused:
            return False
        return elapsed or (self.mode is SealMode.TRANSACTIONS and len(self.node.mempool) > 0)

    def _transactions_arrived(self) -> None:
        if self.mode is SealMode.TRANSACTIONS:
            self._wake.set()

    async def _wait(self, seconds: float) -> None:
        self._wake.clear()
        if self._is_due(False):
            # Other tasks get their turn between two blocks.
            await asyncio.sleep(0)
            return
        try:
            async with asyncio.timeout(max(seconds, 0)):
                await self._wake.wait()
        except TimeoutError:
            return
