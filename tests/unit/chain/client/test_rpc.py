"""One node over JSON-RPC: batches, their limits, and errors by type."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator

import aiohttp
import pytest
from static_feed import Content, StaticFeed, chain

from leasehold.chain.client.blocks import fetch_blocks
from leasehold.chain.client.contracts import all_balances, smart_query
from leasehold.chain.client.errors import (
    HeightNotReached,
    NodeRefused,
    NodeUnreachable,
    PrunedHistory,
    QueryFailed,
    ResultsNotReady,
    refusal,
)
from leasehold.chain.client.rpc import RpcNode, Timeouts


@pytest.fixture
async def feed() -> AsyncIterator[StaticFeed]:
    async with StaticFeed(chain([Content() for _ in range(12)])).serving() as running:
        yield running


@pytest.fixture
async def node(feed: StaticFeed) -> AsyncIterator[RpcNode]:
    async with aiohttp.ClientSession() as session:
        yield RpcNode(feed.url, session, timeouts=Timeouts(connect=1, answer=2))


async def test_status_tells_chain_and_heights(node: RpcNode) -> None:
    """The status names the chain, its newest and its oldest height."""
    status = await node.status()
    assert (status.chain_id, status.latest_height, status.earliest_height) == ("static-1", 12, 1)


async def test_blocks_come_in_order_with_their_hashes_linked(node: RpcNode) -> None:
    """A batch of heights returns linked blocks in the order asked."""
    blocks = await fetch_blocks(node, 3, 5)
    assert [block.height for block in blocks] == [3, 4, 5, 6, 7]
    assert all(after.previous_hash == before.hash for before, after in itertools.pairwise(blocks))


async def test_batch_shrinks_to_what_the_node_accepts(feed: StaticFeed, node: RpcNode) -> None:
    """A node that takes fewer requests per batch is asked for less, and remembered."""
    feed.batch_limit = 4
    assert len(await fetch_blocks(node, 1, 5)) == 5
    assert node.batch_limit == 4


async def test_pruned_height_names_the_first_available(feed: StaticFeed, node: RpcNode) -> None:
    """Asking below the pruning base says where history starts."""
    feed.earliest = 6
    with pytest.raises(PrunedHistory) as caught:
        await fetch_blocks(node, 2, 2)
    assert (caught.value.height, caught.value.first_available) == (2, 6)
    assert "archive_rpc_url" in str(caught.value)


async def test_future_height_says_where_the_chain_ends(node: RpcNode) -> None:
    """Asking beyond the head says the newest height."""
    with pytest.raises(HeightNotReached) as caught:
        await fetch_blocks(node, 12, 3)
    assert caught.value.latest == 12


async def test_results_that_lag_behind_their_block_are_a_type_of_their_own(feed: StaticFeed, node: RpcNode) -> None:
    """The race at the head is told apart from other failures."""
    feed.results_lag = 1
    with pytest.raises(ResultsNotReady):
        await fetch_blocks(node, 12, 1)


@pytest.mark.parametrize("fault", ["drop", "garbage"])
async def test_transport_failures_are_unreachable(feed: StaticFeed, node: RpcNode, fault: str) -> None:
    """A closed connection and a proxy's error page are both an unreachable node."""
    feed.fault = lambda: fault
    with pytest.raises(NodeUnreachable):
        await node.status()


async def test_an_error_without_meaning_keeps_code_and_text(feed: StaticFeed, node: RpcNode) -> None:
    """A JSON-RPC error nobody knows is refused with its text."""
    feed.fault = lambda: "error"
    with pytest.raises(NodeRefused) as caught:
        await node.batch([("status", {}), ("status", {})])
    assert (caught.value.rpc_code, caught.value.text) == (-32603, "boom")


async def test_contract_and_bank_queries_read_what_the_node_answers(feed: StaticFeed, node: RpcNode) -> None:
    """Smart queries decode JSON, balances decode coins, a refusal is QueryFailed."""
    coin = b"\x0a\x04ulsh\x12\x02 7".replace(b"\x12\x02 7", b"\x12\x0217")
    answers = {
        "/cosmwasm.wasm.v1.Query/SmartContractState": b'\x0a\x09{"a":"b"}',
        "/cosmos.bank.v1beta1.Query/AllBalances": b"\x0a" + bytes([len(coin)]) + coin,
    }
    feed.queries = lambda path, data, height: answers.get(path)
    assert await smart_query(node, "chain1x", {"state": {}}) == {"a": "b"}
    assert await all_balances(node, "chain1x") == {"ulsh": 17}
    with pytest.raises(QueryFailed):
        await node.abci_query("/nowhere", b"")


def test_refusals_are_recognised_by_the_texts_a_node_writes() -> None:
    """Each known text becomes its type; an unknown one stays general."""
    pruned = refusal(-32603, "Internal error", "height 5 is not available, lowest height is 496", "n")
    future = refusal(
        -32603, "Internal error", "height 9 must be less than or equal to the current blockchain height 3", "n"
    )
    assert isinstance(pruned, PrunedHistory)
    assert pruned.first_available == 496
    assert isinstance(future, HeightNotReached)
    assert type(refusal(-32601, "Method not found", "", "n")) is NodeRefused
