"""Migrations: numbered SQL files of a service, each run once, in order, by one process at a time.

A service keeps them as `migrations/0001_name.sql`, `0002_…` in its package and owns one schema. Each file runs in a
transaction of its own together with the note that it ran, so a killed process leaves a whole number of files applied.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

import asyncpg

from leasehold.core import logging
from leasehold.core.errors import ConfigurationError, Unavailable
from leasehold.storage import pool, queries

_FILE = re.compile(r"^(\d{4})_([a-z0-9_]+)\.sql$")
_SCHEMA = re.compile(r"^[a-z][a-z0-9_]*$")
_statements = queries.load("leasehold.storage", "migrations.sql")
_log = logging.get("migrations")


class MigrationError(Unavailable):
    """The database and the migrations of this release do not fit together."""

    code = "MIGRATION"


class MalformedMigrations(ConfigurationError):
    """The migration files are misnamed or not numbered 1, 2, 3 …"""

    code = "MALFORMED_MIGRATIONS"


class ChangedMigration(MigrationError):
    """A file was edited after it ran."""


class NewerDatabase(MigrationError):
    """The database has migrations this release does not know."""


class FailedMigration(MigrationError):
    """PostgreSQL refused a statement of a file; nothing of that file was kept."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One file."""

    number: int
    name: str
    text: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    def __str__(self) -> str:
        return f"{self.number:04d}_{self.name}"


def of_package(package: str) -> list[Migration]:
    """The migrations in a package's `migrations` folder, in order."""
    folder = resources.files(package) / "migrations"
    files = [(entry.name, entry.read_text(encoding="utf-8")) for entry in folder.iterdir()]
    return ordered([(name, text) for name, text in files if name.endswith(".sql")])


def ordered(files: Sequence[tuple[str, str]]) -> list[Migration]:
    """Migrations from (file name, text) pairs; MalformedMigrations unless they are numbered 1, 2, 3 … without gaps."""
    found = []
    for name, text in files:
        match = _FILE.match(name)
        if match is None:
            raise MalformedMigrations(f"{name} is no migration", hint="name it like 0001_first_tables.sql")
        found.append(Migration(int(match[1]), match[2], text))
    found.sort(key=lambda migration: migration.number)
    for expected, migration in enumerate(found, start=1):
        if migration.number != expected:
            raise MalformedMigrations(f"migration {expected:04d} is missing or doubled before {migration}")
    return found


async def apply(url: str, *, schema: str, migrations: Sequence[Migration]) -> list[Migration]:
    """Bring a service's schema on the primary up to date; returns the migrations that ran now.

    Safe when several processes call it at once: the first runs the files, the others wait and find them done.
    """
    if not _SCHEMA.match(schema):
        raise MalformedMigrations(f"{schema!r} can't name a schema")
    connection = await pool.retried(lambda: pool.connect(url, service="migrations"), patience=30.0)
    done = []
    try:
        while (ran := await _next(connection, schema, migrations)) is not None:
            _log.info("migrated", schema=schema, migration=str(ran))
            done.append(ran)
    except asyncpg.ReadOnlySQLTransactionError as error:
        raise MigrationError("migrations can't run on a standby", hint="set database.primary_url") from error
    except asyncpg.InsufficientPrivilegeError as error:
        raise MigrationError(f"the database role may not migrate: {error}", hint="let it own its database") from error
    finally:
        await connection.close()
    return done


async def _next(connection: asyncpg.Connection, schema: str, migrations: Sequence[Migration]) -> Migration | None:
    """Run the first migration not yet applied, if there is one, holding the schema's lock meanwhile."""
    async with connection.transaction():
        await connection.execute(_statements.lock, f"leasehold migrations {schema}")
        if not await connection.fetchval(_statements.is_prepared, schema):
            await connection.execute(_statements.prepare.replace("{schema}", schema))
        rows = await connection.fetch(_statements.applied.replace("{schema}", schema))
        _check(schema, migrations, [(row["number"], row["checksum"]) for row in rows])
        if len(rows) == len(migrations):
            return None
        migration = migrations[len(rows)]
        await connection.execute(_statements.search_within.replace("{schema}", schema))
        try:
            await connection.execute(migration.text)
        except asyncpg.InsufficientPrivilegeError:
            raise
        except asyncpg.PostgresError as error:
            raise FailedMigration(f"migration {schema}/{migration} failed: {error}") from error
        note = _statements.note.replace("{schema}", schema)
        await connection.execute(note, migration.number, migration.name, migration.checksum)
        return migration


def _check(schema: str, migrations: Sequence[Migration], applied: list[tuple[int, str]]) -> None:
    if len(applied) > len(migrations):
        raise NewerDatabase(
            f"schema {schema} is at migration {applied[-1][0]}, this release knows {len(migrations)}",
            hint="run the newer release",
        )
    for migration, (_, checksum) in zip(migrations, applied, strict=False):
        if migration.checksum != checksum:
            raise ChangedMigration(
                f"migration {schema}/{migration} changed after it ran",
                hint="restore the file and put the change in a new one",
            )
