"""What happened in the newest blocks, as far as streams care: which contracts acted and which addresses were named.

It is derived from block results alone, so every process that reads the same chain has the same journal, and one that
just started reads as far back as a client needs (ADR 9).
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import islice
from typing import Protocol

from leasehold.app_api.live.sequence import Gone
from leasehold.chain.client import wire
from leasehold.chain.client.blocks import FetchedBlock
from leasehold.chain.client.errors import HeightNotReached, PrunedHistory
from leasehold.core.clock import NANOSECONDS

# Clients are promised ten minutes; a little more lets one that reconnects slowly in as well.
REPLAY_SECONDS = 900
MOST_BLOCKS = 10_000
BATCH = 16
# Blocks of which is known who met whom.
SCENES = 64
_CONTRACT_EVENTS = frozenset(("wasm", "execute", "instantiate", "reply", "sudo", "migrate"))
_CONTRACT_NAMES = frozenset(("_contract_address", "contract_address"))
_SHORTEST_ADDRESS = 38


@dataclass(frozen=True, slots=True)
class Notes:
    """One block: contracts by the order in which they first acted, every address it names, and its transactions.

    `scenes` are the contracts that acted in each transaction with the addresses named there; of older blocks they are
    forgotten.
    """

    height: int
    time_ns: int
    contracts: dict[str, int]
    named: frozenset[str]
    transactions: dict[str, str | None]
    scenes: tuple[tuple[frozenset[str], frozenset[str]], ...] | None = None

    def acted(self, contracts: Set[str]) -> bool:
        """Whether one of some contracts did."""
        # Asked of a view, which goes through the smaller of the two; a mapping would be gone through whole.
        return not self.contracts.keys().isdisjoint(contracts)

    def named_with(self, contracts: Collection[str]) -> frozenset[str]:
        """Addresses that were named in a transaction in which one of some contracts acted; all of the block where that
        is not known any more."""
        if self.scenes is None:
            return self.named
        return frozenset().union(*(named for acted, named in self.scenes if not acted.isdisjoint(contracts)))


class Blocks(Protocol):
    """Where blocks come from."""

    async def blocks(self, first: int, count: int) -> list[FetchedBlock]: ...


def notes_of(block: FetchedBlock, prefix: str) -> Notes:
    """What a block's results say; `prefix` is that of the chain's addresses."""
    contracts: dict[str, int] = {}
    scenes = [_scene(events, prefix + "1", contracts) for events in _transactions(block.results)]
    named = frozenset().union(*(names for _, names in scenes))
    outcomes = block.results.txs_results or []
    transactions = {
        sha256(tx).hexdigest().upper(): None if result.code == 0 else result.log
        for tx, result in zip(block.txs, outcomes, strict=True)
    }
    acted = tuple(scene for scene in scenes if scene[0])
    return Notes(block.height, block.time_ns, contracts, named, transactions, acted)


def _scene(
    events: Iterable[wire.Event], start: str, contracts: dict[str, int]
) -> tuple[frozenset[str], frozenset[str]]:
    """Contracts that act in some events, which are noted in their order, and addresses that are named."""
    acted: set[str] = set()
    named: set[str] = set()
    for event in events:
        acts = event.type in _CONTRACT_EVENTS or event.type.startswith("wasm-")
        for attribute in event.attributes:
            value = attribute.value
            if not value.startswith(start) or len(value) < _SHORTEST_ADDRESS:
                continue
            # The same addresses come again and again, block after block.
            address = sys.intern(value)
            named.add(address)
            if acts and attribute.key in _CONTRACT_NAMES:
                contracts.setdefault(address, len(contracts))
                acted.add(address)
    return frozenset(acted), frozenset(named)


def _transactions(results: wire.BlockResults) -> Iterator[Iterable[wire.Event]]:
    """Events of each transaction, then those of the block's end."""
    for result in results.txs_results or ():
        yield result.events or ()
    yield results.finalize_block_events or ()


class Journal:
    """Notes of consecutive blocks up to the newest known."""

    def __init__(self, source: Blocks, prefix: str, *, seconds: int = REPLAY_SECONDS) -> None:
        self._source = source
        self._prefix = prefix
        self._seconds = seconds
        self._notes: deque[Notes] = deque()
        self._lock = asyncio.Lock()

    @property
    def height(self) -> int:
        """The newest block with notes, -1 before the first."""
        return self._notes[-1].height if self._notes else -1

    @property
    def newest(self) -> Notes | None:
        return self._notes[-1] if self._notes else None

    def __len__(self) -> int:
        return len(self._notes)

    async def follow(self, height: int) -> None:
        """Take notes up to a block; the first one ever asked for is where they start."""
        async with self._lock:
            first = self.height + 1 if self._notes else height
            while first <= height:
                count = min(BATCH, height - first + 1)
                self._notes.extend(await self._read(first, count))
                first += count
                self._forget_scenes(count)
            self._forget()

    async def after(self, height: int) -> Sequence[Notes]:
        """Notes of every block above one; Gone when that is longer ago than is kept."""
        newest = self.newest
        if newest is None or height > newest.height:
            return ()
        await self._cover(max(1, height + 1))
        skipped = max(0, height + 1 - self._notes[0].height)
        return tuple(islice(self._notes, skipped, None))

    def since(self, height: int) -> Sequence[Notes]:
        """Known notes above a height."""
        if not self._notes:
            return ()
        return tuple(islice(self._notes, max(0, height + 1 - self._notes[0].height), None))

    def between(self, first: int, last: int) -> Sequence[Notes] | None:
        """Known notes of blocks from one to another, None where some are not known."""
        if first > last:
            return ()
        if not self._notes or first < self._notes[0].height or last > self._notes[-1].height:
            return None
        # From the end, where what is asked for usually is: that is near in a deque.
        newest = self._notes[-1].height
        return [self._notes[height - newest - 1] for height in range(first, last + 1)]

    async def _cover(self, first: int) -> None:
        """Read back until a block has notes."""
        async with self._lock:
            while self._notes[0].height > first:
                oldest, newest = self._notes[0], self._notes[-1]
                if newest.time_ns - oldest.time_ns > self._seconds * NANOSECONDS or len(self) >= MOST_BLOCKS:
                    raise Gone(f"more than {self._seconds} seconds ago")
                count = min(BATCH, oldest.height - first)
                try:
                    found = await self._read(oldest.height - count, count)
                except (PrunedHistory, HeightNotReached):
                    raise Gone("the node does not have those blocks any more") from None
                self._notes.extendleft(replace(notes, scenes=None) for notes in reversed(found))

    async def _read(self, first: int, count: int) -> list[Notes]:
        fetched: Iterable[FetchedBlock] = await self._source.blocks(first, count)
        return [notes_of(block, self._prefix) for block in fetched]

    def _forget_scenes(self, count: int) -> None:
        """Of blocks that have been published for long, as many as were just added."""
        for index in range(len(self._notes) - SCENES - count, len(self._notes) - SCENES):
            if index >= 0:
                self._notes[index] = replace(self._notes[index], scenes=None)

    def _forget(self) -> None:
        bound = self._notes[-1].time_ns - self._seconds * NANOSECONDS if self._notes else 0
        while len(self._notes) > MOST_BLOCKS or (len(self._notes) > 1 and self._notes[1].time_ns < bound):
            self._notes.popleft()
