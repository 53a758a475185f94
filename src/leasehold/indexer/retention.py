"""Letting go of raw data: blocks, contract events and the change log older than the configured days.

Projections and roll-ups stay. Whole partitions are dropped, the rest is deleted in steps, so that no statement is long.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import psycopg

from leasehold.core import logging
from leasehold.indexer.writer import SCHEMA
from leasehold.storage import queries

RAW = ("raw_blocks", "events", "change_log")
STEP = 10_000
_queries = queries.load("leasehold.indexer", "queries.sql")
_log = logging.get("retention")


async def prune(url: str, *, days: int, now: datetime, schema: str = SCHEMA) -> int:
    """Drop raw data of blocks older than `days` before `now`; returns the last height dropped, 0 for none."""
    if days <= 0:
        return 0
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        oldest = now - timedelta(days=days)
        ((last,),) = await _fetch(connection, "height_before", schema, (oldest, oldest))
        if last is None:
            return 0
        for table in RAW:
            await _prune(connection, schema, table, last)
    _log.info("raw data dropped", up_to_height=last)
    return int(last)


async def _prune(connection: psycopg.AsyncConnection, schema: str, table: str, last: int) -> None:
    for name, end in await _fetch(connection, "partition_ends", schema, (schema, table)):
        if end is not None and end <= last + 1:
            await _execute(connection, f"DROP TABLE {schema}.{name}")
    ((first,),) = await _fetch_text(connection, f"SELECT min(height) FROM {schema}.{table}")
    while first is not None and first <= last:
        end = min(first + STEP, last + 1)
        await _execute(connection, f"DELETE FROM {schema}.{table} WHERE height >= {first} AND height < {end}")
        first = end


async def _fetch(
    connection: psycopg.AsyncConnection, name: str, schema: str, arguments: tuple[Any, ...]
) -> list[tuple[Any, ...]]:
    return await _fetch_text(connection, _queries[name].replace("{schema}", schema), arguments)


async def _fetch_text(
    connection: psycopg.AsyncConnection, statement: str, arguments: tuple[Any, ...] = ()
) -> list[tuple[Any, ...]]:
    text: Any = statement
    found = await connection.execute(text, arguments or None)
    return await found.fetchall()


async def _execute(connection: psycopg.AsyncConnection, statement: str) -> None:
    text: Any = statement
    await connection.execute(text)
