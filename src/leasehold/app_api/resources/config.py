"""The application's configuration: protocols, networks, the native asset and the platform's contracts."""

from __future__ import annotations

import msgspec

from leasehold.app_api.app import App
from leasehold.app_api.gating.documents import CosmosNetwork, GatedConfig, Network
from leasehold.app_api.resources.protocols import ProtocolContracts, contracts_of
from leasehold.app_api.upstreams.data import Protocol
from leasehold.core.settings import Identity
from leasehold.serving.routes import Cache, Registry

Absent = msgspec.UnsetType
UNSET = msgspec.UNSET


class ProtocolInfo(msgspec.Struct):
    """A protocol of the index, active or not; `position_type` in lower case."""

    name: str
    network: str | None
    dex: str | None
    lpn: str
    position_type: str
    contracts: ProtocolContracts
    is_active: bool


class NetworkInfo(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A configured network; an SVM one has empty endpoints and what a transfer needs."""

    key: str
    name: str
    chain_id: str
    prefix: str
    rpc_url: str
    rest_url: str
    gas_price: str
    chain_type: str
    native: bool
    value: str
    symbol: str
    explorer: str | Absent = UNSET
    icon: str | Absent = UNSET
    estimation: int | Absent = UNSET
    primary_protocol: str | Absent = UNSET
    forward: bool | Absent = UNSET
    gas_multiplier: float
    program_id: str | Absent = UNSET
    transfer_channel_id: str | Absent = UNSET
    explorer_url_pattern: str | Absent = UNSET


class NativeAssetInfo(msgspec.Struct):
    ticker: str
    symbol: str
    denom: str
    decimal_digits: int


class ContractsInfo(msgspec.Struct):
    admin: str
    dispatcher: str


class AppConfigResponse(msgspec.Struct):
    protocols: dict[str, ProtocolInfo]
    networks: list[NetworkInfo]
    native_asset: NativeAssetInfo
    contracts: ContractsInfo


def network_info(key: str, network: Network, home: str) -> NetworkInfo:
    """A network as the application knows it; `home` is the key of our own chain."""
    cosmos = network if isinstance(network, CosmosNetwork) else None
    svm = network if cosmos is None else None
    return NetworkInfo(
        key=key,
        name=network.name,
        chain_id=network.chain_id,
        prefix=cosmos.prefix if cosmos else "",
        rpc_url=cosmos.rpc if cosmos else "",
        rest_url=cosmos.lcd if cosmos else "",
        gas_price=cosmos.gas_price if cosmos else "",
        chain_type="cosmos" if cosmos else "svm",
        native=key == home,
        value=key.lower(),
        symbol=network.symbol,
        explorer=(cosmos.explorer if cosmos else None) or UNSET,
        icon=network.icon or UNSET,
        estimation=UNSET if network.estimation is None else network.estimation,
        primary_protocol=(cosmos.primaryProtocol if cosmos else None) or UNSET,
        forward=UNSET if cosmos is None or cosmos.forward is None else cosmos.forward,
        gas_multiplier=float(network.gas_multiplier),
        program_id=getattr(svm, "program_id", UNSET),
        transfer_channel_id=getattr(svm, "transfer_channel_id", UNSET),
        explorer_url_pattern=getattr(svm, "explorer_url_pattern", UNSET),
    )


def build(
    gated: GatedConfig, protocols: dict[str, Protocol], identity: Identity, contracts: ContractsInfo
) -> AppConfigResponse:
    """The configuration, by ascending name and key."""
    return AppConfigResponse(
        {
            name: ProtocolInfo(
                name,
                one.network,
                one.bare_dex,
                one.lpn_symbol,
                one.position_type.lower(),
                contracts_of(one.contracts),
                one.is_active,
            )
            for name, one in sorted(protocols.items())
        },
        [
            network_info(key, network, identity.network)
            for key, network in sorted(gated.networks.items())
            if network.configured
        ],
        NativeAssetInfo(identity.display, identity.display, identity.base_denom, identity.exponent),
        contracts,
    )


def declare(api: Registry, app: App) -> None:
    """The routes of the configuration."""
    for path, response, seconds in (
        ("/api/config", AppConfigResponse, 3600),
        ("/api/config/networks", list[NetworkInfo], 30),
        ("/api/config/protocols", dict[str, ProtocolInfo], 3600),
    ):
        api.snapshot(
            path,
            operation_id="get_" + path.removeprefix("/api/").replace("/", "_"),
            summary="Configuration of the application" + path.removeprefix("/api/config").replace("/", ": "),
            tags=("config",),
            name="App config",
            response=response,
            cache=Cache.snapshot(seconds),
        )


async def refresh(app: App) -> bool:
    """Publish the configuration."""
    cells = app.cells
    registry = cells.contracts.value
    made = build(
        cells.gated.value,
        cells.protocols.value,
        app.settings.identity,
        ContractsInfo(registry.admin, registry.dispatcher),
    )
    changed = cells.app_config.put(made)
    await app.publish("/api/config", made)
    await app.publish("/api/config/networks", made.networks)
    await app.publish("/api/config/protocols", made.protocols)
    return changed
