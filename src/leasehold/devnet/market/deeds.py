"""What the market has planned, as data: a kind and its arguments, so that plans outlive the process that made them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from leasehold.devnet.app.context import Context
from leasehold.devnet.market.hands import Hand

# Who acts, with which messages; or nobody after all.
Action = tuple[Hand, list[Any]] | None
# Given the state before the block, and the deed's arguments.
Doer = Callable[..., Action]


class Deed(msgspec.Struct, frozen=True, array_like=True):
    """Something to be done; whoever knows the kind does it."""

    kind: str
    arguments: tuple[Any, ...] = ()


# A unix second, a number that orders those of one moment, and the deed.
Planned = tuple[int, int, Deed]


class Repertoire:
    """The kinds of deeds and who does them."""

    def __init__(self) -> None:
        self._doers: dict[str, Doer] = {}

    def learn(self, doers: dict[str, Doer]) -> None:
        self._doers.update(doers)

    def do(self, ctx: Context, deed: Deed) -> Action:
        """What comes of a deed; of a kind that nobody knows any more, nothing."""
        doer = self._doers.get(deed.kind)
        return None if doer is None else doer(ctx, *deed.arguments)


def one(hand: Hand, message: Any | None) -> Action:
    """A single message's action."""
    return None if message is None else (hand, [message])
