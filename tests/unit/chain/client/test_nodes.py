"""Several nodes: who is asked, who rests, and when the archive answers."""

from __future__ import annotations

from contextlib import AsyncExitStack

import aiohttp
import pytest
from static_feed import Content, StaticFeed, chain

from leasehold.chain.client.errors import NodeUnreachable, PrunedHistory
from leasehold.chain.client.nodes import Nodes
from leasehold.chain.client.rpc import RpcNode
from leasehold.core.clock import ManualClock


async def _pair(stack: AsyncExitStack) -> tuple[StaticFeed, StaticFeed, list[RpcNode]]:
    blocks = chain([Content() for _ in range(10)])
    session = await stack.enter_async_context(aiohttp.ClientSession())
    feeds = [await stack.enter_async_context(StaticFeed(blocks).serving()) for _ in range(2)]
    return feeds[0], feeds[1], [RpcNode(feed.url, session) for feed in feeds]


async def test_the_second_node_steps_in_and_the_first_rests() -> None:
    """A failing node is skipped for a growing while, then asked again."""
    async with AsyncExitStack() as stack:
        first, second, pair = await _pair(stack)
        clock = ManualClock()
        nodes = Nodes(pair, clock)
        first.fault = lambda: "drop"
        assert len(await nodes.blocks(1, 2)) == 2
        asked = first.requests
        await nodes.blocks(3, 2)
        assert first.requests == asked
        assert second.requests == 2
        first.fault = lambda: None
        clock.advance(seconds=1)
        await nodes.blocks(5, 1)
        assert first.requests == asked + 1


async def test_a_node_that_lags_is_not_punished() -> None:
    """A node behind the head passes the question on but stays preferred."""
    async with AsyncExitStack() as stack:
        first, _second, pair = await _pair(stack)
        nodes = Nodes(pair, ManualClock())
        first.latest = 4
        assert (await nodes.blocks(7, 1))[0].height == 7
        assert nodes.preferred is pair[0]


async def test_pruned_history_goes_to_the_archive_node_and_is_typed_without_one() -> None:
    """Old heights come from the archive when there is one; else the error names the first height of any node."""
    async with AsyncExitStack() as stack:
        first, second, pair = await _pair(stack)
        first.earliest, second.earliest = 9, 1
        with pytest.raises(PrunedHistory) as caught:
            await Nodes(pair[:1], ManualClock()).blocks(2, 1)
        assert caught.value.first_available == 9
        assert (await Nodes(pair[:1], ManualClock(), archive=pair[1]).blocks(2, 1))[0].height == 2


async def test_all_nodes_down_is_unreachable() -> None:
    """With nobody left the last transport failure is raised."""
    async with AsyncExitStack() as stack:
        first, second, pair = await _pair(stack)
        first.fault = second.fault = lambda: "drop"
        with pytest.raises(NodeUnreachable):
            await Nodes(pair, ManualClock()).status()
