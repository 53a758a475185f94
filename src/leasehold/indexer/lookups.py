"""What projections need besides blocks: the registry, the state before the first block, amounts no event carries.

Live answers come from the chain and are kept with the block that needed them; a rebuild reads them back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

from leasehold.chain.client.errors import PrunedHistory, QueryFailed
from leasehold.chain.client.nodes import Nodes
from leasehold.core import logging
from leasehold.indexer.beginnings import Beginning, BeginningReader
from leasehold.indexer.decode import Block, Decoder
from leasehold.indexer.discovery import Discovery, Found
from leasehold.indexer.feeds import Feed, earlier_feeds
from leasehold.indexer.knowledge import Platform, Terms
from leasehold.indexer.knowledge import Protocol as SubProtocol
from leasehold.indexer.openings import Opening, bought_amounts
from leasehold.indexer.patience import Pause, patiently
from leasehold.indexer.tables import instant
from leasehold.indexer.world import World
from leasehold.protocol.currencies import Currency
from leasehold.protocol.pool import PoolTotals

DISCOVERY, SEEDS, AMOUNTS, BEGINNING, FEEDS = "discovery", "seeds", "amounts", "beginning", "feeds"
_log = logging.get("lookups")


class Lookups(Protocol):
    """Where the answers come from."""

    async def discovery(self, world: World, block: Block) -> Found | None:
        """The registry as of the end of a block that is about to be applied."""
        ...

    async def seeds(self, world: World, block: Block) -> Found | None:
        """State of all known contracts as of the end of the first block, which has been applied."""
        ...

    async def beginning(self, world: World, block: Block) -> Beginning | None:
        """What there was before a first block that is not the chain's; None when nobody can tell."""
        ...

    async def feeds(self, world: World, block: Block) -> list[Feed]:
        """Observations before such a block that its oracles still average over."""
        ...

    async def amounts(self, opened: Sequence[Opening]) -> dict[str, int | None]:
        """What leases bought, by lease."""
        ...


class ChainLookups:
    """Answers from the nodes, however long they are away."""

    def __init__(
        self,
        nodes: Nodes,
        discovery: Discovery,
        beginnings: BeginningReader,
        decoder: Decoder,
        pause: Pause = asyncio.sleep,
    ) -> None:
        self._nodes = nodes
        self._discovery = discovery
        self._beginnings = beginnings
        self._decoder = decoder
        self._pause = pause

    async def discovery(self, world: World, block: Block) -> Found | None:
        try:
            return await self._discovery.look(world, block.height, instant(block.time_ns))
        except (QueryFailed, PrunedHistory) as error:
            _log.warning("the registry did not answer", height=block.height, reason=str(error))
            return None

    async def seeds(self, world: World, block: Block) -> Found | None:
        return await self._discovery.seeds(world, block.height)

    async def beginning(self, world: World, block: Block) -> Beginning | None:
        return await self._beginnings.read(world, block.height)

    async def feeds(self, world: World, block: Block) -> list[Feed]:
        return await earlier_feeds(self._nodes, self._decoder, world, block, self._pause)

    async def amounts(self, opened: Sequence[Opening]) -> dict[str, int | None]:
        return await patiently(lambda: bought_amounts(self._nodes, opened), self._pause)


class RecordedLookups:
    """Answers as they were given when the blocks were first indexed."""

    def __init__(self) -> None:
        self._recorded: Mapping[tuple[int, str], Any] = {}

    def load(self, recorded: Mapping[tuple[int, str], Any]) -> None:
        """Answer from these, by height and kind."""
        self._recorded = recorded

    async def discovery(self, world: World, block: Block) -> Found | None:
        return self._found(block.height, DISCOVERY)

    async def seeds(self, world: World, block: Block) -> Found | None:
        return self._found(block.height, SEEDS)

    async def beginning(self, world: World, block: Block) -> Beginning | None:
        content = self._recorded.get((block.height, BEGINNING))
        return None if content is None else msgspec.convert(content, Beginning)

    async def feeds(self, world: World, block: Block) -> list[Feed]:
        return msgspec.convert(self._recorded.get((block.height, FEEDS), []), list[Feed])

    async def amounts(self, opened: Sequence[Opening]) -> dict[str, int | None]:
        found: dict[str, int | None] = {opening.lease: opening.amount for opening in opened}
        for opening in opened:
            kept = self._recorded.get((opening.height, AMOUNTS), {}).get(opening.lease)
            if opening.amount is None and kept is not None:
                found[opening.lease] = int(kept)
        return found

    def _found(self, height: int, kind: str) -> Found | None:
        content = self._recorded.get((height, kind))
        return None if content is None else decode_found(content)


def encode_found(found: Found) -> str:
    """JSON of what a lookup found; amounts are text because JSON readers round them."""
    protocols = [msgspec.to_builtins(protocol) for protocol in found.protocols.values()]
    document = {
        "platform": msgspec.to_builtins(found.platform),
        "protocols": protocols,
        "totals": {pool: list(map(str, totals)) for pool, totals in found.totals.items()},
        "balances": [[address, denom, str(amount)] for (address, denom), amount in found.balances.items()],
    }
    return msgspec.json.encode(document).decode()


def decode_found(content: Any) -> Found:
    """What a lookup found, from its JSON."""
    protocols = {}
    for item in content["protocols"]:
        currencies = {ticker: Currency(*currency) for ticker, currency in item["currencies"].items()}
        terms = msgspec.convert(item["terms"], Terms)
        protocol = msgspec.convert({**item, "currencies": {}, "terms": terms}, SubProtocol)
        protocol.currencies = currencies
        protocols[protocol.name] = protocol
    return Found(
        platform=msgspec.convert(content["platform"], Platform),
        protocols=protocols,
        totals={pool: PoolTotals(*map(int, totals)) for pool, totals in content["totals"].items()},
        balances={(address, denom): int(amount) for address, denom, amount in content["balances"]},
    )
