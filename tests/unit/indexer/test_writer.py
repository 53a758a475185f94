"""Writing batches: all or nothing, once, by one writer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from leasehold.core.errors import AlreadyRunning
from leasehold.indexer import writer as module
from leasehold.indexer.partitions import HEIGHTS
from leasehold.indexer.tables import Rows
from leasehold.indexer.writer import Batch, CursorMoved, Writer
from leasehold.storage import migrations

TIME = datetime(2026, 1, 1, tzinfo=UTC)


def batch(first: int, last: int, rows: Rows | None = None) -> Batch:
    """Blocks without content."""
    content = rows or Rows()
    for height in range(first, last + 1):
        content.append("blocks", (height, b"h", TIME, b"p", 0, 0))
    return Batch("c-1", first, last, b"h%d" % last, TIME, 1, last - first + 1, 0, 0, 0, content)


@pytest.fixture
async def schema(database: str) -> str:
    await migrations.apply(database, schema="indexer", migrations=migrations.of_package("leasehold.indexer"))
    return database


@pytest.fixture
async def writer(schema: str) -> AsyncIterator[Writer]:
    opened = Writer(schema)
    await opened.open()
    yield opened
    await opened.close()


async def _rows(url: str, query: str) -> list[tuple[Any, ...]]:
    text: Any = query
    async with await psycopg.AsyncConnection.connect(url) as connection:
        return await (await connection.execute(text)).fetchall()


async def test_the_cursor_moves_with_the_rows(schema: str, writer: Writer) -> None:
    """After two batches the cursor is at the last block and has counted all of them."""
    await writer.write(batch(1, 3))
    await writer.write(batch(4, 9))
    cursor = await writer.cursor()
    assert cursor is not None
    assert (cursor.first_height, cursor.height, cursor.blocks, cursor.chain_id) == (1, 9, 9, "c-1")
    assert await _rows(schema, "SELECT count(*) FROM indexer.blocks") == [(9,)]


@pytest.mark.parametrize("again", [(1, 3), (2, 4), (5, 6)])
async def test_a_range_that_does_not_follow_the_cursor_changes_nothing(
    schema: str, writer: Writer, again: tuple[int, int]
) -> None:
    """Writing a batch again, an overlapping one or one beyond a gap is refused whole."""
    await writer.write(batch(1, 3))
    with pytest.raises(CursorMoved):
        await writer.write(batch(*again))
    assert await _rows(schema, "SELECT count(*) FROM indexer.blocks") == [(3,)]


async def test_a_batch_that_fails_leaves_nothing_behind(schema: str, writer: Writer) -> None:
    """An error in any table undoes all of them, the cursor and new partitions included."""
    rows = Rows()
    rows.append("txs", (1, 0, b"h", 0, 0, 0, 0, None, "", TIME))
    rows.append("txs", (1, 0, b"h", 0, 0, 0, 0, None, "", TIME))
    with pytest.raises(psycopg.errors.UniqueViolation):
        await writer.write(batch(1, 2, rows))
    assert await _rows(schema, "SELECT count(*) FROM indexer.blocks") == [(0,)]
    assert await writer.cursor() is None


async def test_nul_characters_do_not_stop_the_chain(schema: str, writer: Writer) -> None:
    """Text that PostgreSQL can't keep is stored without its NULs."""
    rows = Rows()
    rows.append("messages", (1, 0, 0, 0, "/t", "a\x00b", "c", b"\x00", None))
    await writer.write(batch(1, 1, rows))
    assert await _rows(schema, "SELECT sender, value FROM indexer.messages") == [("ab", b"\x00")]


async def test_notifications_are_queued_once_per_lease_kind_and_height(schema: str, writer: Writer) -> None:
    """The same warning twice in a block is one notification; at another height it is another."""
    for height in (1, 2):
        rows = Rows()
        for _ in range(2):
            rows.append("outbox", ("lease", "Funding", height, "owner", "{}", TIME))
        await writer.write(batch(height, height, rows))
    assert await _rows(schema, "SELECT height FROM indexer.outbox ORDER BY 1") == [(1,), (2,)]


async def test_sums_add_up_and_states_are_replaced(schema: str, writer: Writer) -> None:
    """Roll-ups grow by what batches add; current rows take the newest value; USD keeps 18 decimals."""
    for number in (1, 2):
        rows = Rows()
        rows.add("totals", ("profit",), TIME, amount=number, usd=number)
        rows.replace("balances", {"address": "a", "denom": "d", "amount": 10**30 * number})
        await writer.write(batch(number, number, rows))
    assert await _rows(schema, "SELECT amount::text, usd::text FROM indexer.totals") == [("3", "0.000000000000000003")]
    assert await _rows(schema, "SELECT amount::text FROM indexer.balances") == [(str(2 * 10**30),)]


async def test_partitions_appear_when_heights_enter_them(schema: str, writer: Writer) -> None:
    """A batch across a boundary goes to two partitions."""
    await writer.write(batch(HEIGHTS - 1, HEIGHTS))
    found = await _rows(
        schema, "SELECT count(*) FROM indexer.blocks_h0000 UNION ALL SELECT count(*) FROM indexer.blocks_h0001"
    )
    assert found == [(1,), (1,)]


async def test_a_second_writer_is_refused(schema: str, writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    """While one writer holds the index another can't open it."""
    monkeypatch.setattr(module, "CLAIM_ATTEMPTS", 2)
    second = Writer(schema)
    with pytest.raises(AlreadyRunning):
        await second.open()
    await second.close()
