"""One timer for all connections of a server: the date, the deadlines, and who is late.

A timer per request would cost more than answering it, so connections write down when they are due and a sweep once
a second looks. Deadlines are therefore kept to the second, never early.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from email.utils import formatdate
from typing import Protocol

KEEP_ALIVE_SECONDS = 65.0
HEAD_SECONDS = 10.0
LINGER_SECONDS = 2.0
STALL_SECONDS = 60.0
MAX_CONNECTIONS = 8192


class Watched(Protocol):
    """A connection with a deadline in loop time."""

    deadline: float

    def expire(self) -> None:
        """Called when the deadline has passed."""
        ...


class Watch:
    """The connections of one server and the coarse time they share."""

    def __init__(
        self,
        *,
        wall_seconds: Callable[[], float],
        keep_alive: float = KEEP_ALIVE_SECONDS,
        head: float = HEAD_SECONDS,
        linger: float = LINGER_SECONDS,
        stall: float = STALL_SECONDS,
        max_connections: int = MAX_CONNECTIONS,
        interval: float = 1.0,
    ) -> None:
        self.connections: set[Watched] = set()
        self.max_connections = max_connections
        self._wall_seconds = wall_seconds
        self._seconds = (keep_alive, head, linger, stall)
        self._interval = interval
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._tell(0.0)

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to sweep; `stop` ends it."""
        self._loop = loop
        self._tick()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _tick(self) -> None:
        assert self._loop is not None
        now = self._loop.time()
        self._tell(now)
        for connection in [one for one in self.connections if one.deadline < now]:
            connection.expire()
        self._timer = self._loop.call_later(self._interval, self._tick)

    def _tell(self, now: float) -> None:
        keep_alive, head, linger, stall = self._seconds
        # A deadline is counted from the coming sweep, so that a coarse clock can't make it early.
        soon = now + self._interval
        self.idle_deadline = soon + keep_alive
        self.head_deadline = soon + head
        self.linger_deadline = soon + linger
        self.stall_deadline = soon + stall
        self.date_line = b"date: " + formatdate(self._wall_seconds(), usegmt=True).encode() + b"\r\n"
