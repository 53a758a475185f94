"""Routes of the swap router, in the wire form of the public one."""

from __future__ import annotations

from typing import Any

import msgspec

from leasehold.core.settings import Identity
from leasehold.serving.routes import Guard, NoParams, PlainRequest, Registry, Request
from leasehold.upstreams.swap import wire
from leasehold.upstreams.swap.markets import Markets
from leasehold.upstreams.swap.messages import Composer
from leasehold.upstreams.swap.routing import Router, venue_of
from leasehold.upstreams.swap.tracking import Tracker

_TAGS = ("Swap",)
_GAS_PRICES = {"low": "0.0025", "average": "0.025", "high": "0.04"}


class ChainsParams(msgspec.Struct, frozen=True):
    include_evm: bool = False
    include_svm: bool = False


class AssetsParams(msgspec.Struct, frozen=True):
    chain_ids: str | None = None


class StatusParams(msgspec.Struct, frozen=True):
    tx_hash: str
    chain_id: str


class Chains(msgspec.Struct):
    chains: list[dict[str, Any]]


class Assets(msgspec.Struct):
    chain_to_assets_map: dict[str, dict[str, list[dict[str, Any]]]]


class Venues(msgspec.Struct):
    venues: list[wire.SwapVenue]


def declare(
    api: Registry,
    identity: Identity,
    markets: Markets,
    router: Router,
    composer: Composer,
    tracker: Tracker,
    guard: Guard,
) -> None:
    """Declare the service's routes under `/swap`."""

    @api.get("/swap/v2/info/chains", summary="Chains", tags=_TAGS, rate="none", guard=guard, errors=(502,))
    async def chains(request: Request[ChainsParams, None]) -> Chains:
        found = [cosmos_chain(identity.chain_id, identity.network.title(), identity.prefix, identity.base_denom)]
        for venue in await markets.venues():
            style = venue.style
            found.append(cosmos_chain(venue.chain_id, style.title, style.prefix, style.fee_denom))
        if request.params.include_svm:
            found.append({"chain_name": "solana", "chain_id": "solana", "chain_type": "svm"})
        return Chains(found)

    @api.get("/swap/v2/fungible/venues", summary="DEXes", tags=_TAGS, rate="none", guard=guard, errors=(502,))
    async def venues(request: PlainRequest) -> Venues:
        return Venues([venue_of(venue) for venue in await markets.venues()])

    @api.get("/swap/v2/fungible/assets", summary="Assets", tags=_TAGS, rate="none", guard=guard, errors=(502,))
    async def assets(request: Request[AssetsParams, None]) -> Assets:
        listed: dict[str, dict[str, dict[str, Any]]] = {}
        for venue in await markets.venues():
            for book in venue.books:
                for one in book.currencies:
                    for chain, denom in ((identity.chain_id, one.bank_symbol), (venue.chain_id, one.dex_symbol)):
                        entry = {
                            "denom": denom,
                            "chain_id": chain,
                            "symbol": one.ticker,
                            "name": one.ticker,
                            "decimals": one.decimal_digits,
                        }
                        listed.setdefault(chain, {}).setdefault(denom, entry)
        wanted = request.params.chain_ids.split(",") if request.params.chain_ids else list(listed)
        chosen = {chain: {"assets": list(listed[chain].values())} for chain in sorted(wanted) if chain in listed}
        return Assets(chosen)

    @api.post(
        "/swap/v2/fungible/route", summary="The best route", tags=_TAGS, rate="none", guard=guard, errors=(404, 502)
    )
    async def route(request: Request[NoParams, wire.RouteRequest]) -> wire.Route:
        return await router.route(request.body)

    @api.post(
        "/swap/v2/fungible/msgs", summary="Messages of a route", tags=_TAGS, rate="none", guard=guard, errors=(502,)
    )
    async def messages(request: Request[NoParams, wire.MessagesRequest]) -> wire.Messages:
        return await composer.messages(request.body)

    @api.post("/swap/v2/tx/track", summary="Follow a transaction", tags=_TAGS, rate="none", guard=guard, errors=(429,))
    async def track(request: Request[NoParams, wire.TrackRequest]) -> wire.Track:
        return await tracker.track(request.body)

    @api.get("/swap/v2/tx/status", summary="Where it stands", tags=_TAGS, rate="none", guard=guard, errors=(404, 502))
    async def status(request: Request[StatusParams, None]) -> wire.Status:
        return await tracker.status(request.params.chain_id, request.params.tx_hash)


def cosmos_chain(chain_id: str, title: str, prefix: str, fee_denom: str) -> dict[str, Any]:
    """A chain as the public router lists it."""
    return {
        "chain_name": title.lower(),
        "chain_id": chain_id,
        "pfm_enabled": False,
        "cosmos_module_support": {"authz": True, "feegrant": True},
        "supports_memo": True,
        "logo_uri": None,
        "bech32_prefix": prefix,
        "fee_assets": [{"denom": fee_denom, "gas_price": _GAS_PRICES}],
        "chain_type": "cosmos",
        "ibc_capabilities": {"cosmos_pfm": False},
        "is_testnet": False,
        "pretty_name": title,
    }
