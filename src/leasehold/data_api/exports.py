"""Exports: a whole dataset as CSV, streamed from PostgreSQL's COPY in constant memory, few at a time."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from leasehold.core import logging
from leasehold.core.errors import RateLimited
from leasehold.data_api.conventions import CSV
from leasehold.data_api.index import MAX_ROWS, Index, Listing, Stated
from leasehold.data_api.shelf import place_headers
from leasehold.serving.routes import Reply

AT_ONCE = 2
_CHUNKS = 4
_CHUNK_BYTES = 64 * 1024
_PAUSE_SECONDS = 0.001
_log = logging.get("export")


class Exports:
    """Streams of rows; who comes when all slots are taken waits a moment, then is told when to come back."""

    def __init__(
        self, index: Index, *, patience: float = 5.0, stall: float = 30.0, at_once: int = AT_ONCE, rows: int = MAX_ROWS
    ) -> None:
        """`stall` is how many seconds a client may stop reading before its stream is closed."""
        self._index = index
        self._slots = asyncio.Semaphore(at_once)
        self._patience = patience
        self._stall = stall
        self.rows = rows

    async def stream(self, listing: Listing, *arguments: Any) -> Reply:
        """All rows of a listing as CSV; the header line is always there, and a last line says where it stopped."""
        try:
            async with asyncio.timeout(self._patience):
                await self._slots.acquire()
        except TimeoutError:
            raise RateLimited("too many exports at once", retry_after=10) from None
        copying = _Copying(self._index, listing, arguments, rows=self.rows, stall=self._stall)
        # The slot belongs to the copying, not to the response: a response may never be read.
        copying.task.add_done_callback(self._ended)
        place = await copying.started
        headers = {
            "content-disposition": f'attachment; filename="{listing.name}.csv"',
            "cache-control": "no-store",
            "x-export-row-limit": str(self.rows),
            **place_headers(place),
        }
        return Reply(body=copying.chunks(), media_type=CSV, headers=headers)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._slots.release()
        # Nobody may be left to be told: a stream that is not read ends with an error.
        if not task.cancelled():
            task.exception()


class _Copying:
    """One COPY: a task that fills a small queue, and the iterator that empties it into the response."""

    def __init__(self, index: Index, listing: Listing, arguments: tuple[Any, ...], *, rows: int, stall: float) -> None:
        self._index = index
        self._listing = listing
        self._arguments = arguments
        self._rows = rows
        self._stall = stall
        self._queue: asyncio.Queue[bytes | None] = asyncio.Queue(_CHUNKS)
        self._buffer = bytearray()
        self._lines = 0
        self._place = Stated(b"", 0, 0)
        self.started: asyncio.Future[Stated] = asyncio.get_running_loop().create_future()
        self.task = asyncio.create_task(self._run(), name=f"export {listing.name}")

    async def chunks(self) -> AsyncIterator[bytes]:
        """The CSV; leaving early ends the copying, an error of the copying is raised here."""
        try:
            while not (self._queue.empty() and self.task.done()):
                chunk = await self._queue.get()
                if chunk is None:
                    break
                yield chunk
            await self.task
        finally:
            self.task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self.task

    async def _run(self) -> None:
        try:
            await self._copy()
        except Exception as error:
            if self.started.done():
                raise
            self.started.set_exception(error)
        finally:
            if not self.started.done():
                self.started.cancel()
            with contextlib.suppress(asyncio.QueueFull):
                self._queue.put_nowait(None)

    async def _copy(self) -> None:
        async with self._index.streaming() as (session, place):
            self._place = place
            query = self._listing.csv(self._rows + 1)
            try:
                await session.copy_from_query(query, *self._arguments, output=self._take, format="csv", header=True)
                await self._flush()
            except TimeoutError:
                _log.info("export given up: the client stopped reading", listing=self._listing.name)
                raise

    async def _take(self, data: bytes) -> None:
        if not self.started.done():
            # The header line is the first thing to arrive: the query runs.
            self.started.set_result(self._place)
        left = self._rows + 1 - self._lines
        lines = data.count(b"\n")
        self._lines += lines
        if lines > left >= 0:
            end = 0
            for _ in range(left):
                end = data.index(b"\n", end) + 1
            data = data[:end] + f"# stopped at {self._rows} rows\n".encode()
        elif left < 0:
            return
        self._buffer += data
        if len(self._buffer) >= _CHUNK_BYTES:
            await self._flush()
        if len(data) < _CHUNK_BYTES:
            # PostgreSQL sends eight kilobytes at a time; waking for each costs more than handling it.
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _flush(self) -> None:
        chunk, self._buffer = bytes(self._buffer), bytearray()
        if chunk:
            async with asyncio.timeout(self._stall):
                await self._queue.put(chunk)
