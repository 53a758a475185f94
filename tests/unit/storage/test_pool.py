"""Pools give typed, bounded, restart-proof access to PostgreSQL."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import asyncpg
import pytest

from leasehold.core.errors import ConfigurationError
from leasehold.core.settings import Database as DatabaseSettings
from leasehold.storage import pool


async def test_json_round_trips_as_values(database: str) -> None:
    """json and jsonb columns take and give Python values."""
    value = {"a": [1, "two", None], "é": True}
    async with pool.opened(DatabaseSettings(url=database), service="t") as opened:
        row = await opened.fetchrow("SELECT $1::jsonb AS b, $1::json AS j", value)
    assert row is not None
    assert row["b"] == row["j"] == value


async def test_sessions_are_named_and_bounded(database: str) -> None:
    """The server sees who asks, in UTC, and ends a statement that runs too long."""
    settings = DatabaseSettings(url=database, statement_timeout_ms=50)
    async with pool.opened(settings, service="data-api") as opened:
        assert await opened.fetchval("SELECT current_setting('application_name')") == "leasehold data-api"
        assert await opened.fetchval("SELECT current_setting('timezone')") == "UTC"
        with pytest.raises(asyncpg.QueryCanceledError):
            await opened.fetchval("SELECT pg_sleep(5)")


async def test_one_url_means_one_pool(database: str) -> None:
    """Without a primary URL, reads and writes share connections; with one, they don't."""
    async with pool.opened(DatabaseSettings(url=database), service="t") as opened:
        assert opened.primary is opened.read
    other = database + "&options=-cwork_mem%3D8MB"
    async with pool.opened(DatabaseSettings(url=database, primary_url=other), service="t") as opened:
        assert opened.primary is not opened.read
        await opened.ping()


async def test_an_operation_is_repeated_when_its_connection_is_ended(database: str) -> None:
    """A connection ended by the server costs a repetition, not an error."""
    attempts = []

    async def end_own_connection_once(connection: pool.Session) -> int:
        attempts.append(1)
        if len(attempts) == 1:
            await connection.execute("SELECT pg_terminate_backend(pg_backend_pid())")
        result: int = await connection.fetchval("SELECT 7")
        return result

    async with pool.opened(DatabaseSettings(url=database), service="t") as opened:
        assert await opened.reading(end_own_connection_once) == 7
        attempts.clear()
        assert await opened.writing(end_own_connection_once) == 7
    assert len(attempts) == 2


async def test_a_write_is_one_transaction(database: str) -> None:
    """What fails half-way leaves nothing, and an error of the statement is not retried."""
    attempts = []

    async def fail_after_insert(connection: pool.Session) -> None:
        attempts.append(1)
        await connection.execute("INSERT INTO note VALUES (1)")
        await connection.execute("SELECT 1/0")

    async with pool.opened(DatabaseSettings(url=database), service="t") as opened:
        await opened.primary.execute("CREATE TABLE note (n int)")
        with pytest.raises(asyncpg.DivisionByZeroError):
            await opened.writing(fail_after_insert)
        assert await opened.fetchval("SELECT count(*) FROM note") == 0
    assert len(attempts) == 1


async def test_a_snapshot_does_not_see_later_rows(database: str) -> None:
    """Statements of one snapshot agree with each other, whatever is written meanwhile."""
    async with pool.opened(DatabaseSettings(url=database), service="t") as opened:
        await opened.primary.execute("CREATE TABLE note (n int)")
        async with opened.snapshot() as connection:
            before = await connection.fetchval("SELECT count(*) FROM note")
            await opened.primary.execute("INSERT INTO note VALUES (1)")
            assert await connection.fetchval("SELECT count(*) FROM note") == before == 0
        assert await opened.fetchval("SELECT count(*) FROM note") == 1


async def test_bulk_copy_is_binary(database: str) -> None:
    """The bulk connection streams rows with psycopg's binary COPY."""
    connection = await pool.bulk_connection(database, service="indexer")
    async with connection:
        await connection.execute("CREATE TABLE note (n bigint, t text)")
        async with (
            connection.cursor() as cursor,
            cursor.copy("COPY note FROM STDIN (FORMAT BINARY)") as copy,
        ):
            copy.set_types(["int8", "text"])
            for n in range(100):
                await copy.write_row((n, str(n)))
        counted = await (await connection.execute("SELECT sum(n) FROM note")).fetchone()
    assert counted == (4950,)


async def test_a_missing_server_is_unavailable_after_the_patience() -> None:
    """Nobody answering is a typed error, not a hang."""
    with pytest.raises(pool.DatabaseUnavailable, match="does not answer"):
        async with pool.opened(DatabaseSettings(url="postgresql://x@127.0.0.1:1/x"), service="t", patience=0.2):
            pass


async def test_a_wrong_url_is_a_configuration_error(database: str) -> None:
    """A database that does not exist, or no URL at all, is told from a server that is down."""
    with pytest.raises(ConfigurationError, match="no_such"):
        async with pool.opened(DatabaseSettings(url=database.replace("/test_", "/no_such_")), service="t"):
            pass
    with pytest.raises(ConfigurationError, match="no_such_parameter"):
        async with pool.opened(DatabaseSettings(url=database + "&no_such_parameter=1"), service="t"):
            pass
    with pytest.raises(ConfigurationError, match=r"database\.url is empty"):
        async with pool.opened(DatabaseSettings(), service="t"):
            pass


async def test_an_old_server_is_refused(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """PostgreSQL 14 is named as too old."""
    monkeypatch.setattr(asyncpg.Connection, "get_server_version", lambda _: SimpleNamespace(major=14))
    with pytest.raises(pool.UnsupportedServer, match="PostgreSQL 14 is too old, 15"):
        async with pool.opened(DatabaseSettings(url=database), service="t"):
            pass


async def test_ping_fails_within_its_time_when_the_pool_is_exhausted(database: str) -> None:
    """Health is bounded even when every connection is busy."""
    async with pool.opened(DatabaseSettings(url=database, pool_size=1), service="t") as opened:
        await opened.ping()
        async with opened.read.acquire():
            with pytest.raises(pool.DatabaseUnavailable):
                await asyncio.wait_for(opened.ping(), 60)
