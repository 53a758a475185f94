"""Partitions of the tables that grow without end, made when a batch first needs them."""

from __future__ import annotations

from datetime import UTC, datetime

import psycopg

HEIGHTS = 1_000_000
BY_HEIGHT = ("blocks", "raw_blocks", "txs", "messages", "account_messages", "events", "change_log")
BY_MONTH = ("price_candles", "position_hours", "account_hours")


class Partitions:
    """Remembers which partitions exist, so that a batch asks PostgreSQL only when it enters a new one."""

    def __init__(self, schema: str) -> None:
        self._schema = schema
        self._heights: set[int] = set()
        self._months: set[datetime] = set()

    async def ensure(self, connection: psycopg.AsyncConnection, heights: range, times: set[datetime]) -> None:
        """Make the partitions that rows of these heights and instants go to."""
        for number in {heights[0] // HEIGHTS, heights[-1] // HEIGHTS} - self._heights:
            for table in BY_HEIGHT:
                bounds = f"({number * HEIGHTS}) TO ({(number + 1) * HEIGHTS})"
                await self._make(connection, table, f"h{number:04d}", bounds)
            self._heights.add(number)
        for month in {_month(time) for time in times} - self._months:
            for table in BY_MONTH:
                bounds = f"('{month.isoformat()}') TO ('{_next(month).isoformat()}')"
                await self._make(connection, table, f"m{month:%Y%m}", bounds)
            self._months.add(month)

    def forget(self) -> None:
        """After a rollback nothing is certain."""
        self._heights.clear()
        self._months.clear()

    async def _make(self, connection: psycopg.AsyncConnection, table: str, suffix: str, bounds: str) -> None:
        name = f"{self._schema}.{table}"
        statement = f"CREATE TABLE IF NOT EXISTS {name}_{suffix} PARTITION OF {name} FOR VALUES FROM {bounds}"
        await connection.execute(statement.encode())


def _month(time: datetime) -> datetime:
    return datetime(time.year, time.month, 1, tzinfo=UTC)


def _next(month: datetime) -> datetime:
    year, number = (month.year + 1, 1) if month.month == 12 else (month.year, month.month + 1)
    return datetime(year, number, 1, tzinfo=UTC)
