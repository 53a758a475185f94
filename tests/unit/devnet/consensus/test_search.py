"""Searches with the indexer's rules, checked against a naive scan."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leasehold.chain.comet.blocks import tx_hash
from leasehold.chain.comet.query import parse
from leasehold.core.errors import InvalidInput
from leasehold.devnet.consensus.blockstore import INDEX_BITS
from leasehold.devnet.consensus.node import Node
from leasehold.devnet.consensus.search import Searcher

NodeFactory = Callable[..., Node]


@pytest.fixture
def node(make_node: NodeFactory) -> Node:
    node = make_node()
    node.seal(txs=[b"a=1", b"b=2"])
    node.seal(txs=[b"a=3", b"fail one"])
    for height in range(3, 12):
        node.seal(txs=[f"n={height}".encode()] if height % 2 else [])
    return node


@pytest.fixture
def searcher(node: Node) -> Iterator[Searcher]:
    searcher = Searcher.open(node.store.path)
    yield searcher
    searcher.close()


def places(searcher: Searcher, text: str) -> list[tuple[int, int]]:
    return [divmod(place, 1 << INDEX_BITS) for place in searcher.txs(parse(text))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("set.key='a'", [(1, 0), (2, 0)]),
        ("set.key='a' AND tx.height=2", [(2, 0)]),
        ("set.key='a' AND set.value='3'", [(2, 0)]),
        ("set.key='a' AND set.value=3", [(2, 0)]),
        ("set.key='a' AND tx.fee='1unls'", []),
        ("set.value>2 AND tx.height<6", [(2, 0), (3, 0), (5, 0)]),
        ("set.value>=2 AND set.value<4", [(1, 1), (2, 0), (3, 0)]),
        ("tx.fee>0", []),
        ("tx.fee CONTAINS 'nls' AND tx.height<=2", [(1, 0), (1, 1), (2, 0), (2, 1)]),
        ("set.nothing EXISTS", []),
        ("tx.height=2", [(2, 0), (2, 1)]),
        ("tx.height='2'", [(2, 0), (2, 1)]),
        ("tx.height>2 AND tx.height<=5", [(3, 0), (5, 0)]),
        ("tx.height>2.5 AND tx.height<4.5", [(3, 0)]),
        ("tx.height=2 AND tx.height>9", [(11, 0)]),
        ("tx.height=0", []),
        ("tx.height='abc'", []),
        ("tx.height CONTAINS '1'", [(1, 0), (1, 1), (11, 0)]),
        ("tx.height EXISTS AND set.key='a'", []),
        ("tx.height > DATE 2020-01-01", []),
        ("tx.height>99999999999999999999999999", []),
        ("tx.height<99999999999999999999999999 AND set.key='b'", [(1, 1)]),
        ("tx.height=99999999999999999999999999", []),
        ("tm.event='Tx'", []),
    ],
)
def test_transactions_are_found_by_the_indexers_rules(
    searcher: Searcher, text: str, expected: list[tuple[int, int]]
) -> None:
    """Heights restrict, other conditions must meet in one event, numbers compare with plain numbers only."""
    assert places(searcher, text) == expected


def test_a_hash_overrides_everything(searcher: Searcher, node: Node) -> None:
    """With tx.hash the other conditions are not looked at; its text may be in any case."""
    block = node.store.block(2)
    assert block is not None
    digest = "0FF39D3C4A4C0B1F9D2B5C7C1D0F1B6A"
    assert places(searcher, f"tx.hash='{digest}' AND tx.height=2") == []
    wanted = tx_hash(block.block.txs[0]).hex()
    assert places(searcher, f"tx.height=1 AND tx.hash='{wanted}'") == [(2, 0)]
    with pytest.raises(InvalidInput, match="encoding/hex: invalid byte: U\\+0078 'x'"):
        places(searcher, "tx.hash='xyz'")
    with pytest.raises(InvalidInput, match="transaction hash cannot be empty"):
        places(searcher, "tx.hash EXISTS")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("block.height=3", [3]),
        ("block.height=99", []),
        ("block.height>=3 AND block.height<5", [3, 4]),
        ("block.height>4 AND block.height>2 AND block.height<5", [3, 4]),
        ("block.height>=1 AND block.height>3 AND block.height<5", [3, 4]),
        ("block.height>2.5 AND block.height<=3.5", [3]),
        ("rare.fifth EXISTS", [5, 10]),
        ("rare.fifth='yes' AND block.height<6", [5]),
        ("mint.denom='unls' AND mint.amount<3", [1, 2]),
        ("mint.denom='unls' AND rare.fifth='yes'", []),
        ("block.height EXISTS", []),
        ("nothing.here='x'", []),
    ],
)
def test_blocks_are_found_by_their_events(searcher: Searcher, text: str, expected: list[int]) -> None:
    """Block events and heights are searched with the same rules."""
    assert searcher.blocks(parse(text)) == expected


CONDITIONS = st.sampled_from(
    ["set.key='a'", "set.key='n'", "set.value>3", "set.value EXISTS", "tx.fee EXISTS", "tx.height>1", "tx.height<8"]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(st.lists(CONDITIONS, min_size=1, max_size=4))
def test_the_index_agrees_with_a_scan(searcher: Searcher, node: Node, conditions: list[str]) -> None:
    """Whatever the conditions, the index finds what reading every transaction finds."""
    query = parse(" AND ".join(conditions))
    heights = [c for c in query.conditions if c.tag == "tx.height"]
    others = [c for c in query.conditions if c.tag != "tx.height"]
    expected = []
    for height in range(1, node.height + 1):
        if not all(c.accepts_indexed(str(height)) for c in heights):
            continue
        results = node.store.results(height)
        assert results is not None
        for index, result in enumerate(results.tx_results):
            events = [{f"{e.type}.{k}": v for k, v in e.attributes} for e in result.events] if others else [{}]
            if any(all(c.tag in e and c.accepts_indexed(e[c.tag]) for c in others) for e in events):
                expected.append((height, index))
    assert places(searcher, str(query)) == expected
