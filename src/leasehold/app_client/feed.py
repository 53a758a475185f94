"""One subscription as its client sees it: what came, in order and once, and from where to go on after a break."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

Message = dict[str, Any]
# Pushes by type: their topic, and the members one of which names what they are about.
_PUSHES: dict[str, tuple[str, tuple[str, ...]]] = {
    "price_update": ("prices", ()),
    "lease_update": ("leases", ("owner",)),
    "earn_update": ("earn", ("address",)),
    "balance_update": ("balances", ("address",)),
    "skip_tx_update": ("skip_tx", ("tx_hash",)),
    "tx_status": ("tx_status", ("tx_hash",)),
    "transfer_update": ("transfer", ("id", "tx_hash")),
}
_ABOUT_STREAMS = frozenset(("snapshot", "resumed", "resync_required", "lagged"))


def stream_of(message: Message) -> tuple[str, str] | None:
    """Topic and key of the stream a message belongs to, None for one that belongs to none."""
    kind = message.get("type")
    if kind in _ABOUT_STREAMS:
        return message["topic"], message["key"]
    if kind not in _PUSHES:
        return None
    topic, names = _PUSHES[kind]
    return topic, next((str(message[name]) for name in names if name in message), "")


class Feed:
    """An async iterator of a subscription's messages.

    It yields pushes, and `snapshot`, `resumed`, `lagged` and `resync_required` among them: a consumer that keeps state
    replaces it by the pushes marked `snapshot` that follow a `resync_required`.
    """

    def __init__(self, topic: str, params: Message, keys: tuple[str, ...], *, length: int = 10_000) -> None:
        self.topic = topic
        self.params = params
        self.keys = keys
        self.places: dict[str, int] = {}
        self._length = length
        self._waiting: asyncio.Queue[Message | None] = asyncio.Queue()

    def opening(self) -> Message:
        """What to send on a fresh connection: a resumption where every stream has a place, else a subscription."""
        about = {"topic": self.topic, **self.params}
        if self.keys and all(key in self.places for key in self.keys):
            return {"type": "resume", **about, "seq": min(self.places[key] for key in self.keys)}
        self.places.clear()
        return {"type": "subscribe", **about}

    def closing(self) -> Message:
        return {"type": "unsubscribe", "topic": self.topic, **self.params}

    def owns(self, topic: str, key: str) -> bool:
        return topic == self.topic and self.key_of(key) in self.keys

    def key_of(self, key: str) -> str:
        """A stream's key as this feed names it: what a push calls a transaction, its markers call it with its chain."""
        return next((one for one in self.keys if one == key or one.partition("@")[0] == key), key)

    def take(self, key: str, message: Message) -> Message | None:
        """Take a message in; returns what must be sent because of it."""
        key = self.key_of(key)
        kind = message["type"]
        if kind == "resync_required":
            self.places.pop(key, None)
            self._waiting.put_nowait(message)
            return self.opening()
        if kind in ("snapshot", "resumed"):
            self.places[key] = max(self.places.get(key, 0), message["seq"])
        elif kind != "lagged" and not message.get("snapshot"):
            # One that was sent again because another stream of this subscription was further behind.
            if message["seq"] <= self.places.get(key, -1):
                return None
            if key in self.places:
                self.places[key] = message["seq"]
        if self._waiting.qsize() < self._length:
            self._waiting.put_nowait(message)
            return None
        # Nobody takes what comes: forget it all and begin anew, rather than grow or lose silently.
        self.places.clear()
        while not self._waiting.empty():
            self._waiting.get_nowait()
        reason = "the consumer is too slow"
        self._waiting.put_nowait({"type": "resync_required", "topic": self.topic, "key": key, "reason": reason})
        return self.opening()

    def end(self) -> None:
        """Let the iteration end after what waits."""
        self._waiting.put_nowait(None)

    async def __aiter__(self) -> AsyncIterator[Message]:
        while (message := await self._waiting.get()) is not None:
            yield message
