"""When blocks are sealed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from leasehold.devnet.consensus.node import Node
from leasehold.devnet.consensus.sealing import HEARTBEAT_SECONDS, Sealer, SealMode

NodeFactory = Callable[..., Node]


@asynccontextmanager
async def running(sealer: Sealer) -> AsyncIterator[None]:
    task = asyncio.create_task(sealer.run())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def reached(node: Node, height: int) -> None:
    arrived = asyncio.Event()
    node.add_listener(lambda sealed: arrived.set() if sealed.height >= height else None)
    if node.height < height:
        async with asyncio.timeout(60):
            await arrived.wait()


async def test_interval_seals_empty_blocks(make_node: NodeFactory) -> None:
    """At an interval blocks come by themselves."""
    node = make_node()
    async with running(Sealer(node, interval_seconds=0.01)):
        await reached(node, 5)


async def test_transactions_seal_at_once_and_heartbeats_when_idle(make_node: NodeFactory) -> None:
    """On transactions a block follows an arrival without waiting; without any, the heartbeat seals."""
    node = make_node()
    async with running(Sealer(node, mode=SealMode.TRANSACTIONS)):
        await asyncio.sleep(0.02)
        assert node.height == 0
        node.submit(b"a=1")
        await reached(node, 1)
        await asyncio.sleep(0.02)
        assert node.height == 1
    async with running(Sealer(node, mode=SealMode.TRANSACTIONS, heartbeat_seconds=0.02)):
        await reached(node, 3)


async def test_demand_seals_when_asked(make_node: NodeFactory) -> None:
    """On demand nothing happens until asked, however many transactions wait; a heartbeat stays."""
    node = make_node()
    sealer = Sealer(node, mode=SealMode.DEMAND)
    async with running(sealer):
        node.submit(b"a=1")
        await asyncio.sleep(0.02)
        assert node.height == 0
        sealer.seal_soon()
        await reached(node, 1)
        assert sealer.mine().height == 2
        assert sealer.mine(10, 60_000_000_000).height == 12
        assert node.time_ns >= node.genesis.time_ns + 600 * 1_000_000_000
    async with running(Sealer(node, mode=SealMode.DEMAND, heartbeat_seconds=0.02)):
        await reached(node, 14)
    assert HEARTBEAT_SECONDS <= 45


async def test_a_paused_chain_stands_still(make_node: NodeFactory) -> None:
    """Paused, only what is asked for is sealed; resumed, it goes on."""
    node = make_node()
    sealer = Sealer(node, interval_seconds=0.01)
    sealer.pause()
    async with running(sealer):
        await asyncio.sleep(0.05)
        assert node.height == 0
        sealer.seal_soon()
        await reached(node, 1)
        await asyncio.sleep(0.03)
        assert (node.height, sealer.is_paused) == (1, True)
        sealer.resume()
        await reached(node, 3)
