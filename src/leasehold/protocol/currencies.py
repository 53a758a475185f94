"""The currencies of one sub-protocol: tickers, denoms, decimals and groups, and which pairs have a pool.

What a contract accepts as a currency depends on its build; here that is a value given to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from leasehold.protocol.errors import Refused

LPN = "lpn"
LEASE = "lease"
NATIVE = "native"
PAYMENT_ONLY = "payment_only"


class Currency(NamedTuple):
    """A currency as the oracle lists it."""

    ticker: str
    bank_symbol: str
    dex_symbol: str
    decimal_digits: int
    group: str

    @property
    def definition(self) -> str:
        """The name of its type in error texts."""
        if self.group == LPN:
            return "currencies::lpn::impl_mod::definitions::Lpn"
        if self.group == NATIVE:
            return "currency::platform::Nls"
        title = "".join(word.capitalize() for word in self.ticker.split("_"))
        module = "payment::only" if self.group == PAYMENT_ONLY else "lease"
        return f"currencies::{module}::impl_mod::definitions::{title}"


class CurrencySet:
    """All currencies of a sub-protocol, one of them lent and one native, with the pools between them."""

    def __init__(self, currencies: Iterable[Currency], pairs: Iterable[tuple[str, str]], stable: str) -> None:
        self.all = tuple(currencies)
        self.by_ticker: Mapping[str, Currency] = {currency.ticker: currency for currency in self.all}
        self.by_bank: Mapping[str, Currency] = {currency.bank_symbol: currency for currency in self.all}
        self.by_dex: Mapping[str, Currency] = {currency.dex_symbol: currency for currency in self.all}
        self.pairs = frozenset(pairs)
        self.stable = stable
        self.lpn = next(currency for currency in self.all if currency.group == LPN)
        self.native = next(currency for currency in self.all if currency.group == NATIVE)
        self.groups: Mapping[str, frozenset[str]] = {
            "lease": frozenset(currency.ticker for currency in self.all if currency.group == LEASE),
            "lpns": frozenset((self.lpn.ticker,)),
            "native": frozenset((self.native.ticker,)),
            "payment": frozenset(self.by_ticker),
        }

    def denom(self, ticker: str) -> str:
        """The bank denom of a ticker of this set."""
        return self.by_ticker[ticker].bank_symbol

    def check_pair(self, base: str, quote: str) -> None:
        """Refuse a pair that has no pool."""
        if (base, quote) not in self.pairs:
            raise Refused(f"[Currency] No records for a pool with '{base}' and '{quote}'")

    def price_type(self, base: str, quote: str) -> str:
        """How error texts name the type of a price."""
        return f"finance::price::Price<{self.by_ticker[base].definition}, {self.by_ticker[quote].definition}>"


def check_currency(expected: str, found: str) -> None:
    """Refuse one currency where another belongs."""
    if expected != found:
        raise Refused(f"[Currency] Expected currency {expected}, found {found}")
