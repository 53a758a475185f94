"""The stream hub: one frame for everyone, slices for large audiences, caps that are exact."""

from __future__ import annotations

import asyncio

import pytest

from leasehold.core.errors import NotReady
from leasehold.core.metrics import Metrics
from leasehold.serving.frames import Item, text_frame
from leasehold.serving.hub import SLICE_SECONDS, Hub


class Ear:
    """A listener that remembers."""

    def __init__(self) -> None:
        self.heard: list[Item] = []

    def deliver(self, item: Item) -> None:
        self.heard.append(item)


async def test_every_listener_of_a_topic_gets_the_same_item() -> None:
    """An item is one object for all listeners of its topic; other topics get nothing."""
    metrics = Metrics()
    hub = Hub(metrics)
    one, two, other = Ear(), Ear(), Ear()
    hub.join("prices", one)
    hub.join("prices", two)
    hub.join("leases", other)
    item = Item(1, b"frame")
    assert await hub.publish("prices", item) == 2
    assert one.heard == two.heard == [item]
    assert other.heard == []
    exposed = metrics.exposition()
    assert b"leasehold_stream_published_total 1.0" in exposed
    assert b"leasehold_stream_delivered_total 2.0" in exposed


class Phone(Ear):
    """A listener with a connection that takes frames."""

    def __init__(self, *, packs: bool) -> None:
        super().__init__()
        self.packs = packs
        self.paused = False
        self.descriptor = -1
        self.got: list[bytes] = []

    def deliver(self, item: Item) -> Phone:
        super().deliver(item)
        return self

    def write_rest(self, frame: bytes, sent: int) -> None:
        self.got.append(frame[sent:])


async def test_connections_get_the_form_they_take() -> None:
    """Whoever packs gets the one compressed frame, the others the plain one: the very same bytes for all of a kind."""
    hub = Hub(Metrics())
    phones = [Phone(packs=number % 3 == 0) for number in range(100)]
    for phone in (*phones, Ear()):
        hub.join("t", phone)
    item = Item(1, text_frame(b"a" * 2000))
    assert await hub.publish("t", item) == 101
    for phone in phones:
        (frame,) = phone.got
        assert frame is (item.packed if phone.packs else item.frame)
    assert len(item.packed) < 100


async def test_nothing_of_a_gone_listener_stays() -> None:
    """A topic without listeners vanishes, and publishing to it does nothing."""
    hub = Hub(Metrics())
    ear = Ear()
    hub.join("a", ear)
    hub.leave("a", ear)
    hub.leave("a", ear)
    assert (hub.topics(), hub.listeners("a"), await hub.publish("a", Item(1, b""))) == ([], 0, 0)


async def test_a_large_audience_is_served_in_slices() -> None:
    """Others get their turn while a publication goes on; who leaves meanwhile disturbs nobody."""
    now = [0.0]

    class Slow(Ear):
        def deliver(self, item: Item) -> None:
            super().deliver(item)
            now[0] += SLICE_SECONDS / 10

    hub = Hub(Metrics(), monotonic=lambda: now[0])
    ears = [Slow() for _ in range(200)]
    for ear in ears:
        hub.join("t", ear)
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1
            if turns == 1:
                hub.leave("t", ears[0])

    task = asyncio.create_task(others())
    assert await hub.publish("t", Item(1, b"x")) == 200
    task.cancel()
    assert turns >= 3
    assert all(len(ear.heard) == 1 for ear in ears)


def test_connections_are_capped_per_process_and_per_client() -> None:
    """The cap itself is reached, one more is refused, and who leaves makes room; an exempt client is only counted."""
    metrics = Metrics()
    hub = Hub(metrics, max_connections=3, per_client=1)
    with hub.connection("a"):
        with pytest.raises(NotReady, match="this address"), hub.connection("a"):
            pass
        with hub.connection(None), hub.connection(None):
            assert hub.connections == 3
            with pytest.raises(NotReady, match=r"connections$"), hub.connection("b"):
                pass
    with hub.connection("a"):
        assert hub.connections == 1
    assert b'leasehold_stream_refused_total{reason="client"} 1.0' in metrics.exposition()
