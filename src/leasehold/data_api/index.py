"""Reading the index: every answer comes with the height and time it speaks for, read in the same statement.

JSON and CSV are made by PostgreSQL from the same query; nothing here loops over rows.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeVar

import asyncpg
import msgspec

from leasehold.core.errors import NotReady
from leasehold.data_api.packing import Packed, Packer
from leasehold.storage.pool import Database, DatabaseUnavailable, Session

_Result = TypeVar("_Result")
_PLACE = (
    "coalesce((SELECT height FROM indexer.cursor), 0) AS height, "
    "coalesce((SELECT time_ns FROM indexer.cursor), 0) AS time_ns"
)
# Lists of a window may read more than other requests are allowed to.
_PATIENT = "SET LOCAL statement_timeout = 120000"


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

    `name` is the file name of the CSV form; where `bare` names a member, JSON has its values alone.
    """

    name: str
    row: type[msgspec.Struct]
    query: str
    bare: str = ""
    # Expressions that are the JSON array of the rows, and the first of them or null.
    array: str = field(init=False)
    first: str = field(init=False)

    def __post_init__(self) -> None:
        rows = f"SELECT '[' || string_agg(row_to_json(r)::text, ',') || ']' FROM ({self.query}) r"
        object.__setattr__(self, "array", f"coalesce(({rows}), '[]')")
        object.__setattr__(self, "first", f"(SELECT row_to_json(r)::text FROM ({self.query}) r LIMIT 1)")

    @property
    def columns(self) -> list[str]:
        """Columns of the CSV form."""
        return [member.encode_name for member in msgspec.structs.fields(self.row)]

    @property
    def wire_type(self) -> Any:
        """Type of all rows together."""
        kind: Any = self.row
        return list[kind]

    def objects(self, limit: int) -> str:
        """Query of the rows as JSON, one by one."""
        shown = f'to_json(r."{self.bare}")' if self.bare else "row_to_json(r)"
        return f"SELECT {shown}::text FROM ({self.query}) r LIMIT {limit}"

    def csv(self, limit: int) -> str:
        """Query of the CSV form, which spells booleans as JSON does."""
        columns = ", ".join(
            f'"{member.encode_name}"' + ("::text" if member.type is bool else "")
            for member in msgspec.structs.fields(self.row)
        )
        return f"SELECT {columns} FROM ({self.query}) r LIMIT {limit}"


@dataclass(frozen=True, slots=True)
class Copied:
    """All rows of a listing and the block they speak for; `cut` where there were more than an answer may have."""

    body: bytes | Packed
    height: int
    time_ns: int
    cut: bool


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

    async def text(self, expression: str, *arguments: Any) -> Stated:
        """A scalar text expression; an SQL null gives JSON `null`."""
        ((height, time_ns, body),) = await self.rows(_placed(expression), *arguments)
        return Stated(b"null" if body is None else body.encode(), height, time_ns)

    async def array(self, listing: Listing, *arguments: Any) -> Stated:
        """All rows of a short listing as a JSON array."""
        return await self.text(listing.array, *arguments)

    async def first(self, listing: Listing, *arguments: Any) -> Stated:
        """The first row as a JSON object, `null` when there is none."""
        return await self.text(listing.first, *arguments)

    async def copied(self, listing: Listing, *arguments: Any, csv: bool = False, rows: int = MAX_ROWS) -> Copied:
        """All rows as a JSON array, or as CSV with a header line; long ones come packed."""

        async def copy(session: Session) -> Copied:
            taker = _Taker(csv=csv, rows=rows)
            query = listing.csv(rows + 1) if csv else listing.objects(rows + 1)
            form: dict[str, Any] = {"format": "csv", "header": True} if csv else {"format": "text"}
            async with session.transaction(isolation="repeatable_read", readonly=True):
                await session.execute(_PATIENT)
                (place,) = await session.fetch(f"SELECT {_PLACE}")
                await session.copy_from_query(query, *arguments, output=taker.take, **form)
            return Copied(await taker.finish(), place["height"], place["time_ns"], taker.cut)

        return await self._reading(copy)

    async def value(self, query: str, *arguments: Any) -> Any:
        """First column of the first row of a query, without a height."""
        rows = await self.rows(query, *arguments)
        return rows[0][0] if rows else None

    async def rows(self, query: str, *arguments: Any) -> list[asyncpg.Record]:
        """Rows of a query that reads few, without a height."""
        with _SAID:
            return await self.database.brief(query, *arguments)

    async def writing(self, operation: Callable[[Session], Awaitable[_Result]]) -> _Result:
        """Result of an operation in one transaction on the primary."""
        with _SAID:
            return await self.database.writing(operation)

    @asynccontextmanager
    async def streaming(self) -> AsyncIterator[tuple[Session, Stated]]:
        """A read connection without a statement timeout, in a transaction, and the place it speaks for."""
        with _SAID:
            async with self.database.snapshot() as session:
                await session.execute("SET LOCAL statement_timeout = 0")
                (place,) = await session.fetch(f"SELECT {_PLACE}")
                yield session, Stated(b"", place["height"], place["time_ns"])

    async def _reading(self, operation: Callable[[Session], Awaitable[_Result]]) -> _Result:
        with _SAID:
            return await self.database.reading(operation)


@lru_cache(maxsize=256)
def _placed(expression: str) -> str:
    """A query of a text expression with the block it speaks for; the same object each time, so that it is known."""
    return f"SELECT {_PLACE}, {expression} AS body"


class _Taker:
    """Lines of a COPY on their way into a packer: as they are for CSV, as members of an array for JSON."""

    def __init__(self, *, csv: bool, rows: int) -> None:
        self._csv = csv
        self._left = rows + csv
        self._begun = False
        self._rest = b""
        self._packer = Packer()
        self.cut = False

    async def take(self, data: bytes) -> None:
        """Some bytes of the COPY, not necessarily whole lines."""
        whole, line, self._rest = (self._rest + data).rpartition(b"\n")
        lines = whole + line
        count = lines.count(b"\n")
        if count > self._left:
            self.cut = True
            lines, count = _first(lines, self._left), self._left
        self._left -= count
        if lines:
            await self._packer.feed(lines if self._csv else self._members(lines))

    async def finish(self) -> bytes | Packed:
        if not self._csv:
            await self._packer.feed(b"]" if self._begun else b"[]")
        return await self._packer.finish()

    def _members(self, lines: bytes) -> bytes:
        # JSON has no line ends of its own, and COPY doubles each backslash.
        members = lines[:-1].replace(b"\\\\", b"\\").replace(b"\n", b",")
        opening, self._begun = b"," if self._begun else b"[", True
        return opening + members


def _first(lines: bytes, count: int) -> bytes:
    end = 0
    for _ in range(count):
        end = lines.index(b"\n", end) + 1
    return lines[:end]


class _Said:
    """Turns what PostgreSQL can't do right now into an answer that says so."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None:
            return
        # A connection that ends while it is being used may leave asyncpg in a state it does not expect.
        if isinstance(error, DatabaseUnavailable | asyncpg.InternalClientError):
            raise NotReady("the database does not answer") from error
        if isinstance(error, asyncpg.QueryCanceledError):
            raise NotReady("the database took too long") from error
        if isinstance(error, asyncpg.UndefinedTableError | asyncpg.InvalidSchemaNameError):
            raise NotReady("the index is not there yet") from error


_SAID = _Said()
