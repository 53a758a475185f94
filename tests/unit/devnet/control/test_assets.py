"""Coins as people write them."""

from __future__ import annotations

import pytest

from leasehold.core.errors import InvalidInput
from leasehold.core.settings import Identity
from leasehold.devnet.control.assets import Assets
from leasehold.devnet.genesis.networks import NEUTRON


@pytest.mark.parametrize(
    ("text", "amount"), [("5LSH", 5_000_000), ("0.5 LSH", 500_000), ("17ulsh", 17), ("1ALL_ETH", 10**18)]
)
def test_tickers_count_whole_units_and_denoms_smallest_ones(text: str, amount: int) -> None:
    """A ticker brings its decimals, a denom has none."""
    assert Assets(Identity()).coin(text)[1] == amount


def test_a_network_may_be_named() -> None:
    """Two networks have ATOM: the first one's is meant unless the other is named."""
    assets = Assets(Identity())
    atom = next(asset for asset in NEUTRON.assets if asset.ticker == "ATOM")
    assert assets.coin("1NEUTRON:ATOM")[0] == NEUTRON.here(atom)
    assert assets.coin("1ATOM")[0] == assets.coin("1OSMOSIS:ATOM")[0] != NEUTRON.here(atom)


@pytest.mark.parametrize("text", ["", "5", "LSH", "-5LSH", "0.0000001LSH", "1.5ulsh", "5 5LSH", "5LSH,6ulsh"])
def test_what_is_no_coin_is_refused(text: str) -> None:
    """Amount and name, no finer than the smallest unit."""
    with pytest.raises(InvalidInput):
        Assets(Identity()).coin(text)
