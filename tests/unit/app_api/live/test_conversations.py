"""The session state machine: any order of messages, publications, slowness and work in between keeps its promises."""

from __future__ import annotations

import asyncio
from typing import Any

import hypothesis.strategies as st
from hypothesis import Phase
from hypothesis import settings as hypothesis_settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.unit.app_api.live.session_stage import (
    EVENTS,
    FakeSource,
    make,
    push,
    say,
)

from leasehold.app_api.live.sequence import place
from leasehold.app_api.live.topics import Key


class Conversations(RuleBasedStateMachine):
    """Every event after a snapshot or a resumption is seen once, in order, whatever else happens."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.source = FakeSource()
        self.loop.run_until_complete(self._start())
        self.unpublished: list[tuple[Key, int]] = []
        self.checked = 0
        self.places: dict[Key, int | None] = {}

    async def _start(self) -> None:
        self.session, self.wire, self.hub, self.clock = make(self.source, subscriptions=3)
        self.session.outbox._length = 4

    def _turn(self, count: int = 1) -> None:
        async def turns() -> None:
            for _ in range(count):
                await asyncio.sleep(0)

        self.loop.run_until_complete(turns())

    def _say(self, kind: str, key: Key, **more: Any) -> None:
        self.clock.advance(seconds=1)
        before = len(self.wire.got)

        async def send() -> None:
            say(self.session, type=kind, topic=key.topic, address=key.name, **more)

        self.loop.run_until_complete(send())
        # Who was sent away for not reading hears nothing more.
        if not self.wire.paused and self.session.outbox.clear and self.wire.ended is None:
            assert len(self.wire.got) > before

    @rule(key=st.sampled_from(EVENTS))
    def subscribe(self, key: Key) -> None:
        self._say("subscribe", key)

    @rule(key=st.sampled_from(EVENTS))
    def unsubscribe(self, key: Key) -> None:
        self._say("unsubscribe", key)

    @rule(key=st.sampled_from(EVENTS), back=st.integers(0, 6))
    def resume(self, key: Key, back: int) -> None:
        self._say("resume", key, seq=place(max(0, self.source.height - back)))

    @rule(counts=st.lists(st.integers(0, 2), min_size=len(EVENTS), max_size=len(EVENTS)))
    def block(self, counts: list[int]) -> None:
        """A block is known before its events are published."""
        self.source.height += 1
        for key, count in zip(EVENTS, counts, strict=True):
            for ordinal in range(count):
                seq = place(self.source.height, ordinal)
                self.source.events.setdefault(key, []).append(seq)
                self.unpublished.append((key, seq))

    @precondition(lambda self: self.unpublished)
    @rule(count=st.integers(1, 5))
    def publish(self, count: int) -> None:
        async def out() -> None:
            for key, seq in self.unpublished[:count]:
                await self.hub.publish(key, push(key, seq))

        self.loop.run_until_complete(out())
        del self.unpublished[:count]

    @rule(delay=st.integers(0, 5))
    def slow_source(self, delay: int) -> None:
        self.source.delay = delay

    @rule(count=st.integers(1, 12))
    def turn(self, count: int) -> None:
        self._turn(count)

    @rule()
    def stop_reading(self) -> None:
        self.wire.paused = True

    @rule()
    def read_on(self) -> None:
        self.wire.paused = False

        async def go() -> None:
            self.session.drained()

        self.loop.run_until_complete(go())

    @invariant()
    def order_holds(self) -> None:
        """Follow the frames as a client does: between two markers nothing is missing, doubled or out of order."""
        for message in self.wire.got[self.checked :]:
            self._follow(message)
        self.checked = len(self.wire.got)
        assert len(self.session.subscriptions) <= 3
        assert set(self.session.streams) == {key for one in self.session.subscriptions for key in one.keys}
        assert len(self.session.outbox) <= 4 + len(EVENTS)

    def _follow(self, message: dict[str, Any]) -> None:
        key = Key(message.get("topic", ""), message.get("key", "") or message.get("params", {}).get("address", ""))
        match message["type"]:
            case "snapshot":
                self.places[key] = message["seq"]
            case "subscribed" | "unsubscribed" | "resync_required":
                # What follows an acknowledgement may begin anew from any earlier place.
                self.places[key] = None
            case "push" if not message["snapshot"]:
                last = self.places.get(key)
                if last is not None:
                    expected = next(seq for seq in self.source.events[key] if seq > last)
                    assert message["seq"] == expected, (message, last)
                self.places[key] = message["seq"]
            case "resumed":
                last = self.places.get(key)
                if last is not None:
                    assert not any(last < seq <= message["seq"] for seq in self.source.events.get(key, ()))
                self.places[key] = max(last or 0, message["seq"])

    def teardown(self) -> None:
        """In the end, everybody who follows a stream has all of it."""
        self.read_on()
        while self.unpublished:
            self.publish(10)
        for _ in range(6):
            self.read_on()
            self._turn(40)
        if self.wire.ended is None:
            self.order_holds()
            for key in self.session.streams:
                assert isinstance(key, Key)
                last = self.places.get(key)
                assert last is not None, (key, self.wire.got)
                assert not any(seq > last for seq in self.source.events.get(key, ()))
        self.session.close()
        self._turn(5)
        self.loop.close()


TestConversations = Conversations.TestCase
TestConversations.settings = hypothesis_settings(
    max_examples=30, stateful_step_count=30, phases=(Phase.explicit, Phase.generate, Phase.shrink)
)
