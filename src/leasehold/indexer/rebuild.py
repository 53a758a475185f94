"""Rebuilding all projections from raw blocks beside the living index, then taking its place in one transaction.

Readers keep the old tables until the swap; a running indexer goes on and continues in the new ones. No node is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import psycopg

from leasehold.chain.registry import registry
from leasehold.core import logging
from leasehold.core.errors import NotReady
from leasehold.core.settings import Settings
from leasehold.indexer import raw
from leasehold.indexer.decode import Decoder
from leasehold.indexer.knowledge import Knowledge
from leasehold.indexer.lookups import RecordedLookups
from leasehold.indexer.project import Projector
from leasehold.indexer.stage import Stage
from leasehold.indexer.world import World
from leasehold.indexer.writer import SCHEMA, Writer
from leasehold.storage import migrations, queries

# Source tables: they move into the new schema as they are.
_SOURCES = ("raw_blocks", "lookups")
# With at most this many blocks left, the live writer is held while they are replayed.
_LAST_BLOCKS = 50
_queries = queries.load("leasehold.indexer", "queries.sql")
_log = logging.get("rebuild")


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What a rebuild came to."""

    height: int
    blocks: int
    quarantined: int


class Rebuild:
    """One rebuild of one schema."""

    def __init__(self, settings: Settings, *, schema: str = SCHEMA, batch_blocks: int = 200) -> None:
        self._url = settings.database.primary_url or settings.database.url
        self._settings = settings
        self._schema = schema
        self._next = f"{schema}_next"
        self._batch = batch_blocks
        self._lookups = RecordedLookups()
        self._height = 0
        self._blocks = 0
        self._quarantined = 0

    async def run(self, progress: Callable[[int], None] | None = None) -> Rebuilt:
        """Replay everything and swap; `progress` hears each height reached."""
        async with await psycopg.AsyncConnection.connect(self._url, autocommit=True) as connection:
            await self._check(connection)
            await self._execute(connection, f"DROP SCHEMA IF EXISTS {self._next} CASCADE")
            await migrations.apply(self._url, schema=self._next, migrations=migrations.of_package("leasehold.indexer"))
            writer = Writer(self._url, schema=self._next)
            await writer.open()
            try:
                stage = self._stage()
                while True:
                    await self._replay(connection, stage, writer, progress)
                    if await self._swapped(connection, stage, writer, progress):
                        break
            finally:
                await writer.close()
            await self._execute(connection, f"DROP SCHEMA IF EXISTS {self._schema}_old CASCADE")
        _log.info("rebuilt", height=self._height, blocks=self._blocks, quarantined=self._quarantined)
        return Rebuilt(self._height, self._blocks, self._quarantined)

    async def _check(self, connection: psycopg.AsyncConnection) -> None:
        """Refuse to rebuild less than what is there."""
        cursor = await self._query(connection, "cursor")
        ((first,),) = await self._query(connection, "first_raw")
        if not cursor or first is None:
            raise NotReady("there are no raw blocks to rebuild from", hint="run `leasehold index` first")
        if first != cursor[0][1]:
            raise NotReady(
                f"raw blocks are kept from height {first} on, the index begins at {cursor[0][1]}",
                hint="index.retention_days let them go: index into an empty database instead",
            )

    def _stage(self) -> Stage:
        identity = self._settings.identity
        world = World(Knowledge(identity.display, identity.base_denom, identity.exponent))
        return Stage(Projector(world), Decoder(registry(identity.namespace)), self._lookups)

    async def _replay(
        self,
        connection: psycopg.AsyncConnection,
        stage: Stage,
        writer: Writer,
        progress: Callable[[int], None] | None,
    ) -> None:
        while rows := await self._query(connection, "raw_after", (self._height, self._batch)):
            # A running indexer adds lookups with its blocks, so each range is read when its blocks are.
            span = (rows[0][0], rows[-1][0])
            found = await self._query(connection, "recorded_lookups", span)
            self._lookups.load({(height, kind): content for height, kind, content in found})
            batch = await stage.apply([raw.decompress(height, content) for height, content in rows])
            for table in _SOURCES:
                batch.rows.appended.pop(table, None)
            await writer.write(batch)
            self._height = batch.height
            self._blocks += batch.blocks
            self._quarantined += batch.quarantined
            if progress is not None:
                progress(batch.height)

    async def _swapped(
        self,
        connection: psycopg.AsyncConnection,
        stage: Stage,
        writer: Writer,
        progress: Callable[[int], None] | None,
    ) -> bool:
        """Take the old index's place unless it has run too far ahead meanwhile."""
        async with connection.transaction():
            await self._execute(connection, f"LOCK TABLE {self._schema}.cursor IN EXCLUSIVE MODE")
            ahead = (await self._query(connection, "cursor"))[0][2] - self._height
            if ahead > _LAST_BLOCKS:
                return False
            await self._replay(connection, stage, writer, progress)
            # The new schema's own connection must be gone before its tables are renamed under it.
            await writer.close()
            for name in ("carry_outbox", "next_generation"):
                await self._execute(connection, self._text(name))
            for table in _SOURCES:
                await self._execute(connection, f"DROP TABLE {self._next}.{table} CASCADE")
                for (relation,) in await self._query(
                    connection, "with_partitions", (self._schema, table, self._schema, table)
                ):
                    await self._execute(connection, f"ALTER TABLE {self._schema}.{relation} SET SCHEMA {self._next}")
            await self._execute(connection, f"ALTER SCHEMA {self._schema} RENAME TO {self._schema}_old")
            await self._execute(connection, f"ALTER SCHEMA {self._next} RENAME TO {self._schema}")
        return True

    def _text(self, name: str) -> str:
        return _queries[name].replace("{schema}", self._schema).replace("{next}", self._next)

    async def _query(
        self, connection: psycopg.AsyncConnection, name: str, arguments: tuple[Any, ...] = ()
    ) -> list[tuple[Any, ...]]:
        text: Any = self._text(name)
        found = await connection.execute(text, arguments or None)
        return await found.fetchall()

    async def _execute(self, connection: psycopg.AsyncConnection, statement: str) -> None:
        text: Any = statement
        await connection.execute(text)
