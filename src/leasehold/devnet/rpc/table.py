"""The table of methods: names, arguments in declared order, and what may be cached."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from leasehold.devnet.rpc.arguments import Argument
from leasehold.devnet.rpc.methods import Methods


@dataclass(frozen=True, slots=True)
class Method:
    """A method; `call` answers, `None` marks one that only a WebSocket has."""

    name: str
    arguments: tuple[Argument, ...]
    call: Callable[..., Any] | None
    is_cacheable: bool = False
    not_cached_by_default: tuple[str, ...] = ()

    def may_cache(self, values: Sequence[Any]) -> bool:
        """Whether a client may keep the answer to these arguments for a day."""
        if not self.is_cacheable:
            return False
        if not values:
            return not self.not_cached_by_default
        return not any(
            argument.name in self.not_cached_by_default and argument.is_default(value)
            for argument, value in zip(self.arguments, values, strict=True)
        )


def delayed(method: Method, seconds: float) -> Method:
    """The same method, answering later: how a node under load looks from outside."""
    answer = method.call
    if answer is None:
        return method

    async def call(*values: Any) -> Any:
        await asyncio.sleep(seconds)
        result = answer(*values)
        return await result if inspect.isawaitable(result) else result

    return replace(method, call=call)


HEIGHT = Argument("height", "int64", None)
PAGE, PER_PAGE = Argument("page", "int", None), Argument("per_page", "int", None)
ORDER = Argument("order_by", "string", "")
QUERY = Argument("query", "string", "")
PROVE = Argument("prove", "bool", False)
TX = Argument("tx", "types.Tx", b"")


def method_table(methods: Methods) -> dict[str, Method]:
    """Every method by name, in alphabetical order."""
    by_height = ("height",)
    listed = [
        Method("abci_info", (), methods.abci_info, True),
        Method(
            "abci_query",
            (
                Argument("path", "string", ""),
                Argument("data", "HexBytes", b""),
                Argument("height", "int64", 0),
                PROVE,
            ),
            methods.abci_query,
        ),
        Method("block", (HEIGHT,), methods.block, True, by_height),
        Method("block_by_hash", (Argument("hash", "[]uint8", b""),), methods.block_by_hash, True),
        Method("block_results", (HEIGHT,), methods.block_results, True, by_height),
        Method("block_search", (QUERY, PAGE, PER_PAGE, ORDER), methods.block_search),
        Method(
            "blockchain",
            (Argument("minHeight", "int64", 0), Argument("maxHeight", "int64", 0)),
            methods.blockchain,
            True,
        ),
        Method("broadcast_evidence", (Argument("evidence", "types.Evidence", None),), methods.broadcast_evidence),
        Method("broadcast_tx_async", (TX,), methods.broadcast_tx_async),
        Method("broadcast_tx_commit", (TX,), methods.broadcast_tx_commit),
        Method("broadcast_tx_sync", (TX,), methods.broadcast_tx_sync),
        Method("check_tx", (TX,), methods.check_tx),
        Method("commit", (HEIGHT,), methods.commit, True, by_height),
        Method("consensus_params", (HEIGHT,), methods.consensus_params, True, by_height),
        Method("consensus_state", (), methods.consensus_state),
        Method("dump_consensus_state", (), methods.dump_consensus_state),
        Method("genesis", (), methods.genesis, True),
        Method("genesis_chunked", (Argument("chunk", "uint", 0),), methods.genesis_chunked, True),
        Method("header", (HEIGHT,), methods.header, True, by_height),
        Method("header_by_hash", (Argument("hash", "HexBytes", b""),), methods.header_by_hash, True),
        Method("health", (), methods.health),
        Method("net_info", (), methods.net_info),
        Method("num_unconfirmed_txs", (), methods.num_unconfirmed_txs),
        Method("status", (), methods.status),
        Method("subscribe", (QUERY,), None),
        Method("tx", (Argument("hash", "[]uint8", b""), PROVE), methods.tx, True),
        Method("tx_search", (QUERY, PROVE, PAGE, PER_PAGE, ORDER), methods.tx_search),
        Method("unconfirmed_txs", (Argument("limit", "int", None),), methods.unconfirmed_txs),
        Method("unsubscribe", (QUERY,), None),
        Method("unsubscribe_all", (), None),
        Method("validators", (HEIGHT, PAGE, PER_PAGE), methods.validators, True, by_height),
    ]
    return {method.name: method for method in listed}
