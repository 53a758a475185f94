"""One stage of the pipeline: blocks in, a batch of rows out; the same for live blocks and for a rebuild."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from leasehold.chain.client.blocks import FetchedBlock
from leasehold.indexer import discovery, lookups
from leasehold.indexer.beginnings import begin
from leasehold.indexer.decode import Block, Decoder
from leasehold.indexer.lookups import Lookups, encode_found
from leasehold.indexer.openings import openings
from leasehold.indexer.project import Projector
from leasehold.indexer.tables import instant
from leasehold.indexer.writer import Batch

# Blocks decoded and projected before the event loop gets to send rows and receive blocks again.
_STRIDE = 10


class Stage:
    """Decodes and projects consecutive blocks, asking for what they need besides."""

    def __init__(self, projector: Projector, decoder: Decoder, source: Lookups) -> None:
        self.projector = projector
        self._decoder = decoder
        self._source = source
        self._looked = False

    async def apply(self, fetched: Sequence[FetchedBlock]) -> Batch:
        """The rows of these blocks."""
        decoded: list[Block] = []
        for number, block in enumerate(fetched):
            decoded.append(self._decoder.block(block))
            if number % _STRIDE == _STRIDE - 1:
                await asyncio.sleep(0)
        amounts = await self._amounts(decoded)
        for number, (block, content) in enumerate(zip(fetched, decoded, strict=True)):
            await self._apply(block, content, amounts)
            if number % _STRIDE == _STRIDE - 1:
                await asyncio.sleep(0)
        return self.projector.take()

    async def _apply(self, block: FetchedBlock, content: Block, amounts: dict[str, int | None]) -> None:
        projector = self.projector
        world = projector.world
        first = world.height == 0
        unknown = world.knowledge.platform is None and not self._looked
        if unknown or projector.wants_discovery(content):
            self._looked = True
            found = await self._source.discovery(world, content)
            if found is not None:
                self._record(block.height, lookups.DISCOVERY, encode_found(found))
                discovery.learn(world, found, instant(block.time_ns), block.time_ns, projector.pending)
        midway = first and block.height > 1 and world.knowledge.platform is not None
        if midway:
            feeds = await self._source.feeds(world, content)
            self._record(block.height, lookups.FEEDS, msgspec.json.encode(feeds).decode())
            for feed in feeds:
                projector.feeds.note(feed, projector.pending)
        projector.apply(block, content, amounts)
        if first:
            # What contracts held before the first block no event tells: take it from the end of that block.
            found = await self._source.seeds(world, content)
            if found is not None:
                self._record(block.height, lookups.SEEDS, encode_found(found))
                discovery.reseed(world, found, instant(block.time_ns), block.time_ns, projector.pending)
        if midway:
            beginning = await self._source.beginning(world, content)
            if beginning is not None:
                self._record(block.height, lookups.BEGINNING, msgspec.json.encode(beginning).decode())
                at = (block.height, instant(block.time_ns), block.time_ns)
                begin(world, beginning, *at, projector.pending)

    async def _amounts(self, decoded: Sequence[Block]) -> dict[str, int | None]:
        opened = openings(decoded)
        amounts = await self._source.amounts(opened)
        asked: dict[int, dict[str, str]] = {}
        for opening in opened:
            amount = amounts.get(opening.lease)
            if opening.amount is None and amount is not None:
                asked.setdefault(opening.height, {})[opening.lease] = str(amount)
        for height, found in asked.items():
            self._record(height, lookups.AMOUNTS, msgspec.json.encode(found).decode())
        return amounts

    def _record(self, height: int, kind: str, content: str) -> None:
        self.projector.pending.append("lookups", (height, kind, content))
