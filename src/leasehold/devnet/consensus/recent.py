"""A bounded memory of what was loaded last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Recent(Generic[T]):
    """The last values loaded by key. What is not there is not remembered: it may be there after the next block.

    Keys below `floor` are hidden, as if they had been pruned.
    """

    __slots__ = ("_limit", "_load", "_values", "floor")

    def __init__(self, limit: int, load: Callable[[int], T | None]) -> None:
        self._limit = limit
        self._load = load
        self._values: dict[int, T] = {}
        self.floor = 0

    def __call__(self, key: int) -> T | None:
        if key < self.floor:
            return None
        known = self._values.get(key)
        if known is not None:
            return known
        loaded = self._load(key)
        if loaded is not None:
            self.put(key, loaded)
        return loaded

    def put(self, key: int, value: T) -> None:
        if len(self._values) >= self._limit:
            del self._values[next(iter(self._values))]
        self._values[key] = value

    def clear(self) -> None:
        self._values.clear()
