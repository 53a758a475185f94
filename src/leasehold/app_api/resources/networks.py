"""Networks: their configuration, and the assets, protocols and pools on each."""

from __future__ import annotations

import msgspec

from leasehold.app_api.app import App
from leasehold.app_api.gating import rules
from leasehold.app_api.gating.documents import CosmosNetwork, GatedConfig, Network
from leasehold.app_api.resources import assets
from leasehold.app_api.resources.protocols import (
    CurrencyDisplayInfo,
    ProtocolListResponse,
    display_of,
    protocol_list,
)
from leasehold.app_api.upstreams.data import Pool, Protocol
from leasehold.core.errors import NotFound
from leasehold.serving.routes import Cache, Registry, Request

Absent = msgspec.UnsetType
UNSET = msgspec.UNSET


class NetworkResponse(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Configuration of a network; an SVM one keeps its endpoints to us."""

    network: str
    name: str
    chain_id: str
    prefix: str
    rpc: str
    lcd: str
    fallback_rpc: list[str] | Absent = UNSET
    fallback_lcd: list[str] | Absent = UNSET
    gas_price: str
    explorer: str | Absent = UNSET
    icon: str | Absent = UNSET
    primaryProtocol: str | Absent = UNSET  # noqa: N815 - the wire's spelling
    estimation: int | Absent = UNSET
    gas_multiplier: float


class NetworksResponse(msgspec.Struct):
    networks: list[NetworkResponse]
    count: int


class PoolResponse(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A pool's figures as the index has them; unknown ones are absent."""

    protocol: str
    network: str
    lpp_address: str | Absent = UNSET
    apr: str | Absent = UNSET
    utilization: str | Absent = UNSET
    total_supplied: str | Absent = UNSET
    total_borrowed: str | Absent = UNSET
    borrow_apr: str | Absent = UNSET
    lpn: str
    lpn_display: CurrencyDisplayInfo
    icon: str | Absent = UNSET


class NetworkPoolsResponse(msgspec.Struct):
    network: str
    pools: list[PoolResponse]
    count: int


def _or_absent(text: str | None) -> str | Absent:
    return UNSET if text is None else text


def info(key: str, network: Network) -> NetworkResponse:
    """A network's configuration as clients see it."""
    if isinstance(network, CosmosNetwork):
        return NetworkResponse(
            network=key,
            name=network.name,
            chain_id=network.chain_id,
            prefix=network.prefix,
            rpc=network.rpc,
            lcd=network.lcd,
            fallback_rpc=list(network.fallback_rpc) or UNSET,
            fallback_lcd=list(network.fallback_lcd) or UNSET,
            gas_price=network.gas_price,
            explorer=_or_absent(network.explorer),
            icon=_or_absent(network.icon),
            primaryProtocol=_or_absent(network.primaryProtocol),
            estimation=UNSET if network.estimation is None else network.estimation,
            gas_multiplier=float(network.gas_multiplier),
        )
    return NetworkResponse(
        network=key,
        name=network.name,
        chain_id=network.chain_id,
        prefix="",
        rpc="",
        lcd="",
        gas_price="",
        icon=_or_absent(network.icon),
        estimation=UNSET if network.estimation is None else network.estimation,
        gas_multiplier=float(network.gas_multiplier),
    )


def configured(gated: GatedConfig) -> NetworksResponse:
    """Every configured network, by ascending key."""
    found = [info(key, network) for key, network in sorted(gated.networks.items()) if network.configured]
    return NetworksResponse(found, len(found))


def pools(
    gated: GatedConfig, key: str, protocols: dict[str, Protocol], figures: dict[str, Pool]
) -> NetworkPoolsResponse:
    """Pools of the active protocols on a network whose pool currency is configured."""
    found = []
    for one in protocols.values():
        shown = gated.shown(one.lpn_symbol)
        if not one.is_active or one.network_key != key or shown is None or one.contracts.lpp is None:
            continue
        figure = figures.get(one.name.upper(), Pool(one.name))
        found.append(
            PoolResponse(
                protocol=one.name,
                network=key,
                lpp_address=_or_absent(one.contracts.lpp),
                apr=_or_absent(figure.earn_apr if figure.earn_apr is not None else figure.apr),
                utilization=_or_absent(figure.utilization),
                total_supplied=_or_absent(figure.supplied if figure.supplied is not None else figure.total_supplied),
                total_borrowed=_or_absent(figure.borrowed if figure.borrowed is not None else figure.total_borrowed),
                borrow_apr=_or_absent(figure.borrow_apr),
                lpn=one.lpn_symbol,
                lpn_display=display_of(one.lpn_symbol, shown),
                icon=_or_absent(rules.pool_icon(gated, one.name, one.network_key)),
            )
        )
    return NetworkPoolsResponse(key, found, len(found))


class NetworkParams(msgspec.Struct, frozen=True):
    network: str


def declare(api: Registry, app: App) -> None:
    """The routes of networks."""
    tags = ("networks",)
    cells = app.cells
    api.snapshot(
        "/api/networks/gated",
        operation_id="get_networks",
        summary="Configured networks",
        tags=tags,
        name="Networks",
        response=NetworksResponse,
        cache=Cache.snapshot(30),
    )

    def required(key: str) -> tuple[GatedConfig, Network]:
        gated = cells.gated.value
        found = gated.network(key)
        if found is None:
            raise NotFound(f"Network {key} not found")
        return gated, found

    @api.get(
        "/api/networks/{network}/info",
        operation_id="get_network",
        summary="Configuration of a network",
        tags=tags,
        cache=Cache.live(30),
        errors=(404, 503),
    )
    async def network_info(request: Request[NetworkParams, None]) -> NetworkResponse:
        return info(request.params.network, required(request.params.network)[1])

    @api.get(
        "/api/networks/{network}/assets",
        operation_id="get_network_assets",
        summary="Assets of a network",
        tags=tags,
        cache=Cache.live(30),
        errors=(404, 503),
    )
    async def network_assets(request: Request[NetworkParams, None]) -> assets.AssetsResponse:
        key = request.params.network
        gated, _ = required(key)
        currencies, protocols = cells.indexed_currencies.value, cells.protocols.value
        return assets.of_network(gated, key, currencies, protocols, cells.prices.value)

    @api.get(
        "/api/networks/{network}/protocols",
        operation_id="get_network_protocols",
        summary="Visible protocols of a network",
        tags=tags,
        cache=Cache.live(30),
        errors=(404, 503),
    )
    async def network_protocols(request: Request[NetworkParams, None]) -> ProtocolListResponse:
        gated, _ = required(request.params.network)
        found: ProtocolListResponse = protocol_list(gated, cells.protocols.value, request.params.network)
        return found

    @api.get(
        "/api/networks/{network}/pools",
        operation_id="get_network_pools",
        summary="Pools of a network",
        tags=tags,
        cache=Cache.live(30),
        errors=(404, 503),
    )
    async def network_pools(request: Request[NetworkParams, None]) -> NetworkPoolsResponse:
        gated, _ = required(request.params.network)
        return pools(gated, request.params.network, cells.protocols.value, cells.indexed_pools.value)


async def refresh(app: App) -> bool:
    """Publish the configured networks."""
    made = configured(app.cells.gated.value)
    changed = app.cells.gated_networks.put(made)
    await app.publish("/api/networks/gated", made)
    return changed
