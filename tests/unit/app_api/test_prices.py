"""Prices from oracles, exact."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.app_api.conftest import price

from leasehold.app_api.resources.prices import OraclePrice, Prices, protocol_prices, read_prices
from leasehold.app_api.upstreams.failures import ChainFailure
from leasehold.app_api.upstreams.lcd import ContractRefused

AMOUNTS = st.integers(min_value=1, max_value=10**30)


def oracle_price(*parts: Any) -> OraclePrice:
    return msgspec.convert(price(*parts), OraclePrice)


@given(AMOUNTS, AMOUNTS, AMOUNTS, AMOUNTS, st.integers(0, 18), st.integers(0, 18))
def test_a_price_is_exact(base: int, quote: int, lpn: int, stable: int, digits: int, lpn_digits: int) -> None:
    """USD per whole unit is the product of two ratios and a power of ten, without rounding."""
    found = protocol_prices(
        "P",
        "LPN",
        oracle_price(lpn, "LPN", stable, "USD"),
        [oracle_price(base, "A", quote, "LPN"), oracle_price(1, "UNKNOWN", 1, "LPN")],
        {"LPN@P": lpn_digits, "USD@P": 6, "A@P": digits},
    )
    lpn_usd = Fraction(stable, lpn) * Fraction(10) ** (lpn_digits - 6)
    assert found == {"LPN@P": lpn_usd, "A@P": Fraction(quote, base) * lpn_usd * Fraction(10) ** (digits - lpn_digits)}


def test_a_protocol_without_known_decimals_has_no_prices() -> None:
    """Without the decimals of its pool currency nothing can be said."""
    assert protocol_prices("P", "LPN", oracle_price(1, "LPN", 1, "USD"), [], {"USD@P": 6}) == {}


class View:
    """A chain whose oracles answer or raise as told."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def smart(self, contract: str, query: Any, kind: Any) -> Any:
        if contract == "bad":
            raise self.error
        answers = {
            "base_currency": "USD",
            "stable_price": price(1, "USD", 1, "USD"),
            "prices": {"prices": [price(1, "A", 2, "USD")]},
        }
        return msgspec.convert(answers[next(iter(query))], kind)


DECIMALS = {"USD@P": 6, "A@P": 6, "USD@Q": 6, "A@Q": 6}


async def test_an_oracle_that_refuses_keeps_its_last_prices() -> None:
    """Its own entries stay as they were, the others move on."""
    last = Prices.of({"A@Q": Fraction(7), "A@P": Fraction(1)})
    view: Any = View(ContractRefused("no price", upstream="chain"))
    found = await read_prices(view, {"P": "good", "Q": "bad"}, DECIMALS, last)
    assert dict(found.values) == {"A@P": Fraction(2), "A@Q": Fraction(7), "USD@P": Fraction(1)}
    assert list(found.values) == sorted(found.values)


async def test_a_failing_chain_publishes_nothing() -> None:
    """A chain that can't be read is a failure of the refresh, not a market without prices."""
    view: Any = View(ChainFailure("Request failed", upstream="chain"))
    with pytest.raises(ChainFailure):
        await read_prices(view, {"P": "good", "Q": "bad"}, DECIMALS, None)
