"""A stream as one connection follows it, and how what is published gets to that connection.

A stream (`Key`) of a connection is in one of four states:

    CATCHING_UP   a task sends a snapshot or a replay; what is published meanwhile is only noted
    LIVE          what is published goes out at once
    LAGGING       the peer was too slow for an event; when it has caught up, a task replays what it missed
    ENDED         nothing more is sent, also of a publication that is under way

A stream's `cursor` is the last place in its order that was sent. Nothing at or before it is sent again, so however
snapshots, replays and publications overlap, each event goes out once and in order.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol

from leasehold.app_api.live.topics import Key
from leasehold.serving.frames import Item
from leasehold.serving.hub import Connection


class Wire(Connection, Protocol):
    """The connection: finished frames go out, compressed ones where it `packs`; `end` closes it.

    While it is not `paused` nothing waits for it: who resumes it calls `drained` first.
    """

    def write(self, frame: bytes) -> None: ...

    def end(self, code: int, reason: str) -> None: ...


class Holder(Protocol):
    """The session that a stream is part of."""

    def defer(self, stream: Stream, item: Item) -> None:
        """Queue an item for a slow peer, or note that it was published."""
        ...


class State(Enum):
    CATCHING_UP = auto()
    LIVE = auto()
    LAGGING = auto()
    ENDED = auto()


_LIVE = State.LIVE


@dataclass(slots=True, eq=False)
class Stream:
    """A key as one connection follows it."""

    key: Key
    holder: Holder
    wire: Wire
    holders: int = 0
    state: State = State.CATCHING_UP
    cursor: int = -1
    noted: int = -1
    missed: int = 0
    # Its client was told to begin anew.
    outdated: bool = False
    task: asyncio.Task[None] | None = None

    def deliver(self, item: Item) -> Wire | None:
        """The connection that an item which was just published is to be sent to, None when it is only noted."""
        # Run for every client of a broadcast: no call, and no look at an object, that can be spared.
        seq = item.seq
        if seq <= self.cursor:
            return None
        wire = self.wire
        if wire.paused or self.state is not _LIVE:
            self.holder.defer(self, item)
            return None
        self.cursor = seq
        return wire
