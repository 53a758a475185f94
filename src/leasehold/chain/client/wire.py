"""Wire types of the CometBFT answers this project reads; members nobody needs are skipped while decoding."""

from __future__ import annotations

import msgspec


class Attribute(msgspec.Struct, gc=False):
    """One key and value of an event."""

    key: str
    value: str = ""


class Event(msgspec.Struct):
    """One ABCI event, attributes in the order they were emitted."""

    type: str
    attributes: list[Attribute] = msgspec.field(default_factory=list)


class TxResult(msgspec.Struct):
    """Outcome of one delivered transaction."""

    code: int = 0
    data: bytes | None = None
    log: str = ""
    codespace: str = ""
    gas_wanted: str = "0"
    gas_used: str = "0"
    events: list[Event] | None = None


class BlockResults(msgspec.Struct):
    """Answer of `block_results`."""

    height: str
    txs_results: list[TxResult] | None = None
    finalize_block_events: list[Event] | None = None
    begin_block_events: list[Event] | None = None
    end_block_events: list[Event] | None = None


class BlockId(msgspec.Struct):
    hash: str = ""


class Header(msgspec.Struct):
    """The header members that order and identify a block."""

    chain_id: str
    height: str
    time: str
    last_block_id: BlockId = msgspec.field(default_factory=BlockId)
    proposer_address: str = ""


class BlockData(msgspec.Struct):
    txs: list[bytes] | None = None


class BlockBody(msgspec.Struct):
    header: Header
    data: BlockData


class BlockAnswer(msgspec.Struct):
    """Answer of `block`; `block` is null before the first block."""

    block_id: BlockId
    block: BlockBody | None = None


class NodeInfo(msgspec.Struct):
    network: str


class SyncInfo(msgspec.Struct):
    latest_block_height: str = "0"
    latest_block_time: str = ""
    earliest_block_height: str = "0"
    catching_up: bool = False


class StatusAnswer(msgspec.Struct):
    """Answer of `status`."""

    node_info: NodeInfo
    sync_info: SyncInfo


class QueryResponse(msgspec.Struct):
    code: int = 0
    log: str = ""
    value: bytes | None = None
    height: str = "0"


class QueryAnswer(msgspec.Struct):
    """Answer of `abci_query`."""

    response: QueryResponse


class RpcError(msgspec.Struct):
    code: int
    message: str = ""
    data: str = ""


class Envelope(msgspec.Struct):
    """A JSON-RPC response whose result is decoded later, by whoever knows its type."""

    id: int | str | None = None
    result: msgspec.Raw = msgspec.field(default_factory=msgspec.Raw)
    error: RpcError | None = None


BLOCK = msgspec.json.Decoder(BlockAnswer)
BLOCK_RESULTS = msgspec.json.Decoder(BlockResults)
STATUS = msgspec.json.Decoder(StatusAnswer)
QUERY = msgspec.json.Decoder(QueryAnswer)
ENVELOPE = msgspec.json.Decoder(Envelope)
ENVELOPES = msgspec.json.Decoder(list[Envelope])
