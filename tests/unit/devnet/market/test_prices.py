"""The market model: seeded, scripted, and exact where it meets the chain."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.devnet.market.prices import DIGITS, Move, PriceModel, quotation

HOUR = 3600


def _model(seed: int = 1) -> PriceModel:
    return PriceModel(seed, 0, native="LSH")


def test_the_same_seed_walks_the_same_way() -> None:
    """Two models of one seed agree at every step; another seed does not."""
    one, two, other = _model(), _model(), _model(2)
    for hour in range(1, 50):
        for model in (one, two, other):
            model.advance(hour * HOUR)
        assert one.prices() == two.prices()
    assert one.prices() != other.prices()


def test_a_scripted_move_ends_where_it_should() -> None:
    """Half way through it is half way, in proportions; afterwards it stays."""
    moved, plain = _model(), _model()
    moved.script(Move("ALL_BTC", HOUR, 2 * HOUR, 0.64))
    for hour, left in ((1, 1.0), (2, 0.8), (3, 0.64), (9, 0.64)):
        moved.advance(hour * HOUR)
        plain.advance(hour * HOUR)
        assert moved.usd("ALL_BTC") / plain.usd("ALL_BTC") == pytest.approx(left)
        assert moved.usd("ATOM") == plain.usd("ATOM")


def test_what_follows_an_asset_moves_with_it() -> None:
    """A wrapped bitcoin falls as bitcoin does, and the market takes everything along but stable coins."""
    moved, plain = _model(), _model()
    moved.script_market(0, HOUR, 0.5)
    moved.advance(HOUR)
    plain.advance(HOUR)
    ratio = {ticker: moved.usd(ticker) / plain.usd(ticker) for ticker in moved.tickers}
    assert ratio["WBTC"] == pytest.approx(ratio["ALL_BTC"]) == pytest.approx(0.5)
    assert ratio["ATOM"] == pytest.approx(0.5**1.2)
    assert ratio["USDC_NOBLE"] == 1


def test_a_price_that_is_set_is_the_price() -> None:
    """Set now, and walked on from there."""
    model = _model()
    model.advance(HOUR)
    model.set_price("ATOM", 9.0)
    assert model.usd("ATOM") == pytest.approx(9.0)
    model.advance(2 * HOUR)
    assert 7 < model.usd("ATOM") < 11


def test_going_back_walks_the_same_way_again() -> None:
    """A restored model repeats itself, moves included."""
    model = _model()
    model.advance(HOUR)
    state = model.state()
    model.script(Move("ATOM", HOUR, HOUR, 0.5))
    model.advance(9 * HOUR)
    first = model.usd("ALL_BTC"), model.usd("ATOM")
    model.restore(state)
    model.advance(9 * HOUR)
    assert model.usd("ALL_BTC") == first[0]
    assert model.usd("ATOM") == pytest.approx(first[1] * 2)


@given(
    base=st.floats(1e-6, 1e6),
    quote=st.floats(1e-6, 1e6),
    base_decimals=st.integers(0, 18),
    quote_decimals=st.integers(0, 18),
)
def test_a_quotation_is_close_and_its_amount_a_power_of_ten(
    base: float, quote: float, base_decimals: int, quote_decimals: int
) -> None:
    """Fed prices keep their significant digits and average exactly."""
    amount, quoted = quotation(base, base_decimals, quote, quote_decimals)
    assert set(str(amount)) <= {"1", "0"}
    wanted = base / quote * 10.0 ** (quote_decimals - base_decimals)
    assert quoted / amount == pytest.approx(wanted, rel=10.0 ** (1 - DIGITS))
