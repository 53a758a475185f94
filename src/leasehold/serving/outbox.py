"""What waits for one slow socket: a bounded queue, and the newest of each kind that only matters while new."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from typing import Protocol

from leasehold.core.metrics import Metrics

LENGTH = 256


class Writer(Protocol):
    """Where frames go; `paused` while the peer does not keep up."""

    paused: bool

    def write(self, frame: bytes) -> None: ...


class Meters:
    """Totals over all outboxes of a service."""

    def __init__(self, metrics: Metrics) -> None:
        self.waiting = 0
        self.dropped = metrics.counter("stream_dropped", "Frames not queued because a peer did not keep up")
        self.replaced = metrics.counter("stream_replaced", "Waiting frames replaced by newer ones of their kind")
        metrics.gauge("stream_waiting", "Frames waiting for slow peers").set_function(lambda: self.waiting)


class Outbox:
    """Frames of one connection in order; nothing here waits or grows beyond its bound."""

    __slots__ = ("_latest", "_length", "_meters", "_waiting", "_writer")

    def __init__(self, writer: Writer, meters: Meters, length: int = LENGTH) -> None:
        self._writer = writer
        self._meters = meters
        self._length = length
        # Most connections never need either, and there are many connections.
        self._waiting: deque[bytes] | None = None
        self._latest: dict[Hashable, tuple[bytes, int]] | None = None

    def __len__(self) -> int:
        return len(self._waiting or ()) + len(self._latest or ())

    @property
    def full(self) -> bool:
        """Whether a frame sent now would be dropped."""
        return self._waiting is not None and len(self._waiting) >= self._length

    def send(self, frame: bytes) -> bool:
        """Write or queue a frame; False when it had to be dropped."""
        if not self._writer.paused and not self._waiting:
            self._writer.write(frame)
            return True
        if self._waiting is None:
            self._waiting = deque()
        if len(self._waiting) >= self._length:
            self._meters.dropped.inc()
            return False
        self._waiting.append(frame)
        self._meters.waiting += 1
        return True

    def put(self, kind: Hashable, frame: bytes) -> None:
        """Write a frame, or let it wait in place of an older one of its kind."""
        if not self._writer.paused and not self._waiting and not self._latest:
            self._writer.write(frame)
            return
        if self._latest is None:
            self._latest = {}
        known = self._latest.get(kind)
        if known is None:
            self._meters.waiting += 1
            self._latest[kind] = (frame, 0)
        else:
            self._meters.replaced.inc()
            self._latest[kind] = (frame, known[1] + 1)

    def drain(self) -> None:
        """Write what is queued for as long as the peer takes it."""
        while self._waiting and not self._writer.paused:
            self._meters.waiting -= 1
            self._writer.write(self._waiting.popleft())

    def newest(self) -> list[tuple[Hashable, bytes, int]]:
        """Take the newest of each kind with how many it replaced; nothing before the queue is empty."""
        if self._waiting or self._writer.paused or not self._latest:
            return []
        found = [(kind, frame, replaced) for kind, (frame, replaced) in self._latest.items()]
        self._meters.waiting -= len(found)
        self._latest = None
        return found

    @property
    def clear(self) -> bool:
        """Whether nothing waits."""
        return not self._waiting and not self._latest and not self._writer.paused

    def close(self) -> None:
        """Forget what waits."""
        self._meters.waiting -= len(self)
        self._waiting = self._latest = None
