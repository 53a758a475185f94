"""Exports: whole, bounded in rows, memory and number, and given up when nobody reads."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import AsyncIterator

import msgspec
import pytest
from tests.unit.data_api.served_history import Client, History

from leasehold.core.errors import NotReady, RateLimited
from leasehold.core.settings import Database
from leasehold.data_api.exports import Exports
from leasehold.data_api.index import Index, Listing
from leasehold.storage import pool


class Row(msgspec.Struct):
    """A made-up row."""

    number: int
    even: bool
    text: str | None


def numbers(count: int) -> Listing:
    """The first so many numbers."""
    text = "CASE WHEN n = 3 THEN NULL ELSE 'a,\"b' END"
    return Listing(
        "numbers", Row, f"SELECT n AS number, n % 2 = 0 AS even, {text} AS text FROM generate_series(1, {count}) n"
    )


@pytest.fixture
async def index(history: History) -> AsyncIterator[Index]:
    async with pool.opened(Database(url=history.url, pool_size=4), service="test", patience=5) as database:
        yield Index(database)


async def _read(exports: Exports, listing: Listing) -> bytes:
    reply = await exports.stream(listing)
    return b"".join([chunk async for chunk in reply.body])


async def test_rows_and_quoting(index: Index) -> None:
    """A header line, booleans as words, nulls as nothing, quotes only where needed."""
    body = await _read(Exports(index), numbers(3))
    assert body == b'number,even,text\n1,false,"a,""b"\n2,true,"a,""b"\n3,false,\n'
    assert await _read(Exports(index), numbers(0)) == b"number,even,text\n"


async def test_the_limit_is_told(index: Index) -> None:
    """At the limit the last line says so; a dataset of exactly that size is complete and says nothing."""
    whole = await _read(Exports(index, rows=5000), numbers(5000))
    cut = await _read(Exports(index, rows=5000), numbers(20_000))
    assert whole.count(b"\n") == 5001
    assert cut == whole + b"# stopped at 5000 rows\n"
    assert Exports(index).rows == 100_000


async def test_memory_does_not_grow_with_rows(index: Index) -> None:
    """A hundred thousand rows pass through a few chunks."""
    reply = await Exports(index).stream(numbers(100_000))
    tracemalloc.start()
    try:
        size = 0
        async for chunk in reply.body:
            size += len(chunk)
            await asyncio.sleep(0)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert size > 1_500_000
    assert peak < 1_500_000


async def test_two_at_once(index: Index) -> None:
    """A third export waits, then is told when to come back; a slot is free again when a stream ends."""
    exports = Exports(index, patience=0.05, stall=5)
    first, second = await exports.stream(numbers(100_000)), await exports.stream(numbers(100_000))
    with pytest.raises(RateLimited) as refused:
        await exports.stream(numbers(1))
    assert refused.value.retry_after == 10
    async for _ in first.body:
        break
    await first.body.aclose()
    assert (await _read(exports, numbers(1))).count(b"\n") == 2
    async for _ in second.body:
        break
    await second.body.aclose()


async def test_a_client_that_stops_reading_loses_its_slot(index: Index) -> None:
    """Nobody reads, so the copying is given up and its connection and slot are free again."""
    exports = Exports(index, stall=0.05, at_once=1, patience=2)
    reply = await exports.stream(numbers(100_000))
    assert (await _read(exports, numbers(2))).count(b"\n") == 3
    with pytest.raises(TimeoutError):
        async for _ in reply.body:
            pass
    assert await index.value("SELECT 1") == 1


async def test_a_query_that_fails_is_no_half_answer(index: Index) -> None:
    """What can't begin is an error, not a stream."""
    with pytest.raises(NotReady):
        await Exports(index).stream(Listing("nothing", Row, "SELECT 1 FROM indexer.not_a_table"))


def test_export_ignores_period_and_from(client: Client) -> None:
    """Everything there is, whatever else is asked for; the file has the route's name."""
    whole = client.get("/api/liquidations?period=all&format=csv")
    answer = client.get("/api/liquidations?export=true&period=3m&from=2099-01-01T00:00:00Z&format=json")
    assert answer.body == whole.body
    assert answer.headers["content-disposition"] == 'attachment; filename="liquidations.csv"'
    assert client.get("/api/liquidations/export").body == whole.body
    assert client.get("/api/liquidations?export=false").json == client.json("/api/liquidations")


def test_csv_without_rows_has_its_header(client: Client) -> None:
    """An empty window is a header line."""
    answer = client.get("/api/liquidations?from=2099-01-01T00:00:00Z&format=csv")
    assert answer.body.startswith(b"timestamp,ticker,contract_id,user,")
    assert answer.body.count(b"\n") == 1
