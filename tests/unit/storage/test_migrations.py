"""Migrations run once, in order, whole, and by one process at a time."""

from __future__ import annotations

import asyncio

import asyncpg
import pytest

from leasehold.storage import migrations

FIRST = ("0001_tables.sql", "CREATE TABLE block (height bigint PRIMARY KEY); INSERT INTO block VALUES (1);")
SECOND = ("0002_time.sql", "ALTER TABLE block ADD COLUMN time timestamptz;")


async def run(url: str, *files: tuple[str, str], schema: str = "indexer") -> list[str]:
    done = await migrations.apply(url, schema=schema, migrations=migrations.ordered(files))
    return [str(migration) for migration in done]


async def value(url: str, query: str) -> object:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


async def test_each_file_runs_once_in_order(database: str) -> None:
    """A second run does nothing; a new file runs alone."""
    assert await run(database, FIRST) == ["0001_tables"]
    assert await run(database, FIRST) == []
    assert await run(database, SECOND, FIRST) == ["0002_time"]
    assert await value(database, "SELECT count(*) FROM indexer.block") == 1


async def test_services_have_sequences_of_their_own(database: str) -> None:
    """The same file runs once per schema."""
    assert await run(database, FIRST, schema="one") == ["0001_tables"]
    assert await run(database, FIRST, schema="two") == ["0001_tables"]
    assert await value(database, "SELECT count(*) FROM two.block") == 1


async def test_processes_that_start_together_run_each_file_once(database: str) -> None:
    """Of eight at once, exactly one runs each file and nobody fails."""
    done = await asyncio.gather(*(run(database, FIRST, SECOND) for _ in range(8)))
    assert sorted(name for names in done for name in names) == ["0001_tables", "0002_time"]
    assert await value(database, "SELECT count(*) FROM indexer.block") == 1


async def test_a_changed_file_is_refused(database: str) -> None:
    """Editing a file after it ran is an error that names it."""
    await run(database, FIRST)
    with pytest.raises(migrations.ChangedMigration, match="indexer/0001_tables"):
        await run(database, (FIRST[0], FIRST[1] + " -- edited"))


async def test_a_newer_database_is_refused(database: str) -> None:
    """An older release does not touch a database that a newer one migrated."""
    await run(database, FIRST, SECOND)
    with pytest.raises(migrations.NewerDatabase, match="at migration 2, this release knows 1"):
        await run(database, FIRST)


async def test_a_failing_file_leaves_nothing_behind(database: str) -> None:
    """The files before it stay, the failing one is undone whole and runs when mended."""
    broken = ("0002_time.sql", "CREATE TABLE half (); SELECT no_such_function();")
    with pytest.raises(migrations.FailedMigration, match=r"0002_time failed.*no_such_function"):
        await run(database, FIRST, broken)
    assert await value(database, "SELECT to_regclass('indexer.half')") is None
    assert await run(database, FIRST, SECOND) == ["0002_time"]


async def test_a_standby_is_refused_with_a_hint(database: str) -> None:
    """Where nothing can be written, the message names the setting that helps."""
    with pytest.raises(migrations.MigrationError, match=r"database\.primary_url"):
        await run(database + "&options=-cdefault_transaction_read_only%3Don", FIRST)


@pytest.mark.parametrize("names", [("0002_a.sql",), ("0001_a.sql", "0001_b.sql"), ("0001_a.sql", "0003_b.sql")])
def test_numbers_have_no_gap_and_no_double(names: tuple[str, ...]) -> None:
    """Numbering is 1, 2, 3 …"""
    with pytest.raises(migrations.MalformedMigrations):
        migrations.ordered([(name, "") for name in names])


@pytest.mark.parametrize("name", ["1_a.sql", "0001-a.sql", "0001_A.sql", "a.sql"])
def test_a_misnamed_file_is_refused(name: str) -> None:
    """Names follow one pattern, shown in the hint."""
    with pytest.raises(migrations.MalformedMigrations, match="0001_first_tables"):
        migrations.ordered([(name, "")])


async def test_a_schema_name_is_checked(database: str) -> None:
    """A name that would need quoting never reaches SQL."""
    with pytest.raises(migrations.MalformedMigrations):
        await run(database, FIRST, schema="x; DROP")
