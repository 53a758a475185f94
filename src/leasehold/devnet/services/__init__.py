"""Queries that the node answers rather than the state: blocks, transactions, the node itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from leasehold.devnet.app.application import ChainApplication
from leasehold.devnet.app.context import Context
from leasehold.devnet.consensus.node import Node
from leasehold.devnet.services.blocks import BlockService
from leasehold.devnet.services.node import NodeService
from leasehold.devnet.services.reflection import ReflectionServices
from leasehold.devnet.services.transactions import TransactionService

Handler = Callable[[Context, Any], Any]


def node_handlers(app: ChainApplication, node: Node, *, minimum_gas_price: str) -> dict[str, Handler]:
    """Every node service's methods by gRPC path."""
    blocks = BlockService(app, node)
    handlers: dict[str, Handler] = {}
    handlers.update(blocks.handlers())
    transactions = TransactionService(app, node, blocks)
    handlers.update(transactions.handlers())
    app.queries.lengthy.update(transactions.lengthy())
    handlers.update(NodeService(app, node, minimum_gas_price).handlers())
    handlers.update(ReflectionServices(app).handlers())
    return handlers
