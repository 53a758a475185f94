"""Ordered key-value state: a base map with sorted keys, and overlays that buffer writes until they are kept.

Execution writes to an overlay; a failed transaction or a simulation is an overlay thrown away. Keys and values are
bytes; order is byte order. Every reader sees the same interface, whether it reads the head, an overlay on it, a
prefix of it, or a past height.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from sortedcontainers import SortedList


class Reader(Protocol):
    """Ordered reads."""

    def get(self, key: bytes) -> bytes | None:
        """Value under a key, or None."""
        ...

    def iterate(
        self, start: bytes = b"", end: bytes | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Pairs with start <= key < end in key order; the map must not be written to meanwhile."""
        ...


class Store(Reader, Protocol):
    """Ordered reads and writes."""

    def set(self, key: bytes, value: bytes) -> None: ...

    def delete(self, key: bytes) -> None: ...


def prefix_end(prefix: bytes) -> bytes | None:
    """The least key greater than every key with this prefix; None when there is none."""
    stripped = prefix.rstrip(b"\xff")
    return stripped[:-1] + bytes([stripped[-1] + 1]) if stripped else None


# Stands for "not written", which None does not: a deletion is a write.
_ABSENT: Any = object()


class OrderedMap:
    """The base map: a dict for lookups beside a sorted list of keys for order."""

    __slots__ = ("_keys", "_values", "get")

    def __init__(self) -> None:
        self._values: dict[bytes, bytes] = {}
        self._keys: SortedList[bytes] = SortedList()
        # Reads outnumber everything else: the dict answers them without a call in between.
        self.get: Callable[[bytes], bytes | None] = self._values.get

    def __len__(self) -> int:
        return len(self._values)

    def set(self, key: bytes, value: bytes) -> None:
        if key not in self._values:
            self._keys.add(key)
        self._values[key] = value

    def delete(self, key: bytes) -> None:
        if self._values.pop(key, None) is not None:
            self._keys.remove(key)

    def iterate(
        self, start: bytes = b"", end: bytes | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        values = self._values
        for key in self._keys.irange(start, end, inclusive=(True, False), reverse=reverse):
            yield key, values[key]

    def load(self, pairs: Iterator[tuple[bytes, bytes]]) -> None:
        """Fill an empty map; much faster than setting one by one."""
        self._values.update(pairs)
        self._keys = SortedList(self._values)


class Overlay:
    """Writes buffered over a parent, kept by `write()` or thrown away by forgetting the overlay."""

    __slots__ = ("_below", "_parent", "writes")

    def __init__(self, parent: Reader) -> None:
        self._parent = parent
        self._below = parent.get
        self.writes: dict[bytes, bytes | None] = {}

    def get(self, key: bytes) -> bytes | None:
        found = self.writes.get(key, _ABSENT)
        return self._below(key) if found is _ABSENT else found

    def set(self, key: bytes, value: bytes) -> None:
        self.writes[key] = value

    def delete(self, key: bytes) -> None:
        self.writes[key] = None

    def iterate(
        self, start: bytes = b"", end: bytes | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        below = self._parent.iterate(start, end, reverse=reverse)
        own = [key for key in self.writes if key >= start and (end is None or key < end)]
        if not own:
            return below
        own.sort(reverse=reverse)
        return self._merged(own, below, reverse)

    def _merged(
        self, own: list[bytes], below: Iterator[tuple[bytes, bytes]], reverse: bool
    ) -> Iterator[tuple[bytes, bytes]]:
        writes = self.writes
        position = 0
        for key, value in below:
            while position < len(own) and (own[position] > key if reverse else own[position] < key):
                mine = writes[own[position]]
                if mine is not None:
                    yield own[position], mine
                position += 1
            if position < len(own) and own[position] == key:
                mine = writes[key]
                position += 1
                if mine is not None:
                    yield key, mine
            else:
                yield key, value
        for key in own[position:]:
            mine = writes[key]
            if mine is not None:
                yield key, mine

    def write(self, target: Store) -> None:
        """Apply the buffered writes to `target` (normally the parent) and forget them."""
        for key, value in self.writes.items():
            if value is None:
                target.delete(key)
            else:
                target.set(key, value)
        self.writes = {}


class Prefixed:
    """A store seen through a prefix: keys are given and returned without it."""

    __slots__ = ("_prefix", "_store")

    def __init__(self, store: Store, prefix: bytes) -> None:
        self._store = store
        self._prefix = prefix

    def get(self, key: bytes) -> bytes | None:
        return self._store.get(self._prefix + key)

    def set(self, key: bytes, value: bytes) -> None:
        self._store.set(self._prefix + key, value)

    def delete(self, key: bytes) -> None:
        self._store.delete(self._prefix + key)

    def iterate(
        self, start: bytes = b"", end: bytes | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        size = len(self._prefix)
        last = prefix_end(self._prefix) if end is None else self._prefix + end
        for key, value in self._store.iterate(self._prefix + start, last, reverse=reverse):
            yield key[size:], value
