"""cosmos.tx.v1beta1.Service: simulating, broadcasting, finding and translating transactions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from leasehold.chain.comet.blocks import tx_hash
from leasehold.chain.comet.query import MAX_LENGTH, QuerySyntaxError, parse
from leasehold.chain.go_hex import decode_hex
from leasehold.chain.standard_transactions import StandardTransactions
from leasehold.chain.transactions import UndecodableTransaction, decode_transaction
from leasehold.core.clock import rfc3339
from leasehold.core.errors import InvalidInput, LeaseholdError
from leasehold.devnet.app.abci import Event, TxResult
from leasehold.devnet.app.application import ChainApplication
from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import (
    INVALID_HEIGHT,
    INVALID_REQUEST,
    MEMPOOL_FULL,
    TX_DECODE,
    TX_IN_MEMPOOL,
    TX_TOO_LARGE,
    Kind,
    PlainError,
    Status,
    StatusError,
)
from leasehold.devnet.app.simulations import simulated_result
from leasehold.devnet.consensus.blockstore import IndexedTx
from leasehold.devnet.consensus.mempool import TxInCache
from leasehold.devnet.consensus.node import Node
from leasehold.devnet.consensus.search import Searcher
from leasehold.devnet.services.blocks import BlockService

_SERVICE = "/cosmos.tx.v1beta1.Service/"
_PACKAGE = "cosmos.tx.v1beta1."
_UNLIMITED = 2**64 - 1
_DESCENDING = 2
_SYNC, _ASYNC = 2, 3
# Transactions that are listed at once, at most and by default.
PAGE = 100


@dataclass(frozen=True, slots=True)
class GivenTransaction:
    """A broadcast whose bytes were given, be they empty: JSON can tell that from bytes left out, protobuf can't."""

    tx_bytes: bytes
    mode: int


class TransactionService:
    """Transactions by hash, query or block, and on their way into one."""

    def __init__(self, app: ChainApplication, node: Node, blocks: BlockService) -> None:
        self._app = app
        self._node = node
        self._blocks = blocks
        self._registry = app.registry
        self._standard = StandardTransactions(app.registry)
        # Outcomes of searches done ahead, by the request they are for; its handler takes them away.
        self._found: dict[int, list[int] | str] = {}

    def handlers(self) -> dict[str, Callable[[Context, Any], Any]]:
        return {
            _SERVICE + "Simulate": self.simulate,
            _SERVICE + "GetTx": self.get_tx,
            _SERVICE + "BroadcastTx": self.broadcast,
            _SERVICE + "GetTxsEvent": self.search,
            _SERVICE + "GetBlockWithTxs": self.block_with_txs,
            _SERVICE + "TxDecode": self.decode,
            _SERVICE + "TxEncode": self.encode,
            _SERVICE + "TxEncodeAmino": self.encode_amino,
            _SERVICE + "TxDecodeAmino": self.decode_amino,
        }

    def lengthy(self) -> dict[str, Callable[[Any], Callable[[], None] | None]]:
        """Searches, which may go through all there is."""
        return {_SERVICE + "GetTxsEvent": self.search_ahead}

    def _new(self, name: str, **fields: Any) -> Any:
        return self._registry.new(_PACKAGE + name, **fields)

    def _events(self, events: list[Event]) -> list[Any]:
        return [
            self._registry.new(
                "tendermint.abci.Event",
                type=event.type,
                attributes=[{"key": key, "value": value, "index": True} for key, value in event.attributes],
            )
            for event in events
        ]

    def simulate(self, ctx: Context, request: Any) -> Any:
        raw = request.tx_bytes
        if not raw:
            if not request.HasField("tx"):
                raise StatusError(Status.INVALID_ARGUMENT, "empty txBytes is not allowed")
            raw = self._encoded(request.tx)
        outcome = self._app.simulate(raw)
        limit = self._app.params.block_max_gas
        result = simulated_result(self._registry, outcome)
        gas = {"gas_wanted": limit if limit > 0 else _UNLIMITED, "gas_used": outcome.gas_used}
        return self._new("SimulateResponse", gas_info=gas, result=result)

    def _encoded(self, tx: Any) -> bytes:
        raw = self._new(
            "TxRaw",
            body_bytes=tx.body.SerializeToString(),
            auth_info_bytes=tx.auth_info.SerializeToString(),
            signatures=list(tx.signatures),
        )
        return bytes(raw.SerializeToString())

    def broadcast(self, ctx: Context, request: Any) -> Any:
        if not request.tx_bytes and not isinstance(request, GivenTransaction):
            raise StatusError(Status.INVALID_ARGUMENT, "invalid empty tx")
        if request.mode not in (_SYNC, _ASYNC):
            raise PlainError("unsupported return type unspecified; supported types: sync, async")
        shown = tx_hash(request.tx_bytes).hex().upper()
        try:
            checked = self._node.submit(request.tx_bytes)
            if request.mode == _ASYNC:
                checked = TxResult()
        except LeaseholdError as error:
            kind = _refusal(error)
            if kind is None:
                raise PlainError(error.message) from None
            checked = TxResult(code=kind.code, codespace=kind.codespace)
        response = self._registry.new(
            "cosmos.base.abci.v1beta1.TxResponse",
            txhash=shown,
            code=checked.code,
            codespace=checked.codespace,
            raw_log=checked.log,
            data="",
        )
        return self._new("BroadcastTxResponse", tx_response=response)

    def get_tx(self, ctx: Context, request: Any) -> Any:
        if not request.hash:
            raise StatusError(Status.INVALID_ARGUMENT, "tx hash cannot be empty")
        try:
            digest = decode_hex(request.hash)
        except InvalidInput as error:
            raise PlainError(error.message) from None
        found = self._node.store.tx(digest)
        if found is None:
            raise StatusError(Status.NOT_FOUND, f"tx not found: {request.hash}")
        response = self._response(found)
        tx = self._registry.unpack(response.tx)
        return self._new("GetTxResponse", tx=tx, tx_response=response)

    def _tx(self, raw: bytes) -> Any:
        outer = self._registry.parse(_PACKAGE + "TxRaw", raw)
        return self._new(
            "Tx",
            body=self._registry.parse(_PACKAGE + "TxBody", outer.body_bytes),
            auth_info=self._registry.parse(_PACKAGE + "AuthInfo", outer.auth_info_bytes),
            signatures=list(outer.signatures),
        )

    def _response(self, found: IndexedTx) -> Any:
        stored = self._blocks.stored(found.height)
        result = found.result
        return self._registry.new(
            "cosmos.base.abci.v1beta1.TxResponse",
            height=found.height,
            txhash=tx_hash(found.tx).hex().upper(),
            codespace=result.codespace,
            code=result.code,
            data=(result.data or b"").hex().upper(),
            raw_log=result.log,
            info=result.info,
            gas_wanted=result.gas_wanted,
            gas_used=result.gas_used,
            tx=self._registry.pack(self._tx(found.tx)),
            timestamp=rfc3339(stored.block.header.time_ns, digits="seconds"),
            events=self._events(result.events),
        )

    def search_ahead(self, request: Any) -> Callable[[], None] | None:
        """A search that leaves its outcome for the handler of the same request; none where there is no other thread."""
        store = self._node.store
        if store.path == ":memory:":
            return None
        store.flush()

        def work() -> None:
            searcher = Searcher.open(store.path)
            try:
                self._found[id(request)] = _searched(searcher, request.query)
            finally:
                searcher.close()

        return work

    def search(self, ctx: Context, request: Any) -> Any:
        found_places = self._found.pop(id(request), None)
        if found_places is None:
            found_places = _searched(Searcher(self._node.store.connection), request.query)
        if isinstance(found_places, str):
            raise StatusError(Status.INTERNAL, found_places)
        places = found_places[::-1] if request.order_by == _DESCENDING else found_places
        page, limit = max(1, _signed(request.page)), _signed(request.limit)
        limit = min(limit, PAGE) if limit > 0 else PAGE
        pages = max(1, -(-len(places) // limit))
        if page > pages:
            text = f"failed to search for txs: page should be within [1, {pages}] range, given {page}"
            raise StatusError(Status.INTERNAL, text)
        chosen = places[(page - 1) * limit : page * limit]
        found = [tx for tx in (self._node.store.tx_at(place) for place in chosen) if tx is not None]
        try:
            responses = [self._response(tx) for tx in found]
        except PlainError as error:
            raise StatusError(Status.INTERNAL, str(error)) from None
        return self._new(
            "GetTxsEventResponse",
            txs=[self._registry.unpack(response.tx) for response in responses],
            tx_responses=responses,
            total=len(places),
        )

    def block_with_txs(self, ctx: Context, request: Any) -> Any:
        height, latest = request.height, ctx.block.height
        if height < 1 or height > latest:
            raise INVALID_HEIGHT(
                f"requested height {height} but height must not be less than 1 "
                f"or greater than the current height {latest}"
            )
        stored = self._blocks.stored(height)
        txs = stored.block.txs
        asked = request.pagination
        offset, limit = (asked.offset, asked.limit) if request.HasField("pagination") else (0, PAGE)
        if txs and offset >= len(txs):
            raise INVALID_REQUEST(
                f"out of range: cannot paginate {len(txs)} txs with offset {offset} and limit {limit}"
            )
        # Backwards the original never reaches the first transaction.
        places = range(offset, 0, -1) if asked.reverse else range(offset, len(txs))
        chosen = [self._tx(txs[place]) for place in places[:limit] if place < len(txs)]
        page = self._registry.new("cosmos.base.query.v1beta1.PageResponse", total=len(txs))
        return self._new(
            "GetBlockWithTxsResponse",
            txs=chosen,
            block_id=self._blocks.block_id(stored),
            block=self._blocks.raw(stored),
            pagination=page,
        )

    def decode(self, ctx: Context, request: Any) -> Any:
        if not request.tx_bytes:
            raise StatusError(Status.INVALID_ARGUMENT, "invalid empty tx bytes")
        try:
            decode_transaction(self._registry, request.tx_bytes)
        except UndecodableTransaction as error:
            raise TX_DECODE(error.message) from None
        return self._new("TxDecodeResponse", tx=self._tx(request.tx_bytes))

    def encode(self, ctx: Context, request: Any) -> Any:
        if not request.HasField("tx"):
            raise StatusError(Status.INVALID_ARGUMENT, "invalid empty tx")
        return self._new("TxEncodeResponse", tx_bytes=self._encoded(request.tx))

    def encode_amino(self, ctx: Context, request: Any) -> Any:
        if not request.amino_json:
            raise StatusError(Status.INVALID_ARGUMENT, "invalid empty tx json")
        try:
            return self._new("TxEncodeAminoResponse", amino_binary=self._standard.binary(request.amino_json))
        except InvalidInput as error:
            raise PlainError(error.message) from None

    def decode_amino(self, ctx: Context, request: Any) -> Any:
        if not request.amino_binary:
            raise StatusError(Status.INVALID_ARGUMENT, "invalid empty tx bytes")
        try:
            return self._new("TxDecodeAminoResponse", amino_json=self._standard.text(request.amino_binary))
        except InvalidInput as error:
            raise PlainError(error.message) from None


def _signed(number: int) -> int:
    """A number as the original takes it: the upper half of its range is below zero."""
    return number - 2**64 if number >= 2**63 else number


def _refusal(error: LeaseholdError) -> Kind | None:
    """What the mempool refuses before a transaction is looked at has codes of its own, and no text."""
    if isinstance(error, TxInCache):
        return TX_IN_MEMPOOL
    text = error.message.lower()
    if "mempool is full" in text:
        return MEMPOOL_FULL
    return TX_TOO_LARGE if "tx too large" in text else None


def _searched(searcher: Searcher, text: str) -> list[int] | str:
    """Places of what a query finds, in chain order; or what is wrong with it."""
    if not text:
        return "query cannot be empty"
    if len(text.encode()) > MAX_LENGTH:
        return "failed to search for txs: maximum query length exceeded"
    try:
        return sorted(searcher.txs(parse(text)))
    except QuerySyntaxError as error:
        return f"failed to search for txs: {error}"
    except InvalidInput as error:
        return f"failed to search for txs: {error.message}"
