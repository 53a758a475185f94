"""Prices from the feeders' transactions."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from leasehold.indexer.knowledge import Protocol, Terms
from leasehold.indexer.oracles import Oracle, quotes, worth
from leasehold.indexer.tables import USD_UNIT
from leasehold.protocol.currencies import Currency
from leasehold.protocol.price import price

SECOND = 10**9
TERMS = Terms(60, 700, 20, 0, 40, 1, 900, 500, 50, 12, 650, ("f",), (("USDC", 0, None), ("BTC", 1, "USDC")))
CURRENCIES = {
    "USDC": Currency("USDC", "ibc/U", "u", 6, "lpn"),
    "BTC": Currency("BTC", "ibc/B", "b", 8, "lease"),
}
LONG = Protocol("P", None, None, "USDC", "USDC", {}, CURRENCIES, TERMS, datetime(2026, 1, 1, tzinfo=UTC))


def test_a_price_is_usd_per_whole_token_in_both_kinds_of_protocol() -> None:
    """One sat for 600 micro-USDC is 60,000 USD; in a short protocol the lent token is priced through the stable one."""
    oracle = Oracle(LONG)
    oracle.feed("f", 10 * SECOND, [("BTC", "USDC", price(1, 600))])
    assert oracle.in_usd("BTC", 11 * SECOND) == 60_000 * USD_UNIT
    assert oracle.in_usd("USDC", 11 * SECOND) == USD_UNIT
    tree = (("BTC", 0, None), ("USDC", 1, "BTC"))
    terms = Terms(60, 700, 20, 0, 40, 1, 900, 500, 50, 12, 650, ("f",), tree)
    short = Oracle(replace(LONG, lpn="BTC", terms=terms))
    short.feed("f", 10 * SECOND, [("USDC", "BTC", price(600, 1))])
    assert short.in_usd("BTC", 11 * SECOND) == 60_000 * USD_UNIT


def test_after_the_window_the_last_sampled_price_stands() -> None:
    """Without fresh observations the chain has no price; valuations fall back on the last sample, not on nothing."""
    oracle = Oracle(LONG)
    assert oracle.in_usd("BTC", 5 * SECOND) is None
    oracle.feed("f", 10 * SECOND, [("BTC", "USDC", price(1, 600))])
    assert oracle.sample(10 * SECOND) == {"USDC": USD_UNIT, "BTC": 60_000 * USD_UNIT}
    assert oracle.in_usd("BTC", 10_000 * SECOND) == 60_000 * USD_UNIT


def test_observations_average_as_the_protocol_says() -> None:
    """Two samples are folded with the discount: 650 permille of the newer, 350 of the older."""
    oracle = Oracle(LONG)
    oracle.feed("f", 500 * SECOND, [("BTC", "USDC", price(1, 600))])
    oracle.feed("f", 590 * SECOND, [("BTC", "USDC", price(1, 700))])
    found = oracle.in_usd("BTC", 600 * SECOND)
    assert found is not None
    assert 60_000 * USD_UNIT < found < 70_000 * USD_UNIT


@pytest.mark.parametrize(
    "call",
    [None, {}, {"feed_prices": {}}, {"feed_prices": {"prices": [{"amount": {"amount": "x"}}]}}, {"feed_prices": 1}],
)
def test_what_is_no_feed_has_no_quotes(call: object) -> None:
    """Other messages and bent ones are simply no feed."""
    assert quotes(call) is None


def test_worth_is_floored_and_unknown_without_a_price() -> None:
    """Base units times price over the token's power of ten."""
    assert worth(1, 3 * USD_UNIT, 1) == 3 * USD_UNIT // 10
    assert worth(1, None, 6) is None
