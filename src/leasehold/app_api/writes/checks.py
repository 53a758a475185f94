"""What bodies of write routes are held against; every refusal names the member."""

from __future__ import annotations

import re
from typing import Annotated

import msgspec

from leasehold.app_api.app import App
from leasehold.app_api.upstreams.data import Currency, Mapping
from leasehold.core.addresses import Bech32Prefixes
from leasehold.core.errors import InvalidInput

LARGEST_AMOUNT = 2**128 - 1
_AMOUNT = re.compile(r"[1-9][0-9]{0,38}")
# What the database and the program of the other chain hold; heights and instants stay far below.
U63 = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Permille = Annotated[int, msgspec.Meta(ge=1, le=1000)]
Ltd = Annotated[int, msgspec.Meta(ge=1, le=2**32 - 1)]


def amount(text: str, field: str = "amount") -> str:
    """A positive integer of at most 128 bits, in base units."""
    if not _AMOUNT.fullmatch(text) or int(text) > LARGEST_AMOUNT:
        raise InvalidInput(f"{field} must be a positive base-unit integer", field=field)
    return text


def proposal(text: str, field: str = "proposal_id") -> str:
    """Number of a proposal."""
    if not _AMOUNT.fullmatch(text) or int(text) >= 2**64:
        raise InvalidInput(f"{field} must be the number of a proposal", field=field)
    return text


def prefixes(app: App) -> Bech32Prefixes:
    return Bech32Prefixes(app.settings.identity.prefix)


def lease(app: App, text: str, field: str = "lease_address") -> str:
    """Address of a contract of our chain."""
    prefixes(app).contract_bytes(text, field=field)
    return text


def wallet(app: App, text: str, field: str = "sender") -> str:
    """Address of an account or contract of our chain."""
    prefixes(app).account_bytes(text, field=field)
    return text


def validator(app: App, text: str, field: str = "validator_address") -> str:
    """Operator address of our chain."""
    prefixes(app).operator_bytes(text, field=field)
    return text


def bond_denom(app: App, text: str | None, *, resolved: bool) -> str:
    """The denom that can be staked; only where the answer comes complete may it be left out."""
    known = app.settings.identity.base_denom
    if text is None and not resolved:
        raise InvalidInput("Object missing required field `denom`", field="denom")
    if text is not None and text != known:
        raise InvalidInput(f"only {known} can be staked", field="denom")
    return known


def currencies(app: App, protocol: str) -> dict[str, tuple[Currency, Mapping]]:
    """Currencies that a protocol knows, by ticker, in the order of the index."""
    return {
        one.ticker: (one, mapping)
        for one in app.cells.indexed_currencies.value
        for mapping in one.protocols
        if mapping.protocol == protocol
    }


def denom_of(app: App, protocol: str, ticker: str, field: str) -> str:
    """Bank denom of a currency as a protocol knows it."""
    found = currencies(app, protocol).get(ticker)
    if found is None or not found[1].bank_symbol:
        raise InvalidInput(f"protocol {protocol} does not know {ticker}", field=field)
    return found[1].bank_symbol


def pool_denom(app: App, protocol: str) -> str:
    """Bank denom of the currency that a protocol lends."""
    for _, mapping in currencies(app, protocol).values():
        if mapping.group == "lpn":
            return mapping.bank_symbol
    raise InvalidInput(f"the pool currency of protocol {protocol} is not known", field="protocol")


def leasable(app: App, protocol: str) -> list[str]:
    """Tickers that can be leased from a protocol."""
    return [ticker for ticker, (_, mapping) in currencies(app, protocol).items() if mapping.group == "lease"]
