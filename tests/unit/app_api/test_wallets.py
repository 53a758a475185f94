"""What is made of a wallet's coins and delegations."""

from __future__ import annotations

from fractions import Fraction

import msgspec
import pytest
from tests.unit.app_api.test_rules import GATED, LONG, SHORT, changed, restricted

from leasehold.app_api.gating.rules import FilterContext
from leasehold.app_api.resources import balances, currencies, staking
from leasehold.app_api.resources.prices import Prices
from leasehold.app_api.upstreams.chain import Coin, DecimalCoin
from leasehold.app_api.upstreams.chain_staking import Delegation, DelegationAnswer, Reward, Rewards
from leasehold.app_api.upstreams.data import Currency, Mapping

HIDDEN = changed(LONG, name="A-HIDDEN", is_active=False)
ATOM = Currency(
    "ATOM", 6, True, tuple(Mapping(name, "lease", "ibc/A", "a") for name in ("P-SHORT", "P-LONG", "A-HIDDEN"))
)
PICA = Currency("PICA", 12, True, (Mapping("P-LONG", "lease", "ibc/P", "p"),))
CATALOGUE = currencies.Catalogue.of(currencies.build(GATED, (ATOM, PICA), "ulsh"))
CONTEXT = FilterContext.of(GATED, (LONG, SHORT, HIDDEN))


@pytest.mark.parametrize(
    ("prices", "key", "usd"),
    [
        ({"ATOM@P-LONG": Fraction(3), "ATOM@P-SHORT": Fraction(4)}, "ATOM@P-LONG", "4.5"),
        ({"ATOM@P-SHORT": Fraction(4)}, "ATOM@P-SHORT", "6"),
        ({"ATOM@A-HIDDEN": Fraction(2)}, "ATOM@P-LONG", "3"),
        ({"ATOM@ZZ": Fraction(1, 3), "ATOM@Y": Fraction(2, 3)}, "ATOM@P-LONG", "1"),
        ({}, "ATOM@P-LONG", "0"),
    ],
)
def test_a_shared_denom_belongs_to_one_protocol(prices: dict[str, Fraction], key: str, usd: str) -> None:
    """A visible protocol that prices it, else a visible one, by the smallest key; the price falls back to any."""
    found = balances.build([Coin("ibc/A", "1500000")], CONTEXT, CATALOGUE, Prices.of(prices))
    (coin,) = found.balances
    assert (coin.key, coin.symbol, coin.amount, coin.amount_usd) == (key, "ibc/A", "1500000", usd)
    assert found.total_value_usd == usd


def test_only_known_and_shown_coins_are_listed() -> None:
    """Unknown denoms, currencies that are not configured and those in ignore_all are left out, and of the sum too."""
    coins = [Coin("ibc/UNKNOWN", "7"), Coin("ibc/P", "9" * 30), Coin("ibc/A", "1")]
    prices = Prices.of({"ATOM@P-LONG": Fraction(1), "PICA@P-LONG": Fraction(1)})
    found = balances.build(coins, CONTEXT, CATALOGUE, prices)
    assert [one.denom for one in found.balances] == ["ibc/A"]
    assert found.total_value_usd == "0.000001"
    ignoring = FilterContext.of(restricted(ignore_all=("ATOM",)), (LONG, SHORT))
    assert msgspec.to_builtins(balances.build(coins, ignoring, CATALOGUE, prices)) == {
        "balances": [],
        "total_value_usd": "0",
    }


def test_rewards_of_other_denoms_are_not_added_up() -> None:
    """Totals are of the bond denom, in whole units; single rewards keep their decimals."""
    rewards = Rewards(
        [Reward("v1", [DecimalCoin("ulsh", "1234.5678"), DecimalCoin("ibc/A", "3.9")]), Reward("v2", None)],
        [DecimalCoin("ibc/A", "3.9"), DecimalCoin("ulsh", "1234.5678")],
    )
    delegations = [
        DelegationAnswer(Delegation("v1", "10.5"), Coin("ulsh", "10")),
        DelegationAnswer(Delegation("v2", "5"), Coin("ulsh", "5")),
    ]
    found = staking.positions(delegations, [], rewards, {}, "ulsh")
    assert (found.total_staked, found.total_rewards) == ("15", "1234")
    assert [one.validator_moniker for one in found.delegations] == [None, None]
    assert [[coin.amount for coin in one.rewards] for one in found.rewards] == [["1234.5678", "3.9"], []]
