"""Writing batches: COPY for what is new, set-based upserts for the rest, one transaction that also moves the cursor."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec
import psycopg
from psycopg import sql

from leasehold.chain.client.errors import ChainMismatch
from leasehold.core.errors import AlreadyRunning, Conflict
from leasehold.indexer.follow import Position
from leasehold.indexer.partitions import Partitions
from leasehold.indexer.tables import APPENDED, REPLACED, SUMMED, Rows, usd_decimal, usd_text
from leasehold.storage import pool, queries

SCHEMA = "indexer"
CLAIM_ATTEMPTS = 100
CLAIM_PAUSE = 0.1
_queries = queries.load("leasehold.indexer", "queries.sql")


@dataclass(frozen=True, slots=True)
class Cursor:
    """What the index holds: every block from `first_height` to `height`."""

    chain_id: str
    first_height: int
    height: int
    hash: bytes
    time: datetime
    time_ns: int
    blocks: int
    txs: int
    events: int
    quarantined: int

    @property
    def position(self) -> Position:
        return Position(self.height, self.hash, self.chain_id)


@dataclass(slots=True)
class Batch:
    """Consecutive blocks as rows, and the cursor after them."""

    chain_id: str
    first_height: int
    height: int
    hash: bytes
    time: datetime
    time_ns: int
    blocks: int
    txs: int
    events: int
    quarantined: int
    rows: Rows
    feeds_since_ns: int = 0


class CursorMoved(Conflict):
    """The cursor is not where this writer left it: a rebuild replaced the index. Load the state again."""


class Writer:
    """The only writer of the index; one connection, one transaction per batch."""

    def __init__(self, url: str, *, schema: str = SCHEMA) -> None:
        self._url = url
        self.schema = schema
        self._connection: psycopg.AsyncConnection | None = None
        self._partitions = Partitions(schema)
        self._columns: dict[str, list[str]] = {}
        self._generation: int | None = None

    async def open(self) -> Cursor | None:
        """Connect afresh and say where the index stands."""
        await self.close()
        self._connection = await pool.retried(lambda: pool.bulk_connection(self._url, service="indexer"), patience=30.0)
        self._partitions.forget()
        await self._claim(self._connection)
        cursor = await self._connection.execute(_query("columns", self.schema), (self.schema,))
        self._columns = {}
        for table, column in await cursor.fetchall():
            self._columns.setdefault(table, []).append(column)
        await self._connection.execute(_query("candle_stage", self.schema))
        found = await self._connection.execute(_query("hold_cursor", self.schema))
        row = await found.fetchone()
        self._generation = None if row is None else row[1]
        return await self.cursor()

    async def _claim(self, connection: psycopg.AsyncConnection) -> None:
        """Be the only writer; the session of a predecessor that was killed may take a moment to end."""
        for _ in range(CLAIM_ATTEMPTS):
            found = await connection.execute(_query("claim", self.schema), (f"leasehold indexer {self.schema}",))
            row = await found.fetchone()
            await connection.commit()
            if row is not None and row[0]:
                return
            await asyncio.sleep(CLAIM_PAUSE)
        raise AlreadyRunning(f"another indexer writes to schema {self.schema}", hint="stop it first")

    async def close(self) -> None:
        """Give the connection back; harmless when there is none."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    @property
    def connection(self) -> psycopg.AsyncConnection:
        """The connection, for whoever loads state before the first batch."""
        assert self._connection is not None, "open the writer first"
        return self._connection

    async def cursor(self) -> Cursor | None:
        """The committed cursor."""
        found = await self.connection.execute(_query("cursor", self.schema))
        row = await found.fetchone()
        await self.connection.commit()
        return None if row is None else Cursor(*row)

    async def write(self, batch: Batch) -> None:
        """Commit a batch as a whole; on any error nothing of it remains."""
        try:
            await self._write(batch)
        except psycopg.DataError:
            # PostgreSQL keeps no NUL in text, and a failed transaction may carry one anywhere.
            batch.rows.scrub()
            await self._write(batch)
        self._generation = self._generation or 0

    async def _write(self, batch: Batch) -> None:
        try:
            await self._written(batch)
        except BaseException:
            # Partitions made in a transaction that was undone are gone with it.
            self._partitions.forget()
            raise

    async def _written(self, batch: Batch) -> None:
        connection = self.connection
        async with connection.transaction():
            await self._hold(batch)
            await self._partitions.ensure(connection, range(batch.first_height, batch.height + 1), _times(batch))
            rows = batch.rows
            for table, appended in rows.appended.items():
                if table == "outbox":
                    await self._outbox(appended)
                else:
                    await self._copy(table, appended)
            for table, replaced in rows.replaced.items():
                await self._replace(table, list(replaced.values()))
            for table, summed in rows.summed.items():
                await self._add(table, list(summed.values()))
            await self._candles(rows)
            await self._wallets(rows)
            if batch.feeds_since_ns:
                await connection.execute(_query("drop_old_feeds", self.schema), (batch.feeds_since_ns,))
            await self._move(batch)

    async def _hold(self, batch: Batch) -> None:
        found = await self.connection.execute(_query("hold_cursor", self.schema))
        row = await found.fetchone()
        begins = row is None and self._generation is None
        if not begins and row != (batch.first_height - 1, self._generation):
            raise CursorMoved(f"the index is not at height {batch.first_height - 1} any more")

    async def _move(self, batch: Batch) -> None:
        moved = await self.connection.execute(
            _query("move_cursor", self.schema),
            (
                batch.chain_id,
                batch.first_height,
                batch.height,
                batch.hash,
                batch.time,
                batch.time_ns,
                batch.blocks,
                batch.txs,
                batch.events,
                batch.quarantined,
            ),
        )
        if moved.rowcount != 1:
            raise ChainMismatch(
                f"the index already holds height {batch.height} or another chain",
                hint="only one indexer may write; stop the other one",
            )

    async def _copy(self, table: str, rows: list[tuple[Any, ...]]) -> None:
        columns = APPENDED[table]
        scaled = [index for index, kind in enumerate(columns.values()) if kind == "usd"]
        statement = f"COPY {self.schema}.{table} ({', '.join(columns)}) FROM STDIN (FORMAT binary)"
        types = ["numeric" if kind == "usd" else kind for kind in columns.values()]
        async with self.connection.cursor() as cursor, cursor.copy(statement.encode()) as copy:
            copy.set_types(types)
            for row in rows:
                await copy.write_row(_scaled(row, scaled) if scaled else row)

    async def _outbox(self, rows: list[tuple[Any, ...]]) -> None:
        columns = ", ".join(APPENDED["outbox"])
        statement = (
            f"INSERT INTO {self.schema}.outbox ({columns}) VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING"
        )
        async with self.connection.cursor() as cursor:
            await cursor.executemany(statement.encode(), rows)

    async def _replace(self, table: str, rows: list[dict[str, Any]]) -> None:
        key = REPLACED[table]
        columns = [column for column in self._columns[table] if column in rows[0]]
        updates = [f'"{column}" = excluded."{column}"' for column in columns if column not in key]
        await self._upsert(table, columns, key, updates, rows)

    async def _add(self, table: str, rows: list[dict[str, Any]]) -> None:
        key = SUMMED[table]
        named = {name for row in rows for name in row}
        columns = [column for column in self._columns[table] if column in named]
        updates = []
        for column in columns:
            if column == "updated_at":
                updates.append("updated_at = excluded.updated_at")
            elif column not in key:
                updates.append(f"{column} = t.{column} + excluded.{column}")
                for row in rows:
                    row.setdefault(column, 0)
        await self._upsert(table, columns, key, updates, rows)

    async def _upsert(
        self, table: str, columns: list[str], key: tuple[str, ...], updates: list[str], rows: list[dict[str, Any]]
    ) -> None:
        names = ", ".join(f'"{column}"' for column in columns)
        conflict = f"DO UPDATE SET {', '.join(updates)}" if updates else "DO NOTHING"
        statement = (
            f"INSERT INTO {self.schema}.{table} AS t ({names}) "
            f"SELECT {names} FROM json_populate_recordset(null::{self.schema}.{table}, %s) "
            f"ON CONFLICT ({', '.join(key)}) {conflict}"
        )
        document = _ENCODER.encode([{name: _plain(name, value) for name, value in row.items()} for row in rows])
        await self.connection.execute(statement.encode(), (document.decode(),))

    async def _candles(self, rows: Rows) -> None:
        if not rows.candles:
            return
        statement = b"COPY staged_candles FROM STDIN (FORMAT binary)"
        async with self.connection.cursor() as cursor, cursor.copy(statement) as copy:
            copy.set_types(["text", "text", "int2", "timestamptz", *["numeric"] * 4, "int4"])
            for key, values in rows.candles.items():
                await copy.write_row((*key, *values))
        await self.connection.execute(_query("note_candles", self.schema))

    async def _wallets(self, rows: Rows) -> None:
        if rows.wallets:
            keys = list(rows.wallets)
            await self.connection.execute(
                _query("note_wallets", self.schema),
                ([key[0].date() for key in keys], [key[1] for key in keys], list(rows.wallets.values())),
            )


_ENCODER = msgspec.json.Encoder(decimal_format="string")


def _plain(name: str, value: Any) -> Any:
    """A value as JSON that PostgreSQL reads back exactly."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        return usd_text(value) if name.endswith(("usd", "price")) else str(value)
    if isinstance(value, bytes):
        return "\\x" + value.hex()
    return value


def _scaled(row: tuple[Any, ...], places: list[int]) -> tuple[Any, ...]:
    changed = list(row)
    for place in places:
        value = changed[place]
        if value is not None:
            changed[place] = usd_decimal(value)
    return tuple(changed)


def _times(batch: Batch) -> set[datetime]:
    """Instants that need a month's partition."""
    rows = batch.rows
    found = {key[3] for key in rows.candles}
    for table, place in (("position_hours", 1), ("account_hours", 1)):
        found |= {row[place] for row in rows.appended.get(table, ())}
    return found


def _query(name: str, schema: str) -> sql.SQL:
    text: Any = _queries[name].replace("{schema}", schema)
    return sql.SQL(text)
