"""The base of the stream hub: a payload is encoded once and goes to every subscriber of its topic.

A subscriber has a bounded queue. One that does not keep up loses the oldest of what waits for it and is told, in the
stream, that it lagged and by how much; it can never make the publisher wait or grow without bound.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from leasehold.core.metrics import Metrics

QUEUE_LENGTH = 256
_encoder = msgspec.json.Encoder()

Topic = Hashable


class Lagged(msgspec.Struct, frozen=True):
    """Says that `missed` messages were dropped for this subscriber."""

    missed: int


class Subscriber:
    """One receiving end: an async iterator of encoded payloads and of `Lagged` notices."""

    def __init__(self, *, length: int, dropped: Callable[[int], None]) -> None:
        self.topics: set[Topic] = set()
        self._waiting: deque[bytes] = deque()
        self._length = length
        self._missed = 0
        self._dropped = dropped
        self._wake = asyncio.Event()
        self._closed = False

    def __len__(self) -> int:
        return len(self._waiting)

    def offer(self, payload: bytes) -> None:
        """Queue a payload; when full, the oldest makes room."""
        if len(self._waiting) >= self._length:
            self._waiting.popleft()
            self._missed += 1
            self._dropped(1)
        self._waiting.append(payload)
        self._wake.set()

    def close(self) -> None:
        """End the stream after what is queued."""
        self._closed = True
        self._wake.set()

    async def __aiter__(self) -> AsyncIterator[bytes | Lagged]:
        while True:
            if self._missed:
                missed, self._missed = self._missed, 0
                yield Lagged(missed)
            elif self._waiting:
                yield self._waiting.popleft()
            elif self._closed:
                return
            else:
                self._wake.clear()
                await self._wake.wait()


class Hub:
    """Topics and who listens to them, within one event loop."""

    def __init__(self, metrics: Metrics, *, queue_length: int = QUEUE_LENGTH, max_subscribers: int = 10_000) -> None:
        self._topics: dict[Topic, set[Subscriber]] = {}
        self._subscribers: set[Subscriber] = set()
        self._queue_length = queue_length
        self._max_subscribers = max_subscribers
        self._published = metrics.counter("stream_published", "Payloads published to the hub")
        self._delivered = metrics.counter("stream_delivered", "Payloads queued for subscribers")
        self._dropped = metrics.counter("stream_dropped", "Payloads dropped because a subscriber lagged")
        self._open = metrics.gauge("stream_subscribers", "Open subscriptions")

    @property
    def is_full(self) -> bool:
        return len(self._subscribers) >= self._max_subscribers

    @contextmanager
    def subscriber(self) -> Iterator[Subscriber]:
        """A subscriber without topics yet; gone from every topic when the context ends."""
        one = Subscriber(length=self._queue_length, dropped=self._dropped.inc)
        self._subscribers.add(one)
        self._open.set(len(self._subscribers))
        try:
            yield one
        finally:
            for topic in list(one.topics):
                self.unsubscribe(one, topic)
            self._subscribers.discard(one)
            self._open.set(len(self._subscribers))

    def subscribe(self, one: Subscriber, topic: Topic) -> None:
        self._topics.setdefault(topic, set()).add(one)
        one.topics.add(topic)

    def unsubscribe(self, one: Subscriber, topic: Topic) -> None:
        one.topics.discard(topic)
        listeners = self._topics.get(topic)
        if listeners is not None:
            listeners.discard(one)
            if not listeners:
                del self._topics[topic]

    def listeners(self, topic: Topic) -> int:
        """How many subscribers a topic has; work for a topic without any can be spared."""
        return len(self._topics.get(topic, ()))

    def topics(self) -> list[Topic]:
        return list(self._topics)

    def publish(self, topic: Topic, message: bytes | Any) -> int:
        """Send a message (bytes, or a value encoded as JSON once) to a topic; returns how many got it."""
        listeners = self._topics.get(topic)
        if not listeners:
            return 0
        payload = message if isinstance(message, bytes) else _encoder.encode(message)
        for one in listeners:
            one.offer(payload)
        self._published.inc()
        self._delivered.inc(len(listeners))
        return len(listeners)

    def close(self) -> None:
        """End every stream after what is queued for it."""
        for one in self._subscribers:
            one.close()
