"""The chain as the upstreams use it: transactions found, searched and sent; accounts, contracts and channels read."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from leasehold.chain.client import wire
from leasehold.chain.client.contracts import smart_query
from leasehold.chain.client.errors import NodeRefused, NodeUnreachable, QueryFailed
from leasehold.chain.client.nodes import Nodes
from leasehold.chain.registry import Registry
from leasehold.core.addresses import Bech32Prefixes, contract_address

T = TypeVar("T")
# The deploy order of the public platform puts the registry third; other orders are tried around it.
_ADMIN_GUESSES = (3, 1, 2, 4, 5)


class FoundTx(msgspec.Struct):
    """A transaction in a block."""

    hash: str
    height: str
    tx_result: wire.TxResult
    tx: bytes = b""

    def attributes(self, kind: str) -> list[dict[str, str]]:
        """Attributes of the events of a kind, in order."""
        events = self.tx_result.events or []
        return [{item.key: item.value for item in event.attributes} for event in events if event.type == kind]


class _Search(msgspec.Struct):
    txs: list[FoundTx]


class _Broadcast(msgspec.Struct):
    code: int
    hash: str
    log: str = ""


@dataclass(frozen=True, slots=True)
class Account:
    """What a signer must know of its account."""

    number: int
    sequence: int


def tx_hash(raw: bytes) -> str:
    """Hash of a transaction as clients spell it."""
    return hashlib.sha256(raw).hexdigest().upper()


@dataclass(slots=True)
class ChainAccess:
    """Calls to the configured nodes."""

    types: Registry
    prefixes: Bech32Prefixes
    admin: str = ""
    # Set when the service starts: connections need a running loop.
    nodes: Nodes = field(init=False)

    async def head(self) -> int:
        """Newest height."""
        return (await self.nodes.status()).latest_height

    async def smart(self, contract: str, query: Any, height: int = 0) -> Any:
        """A contract's answer as of the end of `height` (0: newest)."""
        return await smart_query(self.nodes, contract, query, height)

    async def query(self, method: str, request: Mapping[str, Any], height: int = 0) -> Any:
        """A module's answer; `method` is the full gRPC name such as `cosmos.auth.v1beta1.Query/AccountInfo`."""
        service, _, name = method.partition("/")
        package = service.rpartition(".")[0]
        asked = self.types.new(f"{package}.Query{name}Request", **request)
        answer = await self.nodes.abci_query(f"/{method}", asked.SerializeToString(), height)
        return self.types.parse(f"{package}.Query{name}Response", answer)

    async def account(self, address: str) -> Account | None:
        """Number and sequence of an account, None where the chain has none."""
        try:
            info = (await self.query("cosmos.auth.v1beta1.Query/AccountInfo", {"address": address})).info
        except QueryFailed:
            return None
        return Account(info.account_number, info.sequence)

    async def tx(self, digest: str) -> FoundTx | None:
        """The transaction with a hash in hex, None where no block has it."""
        text = base64.b64encode(bytes.fromhex(digest)).decode()
        try:
            raw = await self.nodes.ask(lambda node: node.call("tx", {"hash": text, "prove": False}))
        except NodeRefused as error:
            if "not found" in error.text:
                return None
            raise
        return _decoded(raw, FoundTx)

    async def search(self, query: str) -> list[FoundTx]:
        """The first transactions that match, oldest first."""
        params = {"query": query, "prove": False, "page": "1", "per_page": "30", "order_by": "asc"}
        raw = await self.nodes.ask(lambda node: node.call("tx_search", params))
        return _decoded(raw, _Search).txs

    async def broadcast(self, raw: bytes) -> tuple[int, str]:
        """Code and log of the mempool's answer to a transaction."""
        text = base64.b64encode(raw).decode()
        try:
            answer = await self.nodes.ask(lambda node: node.call("broadcast_tx_sync", {"tx": text}))
        except NodeRefused as error:
            # The same bytes were sent before: that is what sending them again is for.
            if "already exists in cache" in error.text:
                return 0, ""
            raise
        found = _decoded(answer, _Broadcast)
        return found.code, found.log

    async def registry_contract(self) -> str | None:
        """Address of the platform's admin contract, found once and remembered; None where the chain has none."""
        if self.admin:
            return self.admin
        for number in _ADMIN_GUESSES:
            address = self.prefixes.account_text(contract_address(number, number))
            try:
                answer = await self.smart(address, {"platform": {}})
            except QueryFailed:
                continue
            if isinstance(answer, dict) and "treasury" in answer:
                self.admin = address
                return address
        return None


def _decoded(raw: msgspec.Raw, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.MsgspecError as error:
        raise NodeUnreachable(f"the node answered something else: {error}", upstream="node") from error
