"""A lender's positions: receipts of pools, and what they are worth."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import msgspec

from leasehold.app_api.display import double, fixed, number, shortest
from leasehold.app_api.resources import prices
from leasehold.app_api.resources.currencies import Catalogue
from leasehold.app_api.resources.protocols import Contracts
from leasehold.app_api.upstreams.bulk import Question, smart_question
from leasehold.app_api.upstreams.data import Pool
from leasehold.app_api.upstreams.lcd import ChainView, Digits


class EarnPosition(msgspec.Struct):
    """A lender's share of a pool: receipts, and what they are worth."""

    protocol: str
    lpp_address: str
    currency: str
    deposited_nlpn: str
    deposited_lpn: str
    deposited_usd: str | None
    lpp_price: str
    current_apy: float


class _Coin(msgspec.Struct):
    amount: Digits


class _PoolPrice(msgspec.Struct):
    amount: _Coin
    amount_quote: _Coin


@lru_cache(maxsize=256)
def percent(text: str | None) -> float:
    """A percentage of the index as a JSON number, 0 where it is unknown."""
    return double(number(text) or Fraction(0))


def apy_of(figures: dict[str, Pool], protocol: str) -> float:
    figure = figures.get(protocol.upper())
    return percent(figure.earn_apr if figure.earn_apr is not None else figure.apr) if figure else 0.0


def usd_of(amount: int, ticker: str, protocol: str, catalogue: Catalogue, valued: prices.Prices) -> Fraction | None:
    """Worth of an amount of a protocol's currency by that protocol's own price."""
    key = f"{ticker}@{protocol}"
    info, price = catalogue.by_key.get(key), valued.get(key)
    if info is None or price is None:
        return None
    return prices.worth(amount, info.decimal_digits, price)


@dataclass(frozen=True, slots=True)
class Worth:
    """What a pool's receipts are worth: so many of them this much of its currency."""

    currency: str
    receipts: int
    amount: int
    price: str

    def of(self, receipts: int) -> int:
        """Worth of some receipts."""
        return receipts * self.amount // self.receipts if self.receipts else receipts


_WORTH: tuple[tuple[Any, Any], ...] = (({"price": []}, _PoolPrice), ({"lpn": []}, str))


def _receipts_query(lender: str) -> dict[str, dict[str, str]]:
    return {"balance": {"address": lender}}


def worth_questions(pool: str) -> list[Question]:
    """What the worth of a pool's receipts is read from, as some of many questions."""
    return [smart_question(pool, query, kind) for query, kind in _WORTH]


def receipts_question(pool: str, lender: str) -> Question:
    """A lender's receipts as one of many questions."""
    return smart_question(pool, _receipts_query(lender), _Coin)


async def read_worth(view: ChainView, pool: str) -> Worth:
    """The worth of a pool's receipts as of a view, made once for all lenders."""

    async def read() -> Worth:
        price, currency = await view.smarts(pool, _WORTH)
        receipts, amount = int(price.amount.amount), int(price.amount_quote.amount)
        ratio = Fraction(amount, receipts) if receipts else Fraction(1)
        return Worth(currency, receipts, amount, fixed(ratio, 6))

    found: Worth = await view.once(("worth", pool), read)
    return found


async def read_receipts(view: ChainView, pool: str, lender: str) -> int:
    """A lender's receipts as of a view."""
    held: _Coin = await view.smart(pool, _receipts_query(lender), _Coin)
    return int(held.amount)


async def read_position(
    view: ChainView,
    protocol: str,
    contracts: Contracts,
    receipts: int,
    figures: dict[str, Pool],
    catalogue: Catalogue,
    valued: prices.Prices,
) -> tuple[EarnPosition, Fraction] | None:
    """The position that receipts of a pool are, with its worth in USD; None without receipts."""
    if receipts == 0:
        return None
    worth = await read_worth(view, contracts.lpp)
    deposited = worth.of(receipts)
    usd = usd_of(deposited, worth.currency, protocol, catalogue, valued)
    position = EarnPosition(
        protocol,
        contracts.lpp,
        worth.currency,
        str(receipts),
        str(deposited),
        None if usd is None else shortest(usd),
        worth.price,
        apy_of(figures, protocol),
    )
    return position, usd or Fraction(0)


async def read_positions(
    view: ChainView,
    registry: Mapping[str, Contracts],
    lender: str,
    figures: dict[str, Pool],
    catalogue: Catalogue,
    valued: prices.Prices,
) -> list[tuple[EarnPosition, Fraction]]:
    """A lender's positions in the pools of some protocols, in their order."""

    async def one(protocol: str, contracts: Contracts) -> tuple[EarnPosition, Fraction] | None:
        receipts = await read_receipts(view, contracts.lpp, lender)
        return await read_position(view, protocol, contracts, receipts, figures, catalogue, valued)

    found = await asyncio.gather(*(one(name, contracts) for name, contracts in registry.items()))
    return [position for position in found if position is not None]
