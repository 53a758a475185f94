"""The stream hub: encoded once, bounded for everyone, honest about what was dropped."""

from __future__ import annotations

import asyncio

from leasehold.core.metrics import Metrics
from leasehold.serving.hub import Hub, Lagged


async def test_every_subscriber_of_a_topic_gets_the_same_bytes() -> None:
    """A value is encoded once: subscribers share one payload object; other topics get nothing."""
    hub = Hub(Metrics())
    with hub.subscriber() as one, hub.subscriber() as two, hub.subscriber() as other:
        hub.subscribe(one, "prices")
        hub.subscribe(two, "prices")
        hub.subscribe(other, ("balances", "chain1a"))
        assert hub.publish("prices", {"a": 1}) == 2
        hub.close()
        received = [[payload async for payload in each] for each in (one, two, other)]
    assert received == [[b'{"a":1}'], [b'{"a":1}'], []]
    assert received[0][0] is received[1][0]


async def test_a_slow_subscriber_is_told_that_it_lagged() -> None:
    """A full queue drops its oldest, and the stream says how many before it goes on."""
    metrics = Metrics()
    hub = Hub(metrics, queue_length=3)
    with hub.subscriber() as slow:
        hub.subscribe(slow, "t")
        for number in range(10):
            hub.publish("t", number)
        assert len(slow) == 3
        hub.close()
        assert [item async for item in slow] == [Lagged(7), b"7", b"8", b"9"]
    assert b"leasehold_stream_dropped_total 7.0" in metrics.exposition()
    assert b"leasehold_stream_delivered_total 10.0" in metrics.exposition()


async def test_a_waiting_subscriber_wakes() -> None:
    """Who waits gets a payload as soon as it is published."""
    hub = Hub(Metrics())
    with hub.subscriber() as one:
        hub.subscribe(one, "t")
        stream = aiter(one)
        waiting = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        assert not waiting.done()
        hub.publish("t", b"raw")
        assert await waiting == b"raw"


async def test_nothing_of_a_gone_subscriber_stays() -> None:
    """Leaving the context removes it from every topic, and topics without listeners vanish."""
    metrics = Metrics()
    hub = Hub(metrics, max_subscribers=1)
    with hub.subscriber() as one:
        hub.subscribe(one, "a")
        hub.subscribe(one, "b")
        hub.unsubscribe(one, "b")
        assert (hub.listeners("a"), hub.listeners("b"), hub.is_full) == (1, 0, True)
    assert hub.topics() == []
    assert not hub.is_full
    assert hub.publish("a", b"x") == 0
    assert b"leasehold_stream_subscribers 0.0" in metrics.exposition()
