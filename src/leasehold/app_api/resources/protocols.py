"""Protocols: the registry as a map, the visible ones as a list, and the currencies of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from leasehold.app_api.app import App
from leasehold.app_api.gating import rules
from leasehold.app_api.gating.documents import CurrencyDisplay, GatedConfig
from leasehold.app_api.resources.prices import Prices
from leasehold.app_api.upstreams import data
from leasehold.app_api.upstreams.lcd import ChainView, ContractRefused, NoSuchContract
from leasehold.core.addresses import Bech32Prefixes, contract_address
from leasehold.core.errors import NotFound, NotReady
from leasehold.core.settings import Settings
from leasehold.serving.routes import Cache, Registry, Request

Absent = msgspec.UnsetType
UNSET = msgspec.UNSET
# The deploy order of the public platform puts the registry third; other orders are tried around it.
_GUESSES = (3, 1, 2, 4, 5)


class ProtocolContracts(msgspec.Struct, frozen=True, omit_defaults=True):
    """Addresses of a protocol's contracts; those it lacks are absent."""

    leaser: str | Absent = UNSET
    lpp: str | Absent = UNSET
    oracle: str | Absent = UNSET
    profit: str | Absent = UNSET
    reserve: str | Absent = UNSET


class Protocol(msgspec.Struct):
    """A protocol of the registry; `position_type` in lower case."""

    name: str
    network: str | None
    dex: str | None
    position_type: str
    lpn: str
    is_active: bool
    contracts: ProtocolContracts


class ProtocolsResponse(msgspec.Struct):
    """Every protocol by name, with counts."""

    protocols: dict[str, Protocol]
    count: int
    active_count: int
    deprecated_count: int


class CurrencyDisplayInfo(msgspec.Struct, omit_defaults=True):
    ticker: str
    icon: str
    displayName: str  # noqa: N815 - the wire's spelling
    shortName: str  # noqa: N815
    color: str | Absent = UNSET


class ProtocolResponse(msgspec.Struct):
    """A visible protocol; network, dex and position type as the index spells them."""

    protocol: str
    network: str
    dex: str
    position_type: str
    lpn: str
    lpn_display: CurrencyDisplayInfo
    contracts: ProtocolContracts


class ProtocolListResponse(msgspec.Struct):
    """Visible protocols, in the order of the index."""

    protocols: list[ProtocolResponse]
    count: int


class ProtocolCurrencyResponse(msgspec.Struct, kw_only=True, omit_defaults=True):
    ticker: str
    decimals: int
    icon: str
    displayName: str  # noqa: N815
    shortName: str  # noqa: N815
    color: str | Absent = UNSET
    bank_symbol: str
    dex_symbol: str
    group: str
    price: str | Absent = UNSET


class ProtocolCurrenciesResponse(msgspec.Struct):
    """Currencies of a protocol with its own oracle's prices."""

    protocol: str
    currencies: list[ProtocolCurrencyResponse]
    count: int


@dataclass(frozen=True, slots=True)
class Contracts:
    """A protocol's contracts as the chain's registry names them."""

    leaser: str
    lpp: str
    oracle: str
    profit: str
    reserve: str


@dataclass(frozen=True, slots=True)
class ContractRegistry:
    """The chain's own registry of protocols, in its order."""

    admin: str
    dispatcher: str
    protocols: dict[str, Contracts]

    def of(self, protocol: str) -> Contracts:
        if protocol not in self.protocols:
            raise NotFound(f"Protocol {protocol} not found")
        return self.protocols[protocol]


class _Addresses(msgspec.Struct):
    leaser: str = ""
    lpp: str = ""
    oracle: str = ""
    profit: str = ""
    reserve: str = ""


class _Registered(msgspec.Struct):
    contracts: _Addresses


class _Platform(msgspec.Struct):
    treasury: str


async def read_registry(view: ChainView, settings: Settings) -> ContractRegistry:
    """The registry as of a view; the contract is found by its deploy order where no setting names it."""
    admin, dispatcher = await _platform(view, settings)
    names: list[str] = await view.smart(admin, {"protocols": {}}, list[str])
    found: dict[str, Contracts] = {}
    for name in names:
        entry: _Registered = await view.smart(admin, {"protocol": name}, _Registered)
        one = entry.contracts
        found[name] = Contracts(one.leaser, one.lpp, one.oracle, one.profit, one.reserve)
    return ContractRegistry(admin, dispatcher, found)


async def _platform(view: ChainView, settings: Settings) -> tuple[str, str]:
    given = settings.chain.admin_contract
    if given and settings.app_api.dispatcher_contract:
        return given, settings.app_api.dispatcher_contract
    prefixes = Bech32Prefixes(settings.identity.prefix)
    guesses = [prefixes.account_text(contract_address(number, number)) for number in _GUESSES]
    for admin in [given] if given else guesses:
        try:
            platform: _Platform = await view.smart(admin, {"platform": {}}, _Platform)
        except (NoSuchContract, ContractRefused):
            continue
        return admin, settings.app_api.dispatcher_contract or platform.treasury
    raise NotReady("the platform's admin contract was not found", hint="set chain.admin_contract")


def contracts_of(found: data.Contracts) -> ProtocolContracts:
    """Addresses with the missing ones left out."""
    return ProtocolContracts(
        **{name: text for name in ("leaser", "lpp", "oracle", "profit", "reserve") if (text := getattr(found, name))}
    )


def display_of(ticker: str, shown: CurrencyDisplay) -> CurrencyDisplayInfo:
    return CurrencyDisplayInfo(
        ticker, shown.icon, shown.displayName, shown.shortName or ticker, UNSET if shown.color is None else shown.color
    )


def protocol_map(protocols: dict[str, data.Protocol]) -> dict[str, Protocol]:
    """The registry by name, in ascending order."""
    return {
        name: Protocol(
            name,
            one.network,
            one.bare_dex,
            one.position_type.lower(),
            one.lpn_symbol,
            one.is_active,
            contracts_of(one.contracts),
        )
        for name, one in sorted(protocols.items())
    }


def listed(gated: GatedConfig, one: data.Protocol) -> ProtocolResponse:
    """A visible protocol for a list."""
    shown = gated.shown(one.lpn_symbol)
    assert shown is not None
    return ProtocolResponse(
        one.name,
        one.network or "",
        one.dex or "",
        one.position_type,
        one.lpn_symbol,
        display_of(one.lpn_symbol, shown),
        contracts_of(one.contracts),
    )


def protocol_list(gated: GatedConfig, protocols: dict[str, data.Protocol], network: str | None = None) -> Any:
    """Protocols that pass the gate; those of one network are not held against the ignore lists."""
    if network is None:
        found = [listed(gated, one) for one in protocols.values() if rules.protocol_listed(gated, one)]
    else:
        found = [
            listed(gated, one)
            for one in protocols.values()
            if rules.protocol_visible(gated, one) and one.network_key == network
        ]
    return ProtocolListResponse(found, len(found))


def protocol_currencies(
    gated: GatedConfig, protocol: data.Protocol, currencies: tuple[data.Currency, ...], prices: Prices
) -> ProtocolCurrenciesResponse:
    """The currencies listed with a protocol, in the order of the index."""
    found = []
    for currency in currencies:
        mapping = next((one for one in currency.protocols if one.protocol == protocol.name), None)
        shown = gated.shown(currency.ticker)
        if mapping is None or shown is None or not rules.currency_of_protocol_listed(gated, protocol, currency):
            continue
        price = prices.text(f"{currency.ticker}@{protocol.name}")
        found.append(
            ProtocolCurrencyResponse(
                ticker=currency.ticker,
                decimals=currency.decimal_digits,
                icon=shown.icon,
                displayName=shown.displayName,
                shortName=shown.shortName or currency.ticker,
                color=UNSET if shown.color is None else shown.color,
                bank_symbol=mapping.bank_symbol,
                dex_symbol=mapping.dex_symbol,
                group=mapping.group,
                price=UNSET if price is None else price,
            )
        )
    return ProtocolCurrenciesResponse(protocol.name, found, len(found))


class ProtocolParams(msgspec.Struct, frozen=True):
    protocol: str


def declare(api: Registry, app: App) -> None:
    """The routes of protocols."""
    tags = ("protocols",)
    api.snapshot(
        "/api/protocols",
        operation_id="get_protocols",
        summary="Every protocol, active and deprecated",
        tags=tags,
        name="Protocols",
        response=ProtocolsResponse,
        cache=Cache.snapshot(30),
    )
    api.snapshot(
        "/api/protocols/active",
        operation_id="get_active_protocols",
        summary="Active protocols by name",
        tags=tags,
        name="Protocols",
        response=dict[str, Protocol],
        cache=Cache.snapshot(30),
    )
    api.snapshot(
        "/api/protocols/gated",
        operation_id="get_gated_protocols",
        summary="Protocols that pass the gate",
        tags=tags,
        name="Protocols",
        response=ProtocolListResponse,
        cache=Cache.snapshot(30),
    )

    @api.get(
        "/api/protocols/{protocol}/currencies",
        operation_id="get_protocol_currencies",
        summary="Currencies of a protocol with its oracle's prices",
        tags=tags,
        cache=Cache.live(10),
        errors=(404, 503),
    )
    async def currencies(request: Request[ProtocolParams, None]) -> ProtocolCurrenciesResponse:
        cells = app.cells
        gated = cells.gated.value
        protocols = cells.protocols.value
        found = cells.indexed_currencies.value
        protocol = protocols.get(request.params.protocol)
        if protocol is None or not rules.protocol_visible(gated, protocol):
            raise NotFound(f"Protocol {request.params.protocol} not found")
        return protocol_currencies(gated, protocol, found, cells.prices.value)


async def refresh_map(app: App) -> bool:
    """Publish the map shapes."""
    protocols = app.cells.protocols.value
    made = protocol_map(protocols)
    active = {name: one for name, one in made.items() if one.is_active}
    await app.publish("/api/protocols", ProtocolsResponse(made, len(made), len(active), len(made) - len(active)))
    await app.publish("/api/protocols/active", active)
    return True


async def refresh_list(app: App) -> bool:
    """Publish the protocols that pass the gate."""
    made = protocol_list(app.cells.gated.value, app.cells.protocols.value)
    changed = app.cells.gated_protocols.put(made)
    await app.publish("/api/protocols/gated", made)
    return changed
