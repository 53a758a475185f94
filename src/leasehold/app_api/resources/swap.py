"""Swap reads: the provider's chains and statuses as they are, and the configuration of the swap screen."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from leasehold.app_api.app import App
from leasehold.app_api.gating.documents import GatedConfig
from leasehold.app_api.upstreams.data import Currency, Protocol
from leasehold.serving.parameters import Input
from leasehold.serving.routes import Cache, Registry, Reply, Request


class ChainsParams(msgspec.Struct, frozen=True):
    include_evm: bool = True
    include_svm: bool = True


class StatusParams(msgspec.Struct, frozen=True):
    tx_hash: str
    chain_id: Annotated[str, Input(about="chain the transaction was sent to")]


def build(
    gated: GatedConfig, currencies: tuple[Currency, ...], protocols: dict[str, Protocol], home: str
) -> dict[str, Any]:
    """What the swap screen needs: denoms to swap to, and what can be transferred from each network."""
    swap = gated.swap
    of_ticker: dict[str, str] = {}
    of_network: dict[tuple[str, str], str] = {}
    transfers: dict[str, dict[str, dict[str, Any]]] = {}
    for currency in currencies:
        if not currency.is_active:
            continue
        for mapping in currency.protocols:
            protocol = protocols.get(mapping.protocol)
            network = protocol.network_key if protocol is not None else None
            if network is None:
                continue
            of_ticker.setdefault(currency.ticker, mapping.bank_symbol)
            of_network.setdefault((currency.ticker, network), mapping.bank_symbol)
            if network != home:
                entry = {"from": mapping.bank_symbol, "to": mapping.dex_symbol, "native": False}
                transfers.setdefault(network, {}).setdefault(mapping.bank_symbol, entry)
    found: dict[str, Any] = {
        "blacklist": list(swap.blacklist),
        "fee": swap.fee,
        "swap_to_currency": of_ticker.get(swap.swap_to_currency or "", ""),
        "transfers": {key: {"currencies": list(entries.values())} for key, entries in sorted(transfers.items())},
    }
    for network, ticker in sorted(swap.swap_currencies.items()):
        denom = of_network.get((ticker, network.upper())) or of_ticker.get(ticker, "")
        found[f"swap_currency_{network}"] = denom
    return found


def declare(api: Registry, app: App) -> None:
    """The read routes of swap."""
    tags = ("swap",)

    @api.get(
        "/api/swap/chains",
        operation_id="get_chains",
        summary="Chains of the provider",
        tags=tags,
        cache=Cache.live(30),
        errors=(400, 502),
    )
    async def chains(request: Request[ChainsParams, None]) -> list[dict[str, Any]]:
        asked = request.params
        return await app.upstreams.swap.chains(include_evm=asked.include_evm, include_svm=asked.include_svm)

    @api.get(
        "/api/swap/status/{tx_hash}",
        operation_id="get_status",
        summary="The provider's word on a transaction",
        tags=tags,
        response=dict[str, Any],
        errors=(400, 502),
    )
    async def status(request: Request[StatusParams, None]) -> Reply:
        return Reply(body=await app.upstreams.swap.status(request.params.tx_hash, request.params.chain_id))

    api.snapshot(
        "/api/swap/config",
        operation_id="get_swap_config",
        summary="Configuration of the swap screen",
        tags=tags,
        name="Swap config",
        response=dict[str, Any],
        cache=Cache.snapshot(30),
    )


async def refresh(app: App) -> bool:
    """Publish the configuration of the swap screen."""
    cells = app.cells
    made = build(
        cells.gated.value, cells.indexed_currencies.value, cells.protocols.value, app.settings.identity.network
    )
    changed = cells.swap_config.put(made)
    await app.publish("/api/swap/config", made)
    return changed
