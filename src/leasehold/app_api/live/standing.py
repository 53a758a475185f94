"""What is known as of one block and holds for the next ones too, as long as none of them touches it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class _Known(Generic[T]):
    height: int
    value: T


class Standing(Generic[T]):
    """Values by name, each with the newest block it is known to hold for.

    Nothing is ever guessed: a value that was not led on through every block since is not known any more.
    """

    def __init__(self) -> None:
        self._known: dict[str, _Known[T]] = {}

    def saw(self, name: str, height: int, value: T) -> None:
        """Note what holds at the end of a block."""
        known = self._known.get(name)
        if known is None or known.height <= height:
            self._known[name] = _Known(height, value)

    def passed(self, name: str, height: int) -> None:
        """Lead a value on through a block that did not touch it. Asked for every name and block, in order."""
        known = self._known.get(name)
        if known is not None and known.height == height - 1:
            known.height = height

    def at(self, name: str, height: int) -> T | None:
        """What holds at the end of a block, None where that is not known."""
        known = self._known.get(name)
        return known.value if known is not None and known.height == height else None

    def forget(self, others_than: Collection[str]) -> None:
        """Drop all names but those."""
        self._known = {name: known for name, known in self._known.items() if name in others_than}
