"""Prices: USD per unit of every currency a protocol knows, from that protocol's own oracle, exact."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import msgspec

from leasehold.app_api.app import App
from leasehold.app_api.display import shortest
from leasehold.app_api.upstreams.lcd import ChainView, ContractRefused, Digits, NoSuchContract
from leasehold.core.clock import rfc3339
from leasehold.serving.routes import Cache, Registry


class PriceInfo(msgspec.Struct, frozen=True):
    """USD price of one whole unit of a currency; `key` repeats the key it stands under."""

    key: str
    symbol: str
    price_usd: str


class PricesResponse(msgspec.Struct):
    """Prices by `TICKER@PROTOCOL`, in ascending order."""

    prices: dict[str, PriceInfo]
    updated_at: str


class _Amount(msgspec.Struct, frozen=True):
    amount: Digits
    ticker: str


class OraclePrice(msgspec.Struct, frozen=True):
    """What an amount of one currency is worth in another, in smallest units."""

    amount: _Amount
    amount_quote: _Amount

    @property
    def ratio(self) -> Fraction:
        base = int(self.amount.amount)
        return Fraction(int(self.amount_quote.amount), base) if base else Fraction(0)


class _OraclePrices(msgspec.Struct):
    prices: list[OraclePrice]


@dataclass(frozen=True, slots=True)
class Prices:
    """Exact USD prices by `TICKER@PROTOCOL`."""

    values: Mapping[str, Fraction]
    texts: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, values: Mapping[str, Fraction]) -> Prices:
        ordered = dict(sorted(values.items()))
        return cls(ordered, {key: shortest(value) for key, value in ordered.items()})

    def get(self, key: str) -> Fraction | None:
        return self.values.get(key)

    def text(self, key: str) -> str | None:
        return self.texts.get(key)

    def anywhere(self, ticker: str) -> str | None:
        """Smallest key under which a currency has a price."""
        start = f"{ticker}@"
        return min((key for key in self.values if key.startswith(start)), default=None)


def worth(amount: int, decimal_digits: int, price: Fraction) -> Fraction:
    """Worth in USD of an amount in base units."""
    return Fraction(amount * price.numerator, 10**decimal_digits * price.denominator)


def protocol_prices(
    protocol: str, lpn: str, stable: OraclePrice, listed: Iterable[OraclePrice], decimals: Mapping[str, int]
) -> dict[str, Fraction]:
    """USD prices of one protocol; currencies whose decimals are unknown are left out."""
    lpn_key = f"{lpn}@{protocol}"
    lpn_digits = decimals.get(lpn_key)
    stable_digits = decimals.get(f"{stable.amount_quote.ticker}@{protocol}")
    if lpn_digits is None or stable_digits is None:
        return {}
    lpn_usd = stable.ratio * Fraction(10) ** (lpn_digits - stable_digits)
    found = {lpn_key: lpn_usd}
    for one in listed:
        key = f"{one.amount.ticker}@{protocol}"
        digits = decimals.get(key)
        if digits is not None and key != lpn_key:
            found[key] = one.ratio * lpn_usd * Fraction(10) ** (digits - lpn_digits)
    return found


async def read_prices(
    view: ChainView, oracles: Mapping[str, str], decimals: Mapping[str, int], last: Prices | None
) -> Prices:
    """Prices as of a view. An oracle whose own refusal leaves it without prices keeps its last good ones; an upstream
    that fails raises, so that nothing is published."""

    async def one(protocol: str, oracle: str) -> dict[str, Fraction]:
        try:
            lpn: str = await view.smart(oracle, {"base_currency": {}}, str)
            stable: OraclePrice = await view.smart(oracle, {"stable_price": {"currency": lpn}}, OraclePrice)
            listed: _OraclePrices = await view.smart(oracle, {"prices": {}}, _OraclePrices)
        except (ContractRefused, NoSuchContract):
            if last is None:
                return {}
            return {key: value for key, value in last.values.items() if key.endswith(f"@{protocol}")}
        return protocol_prices(protocol, lpn, stable, listed.prices, decimals)

    found = await asyncio.gather(*(one(name, oracle) for name, oracle in oracles.items()))
    return Prices.of({key: value for prices in found for key, value in prices.items()})


def declare(api: Registry, app: App) -> None:
    """The route of prices."""
    api.snapshot(
        "/api/prices",
        operation_id="get_prices",
        summary="Current USD prices of all supported currencies",
        tags=("prices",),
        name="Prices",
        response=PricesResponse,
        cache=Cache.snapshot(10),
    )


async def at(app: App, view: ChainView) -> Prices:
    """Prices as of a view, from every active oracle; read once however many look at that block."""
    cells = app.cells
    protocols, currencies = cells.protocols.value, cells.currencies.value

    async def read() -> Prices:
        oracles = {
            name: one.contracts.oracle for name, one in protocols.items() if one.is_active and one.contracts.oracle
        }
        decimals = {key: info.decimal_digits for key, info in currencies.by_key.items()}
        return await read_prices(view, oracles, decimals, cells.prices.get())

    found: Prices = await view.once(("prices", cells.protocols.version, cells.currencies.version), read)
    return found


async def refresh(app: App) -> bool:
    """Read every active oracle at the newest block."""
    cells = app.cells
    head = await app.upstreams.node.head()
    last = cells.prices.get()
    found = await at(app, app.upstreams.reads.at(head.height))
    if found == last and head.height == cells.prices.height:
        return False
    changed = cells.prices.put(found, height=head.height, time_ns=head.time_ns)
    infos = {key: PriceInfo(key, key.partition("@")[0], text) for key, text in found.texts.items()}
    moment = rfc3339(app.clock.now_ns(), digits="grouped").removesuffix("Z") + "+00:00"
    await app.publish("/api/prices", PricesResponse(infos, moment), height=head.height, time_ns=head.time_ns)
    return changed
