"""The session state machine: any order of messages, publications, slowness and work in between keeps its promises."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import Phase
from hypothesis import settings as hypothesis_settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from leasehold.app_api.live import messages
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
        self.got: list[dict[str, Any]] = []
        self.ended: tuple[int, str] | None = None

    def write(self, frame: bytes) -> None:
        if self.ended is None:
            self.got.append(payload(frame))

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


# Single promises


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("not json", "INVALID_MESSAGE", "Failed to parse message"),
        ("[]", "INVALID_MESSAGE", "Failed to parse message"),
        ("[" * 100_000, "INVALID_MESSAGE", "Failed to parse message"),
        ('{"type":"SUBSCRIBE","topic":"prices"}', "INVALID_MESSAGE", "Failed to parse message"),
        ('{"type":"subscribe","topic":"Prices"}', "INVALID_SUBSCRIPTION", "Unknown topic: Prices"),
        ('{"type":"subscribe","topic":"leases"}', "INVALID_SUBSCRIPTION", "Missing 'address' parameter"),
        ('{"type":"resume","topic":"prices"}', "INVALID_SUBSCRIPTION", "Missing 'seq' parameter"),
        ('{"type":"resume","topic":"prices","seq":true}', "INVALID_SUBSCRIPTION", "Missing 'seq' parameter"),
        ('{"type":"subscribe","topic":"transfer"}', "INVALID_SUBSCRIPTION", "Missing 'id' or 'tx_hash' parameter"),
    ],
)
def test_what_is_wrong_is_said(text: str, code: str, message: str) -> None:
    """A message that can't be understood gets one error that says why, with its topic where it has one."""
    session, wire, _, _ = make()
    session.receive(text)
    (answer,) = wire.got
    assert (answer["type"], answer["code"], answer["message"]) == ("error", code, message)
    assert ("topic" in answer) == (code == "INVALID_SUBSCRIPTION")


async def test_a_subscription_is_acknowledged_then_shown() -> None:
    """The acknowledgement comes first, then the snapshot, then the marker that ends it."""
    session, wire, _, _ = make()
    say(session, type="subscribe", topic="lease", address=ALICE)
    await settle()
    assert wire.types() == ["subscribed", "push", "snapshot"]
    assert wire.got[0] == {"type": "subscribed", "topic": "leases", "params": {"address": ALICE}}
    assert (wire.got[2]["count"], wire.got[2]["seq"]) == (1, last_of(10))
    session.close()


async def test_a_repeated_subscription_does_not_double_pushes() -> None:
    """A repeat is acknowledged and shown again; a publication still comes once."""
    source = FakeSource()
    session, wire, hub, _ = make(source)
    say(session, type="subscribe", topic="prices")
    say(session, type="subscribe", topic="prices")
    await settle()
    wire.got.clear()
    source.prices = place(11)
    await hub.publish(Key(PRICES), push(Key(PRICES), source.prices))
    assert wire.types() == ["push"]


async def test_unsubscribing_ends_pushes_and_is_always_acknowledged() -> None:
    """After `unsubscribed` nothing comes; unsubscribing what never was is acknowledged too."""
    session, wire, hub, _ = make()
    say(session, type="subscribe", topic="prices")
    await settle()
    for _ in range(2):
        say(session, type="unsubscribe", topic="prices")
    wire.got.clear()
    assert await hub.publish(Key(PRICES), push(Key(PRICES), place(99))) == 0
    assert wire.got == []
    assert session.subscriptions == set()


async def test_an_address_in_two_subscriptions_is_pushed_once() -> None:
    """Subscriptions that share an address share its stream, which lasts until the last of them ends."""
    session, wire, hub, _ = make()
    say(session, type="subscribe", topic="balances", address=ALICE)
    say(session, type="subscribe", topic="balances", addresses=[ALICE, BOB])
    await settle()
    wire.got.clear()
    await hub.publish(Key(BALANCES, ALICE), push(Key(BALANCES, ALICE), place(11)))
    say(session, type="unsubscribe", topic="balances", addresses=[ALICE, BOB])
    await hub.publish(Key(BALANCES, ALICE), push(Key(BALANCES, ALICE), place(12)))
    await hub.publish(Key(BALANCES, BOB), push(Key(BALANCES, BOB), place(12)))
    assert [one.get("seq") for one in wire.got] == [place(11), None, place(12)]


async def test_more_subscriptions_than_allowed_are_refused() -> None:
    """The limit is reached exactly, and then a repeat is refused too, as the public service does; who leaves makes
    room."""
    session, wire, _, _ = make(subscriptions=2)
    for owner in ("a", "a", "b", "b", "c"):
        say(session, type="subscribe", topic="earn", address=owner)
    say(session, type="unsubscribe", topic="earn", address="a")
    say(session, type="subscribe", topic="earn", address="c")
    answers = [one for one in wire.got if one["type"] in ("subscribed", "unsubscribed", "error")]
    kinds = [one["type"] for one in answers]
    assert kinds == ["subscribed"] * 3 + ["error"] * 2 + ["unsubscribed", "subscribed"]
    assert {(one["code"], one["topic"]) for one in answers if one["type"] == "error"} == {
        ("SUBSCRIPTION_LIMIT", "earn")
    }
    session.close()


async def test_a_full_connection_can_resynchronise() -> None:
    """Whoever was told to begin anew may subscribe again, and anybody may resume, also at the limit."""
    source = FakeSource()
    source.down = True
    session, wire, _, _ = make(source, subscriptions=1)
    say(session, type="subscribe", topic="leases", address=ALICE)
    await settle()
    assert wire.types() == ["subscribed", "resync_required"]
    source.down = False
    say(session, type="subscribe", topic="leases", address=ALICE)
    await settle()
    assert wire.types()[2:] == ["subscribed", "push", "snapshot"]
    wire.got.clear()
    say(session, type="subscribe", topic="leases", address=ALICE)
    say(session, type="resume", topic="leases", address=ALICE, seq=last_of(10))
    await settle()
    assert wire.types() == ["error", "subscribed", "resumed"]
    session.close()


async def test_one_address_is_the_same_as_a_list_of_it() -> None:
    """A balance subscription is its ordered addresses: written either way, and with what is no text left out."""
    session, wire, hub, _ = make()
    say(session, type="subscribe", topic="balances", address=ALICE)
    say(session, type="subscribe", topic="balance", addresses=[ALICE, 5])
    await settle()
    assert len(session.subscriptions) == 1
    say(session, type="unsubscribe", topic="balances", addresses=[ALICE])
    assert (hub.topics(), session.subscriptions) == ([], set())
    assert wire.types().count("subscribed") == 2


async def test_a_flood_of_messages_ends_the_connection() -> None:
    """Above the burst messages are refused; who goes on is sent away; who waits may go on."""
    session, wire, _, clock = make(messages_per_second=10.0, messages_burst=5, patience=3)
    for _ in range(7):
        say(session, type="ping", id=1)
    assert wire.types() == ["pong"] * 5 + ["error"] * 2
    assert wire.got[-1]["code"] == "RATE_LIMITED"
    clock.advance(seconds=1)
    say(session, type="ping")
    assert wire.types()[-1] == "pong"
    for _ in range(20):
        say(session, type="ping")
    assert wire.ended == (1008, "too many messages")


async def test_a_resumption_replays_what_was_missed() -> None:
    """From a known place on everything comes once and in order, then the marker."""
    source = FakeSource()
    key = Key(LEASES, ALICE)
    source.events[key] = [place(height) for height in range(5, 11)]
    session, wire, _, _ = make(source)
    say(session, type="resume", topic="leases", address=ALICE, seq=place(6))
    await settle()
    assert [one["seq"] for one in wire.got if one["type"] == "push"] == [place(height) for height in range(7, 11)]
    assert wire.types()[-1] == "resumed"
    assert (wire.got[-1]["count"], wire.got[-1]["seq"]) == (4, last_of(10))


@pytest.mark.parametrize(("gone", "down"), [(True, False), (False, True)])
async def test_what_is_not_known_is_said(gone: bool, down: bool) -> None:
    """A place nobody knows, or a state that can't be read, is a `resync_required`; what comes later is pushed."""
    source = FakeSource()
    source.gone, source.down = gone, down
    session, wire, hub, _ = make(source)
    if gone:
        say(session, type="resume", topic="leases", address=ALICE, seq=place(6))
    else:
        say(session, type="subscribe", topic="leases", address=ALICE)
    await settle()
    assert wire.types() == ["subscribed", "resync_required"]
    await hub.publish(Key(LEASES, ALICE), push(Key(LEASES, ALICE), place(11)))
    assert wire.got[-1]["seq"] == place(11)


async def test_a_slow_peer_gets_the_newest_prices_and_every_event() -> None:
    """While a peer does not read, prices replace each other and events beyond the queue are replayed; it is told."""
    source = FakeSource()
    session, wire, hub, _ = make(source)
    session.outbox._length = 3
    key = Key(LEASES, ALICE)
    say(session, type="subscribe", topic="prices")
    say(session, type="subscribe", topic="leases", address=ALICE)
    await settle()
    wire.got.clear()
    wire.paused = True
    for height in range(11, 21):
        source.height, source.prices = height, place(height)
        source.events.setdefault(key, []).append(place(height))
        await hub.publish(key, push(key, place(height)))
        await hub.publish(Key(PRICES), push(Key(PRICES), source.prices))
    assert wire.got == []
    assert len(session.outbox) == 4
    wire.paused = False
    session.drained()
    await settle()
    seqs = [one["seq"] for one in wire.got if one["type"] == "push" and one["topic"] == LEASES]
    assert seqs == [place(height) for height in range(11, 21)]
    assert [one["seq"] for one in wire.got if one["type"] == "push" and one["topic"] == PRICES] == [place(20)]
    told = {(one["topic"], one["missed"], one["replayed"]) for one in wire.got if one["type"] == "lagged"}
    assert told == {(PRICES, 9, False), (LEASES, 7, True)}


async def test_who_does_not_read_answers_is_sent_away() -> None:
    """A peer that keeps asking while it does not read can't make us keep its answers."""
    session, wire, _, clock = make()
    session.outbox._length = 3
    wire.paused = True
    for _ in range(4):
        clock.advance(seconds=1)
        say(session, type="ping")
    assert wire.ended == (1013, "answers are not read")


async def test_closing_leaves_nothing_behind() -> None:
    """A closed session is in no topic and none of its tasks goes on."""
    source = FakeSource()
    source.delay = 1000
    session, _, hub, _ = make(source)
    say(session, type="subscribe", topic="leases", address=ALICE)
    await asyncio.sleep(0)
    tasks = [stream.task for stream in session.streams.values()]
    session.close()
    await asyncio.gather(*(task for task in tasks if task), return_exceptions=True)
    assert hub.topics() == []
    assert all(task is not None and task.cancelled() for task in tasks)


def test_welcome_states_the_limits() -> None:
    """The first message says what a connection may do and where the chain stands."""
    session, wire, _, _ = make()
    limits = messages.Limits(100, 20, 16, 65_536, 20.0, 100, 30.0, 90.0, 900)
    session.welcome(limits, (PRICES,))
    assert wire.got[0]["type"] == "welcome"
    assert (wire.got[0]["limits"]["subscriptions"], wire.got[0]["height"]) == (20, 10)


# Any order of everything


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
