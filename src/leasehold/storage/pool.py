"""Connections to PostgreSQL: a pool for reads, a pool for the few writes, and a connection for bulk loading.

Sessions carry no state from one use to the next: whatever an operation sets, it sets with `SET LOCAL`. That spares
each use the reset round trip asyncpg would make.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias, TypeVar

import asyncpg
import msgspec
import psycopg

from leasehold.core import logging
from leasehold.core.errors import ConfigurationError, Unavailable
from leasehold.core.settings import Database as DatabaseSettings
from leasehold.storage.lane import Lane

OLDEST_SERVER = 150_000
"""server_version_num of the oldest PostgreSQL supported."""

_LOST = (
    OSError,
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.TooManyConnectionsError,
    psycopg.OperationalError,
)
_WRONG_URL = (
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
    asyncpg.UndefinedObjectError,
    ValueError,
)
_Result = TypeVar("_Result")
Session: TypeAlias = "asyncpg.Connection | asyncpg.pool.PoolConnectionProxy"
"""What an operation gets to speak to PostgreSQL with."""
_log = logging.get("storage")


class UnsupportedServer(ConfigurationError):
    """The PostgreSQL behind the configured URL is too old."""

    code = "UNSUPPORTED_POSTGRES"


class DatabaseUnavailable(Unavailable):
    """PostgreSQL did not answer for as long as we were willing to wait."""

    code = "DATABASE_UNAVAILABLE"


class _Connection(asyncpg.Connection):
    """A connection that trusts operations to leave nothing behind in the session."""

    def get_reset_query(self) -> str:
        return ""


class Database:
    """The pools of one service process; `read` may be a standby, `primary` takes writes, `lane` short reads."""

    lane: Lane | None = None

    def __init__(self, read: asyncpg.Pool, primary: asyncpg.Pool, *, patience: float, lane: Lane | None = None) -> None:
        self.read = read
        self.primary = primary
        self.patience = patience
        self.lane = lane

    async def close(self) -> None:
        """Wait for connections in use, then close all; does nothing the second time."""
        if self.lane is not None:
            await self.lane.close()
        await self.read.close()
        if self.primary is not self.read:
            await self.primary.close()

    async def ping(self) -> None:
        """Return if both servers answer within two seconds; DatabaseUnavailable otherwise. Feeds health."""
        for pool in {self.read, self.primary}:
            try:
                async with asyncio.timeout(2), pool.acquire() as connection:
                    await connection.fetchval("SELECT 1")
            except (*_LOST, asyncpg.InterfaceError, TimeoutError) as error:
                raise DatabaseUnavailable(f"PostgreSQL does not answer: {_reason(error)}") from error

    async def fetch(self, query: str, *arguments: Any) -> list[asyncpg.Record]:
        """All rows of a read."""
        return await self.reading(lambda connection: connection.fetch(query, *arguments))

    async def fetchrow(self, query: str, *arguments: Any) -> asyncpg.Record | None:
        """First row of a read, or none."""
        return await self.reading(lambda connection: connection.fetchrow(query, *arguments))

    async def fetchval(self, query: str, *arguments: Any) -> Any:
        """First column of the first row of a read, or none."""
        return await self.reading(lambda connection: connection.fetchval(query, *arguments))

    async def brief(self, query: str, *arguments: Any) -> list[asyncpg.Record]:
        """All rows of a read that takes a moment, on the lane for such where there is one."""
        lane = self.lane
        if lane is None:
            return await self.fetch(query, *arguments)
        try:
            return await lane.fetch(query, *arguments)
        except (*_LOST, asyncpg.InterfaceError) as error:
            if not _worth_repeating(error):
                raise
        return await retried(lambda: lane.fetch(query, *arguments), patience=self.patience)

    async def reading(self, operation: Callable[[Session], Awaitable[_Result]]) -> _Result:
        """Result of an operation on a read connection, repeated while the server restarts."""

        async def attempt() -> _Result:
            async with self.read.acquire() as connection:
                return await operation(connection)

        return await retried(attempt, patience=self.patience)

    async def writing(self, operation: Callable[[Session], Awaitable[_Result]]) -> _Result:
        """Result of an operation in one transaction on the primary, repeated while the server restarts.

        A connection lost during commit leaves open whether it happened, so the operation must be one that may
        happen twice.
        """

        async def attempt() -> _Result:
            async with self.primary.acquire() as connection, connection.transaction():
                return await operation(connection)

        return await retried(attempt, patience=self.patience)

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[Session]:
        """A read connection whose statements all see the same rows; nothing is retried."""
        async with (
            self.read.acquire() as connection,
            connection.transaction(isolation="repeatable_read", readonly=True),
        ):
            yield connection


@asynccontextmanager
async def opened(
    settings: DatabaseSettings, *, service: str, patience: float = 30.0, brief: int = 0
) -> AsyncIterator[Database]:
    """The pools of a service, waiting up to `patience` seconds for the server, closed at the end.

    `brief` is how many connections there are for short reads besides.
    """
    read = await _pool(settings, settings.url, service, patience)
    try:
        written = primary_url(settings)
        primary = read if written == settings.url else await _pool(settings, written, service, patience)
    except BaseException:
        read.terminate()
        raise

    async def another() -> asyncpg.Connection:
        return await connect(settings.url, service=service, statement_timeout_ms=settings.statement_timeout_ms)

    lane = Lane(another, brief) if brief else None
    database = Database(read, primary, patience=patience, lane=lane)
    try:
        yield database
    finally:
        await database.close()


def primary_url(settings: DatabaseSettings) -> str:
    """URL that takes writes and migrations."""
    return settings.primary_url or settings.url


async def retried(attempt: Callable[[], Awaitable[_Result]], *, patience: float) -> _Result:
    """Result of `attempt`, repeated with growing pauses for up to `patience` seconds while connections fail."""
    deadline = asyncio.get_running_loop().time() + patience
    pause = 0.05
    while True:
        try:
            return await attempt()
        except (*_LOST, asyncpg.InterfaceError) as error:
            if not _worth_repeating(error):
                raise
            if asyncio.get_running_loop().time() + pause > deadline:
                raise DatabaseUnavailable(
                    f"PostgreSQL does not answer: {_reason(error)}", hint="is the server of database.url running?"
                ) from error
            _log.debug("database retry", reason=_reason(error), pause=pause)
            await asyncio.sleep(pause)
            pause = min(pause * 2, 1.0)


async def connect(url: str, *, service: str, statement_timeout_ms: int = 0) -> asyncpg.Connection:
    """One asyncpg connection outside any pool, with the same codecs; PostgreSQL 15 or newer."""
    connection = await asyncpg.connect(url, server_settings=_session(service, statement_timeout_ms), timeout=10)
    await _prepare(connection)
    return connection


async def bulk_connection(url: str, *, service: str) -> psycopg.AsyncConnection:
    """A psycopg connection for binary COPY, without a statement timeout; the caller commits and closes."""
    return await psycopg.AsyncConnection.connect(
        url, application_name=f"leasehold {service} bulk", options="-c statement_timeout=0 -c timezone=UTC"
    )


async def _pool(settings: DatabaseSettings, url: str, service: str, patience: float) -> asyncpg.Pool:
    if not url:
        raise ConfigurationError("database.url is empty", hint="set DATABASE_URL or run under `leasehold up`")

    async def attempt() -> asyncpg.Pool:
        return await asyncpg.create_pool(
            url,
            min_size=1,
            max_size=settings.pool_size,
            connection_class=_Connection,
            server_settings=_session(service, settings.statement_timeout_ms),
            timeout=10,
            init=_prepare,
        )

    try:
        return await retried(attempt, patience=patience)
    except _WRONG_URL as error:
        raise ConfigurationError(f"database.url can't be used: {error}") from error


def _session(service: str, statement_timeout_ms: int) -> dict[str, str]:
    return {
        "application_name": f"leasehold {service}",
        "statement_timeout": str(statement_timeout_ms),
        "timezone": "UTC",
        # Queries here are short; compiling them costs more than it saves.
        "jit": "off",
    }


async def _prepare(connection: asyncpg.Connection) -> None:
    version = connection.get_server_version()
    if version.major < OLDEST_SERVER // 10_000:
        raise UnsupportedServer(
            f"PostgreSQL {version.major} is too old, {OLDEST_SERVER // 10_000} or newer is needed",
            hint="change database.url",
        )
    await connection.set_type_codec(
        "jsonb", schema="pg_catalog", format="binary", encoder=_encode_jsonb, decoder=_decode_jsonb
    )
    await connection.set_type_codec(
        "json", schema="pg_catalog", format="binary", encoder=msgspec.json.encode, decoder=msgspec.json.decode
    )


def _encode_jsonb(value: Any) -> bytes:
    return b"\x01" + msgspec.json.encode(value)


def _decode_jsonb(data: bytes) -> Any:
    return msgspec.json.decode(data[1:])


def _worth_repeating(error: BaseException) -> bool:
    """InterfaceError also reports mistakes of the caller; only a connection that is gone is worth a retry."""
    if not isinstance(error, asyncpg.InterfaceError):
        return True
    return "closed" in str(error) and "pool is" not in str(error) and "lane is" not in str(error)


def _reason(error: BaseException) -> str:
    return str(error).strip() or type(error).__name__
