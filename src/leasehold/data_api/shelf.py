"""Answers that don't depend on the caller: made in the background, kept as snapshots, renewed before they are old.

Some are always on the shelf; others (a rare period, a CSV form) are put there by the first who asks and leave when
their time is over. When a renewal fails the last good answer stays and says that it is stale.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime

import asyncpg

from leasehold.core import logging
from leasehold.core.clock import Clock, rfc3339
from leasehold.core.errors import LeaseholdError, NotReady
from leasehold.core.metrics import Metrics
from leasehold.data_api.index import Index, Stated
from leasehold.serving.envelopes import JSON
from leasehold.serving.routes import Cache, Reply
from leasehold.serving.snapshots import Snapshot, SnapshotTable

FIVE_MINUTES = 300
HOURLY = 3600
# Answers put on the shelf by those who ask, at most; the oldest makes room.
ROOM = 256
RETRY_SECONDS = 60
STALE = (("warning", '110 - "Response is stale: the index could not be read"'),)
_log = logging.get("shelf")


@dataclass(frozen=True, slots=True)
class Content:
    """An answer before it is a snapshot."""

    stated: Stated
    media_type: str = JSON
    headers: tuple[tuple[str, str], ...] = ()


Make = Callable[[], Awaitable[Content]]


@dataclass(slots=True)
class Good:
    """One answer on the shelf: the requests it answers, how it is made and how long it lasts, in seconds."""

    targets: tuple[str, ...]
    make: Make
    seconds: int
    always: bool
    made_at: float = float("-inf")
    failed_at: float = float("-inf")
    hour: datetime | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Shelf:
    """Keeps goods fresh; a good is known by its first target."""

    def __init__(
        self, index: Index, snapshots: SnapshotTable, clock: Clock, *, metrics: Metrics | None = None, poll: float = 2.0
    ) -> None:
        self._index = index
        self._snapshots = snapshots
        self._clock = clock
        self._poll = poll
        self._goods: dict[str, Good] = {}
        self.hour: datetime | None = None
        self.failures = 0
        self._failed = (metrics or Metrics()).counter("shelf_failures_total", "renewals that failed")

    def keep(self, targets: tuple[str, ...], make: Make, seconds: int) -> None:
        """Have an answer always ready."""
        self._goods.setdefault(targets[0], Good(targets, make, seconds, always=True))

    async def ask(self, targets: tuple[str, ...], make: Make, seconds: int) -> Reply:
        """An answer that is not on the shelf: made once for all who ask now, and kept for its time."""
        good = self._goods.get(targets[0])
        if good is None:
            self._make_room()
            good = self._goods[targets[0]] = Good(targets, make, seconds, always=False)
        async with good.lock:
            snapshot = self._snapshots.get(targets[0])
            if snapshot is None:
                try:
                    snapshot = await self._renew(good)
                except BaseException:
                    if not good.always:
                        self._goods.pop(targets[0], None)
                    raise
        headers = dict(snapshot.response_headers)
        headers.pop("vary", None)
        return Reply(body=snapshot.body, media_type=snapshot.content_type, headers=headers)

    @property
    def warm(self) -> bool:
        """Whether everything that should always be there is there."""
        return all(good.made_at != float("-inf") for good in self._goods.values() if good.always)

    async def refresh(self) -> int:
        """Renew what is due and drop what is over; returns how many answers were renewed.

        Where PostgreSQL is away everything is marked stale and NotReady raised; a single answer that fails is marked
        alone, and tried again when it is due next.
        """
        try:
            self.hour = await self._index.value("SELECT max(hour) FROM indexer.hours")
            renewed = 0
            for good in list(self._goods.values()):
                if self._due(good):
                    begun = time.perf_counter()
                    renewed += await self._refresh(good)
                    # Requests come first: never busy for more than half of the time.
                    await asyncio.sleep(min(time.perf_counter() - begun, 2.0))
        except NotReady:
            self._mark_stale(self._goods.values())
            raise
        return renewed

    async def run(self) -> None:
        """Refresh for ever."""
        while True:
            try:
                await self.refresh()
                self.failures = 0
            except NotReady as error:
                self.failures += 1
                _log.warning("answers not renewed", error=str(error), failures=self.failures)
            await asyncio.sleep(min(self._poll * 2 ** min(self.failures, 4), 30))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Refresh in the background for as long as the context lasts."""
        task = asyncio.create_task(self.run(), name="shelf")
        try:
            yield
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _refresh(self, good: Good) -> int:
        if not good.always:
            self._drop(good)
            return 0
        try:
            async with good.lock:
                await self._renew(good)
        except NotReady:
            raise
        except (LeaseholdError, asyncpg.PostgresError) as error:
            self._failed.inc()
            _log.error("an answer could not be renewed", target=good.targets[0], error=str(error))
            self._mark_stale([good])
            good.failed_at = self._clock.monotonic()
            return 0
        return 1

    def _due(self, good: Good) -> bool:
        if good.seconds == HOURLY and self.hour != good.hour and good.failed_at < good.made_at:
            # Figures of the hour change on the hour, when its row is there.
            return True
        now = self._clock.monotonic()
        return now - good.made_at >= good.seconds and now - good.failed_at >= RETRY_SECONDS

    async def _renew(self, good: Good) -> Snapshot:
        hour = self.hour
        content = await good.make()
        stated = content.stated
        snapshot = await self._snapshots.publish(
            good.targets[0],
            stated.body,
            height=stated.height,
            time_ns=stated.time_ns,
            cache_control=Cache.snapshot(good.seconds).header,
            content_type=content.media_type,
            headers=dict(content.headers),
        )
        for target in good.targets[1:]:
            self._snapshots.put(target, snapshot)
        good.made_at, good.hour = self._clock.monotonic(), hour
        return snapshot

    def _make_room(self) -> None:
        rare = [good for good in self._goods.values() if not good.always]
        for good in rare[: max(len(rare) - ROOM + 1, 0)]:
            self._drop(good)

    def _drop(self, good: Good) -> None:
        for target in good.targets:
            self._snapshots.withdraw(target)
        self._goods.pop(good.targets[0], None)

    def _mark_stale(self, goods: Iterable[Good]) -> None:
        for good in goods:
            snapshot = self._snapshots.get(good.targets[0])
            if snapshot is None or STALE[0] in snapshot.headers:
                continue
            marked = Snapshot(
                snapshot.variants,
                snapshot.height,
                snapshot.time_ns,
                snapshot.content_type,
                "no-cache",
                (*snapshot.headers, *STALE),
            )
            for target in good.targets:
                self._snapshots.put(target, marked)


def place_headers(stated: Stated) -> dict[str, str]:
    """Headers that say which block an answer speaks for."""
    found = {}
    if stated.height:
        found["x-block-height"] = str(stated.height)
    if stated.time_ns:
        found["x-block-time"] = rfc3339(stated.time_ns)
    return found
