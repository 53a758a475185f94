"""Topics and who listens to them: what is published is finished bytes, made once however many listen.

Publishing never waits for a listener. A large audience is served in slices, so that the event loop gets to everything
else every few milliseconds.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Protocol

from leasehold.core.errors import NotReady
from leasehold.core.metrics import Metrics
from leasehold.serving.frames import Item
from leasehold.serving.relief import Relief
from leasehold.serving.sockets import Line, send_all

# Longest the publisher keeps the event loop to itself, and how many deliveries pass between looks at the clock.
SLICE_SECONDS = 0.002
LOOK_EVERY = 32
Topic = Hashable


class Connection(Line, Protocol):
    """What an item is sent to, compressed where it `packs`."""

    packs: bool


class Listener(Protocol):
    """A receiving end."""

    def deliver(self, item: Item) -> Connection | None:
        """Take an item without waiting; the connection it is to be sent to now, if any."""
        ...


class Hub:
    """Topics and their listeners within one event loop, and how many connections there may be."""

    def __init__(
        self,
        metrics: Metrics,
        *,
        max_connections: int = 10_000,
        per_client: int = 100,
        monotonic: Callable[[], float] = time.monotonic,
        relief: Relief | None = None,
    ) -> None:
        self.max_connections = max_connections
        self.per_client = per_client
        # In the order in which they came: what was made together lies together, and is read faster so.
        self._topics: dict[Topic, dict[Listener, None]] = {}
        self._clients: dict[str, int] = {}
        self._connections = 0
        self._relief = relief or Relief()
        self._monotonic = monotonic
        self._published = self._delivered = 0
        metrics.counted("stream_published", "Items published", lambda: self._published)
        metrics.counted("stream_delivered", "Deliveries of items to listeners", lambda: self._delivered)
        self._refused = metrics.counter("stream_refused", "Connections refused", ("reason",))
        self._seconds = metrics.histogram("stream_publish_seconds", "Time a publication to many took")
        metrics.gauge("stream_connections", "Open connections").set_function(lambda: self._connections)
        metrics.gauge("stream_topics", "Topics somebody listens to").set_function(lambda: len(self._topics))

    @property
    def connections(self) -> int:
        return self._connections

    @contextmanager
    def connection(self, client: str | None) -> Iterator[None]:
        """Count a connection while the context lasts; NotReady above a cap. A client of None is never counted alone."""
        if self._connections >= self.max_connections:
            self._refused.labels("process").inc()
            raise NotReady("Too many WebSocket connections")
        if client is not None and self._clients.get(client, 0) >= self.per_client:
            self._refused.labels("client").inc()
            raise NotReady("Too many WebSocket connections from this address")
        self._connections += 1
        self._relief.now(self._connections)
        if client is not None:
            self._clients[client] = self._clients.get(client, 0) + 1
        try:
            yield
        finally:
            self._connections -= 1
            self._relief.now(self._connections)
            if client is not None:
                left = self._clients[client] - 1
                if left:
                    self._clients[client] = left
                else:
                    del self._clients[client]

    def join(self, topic: Topic, listener: Listener) -> None:
        """Deliver a topic's items to a listener from now on."""
        self._topics.setdefault(topic, {})[listener] = None

    def leave(self, topic: Topic, listener: Listener) -> None:
        listeners = self._topics.get(topic)
        if listeners is not None:
            listeners.pop(listener, None)
            if not listeners:
                del self._topics[topic]

    def listeners(self, topic: Topic) -> int:
        """How many listen; work for a topic without any can be spared."""
        return len(self._topics.get(topic, ()))

    def topics(self) -> list[Topic]:
        return list(self._topics)

    async def publish(self, topic: Topic, item: Item) -> int:
        """Deliver an item to everybody who listens now; returns to how many."""
        listeners = self._topics.get(topic)
        if not listeners:
            return 0
        # Whoever joins or leaves while a large audience is served changes the listeners, not this round.
        audience = tuple(listeners)
        started = sliced = self._monotonic()
        for start in range(0, len(audience), LOOK_EVERY):
            plain: list[Connection] = []
            packed: list[Connection] = []
            for listener in audience[start : start + LOOK_EVERY]:
                connection = listener.deliver(item)
                if connection is not None:
                    (packed if connection.packs else plain).append(connection)
            send_all(item.frame, plain)
            if packed:
                send_all(item.packed, packed)
            if self._monotonic() - sliced > SLICE_SECONDS:
                await asyncio.sleep(0)
                sliced = self._monotonic()
        self._published += 1
        self._delivered += len(audience)
        if len(audience) >= LOOK_EVERY:
            self._seconds.observe(self._monotonic() - started)
        return len(audience)
