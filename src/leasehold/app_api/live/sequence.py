"""Places in a stream: a number made of a block's height and an ordinal in it, the same in every process."""

from __future__ import annotations

from dataclasses import dataclass

from leasehold.core.errors import LeaseholdError
from leasehold.serving.frames import Item

# More events than a block can hold, and small enough that heights of centuries stay exact in a double.
SPAN = 1_000_000


def place(height: int, ordinal: int = 0) -> int:
    """The place of a block's `ordinal`-th change."""
    return height * SPAN + min(ordinal, SPAN - 1)


def last_of(height: int) -> int:
    """The place after which nothing of a block comes."""
    return height * SPAN + SPAN - 1


def height_of(seq: int) -> int:
    """The last block that a client at this place knows entirely."""
    return (seq + 1) // SPAN - 1


@dataclass(frozen=True, slots=True)
class Passage:
    """Part of a stream: items in order, complete up to `seq`; `more` when what is known goes on after that."""

    items: list[Item]
    seq: int
    height: int = 0
    time: str = ""
    more: bool = False


class Gone(LeaseholdError):
    """What a client wants replayed is not known any more."""

    code = "RESYNC_REQUIRED"
