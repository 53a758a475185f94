"""Assets: currencies once each, with the price of each network's primary protocol."""

from __future__ import annotations

from typing import Any

import msgspec

from leasehold.app_api.app import App
from leasehold.app_api.gating import rules
from leasehold.app_api.gating.documents import CosmosNetwork, CurrencyDisplay, GatedConfig
from leasehold.app_api.resources.prices import Prices
from leasehold.app_api.upstreams.data import Currency, Protocol
from leasehold.core.errors import NotFound
from leasehold.serving.routes import Cache, Registry, Request

Absent = msgspec.UnsetType
UNSET = msgspec.UNSET


class AssetResponse(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """A currency of the catalogue with a display price in USD."""

    ticker: str
    decimals: int
    icon: str
    displayName: str  # noqa: N815 - the wire's spelling
    shortName: str  # noqa: N815
    color: str | Absent = UNSET
    coingeckoId: str | Absent = UNSET  # noqa: N815
    price: str | Absent = UNSET
    networks: list[str]
    protocols: list[str]


class AssetsResponse(msgspec.Struct, frozen=True):
    assets: list[AssetResponse]
    count: int


class ProtocolAssetDetail(msgspec.Struct, frozen=True, omit_defaults=True):
    protocol: str
    network: str
    bank_symbol: str
    dex_symbol: str
    group: str
    price: str | Absent = UNSET


class AssetDetailResponse(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """An asset with what each protocol says about it."""

    ticker: str
    decimals: int
    icon: str
    displayName: str  # noqa: N815
    shortName: str  # noqa: N815
    color: str | Absent = UNSET
    coingeckoId: str | Absent = UNSET  # noqa: N815
    price: str | Absent = UNSET
    networks: list[str]
    protocol_details: list[ProtocolAssetDetail]


def display_price(gated: GatedConfig, ticker: str, carriers: list[Protocol], prices: Prices) -> str | Absent:
    """Price by a primary protocol of the asset's networks, else by the smallest key that has one."""
    for key in sorted({one.network_key or "" for one in carriers}):
        network = gated.networks.get(key)
        if isinstance(network, CosmosNetwork) and network.primaryProtocol:
            text = prices.text(f"{ticker}@{network.primaryProtocol}")
            if text is not None:
                return text
    key_anywhere = prices.anywhere(ticker)
    return UNSET if key_anywhere is None else prices.texts[key_anywhere]


def _shown(currency: Currency, shown: CurrencyDisplay) -> dict[str, Any]:
    """The members that say how a currency looks."""
    return {
        "ticker": currency.ticker,
        "decimals": currency.decimal_digits,
        "icon": shown.icon,
        "displayName": shown.displayName,
        "shortName": shown.shortName or currency.ticker,
        "color": UNSET if shown.color is None else shown.color,
        "coingeckoId": UNSET if shown.coingeckoId is None else shown.coingeckoId,
    }


def _networks(carriers: list[Protocol]) -> list[str]:
    return sorted({one.network for one in carriers if one.network is not None})


def catalogue(
    gated: GatedConfig, currencies: tuple[Currency, ...], protocols: dict[str, Protocol], prices: Prices
) -> AssetsResponse:
    """Active, visible currencies that a visible protocol carries, in the order of the index."""
    found = []
    for currency in currencies:
        shown = gated.shown(currency.ticker)
        carriers = [one for _, one in rules.carriers(gated, currency, protocols)]
        if shown is None or not carriers or not currency.is_active or rules.ignored(gated, currency.ticker):
            continue
        found.append(
            AssetResponse(
                **_shown(currency, shown),
                price=display_price(gated, currency.ticker, carriers, prices),
                networks=_networks(carriers),
                protocols=[one.name for one in carriers],
            )
        )
    return AssetsResponse(found, len(found))


def of_network(
    gated: GatedConfig,
    network: str,
    currencies: tuple[Currency, ...],
    protocols: dict[str, Protocol],
    prices: Prices,
) -> AssetsResponse:
    """Assets of one network: priced by its primary protocol only, or by the first protocol that has a price."""
    configured = gated.networks.get(network)
    primary = configured.primaryProtocol if isinstance(configured, CosmosNetwork) else None
    found = []
    for currency in currencies:
        shown = gated.shown(currency.ticker)
        carriers = [one for _, one in rules.carriers(gated, currency, protocols) if one.network_key == network]
        if shown is None or not carriers or not currency.is_active:
            continue
        sources = [primary] if primary else [one.name for one in carriers]
        price = next((text for name in sources if (text := prices.text(f"{currency.ticker}@{name}"))), None)
        found.append(
            AssetResponse(
                **_shown(currency, shown),
                price=UNSET if price is None else price,
                networks=[network],
                protocols=[one.name for one in carriers],
            )
        )
    return AssetsResponse(found, len(found))


def detail(
    gated: GatedConfig,
    ticker: str,
    currencies: tuple[Currency, ...],
    protocols: dict[str, Protocol],
    prices: Prices,
) -> AssetDetailResponse:
    """One asset; NotFound says whether it is unknown, not configured or carried by nobody."""
    currency = next((one for one in currencies if one.ticker == ticker and one.is_active), None)
    if currency is None:
        raise NotFound(f"Asset {ticker} not found")
    shown = gated.shown(ticker)
    if shown is None:
        raise NotFound(f"Asset {ticker} (not configured) not found")
    carriers = rules.carriers(gated, currency, protocols)
    if not carriers:
        raise NotFound(f"Asset {ticker} (no configured protocols) not found")
    details = [
        ProtocolAssetDetail(
            one.name,
            one.network or "",
            mapping.bank_symbol,
            mapping.dex_symbol,
            mapping.group,
            UNSET if (text := prices.text(f"{ticker}@{one.name}")) is None else text,
        )
        for mapping, one in carriers
    ]
    holders = [one for _, one in carriers]
    return AssetDetailResponse(
        **_shown(currency, shown),
        price=display_price(gated, ticker, holders, prices),
        networks=_networks(holders),
        protocol_details=details,
    )


class TickerParams(msgspec.Struct, frozen=True):
    ticker: str


def declare(api: Registry, app: App) -> None:
    """The routes of assets."""
    api.snapshot(
        "/api/assets",
        operation_id="get_assets",
        summary="Deduplicated assets with display prices",
        tags=("assets",),
        name="Assets",
        response=AssetsResponse,
        cache=Cache.snapshot(30),
    )

    @api.get(
        "/api/assets/{ticker}",
        operation_id="get_asset",
        summary="One asset with its protocols",
        tags=("assets",),
        cache=Cache.live(30),
        errors=(404, 503),
    )
    async def one(request: Request[TickerParams, None]) -> AssetDetailResponse:
        cells = app.cells
        gated, currencies, protocols = cells.gated.value, cells.indexed_currencies.value, cells.protocols.value
        return detail(gated, request.params.ticker, currencies, protocols, cells.prices.value)


async def refresh(app: App) -> bool:
    """Publish the catalogue with the newest prices."""
    cells = app.cells
    prices = cells.prices
    made = catalogue(cells.gated.value, cells.indexed_currencies.value, cells.protocols.value, prices.value)
    changed = cells.assets.put(made)
    await app.publish("/api/assets", made, height=prices.height, time_ns=prices.time_ns)
    return changed
