"""An index for each public query and no other: every secondary index is what some query of a service goes by."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from tests.unit.data_api.large_index import fill
from tests.unit.data_api.served_history import own_database
from tests.unit.data_api.test_plans import QUERIES, WHOLE

from leasehold.storage import migrations, queries
from leasehold.storage.embedded import EmbeddedServer

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LATE = datetime(2025, 1, 1, 4, 55, tzinfo=UTC)
INDEXER = queries.load("leasehold.indexer", "queries.sql")
COURIER = queries.load("leasehold.data_api", "push/push.sql")
# What else reads by an index: the indexer when it starts, writes and forgets, and the sender of notifications.
OTHERS: dict[str, tuple[str, tuple[Any, ...]]] = {
    "what the indexer loads": (INDEXER["living_positions"], ()),
    "feeds that are too old": (INDEXER["drop_old_feeds"].replace("%s", "$1"), (0,)),
    # With the window of a period instead of the last change that a reader has seen.
    "openings of a period": (WHOLE["historically-opened"][0], (LATE, EPOCH)),
    "buy-backs of a period": (WHOLE["buyback"][0], (LATE, EPOCH)),
    "notifications to send": (COURIER["spread"], (10, EPOCH, timedelta(days=1))),
}


@pytest.fixture(scope="module")
def large(postgres: EmbeddedServer) -> Iterator[str]:
    """An index with enough of most things; where there is little of something, reading all of it is ruled out."""
    with own_database(postgres, "indexer_indexes") as url:
        for schema in ("indexer", "data_api"):
            found = migrations.of_package(f"leasehold.{schema}")
            asyncio.run(migrations.apply(url, schema=schema, migrations=found))
        fill(url, 3_000)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(
                "INSERT INTO indexer.treasury_flows (height, tx, event, kind, amount, time, tx_hash)"
                " SELECT height, 0, 0, CASE height % 2 WHEN 0 THEN 'profit' ELSE 'rewards' END, 1, time, ''"
                " FROM indexer.blocks ON CONFLICT DO NOTHING"
            )
            connection.execute("ANALYZE indexer.treasury_flows")
        yield url


def _indexes(plan: dict[str, Any]) -> set[str]:
    """Names of the indexes that a plan goes by."""
    own = {plan["Index Name"]} if "Index Name" in plan else set()
    return own.union(*(_indexes(child) for child in plan.get("Plans", ())))


def _used(connection: psycopg.Connection, query: str, arguments: tuple[Any, ...]) -> set[str]:
    prepare: Any = f"PREPARE asked AS {query.replace('{schema}', 'indexer')}"
    found: set[str] = set()
    for mode in ("custom", "generic"):
        with connection.transaction(force_rollback=True), psycopg.ClientCursor(connection) as cursor:
            cursor.execute(prepare)
            cursor.execute(f"SET LOCAL plan_cache_mode = force_{mode}_plan".encode())
            marks = f"({', '.join(['%s'] * len(arguments))})" if arguments else ""
            statement: Any = f"EXPLAIN (FORMAT JSON) EXECUTE asked {marks}"
            (plan,) = cursor.execute(statement, arguments).fetchall()[0]
            cursor.execute("DEALLOCATE asked")
        document = json.loads(plan) if isinstance(plan, str) else plan
        found |= _indexes(document[0]["Plan"])
    return found


def test_every_index_serves_a_query(large: str) -> None:
    """Beside primary keys and uniqueness there is no index that no query goes by: each costs every write."""
    with psycopg.connect(large, options="-c jit=off -c enable_seqscan=off -c search_path=indexer") as connection:
        secondary = {
            name
            for (name,) in connection.execute(
                "SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
                " WHERE c.relnamespace = 'indexer'::regnamespace AND NOT i.indisunique AND NOT c.relispartition"
            )
        }
        parents = dict(
            connection.execute(
                "SELECT inhrelid::regclass::text, inhparent::regclass::text FROM pg_inherits"
                " JOIN pg_class c ON c.oid = inhrelid WHERE c.relkind IN ('i', 'I')"
            ).fetchall()
        )
        used: set[str] = set()
        for query, arguments in (*QUERIES.values(), *WHOLE.values(), *OTHERS.values()):
            used |= {parents.get(name, name) for name in _used(connection, query, arguments)}
    assert len(secondary) > 10
    assert secondary - used == set()
