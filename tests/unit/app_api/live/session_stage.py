"""A session without a network: a peer that can stop reading, and a chain of events that takes its time."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from leasehold.app_api.live.sequence import Gone, Passage, last_of, place
from leasehold.app_api.live.session import Rules, Session
from leasehold.app_api.live.topics import BALANCES, LEASES, PRICES, Key, Topics
from leasehold.core.addresses import encode
from leasehold.core.clock import ManualClock
from leasehold.core.errors import NotReady
from leasehold.core.metrics import Metrics
from leasehold.serving.frames import Item, text_frame
from leasehold.serving.hub import Hub
from leasehold.serving.outbox import Meters

ALICE, BOB = encode("chain", b"\x01" * 20), encode("chain", b"\x02" * 20)
# Twenty zeros with the checksum of bech32m: a text of the chain's, but no account's.
BECH32M = "chain1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqnaycf2"
EVENTS = (Key(LEASES, ALICE), Key(LEASES, BOB), Key(BALANCES, ALICE))


def payload(frame: bytes) -> dict[str, Any]:
    """The message of a frame."""
    size = frame[1]
    start = 2 if size < 126 else 4 if size == 126 else 10
    found: dict[str, Any] = json.loads(frame[start:])
    return found


class FakeWire:
    """A peer that can stop reading."""

    def __init__(self) -> None:
        self.paused = False
        self.packs = False
        self.descriptor = -1
        self.got: list[dict[str, Any]] = []
        self.ended: tuple[int, str] | None = None

    def write(self, frame: bytes) -> None:
        if self.ended is None:
            self.got.append(payload(frame))

    def write_rest(self, frame: bytes, sent: int) -> None:
        assert sent == 0
        self.write(frame)

    def end(self, code: int, reason: str) -> None:
        self.ended = (code, reason)

    def types(self) -> list[str]:
        return [one["type"] for one in self.got]


def push(key: Key, seq: int, *, snapshot: bool = False) -> Item:
    """An item of a stream, readable in tests."""
    body = {"type": "push", "topic": key.topic, "key": key.name, "seq": seq, "snapshot": snapshot}
    return Item(seq, text_frame(json.dumps(body).encode()), key.topic == PRICES)


class FakeSource:
    """A chain of events per key that takes its time to answer."""

    def __init__(self) -> None:
        self.height = 10
        self.events: dict[Key, list[int]] = {}
        self.prices = place(10)
        self.delay = 0
        self.gone = False
        self.down = False

    async def check(self, key: Key) -> None:
        return

    async def _wait(self) -> None:
        for _ in range(self.delay):
            await asyncio.sleep(0)

    async def snapshot(self, key: Key) -> Passage:
        if self.down:
            raise NotReady("nothing yet")
        if key.topic == PRICES:
            return Passage([push(key, self.prices)], self.prices, self.height, "now")
        height = self.height
        await self._wait()
        return Passage([push(key, last_of(height), snapshot=True)], last_of(height), height, "then")

    async def replay(self, key: Key, after: int) -> Passage:
        if self.gone:
            raise Gone("too long ago")
        if key.topic == PRICES:
            return Passage([push(key, self.prices)] if self.prices > after else [], self.prices)
        height = self.height
        found = [seq for seq in self.events.get(key, ()) if after < seq <= last_of(height)]
        await self._wait()
        part = found[:2]
        more = len(found) > 2
        return Passage([push(key, seq) for seq in part], part[-1] if more else max(after, last_of(height)), more=more)


def make(source: FakeSource | None = None, **rules: Any) -> tuple[Session, FakeWire, Hub, ManualClock]:
    wire, hub, clock = FakeWire(), Hub(Metrics()), ManualClock()
    session = Session(
        wire, hub, source or FakeSource(), Topics("chain", "Chain"), clock, Meters(Metrics()), Rules(**rules)
    )
    return session, wire, hub, clock


def say(session: Session, **message: Any) -> None:
    session.receive(json.dumps(message))


async def settle() -> None:
    for _ in range(50):
        await asyncio.sleep(0)
