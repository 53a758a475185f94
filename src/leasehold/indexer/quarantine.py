"""What could not be decoded: listed for people, and tried again after a fix."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psycopg

from leasehold.core.settings import Settings
from leasehold.indexer.rebuild import Rebuild
from leasehold.indexer.writer import SCHEMA
from leasehold.storage import queries

_queries = queries.load("leasehold.indexer", "queries.sql")


@dataclass(frozen=True, slots=True)
class Quarantined:
    """One thing set aside: where it stood, why, and its bytes."""

    height: int
    tx: int
    part: str
    ordinal: int
    reason: str
    data: bytes
    time: datetime


@dataclass(frozen=True, slots=True)
class Replayed:
    """How many things were in quarantine before and after a replay."""

    before: int
    after: int


async def listed(url: str, *, limit: int = 100, schema: str = SCHEMA) -> list[Quarantined]:
    """What is in quarantine, oldest first."""
    async with await psycopg.AsyncConnection.connect(url) as connection:
        return [Quarantined(*row) for row in await _fetch(connection, "quarantined", schema, (limit,))]


async def replay(settings: Settings, *, schema: str = SCHEMA) -> Replayed:
    """Decode everything again with this release; what is understood now takes its place in every projection.

    A late event changes what came after it, so all projections are rebuilt from raw blocks beside the living ones.
    """
    url = settings.database.primary_url or settings.database.url
    before = await _size(url, schema)
    if before:
        await Rebuild(settings, schema=schema).run()
    return Replayed(before, await _size(url, schema))


async def _size(url: str, schema: str) -> int:
    async with await psycopg.AsyncConnection.connect(url) as connection:
        return int((await _fetch(connection, "quarantine_size", schema, ()))[0][0])


async def _fetch(
    connection: psycopg.AsyncConnection, name: str, schema: str, arguments: tuple[Any, ...]
) -> list[tuple[Any, ...]]:
    text: Any = _queries[name].replace("{schema}", schema)
    found = await connection.execute(text, arguments or None)
    return await found.fetchall()
