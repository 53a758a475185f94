"""A block that something is shown as of, and how what is read from it becomes a frame."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from leasehold.app_api.live import messages
from leasehold.app_api.upstreams.lcd import ChainView
from leasehold.core import addresses
from leasehold.core.clock import rfc3339
from leasehold.serving.frames import Item

T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True, slots=True)
class Moment:
    """A block that something is shown as of."""

    view: ChainView
    height: int
    time: str


def utc(nanoseconds: int) -> str:
    """An instant as the public stream spells it."""
    return rfc3339(nanoseconds, digits="grouped").removesuffix("Z") + "+00:00"


def item_of(message: messages.Push, *, latest_only: bool = False) -> Item:
    return Item(message.seq, messages.frame(message), latest_only)


async def all_of(reads: Sequence[Coroutine[Any, Any, T]], *, in_turn: bool) -> list[T]:
    """What all of these find: at once, or one after the other where no answer has to be waited for."""
    if not in_turn:
        return list(await asyncio.gather(*reads))
    try:
        return [await one for one in reads]
    except BaseException:
        # Those after one that failed were never begun.
        for one in reads:
            one.close()
        raise


async def both_of(first: Coroutine[Any, Any, T], second: Coroutine[Any, Any, U], *, in_turn: bool) -> tuple[T, U]:
    found: Any = await all_of((first, second), in_turn=in_turn)
    return found[0], found[1]


def is_address(text: str) -> bool:
    """Whether some account could have this address."""
    try:
        addresses.decode(text)
    except addresses.InvalidAddress:
        return False
    return True
