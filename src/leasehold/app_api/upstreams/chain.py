"""Module queries of the chain, typed: wallets, denoms and the tax on fees, asked of the LCD."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any
from urllib.parse import quote

import msgspec

from leasehold.app_api.upstreams.bulk import REMEMBERED, Question
from leasehold.app_api.upstreams.failures import ChainFailure
from leasehold.app_api.upstreams.lcd import ChainView, Digits, Lcd, read_key
from leasehold.chain.client.contracts import balances_request, members


class Coin(msgspec.Struct, frozen=True):
    """An amount of a denom in base units."""

    denom: str
    amount: Digits


class DecimalCoin(msgspec.Struct, frozen=True):
    """An amount of a denom where the chain keeps fractions of base units."""

    denom: str
    amount: Annotated[str, msgspec.Meta(pattern=r"^[0-9]{1,78}(\.[0-9]{1,18})?$")]


class Page(msgspec.Struct, frozen=True):
    next_key: str | None = None


class _Balances(msgspec.Struct):
    balances: list[Coin]
    pagination: Page | None = None


class MinimumPrice(msgspec.Struct, frozen=True):
    denom: str
    min_price: str
    ticker: str = ""


class DexFees(msgspec.Struct, frozen=True):
    accepted_denoms_min_prices: list[MinimumPrice] = []


class TaxParams(msgspec.Struct, frozen=True):
    dex_fee_params: list[DexFees] = []


class _Tax(msgspec.Struct):
    params: TaxParams


class DenomUnit(msgspec.Struct, frozen=True):
    denom: str
    exponent: int
    aliases: list[str] = []


class DenomMetadata(msgspec.Struct, frozen=True):
    """What the bank module knows about a denom."""

    description: str
    denom_units: list[DenomUnit]
    base: str
    display: str
    name: str
    symbol: str


class _Metadata(msgspec.Struct):
    metadata: DenomMetadata


class AccountResponse(msgspec.Struct, frozen=True):
    """A raw auth account; its members depend on its type."""

    account: dict[str, Any]


async def balances(view: ChainView, address: str) -> list[Coin]:
    """Every coin of an account, in the bank's order."""
    pages = await view.pages(_balances_of(address), _Balances, context="balances")
    return [coin for page in pages for coin in page.balances]


@lru_cache(maxsize=REMEMBERED)
def balances_question(address: str) -> Question:
    """The same as one of many questions."""
    path, data = balances_request(address)
    return Question(read_key(_balances_of(address), _Balances), path, data.hex(), _read_balances)


def _read_balances(answer: bytes) -> _Balances | None:
    """An account's coins; one with more than a page has is left to the LCD."""
    found = members(answer)
    if any(members(page).get(1, [b""])[0] for page in found.get(2, ())):
        return None
    coins = [members(coin) for coin in found.get(1, ())]
    return _Balances([Coin(one[1][0].decode(), one[2][0].decode()) for one in coins])


def _balances_of(address: str) -> str:
    return f"/cosmos/bank/v1beta1/balances/{part(address)}"


async def tax_params(view: ChainView, namespace: str) -> TaxParams:
    found = await view.read(f"/{namespace}/tax/v2/params", _Tax, context="tax params")
    params: TaxParams = found.params
    return params


async def account(lcd: Lcd, address: str) -> AccountResponse:
    return await lcd.read(f"/cosmos/auth/v1beta1/accounts/{part(address)}", AccountResponse, context="account")


async def denom_metadata(lcd: Lcd, denom: str) -> DenomMetadata | None:
    """Metadata of a denom, None where none is registered."""
    target = f"/cosmos/bank/v1beta1/denoms_metadata/{part(denom)}"
    try:
        return (await lcd.read(target, _Metadata, context="denom metadata")).metadata
    except ChainFailure as error:
        if error.reply_status == 404:
            return None
        raise


def part(text: str) -> str:
    """Part of a path."""
    # An address needs no escaping, and is what this is asked about most.
    return text if text.isascii() and text.isalnum() else quote(text, safe="")
