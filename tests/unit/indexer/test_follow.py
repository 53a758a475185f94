"""Following by height: order, completeness and patience, whatever the hints and the node do."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest
from static_feed import Content, StaticFeed, chain

from leasehold.chain.client.errors import ChainMismatch, PrunedHistory
from leasehold.chain.client.hints import follow_hints
from leasehold.chain.client.nodes import Nodes
from leasehold.chain.client.rpc import RpcNode
from leasehold.core.clock import SystemClock
from leasehold.indexer.follow import Follower, Pace, Position

PACE = Pace(batch_blocks=20, request_blocks=3, requests=4, poll_seconds=0.02)


async def _quick(_: float) -> None:
    await asyncio.sleep(0.001)


@asynccontextmanager
async def _following(feed: StaticFeed, pace: Pace = PACE) -> AsyncIterator[tuple[Follower, Nodes]]:
    async with feed.serving(), aiohttp.ClientSession() as session:
        nodes = Nodes([RpcNode(feed.url, session)], SystemClock())
        yield Follower(nodes, pace=pace, pause=_quick), nodes


async def _heights(follower: Follower, position: Position, until: int) -> tuple[list[int], list[int]]:
    seen: list[int] = []
    sizes: list[int] = []
    async with follower.batches(position) as batches:
        async for batch in batches:
            seen += [block.height for block in batch]
            sizes.append(len(batch))
            if seen[-1] >= until:
                return seen, sizes
    return seen, sizes


async def test_backfill_delivers_every_height_once_in_full_batches() -> None:
    """Far from the head the batches are full, and no height is missing or doubled."""
    async with _following(StaticFeed(chain([Content() for _ in range(100)]))) as (follower, _):
        seen, sizes = await asyncio.wait_for(_heights(follower, Position(), 100), 60)
    assert seen == list(range(1, 101))
    assert max(sizes) == 20


async def test_resuming_starts_right_after_the_position() -> None:
    """A reader that has 40 blocks gets the 41st next."""
    blocks = chain([Content() for _ in range(50)])
    async with _following(StaticFeed(blocks)) as (follower, _):
        position = Position(40, bytes.fromhex(blocks[39].hash), "static-1")
        seen, _ = await asyncio.wait_for(_heights(follower, position, 50), 60)
    assert seen == list(range(41, 51))


async def test_faulty_node_costs_time_but_no_height() -> None:
    """Dropped connections, error pages and slow answers lose nothing."""
    randomness = random.Random(7)
    feed = StaticFeed(chain([Content() for _ in range(60)]))
    feed.fault = lambda: randomness.choice(["drop", "garbage", "error", None, None, None])
    async with _following(feed) as (follower, _):
        seen, _ = await asyncio.wait_for(_heights(follower, Position(), 60), 60)
    assert seen == list(range(1, 61))
    assert follower.retries > 0


async def test_results_that_are_late_are_waited_for() -> None:
    """At the head a block whose results are not stored yet is delivered once they are."""
    feed = StaticFeed(chain([Content() for _ in range(5)]))
    feed.results_lag = 2
    async with _following(feed) as (follower, _), asyncio.TaskGroup() as tasks:
        reading = tasks.create_task(_heights(follower, Position(), 5))
        await asyncio.sleep(0.1)
        assert not reading.done()
        feed.results_lag = 0
        seen, _ = await asyncio.wait_for(reading, 60)
    assert seen == [1, 2, 3, 4, 5]


async def test_hints_wake_the_follower_and_doubled_or_lost_ones_do_no_harm() -> None:
    """Heights arrive within moments of being announced, also twice, also after the socket was dropped."""
    feed = StaticFeed(chain([Content() for _ in range(30)]), latest=1)
    feed.announce_doubly = True
    pace = Pace(batch_blocks=20, request_blocks=3, requests=4, poll_seconds=0.5)
    async with _following(feed, pace) as (follower, nodes), aiohttp.ClientSession() as session:
        hints = asyncio.create_task(follow_hints(nodes, session, follower.announce, silence_seconds=5, pause=_quick))
        reading = asyncio.create_task(_heights(follower, Position(), 30))
        for latest in range(2, 31):
            if latest == 15:
                await feed.drop_sockets()
            await feed.grow(latest)
            await asyncio.sleep(0.002)
        seen, _ = await asyncio.wait_for(reading, 60)
        hints.cancel()
        await asyncio.gather(hints, return_exceptions=True)
    assert seen == list(range(1, 31))


async def test_a_silent_socket_is_renewed() -> None:
    """A socket that says nothing for the silence limit is closed and opened again."""
    feed = StaticFeed(chain([Content()]))
    connections = 0

    async def counted(_: float) -> None:
        nonlocal connections
        connections += 1
        await asyncio.sleep(0)

    async with _following(feed) as (follower, nodes), aiohttp.ClientSession() as session:
        hints = asyncio.create_task(
            follow_hints(nodes, session, follower.announce, silence_seconds=0.05, pause=counted)
        )
        await asyncio.sleep(0.3)
        hints.cancel()
        await asyncio.gather(hints, return_exceptions=True)
    assert connections >= 2


async def test_pruned_history_is_raised_with_the_first_height() -> None:
    """A fresh index on a pruned node fails with the height it could start from."""
    feed = StaticFeed(chain([Content() for _ in range(30)]))
    feed.earliest = 11
    async with _following(feed) as (follower, _):
        with pytest.raises(PrunedHistory) as caught:
            await asyncio.wait_for(_heights(follower, Position(), 60), 60)
    assert caught.value.first_available == 11


async def test_another_chain_or_history_is_refused() -> None:
    """A node whose block at the cursor differs, or whose next block does not link, is refused."""
    blocks = chain([Content() for _ in range(10)])
    async with _following(StaticFeed(blocks)) as (follower, _):
        with pytest.raises(ChainMismatch):
            await follower.verify(Position(5, b"\x00" * 32, "static-1"))
        with pytest.raises(ChainMismatch):
            await follower.verify(Position(5, bytes.fromhex(blocks[4].hash), "other-1"))
        with pytest.raises(ChainMismatch):
            await asyncio.wait_for(_heights(follower, Position(5, b"\x01" * 32, "static-1"), 60), 60)
        await follower.verify(Position(5, bytes.fromhex(blocks[4].hash), "static-1"))
