"""Reading the index: every answer comes with the height and time it speaks for, read in the same statement.

JSON and CSV are made by PostgreSQL from the same query; nothing here loops over rows.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import asyncpg
import msgspec

from leasehold.core.errors import NotReady
from leasehold.storage.pool import Database, DatabaseUnavailable, Session

_Result = TypeVar("_Result")
_PLACE = (
    "coalesce((SELECT height FROM indexer.cursor), 0) AS height, "
    "coalesce((SELECT time_ns FROM indexer.cursor), 0) AS time_ns"
)
# Background work may read more than a request is allowed to, and is worth a plan of its own.
_PATIENT = "SET LOCAL statement_timeout = 120000; SET LOCAL plan_cache_mode = force_custom_plan"


# No answer has more rows: one that does not end would let a few requests fill the memory.
MAX_ROWS = 100_000


@dataclass(frozen=True, slots=True)
class Stated:
    """Finished bytes and the block they speak for."""

    body: bytes
    height: int
    time_ns: int


@dataclass(frozen=True, slots=True)
class Listing:
    """Rows of one wire type: a query whose columns are the members of `row`, as JSON or as CSV.

    `name` is the file name of the CSV form.
    """

    name: str
    row: type[msgspec.Struct]
    query: str

    @property
    def columns(self) -> list[str]:
        """Columns of the CSV form."""
        return [member.encode_name for member in msgspec.structs.fields(self.row)]

    @property
    def wire_type(self) -> Any:
        """Type of all rows together."""
        kind: Any = self.row
        return list[kind]

    @property
    def array(self) -> str:
        """Expression that is the JSON array of the rows, the first 100,000 of them."""
        rows = f"SELECT * FROM ({self.query}) q LIMIT {MAX_ROWS}"
        return f"coalesce((SELECT '[' || string_agg(row_to_json(r)::text, ',') || ']' FROM ({rows}) r), '[]')"

    def csv(self, limit: int | None = None) -> str:
        """Query of the CSV form, which spells booleans as JSON does."""
        columns = ", ".join(
            f'"{member.encode_name}"' + ("::text" if member.type is bool else "")
            for member in msgspec.structs.fields(self.row)
        )
        return f"SELECT {columns} FROM ({self.query}) r LIMIT {limit or MAX_ROWS}"


class Index:
    """The index as the data API reads it; nothing it does needs more than a standby. Connect it before use."""

    def __init__(self, database: Database | None = None) -> None:
        self._database = database

    def connect(self, database: Database | None) -> None:
        """Read from these pools from now on; from none, every answer is that the database is away."""
        self._database = database

    @property
    def database(self) -> Database:
        if self._database is None:
            raise NotReady("the database is not connected")
        return self._database

    async def text(self, expression: str, *arguments: Any, patient: bool = False) -> Stated:
        """A scalar text expression; an SQL null gives JSON `null`."""
        row = await self._row(f"SELECT {_PLACE}, {expression} AS body", arguments, patient)
        body = row["body"]
        return Stated(b"null" if body is None else body.encode(), row["height"], row["time_ns"])

    async def array(self, listing: Listing, *arguments: Any, patient: bool = False) -> Stated:
        """All rows as a JSON array."""
        return await self.text(listing.array, *arguments, patient=patient)

    async def first(self, listing: Listing, *arguments: Any) -> Stated:
        """The first row as a JSON object, `null` when there is none."""
        return await self.text(f"(SELECT row_to_json(r)::text FROM ({listing.query}) r LIMIT 1)", *arguments)

    async def table(self, listing: Listing, *arguments: Any) -> Stated:
        """All rows as CSV with a header line."""
        chunks: list[bytes] = []

        async def take(data: bytes) -> None:
            chunks.append(data)

        async def copy(session: Session) -> Stated:
            chunks.clear()
            async with session.transaction(isolation="repeatable_read", readonly=True):
                await session.execute(_PATIENT)
                (place,) = await session.fetch(f"SELECT {_PLACE}")
                await session.copy_from_query(listing.csv(), *arguments, output=take, format="csv", header=True)
            return Stated(b"".join(chunks), place["height"], place["time_ns"])

        return await self._reading(copy)

    async def value(self, query: str, *arguments: Any) -> Any:
        """First column of the first row of a query, without a height."""
        return await self._reading(lambda session: session.fetchval(query, *arguments))

    async def rows(self, query: str, *arguments: Any) -> list[asyncpg.Record]:
        """Rows of a query, without a height."""
        return await self._reading(lambda session: session.fetch(query, *arguments))

    async def writing(self, operation: Callable[[Session], Awaitable[_Result]]) -> _Result:
        """Result of an operation in one transaction on the primary."""
        with _Said():
            return await self.database.writing(operation)

    @asynccontextmanager
    async def streaming(self) -> AsyncIterator[tuple[Session, Stated]]:
        """A read connection without a statement timeout, in a transaction, and the place it speaks for."""
        with _Said():
            async with self.database.snapshot() as session:
                await session.execute("SET LOCAL statement_timeout = 0")
                (place,) = await session.fetch(f"SELECT {_PLACE}")
                yield session, Stated(b"", place["height"], place["time_ns"])

    async def _row(self, statement: str, arguments: tuple[Any, ...], patient: bool) -> asyncpg.Record:
        async def attempt(session: Session) -> asyncpg.Record:
            if not patient:
                return (await session.fetch(statement, *arguments))[0]
            async with session.transaction(readonly=True):
                await session.execute(_PATIENT)
                return (await session.fetch(statement, *arguments))[0]

        return await self._reading(attempt)

    async def _reading(self, operation: Callable[[Session], Awaitable[_Result]]) -> _Result:
        with _Said():
            return await self.database.reading(operation)


class _Said:
    """Turns what PostgreSQL can't do right now into an answer that says so."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        # A connection that ends while it is being used may leave asyncpg in a state it does not expect.
        if isinstance(error, DatabaseUnavailable | asyncpg.InternalClientError):
            raise NotReady("the database does not answer") from error
        if isinstance(error, asyncpg.QueryCanceledError):
            raise NotReady("the database took too long") from error
        if isinstance(error, asyncpg.UndefinedTableError | asyncpg.InvalidSchemaNameError):
            raise NotReady("the index is not there yet") from error
