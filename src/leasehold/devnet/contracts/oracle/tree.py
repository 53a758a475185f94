"""The swap tree in storage: checked against the build, kept as JSON, and read into a price tree once per value."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import msgspec

from leasehold.devnet.wasm.contract import ContractError
from leasehold.protocol.currencies import CurrencySet
from leasehold.protocol.errors import Refused
from leasehold.protocol.messages.oracle import Node, Tree
from leasehold.protocol.oracle import Edge, PriceTree


class SwapTree(PriceTree):
    """A price tree that also knows its wire forms."""

    def __init__(self, root: Node) -> None:
        super().__init__(_edges(root, None))
        self.answer = msgspec.json.encode(Tree(root))
        self.pairs = frozenset((edge.ticker, edge.parent) for edge in self.edges if edge.parent is not None)

    @property
    def legs(self) -> list[tuple[str, tuple[int, str]]]:
        """Child, pool and parent of every edge, in tree order."""
        return [(edge.ticker, (edge.pool_id, edge.parent)) for edge in self.edges if edge.parent is not None]


def _edges(node: Node, parent: str | None) -> Iterator[Edge]:
    pool_id, ticker = node.value
    yield Edge(ticker, pool_id, parent)
    for child in node.children:
        yield from _edges(child, ticker)


@lru_cache(maxsize=64)
def stored_tree(value: bytes) -> SwapTree:
    """The tree kept under these bytes."""
    return SwapTree(msgspec.json.decode(value, type=Node))


def check_tree(root: Node, currencies: CurrencySet) -> None:
    """Refuse a tree of another base, without the stable currency, with a node twice or an edge without a pool."""
    tree = SwapTree(root)
    if tree.root != currencies.lpn.ticker:
        raise ContractError(f"[Oracle][Base='{currencies.lpn.ticker}'] Invalid base currency '{tree.root}'")
    if currencies.stable not in tree.by_ticker:
        raise ContractError("[Oracle] Specified stable currency is not in the currency tree")
    if len(tree.by_ticker) < len(tree.edges):
        raise ContractError("[Oracle] Duplicated nodes in the currency tree")
    for edge in tree.edges:
        if edge.parent is not None:
            try:
                currencies.check_pair(edge.ticker, edge.parent)
            except Refused as refusal:
                cause = f"[Oracle] {refusal.message}"
                text = f"[Oracle] The configured swap tree does not conform to the code! Cause: {cause}"
                raise ContractError(text) from refusal
