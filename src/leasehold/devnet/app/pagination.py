"""Paging through ordered state as PageRequest asks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol, TypeVar

from leasehold.devnet.app.errors import PlainError
from leasehold.devnet.app.panics import Panic
from leasehold.devnet.state.store import Reader, prefix_end

DEFAULT_LIMIT = 100
# Building or judging an item costs about as much as stepping over eighty keys; a part is a few milliseconds.
_ITEM_COST = 80
_PART_COST = 8_000
Item = TypeVar("Item")


class Listed(Protocol):
    """What paging needs of a context."""

    @property
    def store(self) -> Reader: ...

    @property
    def walk(self) -> Walk | None: ...


@dataclass(frozen=True, slots=True)
class Page:
    """What a list query returns beside its items."""

    next_key: bytes
    total: int


@dataclass(slots=True)
class Walk:
    """How far a list has been walked that is gathered in parts; the next part goes on from here."""

    items: list[Any] = field(default_factory=list)
    seen: int = 0
    next_key: bytes = b""
    # The key to look at next; None before the first.
    at: bytes | None = None


class Unfinished(Exception):
    """A part of a walk is over, the list is not: ask the same once more when others had their turn."""


def page(
    ctx: Listed,
    prefix: bytes,
    request: Any,
    take: Callable[[bytes, bytes], Item],
    *,
    keep: Callable[[bytes, bytes], bool] | None = None,
    walks: bool = False,
) -> tuple[list[Item], Page]:
    """Items under a prefix for a PageRequest: `take(key without prefix, value)` builds those that `keep` lets pass.

    No limit means a hundred and a total; a key continues where the last page ended and excludes offset and total.
    Lists that the original `walks` as a collection count an offset in all items rather than in those that pass, and
    end one past the end before anything is counted. What is only skipped or counted is not built. Where the context
    has a walk, a long list is left as `Unfinished` after a part of it.
    """
    key, offset, limit = request.key, request.offset, request.limit
    count_total = request.count_total
    if key and offset:
        raise PlainError("invalid request, either offset or key is expected, got both")
    if limit == 0:
        limit = DEFAULT_LIMIT
        count_total = True
    left = _PART_COST if ctx.walk is not None else None
    walk = ctx.walk or Walk()
    items: list[Item] = walk.items
    size = len(prefix)
    start, end = _bounds(ctx, prefix, walk.at, request, walks=walks)
    for full, value in ctx.store.iterate(start, end, reverse=request.reverse):
        short = full[size:]
        if left is not None:
            if left <= 0:
                walk.at = short
                raise Unfinished
            left -= 1 if keep is None else _ITEM_COST
        if walks and walk.seen < offset:
            walk.seen += 1
            continue
        complete = len(items) == limit
        if complete and (key if not walks else not key and not count_total):
            # Here the original doesn't look whether the next one would pass.
            walk.next_key = short
            break
        passes = keep is None or keep(short, value)
        if complete and (passes if not walks or key else walk.seen - offset <= limit):
            walk.next_key = walk.next_key if walk.next_key and not walks else short
            if key or not count_total:
                break
        if not passes:
            continue
        walk.seen += 1
        if not complete and (key or walks or walk.seen > offset):
            items.append(take(short, value))
            if left is not None:
                left -= _ITEM_COST
    if walks and walk.seen < offset:
        return items, Page(b"", 0)
    return items, Page(walk.next_key, walk.seen if count_total and not key else 0)


def _bounds(ctx: Listed, prefix: bytes, at: bytes | None, request: Any, *, walks: bool) -> tuple[bytes, bytes | None]:
    """Between which keys a list is walked: all of them, or from where a part or an earlier page ended."""
    start, end = prefix, prefix_end(prefix)
    if at is not None:
        return (prefix, prefix + at + b"\x00") if request.reverse else (prefix + at, end)
    if not request.key:
        return start, end
    start = prefix + request.key
    if not request.reverse:
        return start, end
    if walks:
        return prefix, prefix_end(start)
    # The original looks for the entry after the first one that is not before the key, and doesn't expect its absence.
    following = [full for full, _ in islice(ctx.store.iterate(start, end), 2)]
    if len(following) == 1:
        raise Panic("prefixIterator invalid, cannot call Key()")
    return prefix, following[1] if following else end


def page_of(items: Iterable[tuple[bytes, Item]], request: Any) -> tuple[list[Item], Page]:
    """The same over items already in order with their keys."""
    by_key = dict(items)
    return page(_ListContext(by_key), b"", request, lambda key, _: by_key[key])


class _ListContext:
    """Items that are already there, to be paged through at once."""

    walk = None

    def __init__(self, keys: Iterable[bytes]) -> None:
        self.store = _ListReader([(key, b"") for key in sorted(keys)])


class _ListReader:
    """A few ordered pairs behind the reader interface."""

    def __init__(self, pairs: list[tuple[bytes, bytes]]) -> None:
        self._pairs = pairs

    def get(self, key: bytes) -> bytes | None:
        return next((value for found, value in self._pairs if found == key), None)

    def iterate(self, start: bytes = b"", end: bytes | None = None, *, reverse: bool = False) -> Any:
        chosen = [pair for pair in self._pairs if pair[0] >= start and (end is None or pair[0] < end)]
        return iter(reversed(chosen) if reverse else chosen)
