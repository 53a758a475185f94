"""Swaps: requests are completed from the gated configuration, answers of the provider are passed on as they are."""

from __future__ import annotations

from typing import Any

import msgspec

from leasehold.app_api.app import App
from leasehold.app_api.gating.documents import CosmosNetwork, GatedConfig
from leasehold.app_api.upstreams.failures import ServiceFailure
from leasehold.app_api.writes import checks
from leasehold.serving.routes import NoParams, Registry, Reply, Request

Absent = msgspec.UnsetType
UNSET = msgspec.UNSET
# A route over several chains takes its time; the provider's own limit is not longer.
SECONDS = 15.0


class SwapRouteFailed(ServiceFailure):
    """The provider found no route, or none that can be read; clients know it by its code."""

    code = "SWAP_ROUTE_FAILED"


class RouteRequest(msgspec.Struct):
    """One of the amounts in base units; `network` keeps to the venues of chains whose id starts with it."""

    source_asset_denom: str
    source_asset_chain_id: str
    dest_asset_denom: str
    dest_asset_chain_id: str
    amount_in: str | None = None
    amount_out: str | None = None
    network: str | None = None


class MessagesRequest(msgspec.Struct):
    """A route as the provider gave it, and an address on each of its chains."""

    source_asset_denom: str
    source_asset_chain_id: str
    dest_asset_denom: str
    dest_asset_chain_id: str
    amount_in: str
    amount_out: str
    operations: list[msgspec.Raw]
    address_list: list[str]


class TrackRequest(msgspec.Struct):
    chain_id: str
    tx_hash: str


class TrackResponse(msgspec.Struct):
    """A transaction that the provider now follows."""

    tx_hash: str
    explorer_link: str | None = None


class _Route(msgspec.Struct):
    amount_in: str
    amount_out: str
    source_asset_denom: str
    source_asset_chain_id: str
    dest_asset_denom: str
    dest_asset_chain_id: str
    chain_ids: list[str]
    operations: list[msgspec.Raw]


class _Message(msgspec.Struct):
    msg: str
    msg_type_url: str


class _CosmosTx(msgspec.Struct):
    chain_id: str
    msgs: list[_Message]


class _Tx(msgspec.Struct):
    cosmos_tx: _CosmosTx | None = None


class _Messages(msgspec.Struct):
    txs: list[_Tx]


class _Venue(msgspec.Struct):
    name: str | None = None


class _Swap(msgspec.Struct):
    swap_venue: _Venue | None = None


class _Operation(msgspec.Struct):
    swap: _Swap | None = None


def venues(gated: GatedConfig, network: str | None) -> list[dict[str, str]]:
    """Venues that may be swapped at, by the key of their network."""
    return [
        {"name": one.swap_venue.name, "chain_id": one.chain_id}
        for _, one in sorted(gated.networks.items())
        if isinstance(one, CosmosNetwork)
        and one.swap_venue is not None
        and one.chain_id.startswith((network or "").lower())
    ]


def route_body(gated: GatedConfig, asked: RouteRequest) -> dict[str, Any]:
    """What the provider is asked for."""
    swap = gated.swap
    amounts = {"amount_in": asked.amount_in, "amount_out": asked.amount_out}
    return {
        "source_asset_denom": asked.source_asset_denom,
        "source_asset_chain_id": asked.source_asset_chain_id,
        "dest_asset_denom": asked.dest_asset_denom,
        "dest_asset_chain_id": asked.dest_asset_chain_id,
        "cumulative_affiliate_fee_bps": str(swap.fee),
        "go_fast": swap.go_fast,
        "smart_relay": swap.smart_relay,
        "allow_multi_tx": swap.allow_multi_tx,
        "allow_unsafe": swap.allow_unsafe,
        "swap_venues": venues(gated, asked.network),
        "bridges": list(swap.bridges),
        "experimental_features": list(swap.experimental_features),
        "smart_swap_options": swap.smart_swap_options,
        **{name: checks.amount(text, name) for name, text in amounts.items() if text is not None},
    }


def affiliates(gated: GatedConfig, operations: list[msgspec.Raw]) -> dict[str, Any]:
    """Who gets the fee on each chain that a swap passes; the provider spells this member in camel case."""
    found: dict[str, Any] = {}
    for raw in operations:
        try:
            operation = msgspec.json.decode(raw, type=_Operation)
        except msgspec.ValidationError:
            continue
        name = operation.swap.swap_venue.name if operation.swap and operation.swap.swap_venue else None
        for _, network in sorted(gated.networks.items()):
            venue = network.swap_venue if isinstance(network, CosmosNetwork) else None
            if name is not None and venue is not None and venue.name == name and venue.address:
                entry = {"address": venue.address, "basisPointsFee": str(gated.swap.fee)}
                found[network.chain_id] = {"affiliates": [entry]}
                break
    return found


def messages_body(gated: GatedConfig, asked: MessagesRequest) -> dict[str, Any]:
    """What the provider makes messages from."""
    return {
        "source_asset_denom": asked.source_asset_denom,
        "source_asset_chain_id": asked.source_asset_chain_id,
        "dest_asset_denom": asked.dest_asset_denom,
        "dest_asset_chain_id": asked.dest_asset_chain_id,
        "amount_in": checks.amount(asked.amount_in, "amount_in"),
        "amount_out": checks.amount(asked.amount_out, "amount_out"),
        "operations": asked.operations,
        "address_list": asked.address_list,
        "chain_ids_to_affiliates": affiliates(gated, asked.operations),
        "slippage_tolerance_percent": str(gated.swap.slippage),
        "timeout_seconds": gated.swap.timeoutSeconds,
    }


async def _passed_on(app: App, target: str, body: Any, kind: Any, context: str) -> bytes:
    """An answer of the provider, as it was sent, if it has what clients rely on."""
    transport = app.upstreams.swap.transport
    # Asking for a route or for messages changes nothing, and following a transaction twice is following it.
    answer = await transport.ask("POST", target, context=context, body=body, seconds=SECONDS, again=True)
    if not answer.good:
        raise transport.refused(answer, context)
    transport.decode(answer.body, msgspec.Raw, context)
    try:
        msgspec.json.decode(answer.body, type=kind)
    except msgspec.MsgspecError as error:
        raise transport.fail(f"Malformed {transport.name} {context} response") from error
    return answer.body


def declare(api: Registry, app: App) -> None:
    """The write routes of swap."""
    tags = ("swap",)

    @api.post(
        "/api/swap/route",
        summary="Ask for a route",
        tags=tags,
        operation_id="get_route",
        response=dict[str, Any],
        errors=(400, 502, 503),
    )
    async def route(request: Request[NoParams, RouteRequest]) -> Reply:
        body = route_body(app.cells.gated.value, request.body)
        try:
            return Reply(body=await _passed_on(app, "/v2/fungible/route", body, _Route, "route"))
        except ServiceFailure as error:
            _, _, detail = error.message.partition(": ")
            raise SwapRouteFailed(detail, upstream=error.upstream, reply_status=error.reply_status) from error

    @api.post(
        "/api/swap/messages",
        summary="Ask for the messages of a route",
        tags=tags,
        operation_id="get_messages",
        response=dict[str, Any],
        errors=(400, 502, 503),
    )
    async def messages(request: Request[NoParams, MessagesRequest]) -> Reply:
        body = messages_body(app.cells.gated.value, request.body)
        return Reply(body=await _passed_on(app, "/v2/fungible/msgs", body, _Messages, "messages"))

    @api.post(
        "/api/swap/track",
        summary="Have a transaction followed",
        tags=tags,
        operation_id="track_transaction",
        errors=(400, 502),
    )
    async def track(request: Request[NoParams, TrackRequest]) -> TrackResponse:
        found = await _passed_on(app, "/v2/tx/track", request.body, TrackResponse, "track")
        return msgspec.json.decode(found, type=TrackResponse)
