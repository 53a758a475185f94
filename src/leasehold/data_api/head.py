"""Reading the index: the cursor that every answer speaks for, and queries in the same snapshot as it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import asyncpg

from leasehold.core.errors import NotReady
from leasehold.core.settings import Settings
from leasehold.storage import pool, queries
from leasehold.storage.pool import Database

QUERIES = queries.load("leasehold.data_api", "queries.sql")


@dataclass(frozen=True, slots=True)
class Head:
    """The newest height committed to the index."""

    chain_id: str
    first_height: int
    height: int
    time: datetime
    time_ns: int
    blocks: int
    quarantined: int

    @property
    def headers(self) -> dict[str, str]:
        """What an answer says about the height and time it speaks for."""
        return {"x-block-height": str(self.height), "x-block-time": self.time.isoformat().replace("+00:00", "Z")}


class Index:
    """The index as the data API reads it, from a primary or a standby; connect it before use."""

    def __init__(self) -> None:
        self._connected: Database | None = None

    @asynccontextmanager
    async def connected(self, settings: Settings) -> AsyncIterator[Database]:
        """Hold the service's pools for as long as the context lasts."""
        async with pool.opened(settings.database, service="data-api") as database:
            self._connected = database
            try:
                yield database
            finally:
                self._connected = None

    @property
    def _database(self) -> Database:
        if self._connected is None:
            raise NotReady("the database is not connected")
        return self._connected

    async def head(self) -> Head:
        """The newest height; NotReady while nothing is indexed."""
        try:
            row = await self._database.fetchrow(QUERIES.cursor)
        except (asyncpg.UndefinedTableError, asyncpg.InvalidSchemaNameError):
            row = None
        if row is None:
            raise NotReady("nothing is indexed yet", hint="is the indexer running?")
        return Head(**row)

    async def row(self, name: str, *arguments: Any) -> tuple[Head, asyncpg.Record | None]:
        """The first row of a named query, with the head of the same snapshot."""
        try:
            async with self._database.snapshot() as connection:
                head = await connection.fetchrow(QUERIES.cursor)
                if head is None:
                    raise NotReady("nothing is indexed yet", hint="is the indexer running?")
                return Head(**head), await connection.fetchrow(QUERIES[name], *arguments)
        except (asyncpg.UndefinedTableError, asyncpg.InvalidSchemaNameError):
            raise NotReady("nothing is indexed yet", hint="is the indexer running?") from None
