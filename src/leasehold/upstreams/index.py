"""What the upstreams read of the indexer's tables; they never write them."""

from __future__ import annotations

from decimal import Decimal

import asyncpg

from leasehold.storage import queries
from leasehold.storage.pool import Session

QUERIES = queries.load("leasehold.upstreams", "index.sql")


class Index:
    """The indexer's tables, which may not exist yet."""

    async def height(self, session: Session) -> int | None:
        """Newest indexed height, None before the index exists."""
        if not await session.fetchval(QUERIES.has_index):
            return None
        found: int | None = await session.fetchval(QUERIES.indexed_height)
        return found

    async def price(self, session: Session, ticker: str) -> Decimal | None:
        """Newest USD price of a whole unit of a currency."""
        found: Decimal | None = await session.fetchval(QUERIES.price, ticker)
        return found

    async def position(self, session: Session, lease: str) -> asyncpg.Record | None:
        """A lease as indexed, None where it is unknown."""
        if not await session.fetchval(QUERIES.has_index):
            return None
        return await session.fetchrow(QUERIES.position, lease)

    async def lent_denoms(self, session: Session) -> list[str]:
        """Bank denoms of what the active protocols lend."""
        if not await session.fetchval(QUERIES.has_index):
            return []
        return [row["bank_symbol"] for row in await session.fetch(QUERIES.lent_denoms)]
