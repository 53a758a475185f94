"""Long answers keep little, say the same in every coding, and are sent in pieces."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from collections.abc import AsyncIterator

import msgspec
import pytest
import zstandard
from tests.unit.data_api.served_history import History

from leasehold.core.settings import Database
from leasehold.data_api.index import Copied, Index, Listing
from leasehold.data_api.packing import LARGEST_PLAIN, Packed, Packer
from leasehold.serving.routes import Reply
from leasehold.storage import pool


class Row(msgspec.Struct):
    """A made-up row with what JSON and COPY must write specially."""

    number: int
    text: str


def rows(count: int) -> Listing:
    """So many rows of about a hundred bytes."""
    text = "E'\\\\ \"quoted\"\\n\\t, \u20ac ' || repeat(md5(n::text), 2)"
    return Listing("rows", Row, f"SELECT n AS number, {text} AS text FROM generate_series(1, {count}) n")


@pytest.fixture
async def index(history: History) -> AsyncIterator[Index]:
    async with pool.opened(Database(url=history.url, pool_size=3), service="test", patience=5) as database:
        yield Index(database)


async def _body(reply: Reply) -> bytes:
    return b"".join([chunk async for chunk in reply.body])


def _packed(copied: Copied) -> Packed:
    assert isinstance(copied.body, Packed)
    return copied.body


@pytest.mark.parametrize("count", [0, 1, 2, 100])
async def test_short_lists_stay_as_they_are(index: Index, count: int) -> None:
    """JSON is an array whatever stands in it; CSV always has its header line."""
    copied = await index.copied(rows(count))
    assert isinstance(copied.body, bytes)
    found = json.loads(copied.body)
    assert [row["number"] for row in found] == list(range(1, count + 1))
    assert all(row["text"].startswith('\\ "quoted"\n\t, \u20ac ') for row in found)
    table = (await index.copied(Listing("n", Row, "SELECT 1 AS number, 'a' AS text LIMIT 0"), csv=True)).body
    assert table == b"number,text\n"


async def test_every_coding_says_the_same(index: Index) -> None:
    """zstd, gzip and plain bytes are one answer with three marks; who has it gets 304."""
    packed = _packed(await index.copied(rows(20_000)))
    plain = await _body(packed.reply({}, "application/json", {}))
    assert len(plain) == packed.size
    assert json.loads(plain)[-1]["number"] == 20_000
    marks = set()
    for coding, opened in (("zstd", _unzstd), ("gzip", gzip.decompress), ("identity", bytes)):
        reply = packed.reply({"accept-encoding": coding}, "application/json", {"x-block-height": "5"})
        body = await _body(reply)
        assert reply.headers["content-length"] == str(len(body))
        assert opened(body) == plain
        again = packed.reply(
            {"accept-encoding": coding, "if-none-match": reply.headers["etag"]}, "application/json", {}
        )
        assert (again.status, again.body) == (304, None)
        marks.add(reply.headers["etag"])
    assert len(marks) == 3
    assert packed.weight < packed.size


def _unzstd(body: bytes) -> bytes:
    return zstandard.ZstdDecompressor().decompressobj().decompress(body)


async def test_cut_lists_say_so(index: Index) -> None:
    """The first so many rows, and whether there were more; the header line of a CSV is no row."""
    query = "SELECT n AS number, repeat(md5(n::text), 2) AS text FROM generate_series(1, {}) n"
    for csv in (False, True):
        cut = await index.copied(Listing("rows", Row, query.format(30_000)), csv=csv, rows=20_000)
        whole = await index.copied(Listing("rows", Row, query.format(20_000)), csv=csv, rows=20_000)
        assert (cut.cut, whole.cut) == (True, False)
        assert _packed(cut).digest == _packed(whole).digest


async def test_memory_does_not_follow_the_length() -> None:
    """Forty megabytes pass through a few chunks, in and out."""
    packer = Packer()
    piece = b"0123456789abcdef" * 4096
    tracemalloc.start()
    try:
        for _ in range(640):
            await packer.feed(piece)
        packed = await packer.finish()
        assert isinstance(packed, Packed)
        size = 0
        async for chunk in packed.reply({}, "text/csv", {}).body:
            size += len(chunk)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert size == packed.size == 640 * len(piece)
    assert peak < 8 * LARGEST_PLAIN
