"""Walks through long lists: what is skipped or counted is not built, and a walk in parts is the walk in one go."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.devnet.open_chain import open_chain

from leasehold.chain.registry import registry
from leasehold.devnet.app import pagination
from leasehold.devnet.app.context import Block, Context
from leasehold.devnet.app.pagination import Page, Unfinished, Walk, page
from leasehold.devnet.app.panics import Panic
from leasehold.devnet.state.store import OrderedMap

ACCOUNTS = "/cosmos.auth.v1beta1.Query/Accounts"
REQUEST: Any = registry().type("cosmos.base.query.v1beta1.PageRequest")


def stocked(count: int) -> Context:
    """A context over so many keys under `a`, beside others."""
    state = OrderedMap()
    for number in range(count):
        state.set(b"a" + number.to_bytes(4, "big"), str(number).encode())
    state.set(b"b", b"another list")
    return Context.for_query(state, Block(1, 0, "test"))


def in_parts(ctx: Context, request: Any, **given: Any) -> tuple[tuple[list[str], Page], int]:
    """The page that a walk comes to, and in how many parts."""
    ctx.walk = Walk()
    parts = 1
    while True:
        try:
            return page(ctx, b"a", request, lambda _, value: value.decode(), **given), parts
        except Unfinished:
            parts += 1


@given(
    key=st.none() | st.integers(0, 58) | st.integers(60, 70),
    offset=st.integers(0, 70),
    limit=st.integers(0, 70),
    count_total=st.booleans(),
    reverse=st.booleans(),
    third=st.booleans(),
    walks=st.booleans(),
)
def test_a_walk_in_parts_comes_to_the_same(
    key: int | None, offset: int, limit: int, count_total: bool, reverse: bool, third: bool, walks: bool
) -> None:
    """Whatever is asked for, however small the parts: the same items, next key and total."""
    ctx = stocked(60)
    request = REQUEST(
        key=b"" if key is None else key.to_bytes(4, "big"),
        offset=offset if key is None else 0,
        limit=limit,
        count_total=count_total,
        reverse=reverse,
    )
    more: dict[str, Any] = {"walks": walks}
    if third:
        more["keep"] = lambda _, value: int(value) % 3 == 0
    whole = page(ctx, b"a", request, lambda _, value: value.decode(), **more)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pagination, "_PART_COST", 200)
        assert in_parts(ctx, request, **more)[0] == whole


def numbers(request: Any, *, walks: bool, keep: Any = None, count: int = 6) -> tuple[list[int], int, int]:
    """Items of a page, where the next one begins (0 for nowhere) and the total."""
    items, result = page(stocked(count), b"a", request, lambda _, value: int(value), keep=keep, walks=walks)
    return items, int.from_bytes(result.next_key, "big"), result.total


def even(_: bytes, value: bytes) -> bool:
    return int(value) % 2 == 0


def at(number: int) -> bytes:
    return number.to_bytes(4, "big")


@pytest.mark.parametrize(
    ("fields", "store", "collection"),
    [
        ({"limit": 2}, ([0, 2], 4, 0), ([0, 2], 3, 0)),
        ({"limit": 2, "count_total": True}, ([0, 2], 4, 3), ([0, 2], 4, 3)),
        ({"limit": 3, "count_total": True}, ([0, 2, 4], 0, 3), ([0, 2, 4], 5, 3)),
        ({"limit": 1, "offset": 1}, ([2], 4, 0), ([2], 3, 0)),
        ({"limit": 2, "offset": 3, "count_total": True}, ([], 0, 3), ([4], 0, 4)),
        ({"limit": 1, "key": at(1)}, ([2], 3, 0), ([2], 4, 0)),
        ({"offset": 6}, ([], 0, 3), ([], 0, 6)),
        ({"offset": 7}, ([], 0, 3), ([], 0, 0)),
    ],
)
def test_filtered_lists_are_paged_as_the_original_pages_them(
    fields: dict[str, Any], store: tuple[list[int], int, int], collection: tuple[list[int], int, int]
) -> None:
    """A collection counts an offset in all items and may name a next one that will not pass; a store does neither."""
    assert numbers(REQUEST(**fields), walks=False, keep=even) == store
    assert numbers(REQUEST(**fields), walks=True, keep=even) == collection


def test_an_offset_at_the_very_end_still_counts() -> None:
    """One past the end of a collection has no total; the end itself has."""
    assert numbers(REQUEST(offset=6), walks=True) == ([], 0, 6)
    assert numbers(REQUEST(offset=7), walks=True) == ([], 0, 0)
    assert numbers(REQUEST(offset=7), walks=False) == ([], 0, 6)


def test_backwards_a_store_begins_at_the_first_entry_from_the_key_on() -> None:
    """A key between entries takes the one after it along, one past all of them begins at the end."""
    assert numbers(REQUEST(key=at(2) + b"x", limit=2, reverse=True), walks=False)[0] == [3, 2]
    assert numbers(REQUEST(key=b"\x00\x00", limit=2, reverse=True), walks=False)[0] == [0]
    assert numbers(REQUEST(key=b"\xff", limit=2, reverse=True), walks=False)[0] == [5, 4]
    with pytest.raises(Panic, match=r"^prefixIterator invalid, cannot call Key\(\)$"):
        numbers(REQUEST(key=at(5), limit=2, reverse=True), walks=False)


def test_backwards_a_collection_begins_with_all_that_start_with_the_key() -> None:
    """The end of what a key is the beginning of is where a collection turns round."""
    assert numbers(REQUEST(key=at(5), limit=2, reverse=True), walks=True)[0] == [5, 4]
    assert numbers(REQUEST(key=b"\x00\x00", limit=2, reverse=True), walks=True)[0] == [5, 4]
    assert numbers(REQUEST(key=at(2) + b"x", limit=2, reverse=True), walks=True)[0] == [2, 1]


def test_what_is_skipped_or_counted_is_not_built() -> None:
    """A page of one near the end of a thousand, with their number, builds one item."""
    built: list[bytes] = []

    def take(key: bytes, _: bytes) -> bytes:
        built.append(key)
        return key

    items, result = page(stocked(1000), b"a", REQUEST(offset=990, limit=1, count_total=True), take)
    assert built == items == [(990).to_bytes(4, "big")]
    assert result == Page((991).to_bytes(4, "big"), 1000)


def test_a_long_walk_is_left_after_a_part() -> None:
    """Counting, skipping and judging many keys takes several parts; a short list takes one."""
    many = stocked(20_000)
    assert in_parts(many, REQUEST(limit=1, count_total=True))[1] >= 3
    assert in_parts(many, REQUEST(limit=1, offset=19_999))[1] >= 3
    assert in_parts(many, REQUEST(limit=1), keep=lambda _, value: value == b"19999")[1] >= 100
    assert in_parts(stocked(90), REQUEST(count_total=True))[1] == 1


async def test_blocks_are_sealed_while_a_list_is_counted() -> None:
    """A count of many accounts gives turns away, and speaks for its own height whatever is sealed in between."""
    chain = open_chain(1)
    node, queries = chain.devnet.node, chain.devnet.app.queries
    request = chain.method(ACCOUNTS).request_type(pagination={"limit": 2, "count_total": True})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pagination, "_PART_COST", 90)
        asked_at = chain.devnet.app.state.height
        expected = queries.call(ACCOUNTS, request, asked_at)
        asked = asyncio.create_task(queries.answer(ACCOUNTS, request, asked_at))
        sealed = 0
        while not asked.done():
            # A new account in every block: a count that looked at the head would notice.
            node.seal(txs=[chain.send(5, recipient=bytes([sealed + 1]) * 20)])
            sealed += 1
            await asyncio.sleep(0)
        assert sealed >= 3
        assert await asked == expected
    later = queries.call(ACCOUNTS, request, chain.devnet.app.state.height)
    assert later.pagination.total > expected.pagination.total
    chain.devnet.close()
