"""Averages, the tree of prices and alarms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.protocol.errors import ComputationOverflow, NoPrice
from leasehold.protocol.oracle import (
    Edge,
    Observation,
    PriceConfig,
    PriceTree,
    average,
    fires_above,
    fires_below,
    stable_price,
)
from leasehold.protocol.price import Price, add, add_exact, cross, inverse, multiply, price

SECOND = 1_000_000_000
NOW = 1_000 * SECOND
CONFIG = PriceConfig(500, 5, 12, 750)
TREE = PriceTree(
    [
        Edge("USDC", 0, None),
        Edge("OSMO", 1, "USDC"),
        Edge("ATOM", 3, "OSMO"),
        Edge("ST_ATOM", 6, "ATOM"),
        Edge("BTC", 2, "USDC"),
    ]
)


def _seen(seconds_ago: int, quote: int, feeder: str = "one") -> Observation:
    return Observation(feeder, NOW - seconds_ago * SECOND, Price(1, quote))


def test_the_sheets_vector() -> None:
    """Last observations of each feeder are averaged per period and the periods are folded."""
    seen = [_seen(12, 5160), _seen(7, 5500), _seen(6, 5010), _seen(6, 4990, "two"), _seen(2, 5000)]
    assert average(seen, CONFIG, NOW, 2) == Price(1, 5010)


def test_feeders_and_age() -> None:
    """A price needs enough feeders inside the window, which ends before its oldest instant."""
    with pytest.raises(NoPrice):
        average([], CONFIG, NOW, 1)
    with pytest.raises(NoPrice):
        average([_seen(60, 1)], CONFIG, NOW, 1)
    with pytest.raises(NoPrice):
        average([_seen(1, 5)], CONFIG, NOW, 4)
    assert average([_seen(59, 7)], CONFIG, NOW, 1) == Price(1, 7)


def test_a_full_discount_fails_at_the_second_period() -> None:
    """Nothing is left to weigh the past with, and zero is no price."""
    with pytest.raises(ComputationOverflow):
        average([_seen(12, 5), _seen(2, 5)], CONFIG._replace(discount_factor=1000), NOW, 1)


def test_paths_along_the_tree() -> None:
    """Hops go up to the common ancestor and down again."""
    assert TREE.swap_path("ST_ATOM", "BTC") == [(6, "ATOM"), (3, "OSMO"), (1, "USDC"), (2, "BTC")]
    assert TREE.swap_path("USDC", "ATOM") == [(1, "OSMO"), (3, "ATOM")]
    assert TREE.swap_path("ATOM", "ATOM") == []


def test_cross_rates_multiply_upwards() -> None:
    """A price in the base is the product of the edges, in the stable a quotient of two."""
    edges = {("ST_ATOM", "ATOM"): Price(2, 3), ("ATOM", "OSMO"): Price(1, 10), ("OSMO", "USDC"): Price(5, 1)}
    value = TREE.base_price("ST_ATOM", lambda base, quote: edges[base, quote])
    assert value == Price(1, 3)
    assert TREE.base_price("USDC", lambda base, quote: edges[base, quote]) == Price(1, 1)
    assert stable_price(Price(1, 3), Price(1, 3)) == Price(1, 1)


def test_alarms_compare_as_the_sheet_says() -> None:
    """Below fires strictly, above at equality."""
    assert fires_below(Price(1, 100), Price(1, 99))
    assert not fires_below(Price(1, 100), Price(1, 100))
    assert fires_above(Price(1, 100), Price(1, 100))
    assert not fires_above(Price(1, 100), Price(1, 99))


legs = st.integers(1, 2**100)


@given(legs, legs, legs, legs)
def test_prices_stay_in_128_bits(a: int, b: int, c: int, d: int) -> None:
    """Every operation yields reduced legs of 128 bits, or says that it can't."""
    p, q = price(a, b), price(c, d)
    try:
        results = [cross(p, q), add_exact(p, q), multiply(p, c, d)]
    except ComputationOverflow:
        return
    for result in results:
        if result is not None:
            assert 0 < max(result).bit_length() <= 128
            assert price(*result) == result


@given(st.integers(1, 2**60), st.integers(1, 2**60), st.integers(1, 2**60), st.integers(1, 2**60))
def test_small_prices_are_exact(a: int, b: int, c: int, d: int) -> None:
    """Within 128 bits nothing is lost: crossing with the inverse is one, adding is exact and commutes."""
    p, q = price(a, b), price(c, d)
    assert cross(p, inverse(p)) == Price(1, 1)
    assert add(p, q) == add(q, p)
