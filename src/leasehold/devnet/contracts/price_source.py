"""The oracle as other contracts ask it: prices in the lent currency, checked and with the texts of a failed fetch."""

from __future__ import annotations

import msgspec

from leasehold.devnet.wasm.contract import ContractError, Querier
from leasehold.protocol.currencies import CurrencySet
from leasehold.protocol.errors import Refused
from leasehold.protocol.messages.values import BasePrice
from leasehold.protocol.price import IDENTITY, Price, total

_DECODE = msgspec.json.Decoder(BasePrice).decode
_BASE_CURRENCY = b'{"base_currency":{}}'


class PriceSource:
    """Prices of one sub-protocol from its oracle."""

    __slots__ = ("_currencies", "_querier", "address")

    def __init__(self, address: str, querier: Querier, currencies: CurrencySet) -> None:
        self.address = address
        self._querier = querier
        self._currencies = currencies

    def checked(self) -> PriceSource:
        """Itself, refused when the address is no oracle of the lent currency."""
        try:
            base = msgspec.json.decode(self._querier.smart(self.address, _BASE_CURRENCY))
        except ContractError as error:
            raise Refused(f"[Oracle; Stub] Failed to query configuration! Cause: {error}") from None
        if base != self._currencies.lpn.ticker:
            raise Refused(
                "[Oracle; Stub] Invalid configuration! Cause: [Currency] Expected currency"
                f" {self._currencies.lpn.ticker}, found {base}"
            )
        return self

    def price(self, ticker: str) -> Price:
        """Price of a currency in the lent one; one, and no question, for the lent one itself."""
        if ticker == self._currencies.lpn.ticker:
            return IDENTITY
        try:
            answer = self._querier.smart(self.address, b'{"base_price":{"currency":"%b"}}' % ticker.encode())
        except ContractError as error:
            raise Refused(
                f"[Oracle] Failed to fetch price for the pair {ticker}/{self._currencies.lpn.ticker}!"
                f" Possibly no price is available! Cause: {error}"
            ) from None
        return _DECODE(answer).value()

    def in_lpn(self, amount: int, ticker: str) -> int:
        """Worth of an amount in the lent currency, floored."""
        return _total(amount, self.price(ticker))

    def from_lpn(self, amount: int, ticker: str) -> int:
        """How much of a currency an amount of the lent one is worth, floored."""
        value = self.price(ticker)
        return _total(amount, Price(value.quote, value.amount))


def _total(amount: int, value: Price) -> int:
    worth = total(amount, value)
    if worth is None:
        raise Refused(f"[Oracle] Overflow during calculating the total value. `amount: {amount}, price: {value}`")
    return worth
