"""What the swap router takes and says; the names are those of the public router."""

from __future__ import annotations

from typing import Any

import msgspec


class AskedVenue(msgspec.Struct, frozen=True):
    name: str = ""
    chain_id: str = ""


class RouteRequest(msgspec.Struct, frozen=True):
    """Exactly one of the amounts is given; what else the public router takes is ignored."""

    source_asset_denom: str
    source_asset_chain_id: str
    dest_asset_denom: str
    dest_asset_chain_id: str
    amount_in: str | None = None
    amount_out: str | None = None
    cumulative_affiliate_fee_bps: str = "0"
    swap_venues: list[AskedVenue] | None = None
    allow_multi_tx: bool = False


class Quote(msgspec.Struct, frozen=True):
    """What the messages need to execute a swap at the quoted price: the oracle and block it was read from."""

    oracle: str
    height: int
    affiliate_bps: int


class SwapVenue(msgspec.Struct, frozen=True):
    name: str
    chain_id: str


class SwapHop(msgspec.Struct, frozen=True):
    pool: str
    denom_in: str
    denom_out: str


class SwapIn(msgspec.Struct, frozen=True):
    swap_venue: SwapVenue
    swap_operations: list[SwapHop]
    swap_amount_in: str
    price_impact_percent: str


class Swap(msgspec.Struct, frozen=True):
    swap_in: SwapIn
    swap_venue: SwapVenue
    swap_venues: list[SwapVenue]
    chain_id: str
    from_chain_id: str
    denom_in: str
    denom_out: str
    estimated_affiliate_fee: str
    quote: Quote


class Transfer(msgspec.Struct, frozen=True):
    port: str
    channel: str
    from_chain_id: str
    to_chain_id: str
    denom_in: str
    denom_out: str
    dest_denom: str
    bridge_id: str
    pfm_enabled: bool
    supports_memo: bool
    smart_relay: bool


class Operation(msgspec.Struct, frozen=True, omit_defaults=True):
    """One step; the amounts are what goes in and what comes out."""

    tx_index: int
    amount_in: str
    amount_out: str
    transfer: Transfer | None = None
    swap: Swap | None = None


class Route(msgspec.Struct):
    source_asset_denom: str
    source_asset_chain_id: str
    dest_asset_denom: str
    dest_asset_chain_id: str
    amount_in: str
    amount_out: str
    operations: list[Operation]
    chain_ids: list[str]
    required_chain_addresses: list[str]
    does_swap: bool
    estimated_amount_out: str
    swap_price_impact_percent: str
    usd_amount_in: str
    usd_amount_out: str
    txs_required: int
    swap_venues: list[SwapVenue]
    estimated_fees: list[Any]
    estimated_route_duration_seconds: int
    warning: str | None


class Affiliate(msgspec.Struct, frozen=True):
    """Both spellings of the fee occur."""

    address: str
    basisPointsFee: str | None = None  # noqa: N815 - the wire's spelling
    basis_points_fee: str | None = None


class Affiliates(msgspec.Struct, frozen=True):
    affiliates: list[Affiliate] = []


class MessagesRequest(msgspec.Struct, frozen=True):
    source_asset_denom: str
    source_asset_chain_id: str
    dest_asset_denom: str
    dest_asset_chain_id: str
    amount_in: str
    amount_out: str
    operations: list[Operation]
    address_list: list[str]
    chain_ids_to_affiliates: dict[str, Affiliates] = {}
    slippage_tolerance_percent: str = "1"
    timeout_seconds: str = "300"


class EncodedMessage(msgspec.Struct):
    """A message to sign: its JSON as text, members in snake case, and its type."""

    msg: str
    msg_type_url: str


class CosmosTx(msgspec.Struct):
    chain_id: str
    path: list[str]
    msgs: list[EncodedMessage]
    signer_address: str


class MessageTx(msgspec.Struct):
    cosmos_tx: CosmosTx
    operations_indices: list[int]


class Messages(msgspec.Struct):
    txs: list[MessageTx]
    estimated_fees: list[Any]
    msgs: list[Any]


class TrackRequest(msgspec.Struct, frozen=True):
    chain_id: str
    tx_hash: str


class Track(msgspec.Struct):
    tx_hash: str
    explorer_link: str | None


class PacketTx(msgspec.Struct):
    chain_id: str
    tx_hash: str
    explorer_link: str


class PacketTxs(msgspec.Struct):
    send_tx: PacketTx | None = None
    receive_tx: PacketTx | None = None
    acknowledge_tx: PacketTx | None = None
    timeout_tx: PacketTx | None = None
    error: dict[str, Any] | None = None


class IbcTransfer(msgspec.Struct):
    from_chain_id: str
    to_chain_id: str
    src_chain_id: str
    dst_chain_id: str
    state: str
    packet_txs: PacketTxs


class Step(msgspec.Struct):
    ibc_transfer: IbcTransfer


class Blocking(msgspec.Struct):
    transfer_sequence_index: int


class Release(msgspec.Struct):
    """Where the coins are once it has ended."""

    chain_id: str
    denom: str
    released: bool


class Fault(msgspec.Struct):
    type: str
    message: str
    details: dict[str, Any]


class Status(msgspec.Struct, omit_defaults=True):
    transfers: list[Any]
    transfer_sequence: list[Step]
    next_blocking_transfer: Blocking | None
    transfer_asset_release: Release | None
    state: str
    status: str
    error: Fault | msgspec.UnsetType = msgspec.UNSET
