"""Snapshots: finished bytes whose ETag depends on nothing but the content."""

from __future__ import annotations

import gzip

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from leasehold.serving.memoryfiles import MOST, MemoryFile
from leasehold.serving.negotiation import accepted_encodings, not_modified
from leasehold.serving.snapshots import Snapshot, SnapshotTable, variants_of


@given(st.binary(max_size=3000))
def test_variants_hold_the_same_content(body: bytes) -> None:
    """Every variant decodes to the body, is smaller than it, and has an ETag of its own."""
    variants = variants_of(body)
    assert variants["identity"].body == body
    for encoding, decode in (("gzip", gzip.decompress), ("zstd", zstandard.decompress)):
        if encoding in variants:
            assert decode(variants[encoding].body) == body
            assert len(variants[encoding].body) < len(body)
    assert len({variant.etag for variant in variants.values()}) == len(variants)


def test_etags_are_equal_on_every_replica() -> None:
    """Two processes at other heights and times give the same content the same ETags, other content others."""
    one = Snapshot.build(b"a" * 1000, height=1, time_ns=1)
    two = Snapshot.build(b"a" * 1000, height=2, time_ns=2)
    other = Snapshot.build(b"b" * 1000, height=1, time_ns=1)
    tags = [{v.encoding: v.etag for v in snapshot.variants.values()} for snapshot in (one, two, other)]
    assert tags[0] == tags[1]
    assert not set(tags[0].values()) & set(tags[2].values())
    assert [one.variants[e].body for e in one.variants] == [two.variants[e].body for e in two.variants]


async def test_publishing_the_same_content_keeps_its_bytes() -> None:
    """Only the height moves: nothing is compressed again."""
    table = SnapshotTable()
    first = await table.publish("/a", {"x": "y" * 500}, height=1, time_ns=1)
    second = await table.publish("/a", {"x": "y" * 500}, height=2, time_ns=2)
    assert second.variants is first.variants
    assert table.get("/a") is second
    assert dict(second.response_headers)["x-block-height"] == "2"


async def test_a_large_body_is_published_from_a_thread() -> None:
    """A megabyte ends up as the same snapshot as a small body would, with a file to send it from."""
    table = SnapshotTable()
    snapshot = await table.publish("/big", b"0123456789" * 100_000, height=1, time_ns=1, headers={"X-A": "b"})
    assert set(snapshot.variants) == {"identity", "gzip", "zstd"}
    assert snapshot.variants["identity"].file is not None
    assert ("X-A", "b") in snapshot.response_headers


def test_replacing_the_whole_table_is_one_step() -> None:
    """A reader that holds the old entries sees none of the new ones, and the other way round."""
    table = SnapshotTable()
    table.put("/a", Snapshot.build(b"1", height=1, time_ns=0))
    before = table.entries
    table.replace_all({"/b": Snapshot.build(b"2", height=2, time_ns=0)})
    assert list(before) == [b"/a"]
    assert (list(table), len(table)) == (["/b"], 1)
    table.withdraw("/b")
    table.withdraw("/b")
    assert table.get("/b") is None


def test_files_are_closed_and_few() -> None:
    """Descriptors of memory files are bounded and come back when a snapshot goes."""
    before = MemoryFile.open_files
    held = [MemoryFile.of(b"x" * 100_000) for _ in range(MOST + 5)]
    assert MemoryFile.open_files == MOST
    assert held[-1] is None
    held.clear()
    assert MemoryFile.open_files == before
    assert MemoryFile.of(b"small") is None


@given(st.binary(max_size=40))
def test_any_accept_encoding_leaves_something_to_send(header: bytes) -> None:
    """Whatever the header says, the order is made of known codings, each once, identity among them."""
    order = accepted_encodings(header)
    assert "identity" in order
    assert len(set(order)) == len(order)
    assert set(order) <= {"zstd", "gzip", "identity"}


@given(st.binary(max_size=40))
def test_any_if_none_match_is_answered(header: bytes) -> None:
    """Garbage never matches and never fails; the tag itself always matches."""
    assert not_modified(header, b'"tag"') in (True, False)
    assert not_modified(b'W/"a", "tag"', b'"tag"')


@pytest.mark.parametrize("header", [b'"tag" "x"', b"tag", b'"tag', b'W/ "tag"', b'w/"tag"', b"", b","])
def test_malformed_tags_do_not_match(header: bytes) -> None:
    """A list that is not one matches nothing."""
    assert not not_modified(header, b'"tag"')
