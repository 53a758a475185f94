"""The pool: deposits, loans, rewards and who may do what."""

from __future__ import annotations

import pytest
from tests.unit.devnet.contracts.lending import LENDER, OWNER, USER, Lending, Refusal


@pytest.fixture
def lending() -> Lending:
    return Lending()


def test_a_deposit_is_worth_its_receipts(lending: Lending) -> None:
    """What goes in comes out while nothing was lent, and the events say so."""
    lending.tell("lpp", {"deposit": []}, USER, ("USDC", 5_000_000))
    assert lending.seen("lp-deposit")[0]["receipts"] == "5000000"
    assert lending.ask("lpp", {"balance": {"address": USER}}) == {"amount": "5000000"}
    lending.tell("lpp", {"burn": {"amount": {"amount": "2000000"}}}, USER)
    assert lending.seen("lp-withdraw")[0]["close"] == "false"
    lending.tell("lpp", {"burn": {"amount": {"amount": "3000000"}}}, USER)
    assert lending.seen("lp-withdraw")[0]["close"] == "true"
    assert lending.held(USER, "USDC") == 10**12
    with pytest.raises(Refusal, match="The deposit does not exist"):
        lending.ask("lpp", {"rewards": {"address": USER}})


def test_exactly_one_coin_of_the_right_currency(lending: Lending) -> None:
    """None, another and more than one are refused, and nothing changes."""
    for coins, text in (
        ((), "Expecting funds of USDC but found none"),
        ((("OSMO", 5),), "pretending to be the bank symbol of the currency with ticker 'USDC'"),
        ((("USDC", 5), ("OSMO", 5)), "Expecting funds of USDC but found extra ones"),
    ):
        with pytest.raises(Refusal, match=text):
            lending.tell("lpp", {"deposit": []}, USER, *coins)
    assert lending.held(USER, "USDC") == 10**12


def test_only_leases_borrow(lending: Lending) -> None:
    """An account is no contract, and a contract of another code is no lease."""
    with pytest.raises(Refusal, match="No such contract"):
        lending.tell("lpp", {"open_loan": {"amount": {"amount": "5", "ticker": "USDC"}}}, USER)
    with pytest.raises(Refusal, match="Expecting code id"):
        lending.tell("lpp", {"open_loan": {"amount": {"amount": "5", "ticker": "USDC"}}}, lending.at["profit"])


def test_rewards_follow_receipts(lending: Lending) -> None:
    """A distribution is shared by receipts and paid on claim, once."""
    lending.tell("lpp", {"deposit": []}, USER, ("USDC", 10**12))
    lending.give(OWNER, "NLS", 1000)
    lending.tell("lpp", {"distribute_rewards": []}, OWNER, ("NLS", 1000))
    assert lending.ask("lpp", {"rewards": {"address": USER}}) == {"rewards": {"amount": "500"}}
    lending.tell("lpp", {"claim_rewards": {"other_recipient": None}}, USER)
    assert lending.held(USER, "NLS") == 500
    with pytest.raises(Refusal, match="No pending rewards"):
        lending.tell("lpp", {"claim_rewards": {}}, USER)


def test_capacity_under_a_minimal_utilization(lending: Lending) -> None:
    """Governance can stop deposits that would leave too much unlent."""
    assert lending.ask("lpp", {"deposit_capacity": []}) is None
    lending.govern("lpp", {"min_utilization": {"min_utilization": 500}})
    assert lending.ask("lpp", {"deposit_capacity": []}) == {"amount": "0"}
    with pytest.raises(Refusal, match="Utilization is below the set minimal rate"):
        lending.tell("lpp", {"deposit": []}, LENDER, ("USDC", 5))


def test_more_than_is_free_can_not_be_withdrawn(lending: Lending) -> None:
    """Lent money is not there; the word liquidity is in the text."""
    lending.open()
    with pytest.raises(Refusal, match="No liquidity"):
        lending.tell("lpp", {"burn": {"amount": {"amount": str(10**12)}}}, LENDER)
    assert lending.ask("lpp", {"lpp_balance": []})["total_principal_due"]["amount"] == "150000000"
    assert lending.ask("lpp", {"quote": {"amount": {"amount": str(10**13), "ticker": "USDC"}}}) == "no_liquidity"


def test_the_pools_administrator_is_the_leaser(lending: Lending) -> None:
    """Nobody else changes the lease code or closes the deposits."""
    for message in ({"new_lease_code": {"lease_code": 7}}, {"close_all_deposits": []}):
        with pytest.raises(Refusal, match="Unauthorized access"):
            lending.tell("lpp", message, OWNER)
    lending.tell("lpp", {"new_lease_code": {"lease_code": 7}}, lending.at["leaser"])
    assert lending.ask("lpp", {"config": []})["lease_code"] == 7
