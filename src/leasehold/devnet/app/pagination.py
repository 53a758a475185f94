"""Paging through ordered state as PageRequest asks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from leasehold.devnet.app.errors import PlainError
from leasehold.devnet.state.store import Reader, prefix_end

DEFAULT_LIMIT = 100
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Page:
    """What a list query returns beside its items."""

    next_key: bytes
    total: int


def page(
    store: Reader,
    prefix: bytes,
    request: Any,
    take: Callable[[bytes, bytes], Item | None],
    *,
    walks: bool = False,
) -> tuple[list[Item], Page]:
    """Items under a prefix for a PageRequest; `take(key without prefix, value)` gives an item or None to filter it.

    No limit means a hundred and a total; a key continues where the last page ended and excludes offset and total.
    Lists that the original `walks` as a collection end an offset past the end before anything is counted.
    """
    key, offset, limit = request.key, request.offset, request.limit
    count_total, reverse = request.count_total, request.reverse
    if key and offset:
        raise PlainError("invalid request, either offset or key is expected, got both")
    if limit == 0:
        limit = DEFAULT_LIMIT
        count_total = True
    size = len(prefix)
    start, end = prefix, prefix_end(prefix)
    if key:
        if reverse:
            end = prefix + key + b"\x00"
        else:
            start = prefix + key
    items: list[Item] = []
    seen = 0
    next_key = b""
    for full, value in store.iterate(start, end, reverse=reverse):
        short = full[size:]
        if len(items) == limit and (key or seen >= offset + limit):
            item = take(short, value)
            if item is None:
                continue
            if not next_key:
                next_key = short
            if key or not count_total:
                break
            seen += 1
            continue
        item = take(short, value)
        if item is None:
            continue
        seen += 1
        if key or seen > offset:
            items.append(item)
    if walks and not items and offset:
        return items, Page(b"", 0)
    return items, Page(next_key, seen if count_total and not key else 0)


def page_of(items: Iterable[tuple[bytes, Item]], request: Any) -> tuple[list[Item], Page]:
    """The same over items already in order with their keys."""
    pairs = list(items)
    store = _ListReader([(key, bytes([0])) for key, _ in pairs])
    by_key = dict(pairs)
    return page(store, b"", request, lambda key, _: by_key[key])


class _ListReader:
    """A few pairs behind the reader interface."""

    def __init__(self, pairs: list[tuple[bytes, bytes]]) -> None:
        self._pairs = sorted(pairs)

    def get(self, key: bytes) -> bytes | None:
        return next((value for found, value in self._pairs if found == key), None)

    def iterate(self, start: bytes = b"", end: bytes | None = None, *, reverse: bool = False) -> Any:
        chosen = [pair for pair in self._pairs if pair[0] >= start and (end is None or pair[0] < end)]
        return iter(reversed(chosen) if reverse else chosen)
