"""Balances: the visible coins of a wallet with their worth in USD, all of one block."""

from __future__ import annotations

import asyncio
from fractions import Fraction

import msgspec

from leasehold.app_api.app import App
from leasehold.app_api.display import shortest
from leasehold.app_api.gating import rules
from leasehold.app_api.gating.rules import FilterContext
from leasehold.app_api.inputs import AddressParams, require_own
from leasehold.app_api.resources import prices
from leasehold.app_api.resources.currencies import Catalogue, CurrencyInfo
from leasehold.app_api.resources.prices import Prices, worth
from leasehold.app_api.upstreams import chain
from leasehold.serving.routes import Registry, Request


class BalanceInfo(msgspec.Struct):
    """A coin; `symbol` is its denom, `amount` in base units."""

    key: str
    symbol: str
    denom: str
    amount: str
    amount_usd: str
    decimal_digits: int


class BalancesResponse(msgspec.Struct):
    balances: list[BalanceInfo]
    total_value_usd: str


def entry_of(denom: str, catalogue: Catalogue, context: FilterContext, valued: Prices) -> CurrencyInfo | None:
    """The currency a denom stands for: of a visible protocol that prices it if there is one, by the smallest key."""

    def rank(info: CurrencyInfo) -> tuple[bool, bool, str]:
        return (not context.visible(info.protocol), valued.get(info.key) is None, info.key)

    return min(catalogue.by_denom.get(denom, ()), key=rank, default=None)


def usd_price(info: CurrencyInfo, valued: Prices) -> Fraction:
    """Price of a currency by its own protocol, else by the smallest key that has one, else none."""
    own = valued.get(info.key)
    if own is not None:
        return own
    key = valued.anywhere(info.ticker)
    return valued.values[key] if key is not None else Fraction(0)


def build(coins: list[chain.Coin], context: FilterContext, catalogue: Catalogue, valued: Prices) -> BalancesResponse:
    """The visible coins in the bank's order, and their sum."""
    found = []
    total = Fraction(0)
    for coin in coins:
        info = entry_of(coin.denom, catalogue, context, valued)
        if info is None or not rules.currency_visible(context.gated, info.ticker):
            continue
        usd = worth(int(coin.amount), info.decimal_digits, usd_price(info, valued))
        total += usd
        found.append(BalanceInfo(info.key, info.symbol, coin.denom, coin.amount, shortest(usd), info.decimal_digits))
    return BalancesResponse(found, shortest(total))


def declare(api: Registry, app: App) -> None:
    """The route of balances."""

    @api.get(
        "/api/balances",
        operation_id="get_balances",
        summary="Visible balances of a wallet",
        tags=("balances",),
        errors=(400, 502, 503),
    )
    async def balances(request: Request[AddressParams, None]) -> BalancesResponse:
        address = require_own(request.params.address, app.settings.identity.prefix, app.brand)
        cells = app.cells
        context, catalogue, _ = cells.filter.value, cells.currencies.value, cells.prices.value
        view = await app.chain()
        coins, valued = await asyncio.gather(chain.balances(view, address), prices.at(app, view))
        return build(coins, context, catalogue, valued)
