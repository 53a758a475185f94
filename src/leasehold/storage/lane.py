"""A lane for short reads: a few connections of its own, each handed straight from one statement to the next.

Long lists and exports use the pool; whoever reads a few rows never waits behind them. Nothing is reset between two
uses, so a lane takes statements, not operations: no statement of a read leaves anything behind in its session.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg

Connect = Callable[[], Awaitable[asyncpg.Connection]]


class Lane:
    """At most `size` connections, made when they are first needed; statements beyond that wait in line."""

    def __init__(self, connect: Connect, size: int) -> None:
        self._connect = connect
        self._size = size
        self._count = 0
        self._idle: list[asyncpg.Connection] = []
        # Who waits is given a connection, or None: there is room to make one.
        self._line: deque[asyncio.Future[asyncpg.Connection | None]] = deque()

    async def fetch(self, query: str, *arguments: Any) -> list[asyncpg.Record]:
        """All rows of a statement; nothing is repeated."""
        connection = self._idle.pop() if self._idle else await self._next()
        try:
            rows = await connection.fetch(query, *arguments)
        except asyncpg.PostgresError:
            self._give(connection)
            raise
        except BaseException:
            # Given up in the middle: what the server still sends would be taken for the next answer.
            connection.terminate()
            self._give(connection)
            raise
        self._give(connection)
        found: list[asyncpg.Record] = rows
        return found

    async def close(self) -> None:
        """Close what is idle now and everything in use when it comes back."""
        self._size = 0
        while self._idle:
            await self._idle.pop().close()
        self._call(len(self._line))

    async def _next(self) -> asyncpg.Connection:
        while True:
            if self._idle:
                return self._idle.pop()
            if self._size == 0:
                raise asyncpg.InterfaceError("the lane is closed")
            if self._count < self._size:
                return await self._made()
            turn: asyncio.Future[asyncpg.Connection | None] = asyncio.get_running_loop().create_future()
            self._line.append(turn)
            try:
                connection = await turn
            except asyncio.CancelledError:
                if turn.done() and not turn.cancelled():
                    self._pass_on(turn.result())
                raise
            if connection is not None:
                return connection

    async def _made(self) -> asyncpg.Connection:
        self._count += 1
        try:
            return await self._connect()
        except BaseException:
            self._count -= 1
            self._call(1)
            raise

    def _give(self, connection: asyncpg.Connection) -> None:
        if self._size == 0 and not connection.is_closed():
            connection.terminate()
        if connection.is_closed():
            self._count -= 1
            self._call(1)
        else:
            self._pass_on(connection)

    def _pass_on(self, connection: asyncpg.Connection | None) -> None:
        """To the next in line, or to nobody."""
        while self._line:
            turn = self._line.popleft()
            if not turn.done():
                turn.set_result(connection)
                return
        if connection is not None:
            self._idle.append(connection)

    def _call(self, count: int) -> None:
        """Tell so many in line to look for themselves."""
        for _ in range(count):
            self._pass_on(None)
