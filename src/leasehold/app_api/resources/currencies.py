"""Currencies: one entry per currency and protocol, ignored and deprecated ones included."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import msgspec

from leasehold.app_api.app import App
from leasehold.app_api.gating import rules
from leasehold.app_api.gating.documents import GatedConfig
from leasehold.app_api.upstreams.data import Currency
from leasehold.core.errors import NotFound
from leasehold.serving.routes import Cache, Registry, Request


class CurrencyInfo(msgspec.Struct, frozen=True):
    """A currency as one protocol knows it; `symbol` is its bank denom."""

    key: str
    ticker: str
    symbol: str
    name: str
    short_name: str
    decimal_digits: int
    bank_symbol: str
    dex_symbol: str
    icon: str
    native: bool
    coingecko_id: str | None
    protocol: str
    group: str
    is_active: bool


class CurrenciesResponse(msgspec.Struct, frozen=True):
    """Every currency by `TICKER@PROTOCOL`, the pool currencies, what can be leased, and aliases."""

    currencies: dict[str, CurrencyInfo]
    lpn: list[CurrencyInfo]
    lease_currencies: list[str]
    map: dict[str, str]


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The currencies with the look-ups requests need."""

    response: CurrenciesResponse
    by_denom: dict[str, tuple[CurrencyInfo, ...]]
    by_ticker: dict[str, tuple[CurrencyInfo, ...]]

    @property
    def by_key(self) -> dict[str, CurrencyInfo]:
        return self.response.currencies

    @classmethod
    def of(cls, response: CurrenciesResponse) -> Catalogue:
        denoms: dict[str, list[CurrencyInfo]] = {}
        tickers: dict[str, list[CurrencyInfo]] = {}
        for info in response.currencies.values():
            denoms.setdefault(info.bank_symbol, []).append(info)
            tickers.setdefault(info.ticker, []).append(info)
        return cls(
            response,
            {denom: tuple(found) for denom, found in denoms.items()},
            {ticker: tuple(found) for ticker, found in tickers.items()},
        )

    def find(self, key: str, visible: Collection[str]) -> CurrencyInfo | None:
        """The entry of a key; of a plain ticker, that of a visible protocol if there is one, by the smallest key."""
        exact = self.by_key.get(key)
        if exact is not None:
            return exact
        return min(self.by_ticker.get(key, ()), key=lambda info: (info.protocol not in visible, info.key), default=None)


def build(gated: GatedConfig, currencies: tuple[Currency, ...], native_denom: str) -> CurrenciesResponse:
    """The catalogue from what the index knows."""
    entries: dict[str, CurrencyInfo] = {}
    lpn: list[CurrencyInfo] = []
    leased: set[str] = set()
    for currency in currencies:
        shown = gated.currencies.get(currency.ticker)
        active = currency.is_active and not rules.ignored(gated, currency.ticker)
        for mapping in currency.protocols:
            key = f"{currency.ticker}@{mapping.protocol}"
            info = CurrencyInfo(
                key=key,
                ticker=currency.ticker,
                symbol=mapping.bank_symbol,
                name=shown.displayName if shown else currency.ticker,
                short_name=(shown and shown.shortName) or currency.ticker,
                decimal_digits=currency.decimal_digits,
                bank_symbol=mapping.bank_symbol,
                dex_symbol=mapping.dex_symbol,
                icon=shown.icon if shown else f"/assets/icons/currencies/{currency.ticker}.svg",
                native=mapping.bank_symbol == native_denom,
                coingecko_id=shown.coingeckoId if shown else None,
                protocol=mapping.protocol,
                group=mapping.group,
                is_active=active,
            )
            entries[key] = info
            if active and mapping.group == "lpn":
                lpn.append(info)
            if active and mapping.group == "lease":
                leased.add(currency.ticker)
    return CurrenciesResponse(dict(sorted(entries.items())), lpn, sorted(leased), {})


class KeyParams(msgspec.Struct, frozen=True):
    key: str


def declare(api: Registry, app: App) -> None:
    """The routes of currencies."""
    api.snapshot(
        "/api/currencies",
        operation_id="get_currencies",
        summary="Every currency with metadata",
        tags=("currencies",),
        name="Currencies",
        response=CurrenciesResponse,
        cache=Cache.snapshot(3600),
    )

    @api.get(
        "/api/currencies/{key}",
        operation_id="get_currency",
        summary="One currency, by TICKER@PROTOCOL or plain ticker",
        tags=("currencies",),
        cache=Cache.live(3600),
        errors=(404, 503),
    )
    async def one(request: Request[KeyParams, None]) -> CurrencyInfo:
        context = app.cells.filter.get()
        visible = context.protocols if context is not None else {}
        found = app.cells.currencies.value.find(request.params.key, visible)
        if found is None:
            raise NotFound(f"Currency {request.params.key} not found")
        return found


async def refresh(app: App) -> bool:
    """Publish the catalogue."""
    made = build(app.cells.gated.value, app.cells.indexed_currencies.value, app.settings.identity.base_denom)
    last = app.cells.currencies.get()
    changed = last is None or last.response != made
    app.cells.currencies.put(Catalogue.of(made))
    await app.publish("/api/currencies", made)
    return changed
