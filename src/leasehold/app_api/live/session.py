"""One connection's conversation: what it subscribed to, how far each of its streams is, and what waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

from leasehold.app_api.live import messages, requests
from leasehold.app_api.live.sequence import Gone, Passage, last_of
from leasehold.app_api.live.streams import State, Stream, Wire
from leasehold.app_api.live.topics import TRANSFER, Key, Subscription, Topics, canonical
from leasehold.core import logging
from leasehold.core.clock import Clock, rfc3339
from leasehold.core.errors import InvalidInput, LeaseholdError
from leasehold.serving.frames import Item
from leasehold.serving.hub import Hub
from leasehold.serving.outbox import Meters, Outbox

# What happens to a client that goes on after being refused, or does not read the answers it asks for.
POLICY_VIOLATION = 1008
TRY_LATER = 1013
_log = logging.get("live")


class Source(Protocol):
    """Where snapshots and replays come from."""

    @property
    def height(self) -> int: ...

    async def check(self, key: Key) -> None:
        """InvalidInput when there is no such thing."""
        ...

    async def snapshot(self, key: Key) -> Passage:
        """The present state; everything published from now on is after it or part of it."""
        ...

    async def replay(self, key: Key, after: int) -> Passage:
        """What comes after a place; Gone when that is unknown."""
        ...


@dataclass(frozen=True, slots=True)
class Rules:
    """Limits of a connection."""

    subscriptions: int = 20
    messages_per_second: float = 20.0
    messages_burst: int = 100
    # Refused messages in a row after which the connection ends.
    patience: int = 50


@dataclass(slots=True, eq=False)
class Session:
    """The state machine of one connection; `receive`, `defer` and `drained` never wait."""

    wire: Wire
    hub: Hub
    source: Source
    topics: Topics
    clock: Clock
    meters: Meters
    rules: Rules = Rules()
    subscriptions: set[Subscription] = field(default_factory=set)
    streams: dict[Key, Stream] = field(default_factory=dict)
    closed: bool = False
    outbox: Outbox = field(init=False)
    _room: asyncio.Event | None = None
    _full_at: float = 0.0
    _refused: int = 0

    def __post_init__(self) -> None:
        self.outbox = Outbox(self.wire, self.meters)

    # From the client

    def receive(self, text: str) -> None:
        """Act on a message."""
        if not self._admitted():
            return
        message = requests.read(text) or {}
        kind, topic = message.get("type"), message.get("topic")
        if kind == "ping":
            self._pong(message)
            return
        if kind not in ("subscribe", "unsubscribe", "resume") or not isinstance(topic, str):
            self._refuse(messages.INVALID_MESSAGE, "Failed to parse message")
            return
        try:
            subscription = self.topics.read(topic, message)
            if kind == "unsubscribe":
                self._unsubscribe(subscription)
            else:
                self._subscribe(subscription, _place(message) if kind == "resume" else None)
        except InvalidInput as error:
            self._refuse(messages.INVALID_SUBSCRIPTION, error.message, canonical(topic))

    def _pong(self, message: dict[str, Any]) -> None:
        given = message.get("id")
        known = isinstance(given, (str, int)) and not isinstance(given, bool) and len(str(given)) <= 64
        now = rfc3339(self.clock.now_ns())
        self._say(messages.Pong(time=now, id=given if known else msgspec.UNSET))  # type: ignore[arg-type]

    def _subscribe(self, subscription: Subscription, after: int | None) -> None:
        is_new = subscription not in self.subscriptions
        if len(self.subscriptions) >= self.rules.subscriptions and (is_new or not self._asked_for(subscription, after)):
            text = "Maximum subscriptions per connection exceeded"
            self._refuse(messages.SUBSCRIPTION_LIMIT, text, subscription.topic)
            return
        self.subscriptions.add(subscription)
        # Whether there is such a transfer is only known after looking; everything else is acknowledged at once.
        if subscription.topic != TRANSFER:
            self._acknowledge(subscription)
        for key in subscription.keys:
            stream = self.streams.get(key)
            if stream is None:
                stream = self.streams[key] = Stream(key, self, self.wire)
                self.hub.join(key, stream)
            stream.holders += is_new
            self._follow(stream, self._begin(subscription, stream, after))

    def _asked_for(self, subscription: Subscription, after: int | None) -> bool:
        """Whether a repeat is due: a client resumes, or was told to begin anew. Else at the limit it is refused, as the
        public service does."""
        return after is not None or any(self.streams[key].outdated for key in subscription.keys)

    def _acknowledge(self, subscription: Subscription) -> None:
        self._say(messages.Subscribed(topic=subscription.topic, params=subscription.echo()))

    def _unsubscribe(self, subscription: Subscription) -> None:
        if subscription in self.subscriptions:
            self._drop(subscription)
        self._say(messages.Unsubscribed(topic=subscription.topic, params=subscription.echo()))

    def _drop(self, subscription: Subscription) -> None:
        self.subscriptions.discard(subscription)
        for key in subscription.keys:
            stream = self.streams[key]
            stream.holders -= 1
            if stream.holders == 0:
                self._end(self.streams.pop(key))

    def _end(self, stream: Stream) -> None:
        self.hub.leave(stream.key, stream)
        stream.state = State.ENDED
        if stream.task is not None:
            stream.task.cancel()
            stream.task = None

    def _admitted(self) -> bool:
        """Spend a token; a client that goes on without one is told, and in the end sent away."""
        now = self.clock.monotonic()
        interval = 1.0 / self.rules.messages_per_second
        self._full_at = max(self._full_at, now)
        if self._full_at - now <= (self.rules.messages_burst - 1) * interval:
            self._full_at += interval
            self._refused = 0
            return True
        self._refused += 1
        if self._refused > self.rules.patience:
            self.wire.end(POLICY_VIOLATION, "too many messages")
        else:
            self._refuse(messages.RATE_LIMITED, "Too many messages")
        return False

    # To the client

    def welcome(self, limits: messages.Limits, names: tuple[str, ...]) -> None:
        self._say(messages.Welcome(limits=limits, topics=names, height=self.source.height))

    def _say(self, message: messages.Server) -> None:
        # A peer that asks without reading the answers could make us wait for ever.
        if not self.outbox.send(messages.frame(message)):
            self.wire.end(TRY_LATER, "answers are not read")

    def _refuse(self, code: str, text: str, topic: str | msgspec.UnsetType = msgspec.UNSET) -> None:
        self._say(messages.Error(code=code, message=text, topic=topic))

    # From the hub

    def defer(self, stream: Stream, item: Item) -> None:
        """Queue an item for a slow peer, or note that it was published."""
        if stream.state is not State.LIVE:
            stream.noted = item.seq
            stream.missed += stream.state is State.LAGGING
            return
        if item.latest_only:
            self.outbox.put(stream.key, self._frame(item))
        elif not self.outbox.send(self._frame(item)):
            stream.state, stream.noted, stream.missed = State.LAGGING, item.seq, 1
            return
        stream.cursor = item.seq

    def _frame(self, item: Item) -> bytes:
        return item.packed if self.wire.packs else item.frame

    def drained(self) -> None:
        """Go on after the peer has caught up."""
        self.outbox.drain()
        if self._room is not None and not self.outbox.full:
            self._room.set()
        for key, frame, replaced in self.outbox.newest():
            if replaced and isinstance(key, Key):
                self._say(messages.Lagged(topic=key.topic, key=key.name, missed=replaced, replayed=False))
            self.outbox.put(key, frame)
        if not self.outbox.clear:
            return
        for key, stream in self.streams.items():
            if stream.state is State.LAGGING:
                self._say(messages.Lagged(topic=key.topic, key=key.name, missed=stream.missed, replayed=True))
                stream.state, stream.missed = State.CATCHING_UP, 0
                self._follow(stream, self._catch_up(stream))

    # Catching up

    def _follow(self, stream: Stream, work: Coroutine[Any, Any, None]) -> None:
        # The newest request of a client counts: what still works for an older one stops.
        if stream.task is not None:
            stream.task.cancel()
        stream.state, stream.outdated = State.CATCHING_UP, False
        stream.task = asyncio.create_task(work, name=f"live-{stream.key.topic}")
        stream.task.add_done_callback(self._look_after)

    def _look_after(self, task: asyncio.Task[None]) -> None:
        """What nobody foresaw ends the connection, so that its client resumes with another: no stream falls silent."""
        if task.cancelled() or (error := task.exception()) is None:
            return
        _log.error("a stream could not be brought to the present", task=task.get_name(), exc_info=error)
        self.wire.end(TRY_LATER, "a stream could not be brought to the present")

    async def _begin(self, subscription: Subscription, stream: Stream, after: int | None) -> None:
        """Bring a new subscriber to the present: by a snapshot, or by what it missed since a place."""
        if subscription.topic == TRANSFER:
            try:
                await self.source.check(stream.key)
            except InvalidInput as error:
                stream.task = None
                self._drop(subscription)
                self._refuse(messages.INVALID_SUBSCRIPTION, error.message, subscription.topic)
                return
            self._acknowledge(subscription)
        if after is None:
            await self._snapshot(stream)
            await self._catch_up(stream)
        else:
            stream.cursor = after
            await self._catch_up(stream, resumed=True)

    async def _snapshot(self, stream: Stream) -> None:
        key = stream.key
        try:
            shot = await self.source.snapshot(key)
        except LeaseholdError as error:
            _log.info("no snapshot", topic=key.topic, error=str(error))
            await self._resync(stream, "the present state is not available")
            return
        for item in shot.items:
            await self._send(self._frame(item))
        stream.cursor = max(stream.cursor, shot.seq)
        end = messages.Snapshot(
            topic=key.topic, key=key.name, count=len(shot.items), seq=shot.seq, height=shot.height, time=shot.time
        )
        await self._send(messages.frame(end))

    async def _catch_up(self, stream: Stream, *, resumed: bool = False) -> None:
        """Replay until nothing was published meanwhile, then go live."""
        key = stream.key
        count = 0
        wanted = resumed
        while wanted or resumed or stream.noted > stream.cursor:
            if not wanted and stream.noted <= stream.cursor:
                # Telling may take a while: what is published meanwhile is looked at before going live.
                resumed = False
                end = messages.Resumed(topic=key.topic, key=key.name, count=count, seq=stream.cursor)
                await self._send(messages.frame(end))
                continue
            try:
                part = await self.source.replay(key, stream.cursor)
            except LeaseholdError as error:
                _log.info("no replay", topic=key.topic, after=stream.cursor, error=str(error))
                reason = error.message if isinstance(error, Gone) else "the past is not available"
                await self._resync(stream, reason)
                wanted = resumed = False
                continue
            for item in part.items:
                await self._send(self._frame(item))
            count += len(part.items)
            if part.seq <= stream.cursor and not wanted:
                stream.noted = stream.cursor
            wanted = part.more
            stream.cursor = max(stream.cursor, part.seq)
        # No await between the last look and this: what is published from here on goes out at once.
        stream.state, stream.task = State.LIVE, None

    async def _send(self, frame: bytes) -> None:
        """Send a frame, waiting for a slow peer: only the task of this stream waits."""
        while self.outbox.full:
            if self._room is None:
                self._room = asyncio.Event()
            self._room.clear()
            await self._room.wait()
        self.outbox.send(frame)

    async def _resync(self, stream: Stream, reason: str) -> None:
        key = stream.key
        stream.outdated = True
        seq = stream.cursor = stream.noted = last_of(self.source.height)
        told = messages.ResyncRequired(topic=key.topic, key=key.name, seq=seq, reason=reason)
        await self._send(messages.frame(told))

    def close(self) -> None:
        """Leave every topic and stop what still works for this connection."""
        self.closed = True
        for stream in self.streams.values():
            self._end(stream)
        self.streams.clear()
        self.subscriptions.clear()
        self.outbox.close()


def _place(message: dict[str, Any]) -> int:
    seq = message.get("seq")
    if not isinstance(seq, int) or isinstance(seq, bool) or seq < 0:
        raise InvalidInput("Missing 'seq' parameter")
    return seq
