"""A subscription as its client sees it: once, in order, and from where to go on."""

from __future__ import annotations

from typing import Any

import pytest

from leasehold.app_client.feed import Feed, stream_of
from leasehold.app_client.live import _keys
from leasehold.core.errors import InvalidInput


def lease(seq: int, **more: Any) -> dict[str, Any]:
    return {"type": "lease_update", "owner": "a", "seq": seq, "lease": {}, **more}


def marker(kind: str, seq: int, key: str = "a", topic: str = "leases") -> dict[str, Any]:
    return {"type": kind, "topic": topic, "key": key, "seq": seq}


def taken(feed: Feed) -> list[int]:
    """What a consumer would find."""
    found = []
    while not feed._waiting.empty():
        message = feed._waiting.get_nowait()
        assert message is not None
        found.append(message["seq"])
    return found


def test_a_feed_resumes_only_after_a_complete_snapshot() -> None:
    """A snapshot that was cut off is asked for anew; from its end on, and from each event on, it is resumed."""
    feed = Feed("leases", {"address": "a"}, ("a",))
    feed.take("a", lease(9, snapshot=True))
    assert feed.opening() == {"type": "subscribe", "topic": "leases", "address": "a"}
    feed.take("a", marker("snapshot", 9))
    assert feed.opening()["seq"] == 9
    feed.take("a", lease(12))
    assert feed.opening() == {"type": "resume", "topic": "leases", "address": "a", "seq": 12}


def test_what_comes_again_is_dropped() -> None:
    """Streams of one subscription resume from the one furthest behind; what the others had seen is not shown."""
    feed = Feed("balances", {"addresses": ["a", "b"]}, ("a", "b"))
    for key in ("a", "b"):
        feed.take(key, marker("snapshot", 10, key, "balances"))
    feed.take("a", {"type": "balance_update", "address": "a", "seq": 20})
    assert feed.opening()["seq"] == 10
    taken(feed)
    feed.take("a", {"type": "balance_update", "address": "a", "seq": 20})
    feed.take("b", {"type": "balance_update", "address": "b", "seq": 15})
    feed.take("a", {"type": "balance_update", "address": "a", "seq": 21})
    assert taken(feed) == [15, 21]


def test_a_resynchronisation_begins_anew() -> None:
    """The consumer is told, and the answer is a subscription."""
    feed = Feed("leases", {"address": "a"}, ("a",))
    feed.take("a", marker("snapshot", 9))
    assert feed.take("a", marker("resync_required", 50)) == {"type": "subscribe", "topic": "leases", "address": "a"}
    assert taken(feed) == [9, 50]


def test_a_consumer_that_does_not_take_loses_nothing_silently() -> None:
    """A full feed is emptied and says so; it then asks for a snapshot."""
    feed = Feed("leases", {"address": "a"}, ("a",), length=3)
    feed.take("a", marker("snapshot", 1))
    answers = [feed.take("a", lease(seq)) for seq in range(2, 5)]
    assert answers == [None, None, {"type": "subscribe", "topic": "leases", "address": "a"}]
    message = feed._waiting.get_nowait()
    assert message is not None
    assert message["type"] == "resync_required"
    assert feed._waiting.empty()
    assert feed.opening()["type"] == "subscribe"


def test_messages_find_their_streams() -> None:
    """Pushes and markers name the same stream; a transaction is found with and without its chain."""
    assert stream_of(lease(1)) == ("leases", "a")
    assert stream_of(marker("lagged", 1)) == ("leases", "a")
    assert stream_of({"type": "pong"}) is None
    feed = Feed("skip_tx", {}, _keys("skip_tx", {"tx_hash": "AB", "source_chain": "c"}))
    assert feed.owns("skip_tx", "AB")
    assert feed.owns("skip_tx", "AB@c")
    assert not feed.owns("skip_tx", "CD")
    with pytest.raises(InvalidInput, match="there is no topic"):
        _keys("nope", {})
