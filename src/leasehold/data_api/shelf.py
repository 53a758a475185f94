"""Answers that don't depend on the caller: made in the background, kept as snapshots, renewed before they are old.

Some are always on the shelf; others (a rare period, a CSV form) are put there by the first who asks and leave when
their time is over. Short ones are snapshots, long ones are kept compressed only. When a renewal fails, or the index no
longer follows the chain, the last good answer stays and says that it is stale. What was made before the index had
caught up is made again as soon as it has.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache

import asyncpg

from leasehold.core import logging
from leasehold.core.background import background
from leasehold.core.clock import NANOSECONDS, Clock, rfc3339
from leasehold.core.errors import LeaseholdError, NotReady
from leasehold.core.metrics import Metrics
from leasehold.data_api.index import Index, Stated
from leasehold.data_api.packing import Packed
from leasehold.serving.envelopes import JSON
from leasehold.serving.routes import Cache, Reply
from leasehold.serving.snapshots import Snapshot, SnapshotTable

FIVE_MINUTES = 300
HOURLY = 3600
# Answers put on the shelf by those who ask, and their bytes, at most; the oldest makes room.
ROOM = 256
ROOM_BYTES = 32 * 1024 * 1024
RETRY_SECONDS = 60
UNREAD = '110 - "Response is stale: the index could not be read"'
BEHIND = '110 - "Response is stale: the index does not follow the chain"'
_log = logging.get("shelf")


@dataclass(frozen=True, slots=True)
class Content:
    """An answer before it is a snapshot; a long one is `packed`, and `stated` says only which block it speaks for."""

    stated: Stated
    media_type: str = JSON
    headers: tuple[tuple[str, str], ...] = ()
    packed: Packed | None = None


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
    long: Content | None = None
    warning: str = ""
    # Made while the index did not know the present: not worth keeping for its whole time.
    early: bool = False
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Shelf:
    """Keeps goods fresh; a good is known by its first target."""

    def __init__(
        self,
        index: Index,
        snapshots: SnapshotTable,
        clock: Clock,
        *,
        metrics: Metrics | None = None,
        poll: float = 2.0,
        lag_seconds: int = 60,
    ) -> None:
        """`lag_seconds` is how old the newest block may be before answers say that they are stale."""
        self._index = index
        self._snapshots = snapshots
        self._clock = clock
        self._poll = poll
        self._patience_ns = lag_seconds * NANOSECONDS
        self._goods: dict[str, Good] = {}
        self.hour: datetime | None = None
        self.behind = False
        self.empty = True
        self.failures = 0
        self._failed = (metrics or Metrics()).counter("shelf_failures_total", "renewals that failed")

    def keep(self, targets: tuple[str, ...], make: Make, seconds: int) -> None:
        """Have an answer always ready."""
        self._goods.setdefault(targets[0], Good(targets, make, seconds, always=True))

    async def ask(self, targets: tuple[str, ...], make: Make, seconds: int, wanted: Mapping[str, str]) -> Reply:
        """An answer that is no snapshot yet: made once for all who ask now, and kept for its time.

        `wanted` are the headers of the request.
        """
        good = self._goods.get(targets[0])
        if good is None:
            self._make_room()
            good = self._goods[targets[0]] = Good(targets, make, seconds, always=False)
        # While a long answer is renewed, the last one is still good.
        if good.long is None:
            async with good.lock:
                if good.long is None and self._snapshots.get(targets[0]) is None:
                    try:
                        await self._renew(good)
                    except BaseException:
                        if not good.always:
                            self._goods.pop(targets[0], None)
                        raise
                    self._make_room(good)
        return self._reply(good, wanted)

    def _reply(self, good: Good, wanted: Mapping[str, str]) -> Reply:
        if good.long is not None and good.long.packed is not None:
            told = _told(good.long.headers, good.warning)
            headers = {"cache-control": _keeping(good), **place_headers(good.long.stated), **told}
            return good.long.packed.reply(wanted, good.long.media_type, headers)
        snapshot = self._snapshots.get(good.targets[0])
        if snapshot is None:
            raise NotReady("this answer is being made again")
        headers = dict(snapshot.response_headers)
        headers.pop("vary", None)
        return Reply(body=snapshot.body, media_type=snapshot.content_type, headers=headers)

    @property
    def weight(self) -> int:
        """Bytes of everything on the shelf."""
        return sum(map(self._weight, self._goods.values()))

    @property
    def warm(self) -> bool:
        """Whether everything that should always be there is there."""
        return all(good.made_at != float("-inf") for good in self._goods.values() if good.always)

    async def refresh(self) -> int:
        """Renew what is due and drop what is over; returns how many answers were renewed.

        Where PostgreSQL is away everything is marked stale and NotReady raised; a single answer that fails is marked
        alone, and tried again when it is due next. While the index is behind, what it says is marked too.
        """
        try:
            await self._look()
            renewed = 0
            for good in list(self._goods.values()):
                if self._due(good):
                    begun = time.perf_counter()
                    renewed += await self._refresh(good)
                    # Requests come first: never busy for more than half of the time.
                    await asyncio.sleep(min(time.perf_counter() - begun, 2.0))
        except NotReady:
            self._mark(self._goods.values(), UNREAD)
            raise
        self._mark(self._goods.values(), BEHIND if self.behind else "")
        return renewed

    async def _look(self) -> None:
        """Where the index stands: its newest hour, and whether it follows the chain."""
        self.hour = await self._index.value("SELECT max(hour) FROM indexer.hours")
        time_ns = await self._index.value("SELECT time_ns FROM indexer.cursor") or 0
        self.behind, self.empty = self.is_behind(time_ns), not time_ns

    def is_behind(self, time_ns: int) -> bool:
        """Whether a block of this time is too old to be the newest of a living chain; 0 stands for no block."""
        return bool(time_ns) and self._clock.now_ns() - time_ns > self._patience_ns

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

    def running(self) -> AbstractAsyncContextManager[None]:
        """Refresh in the background for as long as the context lasts."""
        return background(self.run(), name="shelf")

    async def _refresh(self, good: Good) -> int:
        if not good.always:
            # One that is being made just now is asked for: it would be published after it was dropped.
            if not good.lock.locked():
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
            good.failed_at = self._clock.monotonic()
            self._mark([good], UNREAD)
            return 0
        return 1

    def _due(self, good: Good) -> bool:
        if good.seconds == HOURLY and self.hour != good.hour and good.failed_at < good.made_at:
            # Figures of the hour change on the hour, when its row is there.
            return True
        if good.early and not self.behind and not self.empty and good.failed_at < good.made_at:
            return True
        now = self._clock.monotonic()
        return now - good.made_at >= good.seconds and now - good.failed_at >= RETRY_SECONDS

    async def _renew(self, good: Good) -> None:
        hour, early = self.hour, self.behind or self.empty
        content = await good.make()
        good.warning, good.early = BEHIND if self.behind else "", early
        if content.packed is not None:
            good.long = content
            for target in good.targets:
                self._snapshots.withdraw(target)
        else:
            good.long = None
            await self._publish(good, content)
        good.made_at, good.hour = self._clock.monotonic(), hour

    async def _publish(self, good: Good, content: Content) -> None:
        snapshot = await self._snapshots.publish(
            good.targets[0],
            content.stated.body,
            height=content.stated.height,
            time_ns=content.stated.time_ns,
            cache_control=_keeping(good),
            content_type=content.media_type,
            headers=_told(content.headers, good.warning),
        )
        for target in good.targets[1:]:
            self._snapshots.put(target, snapshot)

    def _make_room(self, newest: Good | None = None) -> None:
        """Drop the oldest of the answers that somebody asked for, until there is room for one more."""
        rare = [
            good for good in self._goods.values() if not good.always and good is not newest and not good.lock.locked()
        ]
        count, weight = len(rare), sum(map(self._weight, rare)) + (self._weight(newest) if newest else 0)
        for good in rare:
            if count < ROOM and weight <= ROOM_BYTES:
                break
            count, weight = count - 1, weight - self._weight(good)
            self._drop(good)

    def _weight(self, good: Good) -> int:
        if good.long is not None and good.long.packed is not None:
            return good.long.packed.weight
        snapshot = self._snapshots.get(good.targets[0])
        return 0 if snapshot is None else sum(len(variant.body) for variant in snapshot.variants.values())

    def _drop(self, good: Good) -> None:
        for target in good.targets:
            self._snapshots.withdraw(target)
        self._goods.pop(good.targets[0], None)

    def _mark(self, goods: Iterable[Good], warning: str) -> None:
        """Let answers say why they are stale, or that they no longer are; one that could not be made goes on."""
        for good in goods:
            if good.warning == warning or (not warning and good.failed_at > good.made_at):
                continue
            good.warning = warning
            snapshot = self._snapshots.get(good.targets[0])
            if snapshot is None:
                continue
            told = tuple(_told(snapshot.headers, warning).items())
            marked = Snapshot(
                snapshot.variants, snapshot.height, snapshot.time_ns, snapshot.content_type, _keeping(good), told
            )
            for target in good.targets:
                self._snapshots.put(target, marked)


def _told(headers: Iterable[tuple[str, str]], warning: str) -> dict[str, str]:
    """Headers with this warning, or with none."""
    told = {name: value for name, value in headers if name != "warning"}
    return {**told, "warning": warning} if warning else told


def _keeping(good: Good) -> str:
    return "no-cache" if good.warning or good.early else Cache.snapshot(good.seconds).header


def place_headers(stated: Stated) -> dict[str, str]:
    """Headers that say which block an answer speaks for."""
    return dict(_place_headers(stated.height, stated.time_ns))


@lru_cache(maxsize=64)
def _place_headers(height: int, time_ns: int) -> dict[str, str]:
    # Many answers speak for the same block, and writing its time takes longer than all else about them.
    found = {}
    if height:
        found["x-block-height"] = str(height)
    if time_ns:
        found["x-block-time"] = rfc3339(time_ns)
    return found
