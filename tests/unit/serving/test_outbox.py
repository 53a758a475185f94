"""What waits for a slow socket: in order, bounded, counted."""

from __future__ import annotations

from leasehold.core.metrics import Metrics
from leasehold.serving.outbox import Meters, Outbox


class Peer:
    """A writer that can be paused."""

    def __init__(self) -> None:
        self.paused = False
        self.got: list[bytes] = []

    def write(self, frame: bytes) -> None:
        self.got.append(frame)


def test_frames_pass_at_once_and_wait_in_order() -> None:
    """A peer that keeps up has no queue; one that does not gets everything in order once it does."""
    peer, meters = Peer(), Meters(Metrics())
    outbox = Outbox(peer, meters)
    assert outbox.send(b"1")
    peer.paused = True
    assert outbox.send(b"2")
    assert outbox.send(b"3")
    assert (peer.got, len(outbox), meters.waiting, outbox.clear) == ([b"1"], 2, 2, False)
    peer.paused = False
    outbox.drain()
    assert (peer.got, len(outbox), meters.waiting, outbox.clear) == ([b"1", b"2", b"3"], 0, 0, True)


def test_a_full_queue_takes_nothing_more() -> None:
    """What does not fit is refused and counted, and what waits is not lost."""
    metrics = Metrics()
    peer = Peer()
    outbox = Outbox(peer, Meters(metrics), length=2)
    peer.paused = True
    assert [outbox.send(frame) for frame in (b"1", b"2", b"3")] == [True, True, False]
    assert outbox.full
    peer.paused = False
    outbox.drain()
    assert peer.got == [b"1", b"2"]
    assert b"leasehold_stream_dropped_total 1.0" in metrics.exposition()


def test_only_the_newest_of_a_kind_waits() -> None:
    """Prices coalesce: the newest comes after the queue, with how many it replaced."""
    peer, meters = Peer(), Meters(Metrics())
    outbox = Outbox(peer, meters)
    peer.paused = True
    outbox.send(b"event")
    for number in range(5):
        outbox.put("prices", b"%d" % number)
    assert outbox.newest() == []
    peer.paused = False
    outbox.drain()
    assert outbox.newest() == [("prices", b"4", 4)]
    assert (peer.got, meters.waiting) == ([b"event"], 0)


def test_closing_forgets_what_waits() -> None:
    """A connection that ends leaves nothing in the meters."""
    peer, meters = Peer(), Meters(Metrics())
    peer.paused = True
    outbox = Outbox(peer, meters)
    outbox.send(b"1")
    outbox.put("k", b"2")
    outbox.close()
    assert (len(outbox), meters.waiting) == (0, 0)
