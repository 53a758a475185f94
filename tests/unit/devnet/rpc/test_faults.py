"""Faults on request: slow answers, dropped subscribers, a replica that got stuck."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from leasehold.devnet.consensus.node import Node
from leasehold.devnet.rpc.server import RpcServer


async def test_answers_can_be_slow(client: Any, server: RpcServer) -> None:
    """A delay holds up every method, on connections that were open before too, until it is taken away."""
    async with connect(client.url, compression=None) as socket:
        server.delay_answers(0.15)
        loop = asyncio.get_running_loop()
        start = loop.time()
        assert await client.call("health") == {}
        found = await client.call("tx_search", {"query": "tx.height=1"})
        assert found["total_count"] == "2"
        await socket.send('{"jsonrpc":"2.0","id":1,"method":"health"}')
        await socket.recv()
        assert loop.time() - start >= 0.44
        server.delay_answers(0)
        start = loop.time()
        assert await client.call("health") == {}
        assert loop.time() - start < 0.14


async def test_subscribers_can_be_dropped(client: Any, server: RpcServer) -> None:
    """Dropped clients see their connection end; others don't."""
    async with connect(client.url, compression=None) as socket:
        await socket.send('{"jsonrpc":"2.0","id":1,"method":"subscribe","params":["tm.event=\'Tx\'"]}')
        await socket.recv()
        assert server.drop_subscribers() == 1
        with pytest.raises(ConnectionClosed):
            await socket.recv()
    assert await client.call("health") == {}
    assert server.hub.clients == 0


async def test_a_replica_can_be_stuck(client: Any, server: RpcServer, node: Node) -> None:
    """A stuck replica neither sees nor announces newer blocks; released, it is up to date at once."""
    server.freeze(7)
    node.seal()
    assert (await client.call("status"))["sync_info"]["latest_block_height"] == "7"
    assert await client.call("block", {"height": "8"}) == (
        "height 8 must be less than or equal to the current blockchain height 7"
    )
    head = await client.call("commit")
    assert (head["signed_header"]["header"]["height"], head["canonical"]) == ("7", False)
    assert (await client.call("abci_query", {"path": "/get", "data": "61"}))["response"]["height"] == "7"
    assert (await client.call("abci_info"))["response"]["last_block_height"] == "7"
    async with connect(client.url, compression=None) as socket:
        await socket.send('{"jsonrpc":"2.0","id":1,"method":"subscribe","params":["tm.event=\'NewBlockHeader\'"]}')
        await socket.recv()
        node.seal()
        server.freeze(None)
        node.seal()
        frame = json.loads(await socket.recv())
    assert frame["result"]["data"]["value"]["header"]["height"] == "13"
    assert (await client.call("status"))["sync_info"]["latest_block_height"] == "13"
