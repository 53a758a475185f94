"""The session: what each message gets for an answer, and what becomes of slow peers."""

from __future__ import annotations

import asyncio

import pytest
from tests.unit.app_api.live.session_stage import (
    ALICE,
    BECH32M,
    BOB,
    FakeSource,
    make,
    push,
    say,
    settle,
)

from leasehold.app_api.live import messages
from leasehold.app_api.live.sequence import Passage, last_of, place
from leasehold.app_api.live.topics import BALANCES, LEASES, PRICES, Key
from leasehold.core.addresses import encode


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("not json", "INVALID_MESSAGE", "Failed to parse message"),
        ("[]", "INVALID_MESSAGE", "Failed to parse message"),
        ("[" * 100_000, "INVALID_MESSAGE", "Failed to parse message"),
        ('["subscribe","prices"]', "INVALID_MESSAGE", "Failed to parse message"),
        ('{"type":"subscribe","topic":"prices","topic":"earn"}', "INVALID_MESSAGE", "Failed to parse message"),
        ('{"type":"subscribe","topic":"prices","\\u0074opic":"earn"}', "INVALID_MESSAGE", "Failed to parse message"),
        ('{"type":"subscribe","type":"subscribe","topic":"prices"}', "INVALID_MESSAGE", "Failed to parse message"),
        ('{"type":"ping","type":"ping"}', "INVALID_MESSAGE", "Failed to parse message"),
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


async def test_a_repeated_parameter_is_its_last() -> None:
    """What a message is must be said once; of its parameters, and inside them, the last counts."""
    session, wire, _, _ = make()
    session.receive('{"type":"subscribe","topic":"earn","address":"a","x":{"topic":1,"topic":2},"address":"b"}')
    assert wire.got[0] == {"type": "subscribed", "topic": "earn", "params": {"address": "b"}}
    session.close()


@pytest.mark.parametrize("address", [BECH32M, encode("chain", b"short"), encode("chain", bytes(32))])
async def test_any_checksum_and_length_will_do_for_balances(address: str) -> None:
    """Balances are acknowledged for whatever the public service takes for an address of the chain."""
    session, wire, _, _ = make()
    say(session, type="subscribe", topic="balances", address=address)
    say(session, type="subscribe", topic="balances", address=address[:-1] + "b")
    assert [(one["type"], one["topic"]) for one in wire.got] == [("subscribed", "balances"), ("error", "balances")]
    session.close()


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


async def test_a_stream_that_breaks_ends_its_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """What nobody foresaw while a stream catches up is no silence: the connection ends, so that its client resumes."""
    source = FakeSource()
    session, wire, _, _ = make(source)

    async def broken(key: Key, after: int) -> Passage:
        raise RuntimeError("dictionary changed size during iteration")

    monkeypatch.setattr(source, "replay", broken)
    say(session, type="resume", topic="leases", address=ALICE, seq=place(9))
    await settle()
    assert wire.ended == (1013, "a stream could not be brought to the present")


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
