"""A lease through its life: opening, repayment, close, liquidation, alarms, faults of the DEX and healing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.unit.devnet.contracts.lending import ADMIN, DAY, KEEPER, SECOND, USER, Lending, Refusal


@pytest.fixture
def lending() -> Lending:
    return Lending()


def _raw(lending: Lending, lease: str) -> Any:
    return json.loads(lending.runtime.raw(lending.store, lease, b"state") or b"null")


def _status(lending: Lending, lease: str) -> Any:
    return lending.state(lease)["opened"]["status"]


def test_opening_stage_by_stage(lending: Lending) -> None:
    """Each acknowledgement is one observable stage; the coins leave with the account's confirmation."""
    lending.tell("leaser", {"open_lease": {"currency": "BTC"}}, USER, ("USDC", 100_000_000))
    lease = lending.seen("ls-request-loan")[0]["id"]
    assert lending.state(lease)["opening"]["in_progress"] == "open_ica_account"
    assert lending.held(lease, "USDC") == 250_000_000
    lending.relay(lease)
    account = lending.seen("register-ica")[0]["ica_host"]
    assert lending.state(lease)["opening"]["in_progress"] == {"transfer_out": {"ica_account": account}}
    assert lending.held(lease, "USDC") == 0
    lending.relay(lease)
    lending.relay(lease)
    assert lending.state(lease)["opening"]["in_progress"] == {"buy_asset": {"ica_account": account}}
    assert len(lending.outstanding(lease).fields["msgs"]) == 2
    lending.relay(lease, 158_730, 238_095)
    opened = lending.seen("ls-open")[0]
    assert (opened["air"], opened["loan-amount"], opened["downpayment-amount"]) == ("100", "150000000", "100000000")
    assert _status(lending, lease) == "idle"
    assert lending.state(lease)["opened"]["amount"] == {"amount": "396825", "ticker": "BTC"}
    assert list(_raw(lending, lease)) == ["OpenedActive"]


def test_a_downpayment_in_the_asset_is_not_swapped(lending: Lending) -> None:
    """Only the loan is; the down-payment is added to what it buys."""
    lending.tell("leaser", {"open_lease": {"currency": "BTC"}}, USER, ("BTC", 100_000))
    lease = lending.seen("ls-request-loan")[0]["id"]
    for _ in range(3):
        lending.relay(lease)
    assert len(lending.outstanding(lease).fields["msgs"]) == 1
    lending.relay(lease, 150_000)
    assert lending.state(lease)["opened"]["amount"]["amount"] == "250000"


def test_repaying_a_part_and_the_rest(lending: Lending) -> None:
    """Interest first, then principal; with the last unit the asset comes home with the change."""
    lease = lending.open()
    lending.advance(29 * 86_400)
    lending.feed(BTC=630)
    due = lending.state(lease)["opened"]
    lending.tell(lease, {"repay": []}, USER, ("USDC", 50_000_000))
    paid = lending.seen("ls-repay")[0]
    assert paid["due-loan-interest"] == due["due_interest"]["amount"]
    assert paid["due-margin-interest"] == due["due_margin"]["amount"]
    assert lending.held("profit", "USDC") == int(due["due_margin"]["amount"])
    lending.tell(lease, {"repay": []}, USER, ("USDC", 150_000_000))
    paid = lending.seen("ls-repay")[0]
    assert paid["loan-close"] == "true"
    assert lending.state(lease) == {
        "closing": {"amount": {"amount": "396825", "ticker": "BTC"}, "in_progress": "transfer_in_init"}
    }
    before = lending.held(USER, "USDC")
    lending.relay(lease)
    assert lending.seen("ls-close")[0]["id"] == lease
    assert lending.held(USER, "USDC") == before + int(paid["change"])
    assert lending.held(USER, "BTC") == 10**12 + 396_825
    assert lending.state(lease) == {"closed": []}
    assert lending.ask("leaser", {"leases": {"owner": USER}}) == []
    assert lending.ask("lpp", {"loan": {"lease_addr": lease}}) is None


def test_repaying_in_another_currency(lending: Lending) -> None:
    """The payment goes out, is swapped, and settles when its proceeds have arrived, not before."""
    lease = lending.open()
    lending.feed(BTC=630)
    lending.tell(lease, {"repay": []}, USER, ("OSMO", 10**9))
    stages = [_status(lending, lease)["in_progress"]["repayment"]["in_progress"]]
    lending.relay(lease)
    stages.append(_status(lending, lease)["in_progress"]["repayment"]["in_progress"])
    lending.relay(lease, 33_000_000)
    stages.append(_status(lending, lease)["in_progress"]["repayment"]["in_progress"])
    lending.relay(lease, arrived=False)
    stages.append(_status(lending, lease)["in_progress"]["repayment"]["in_progress"])
    assert stages == ["transfer_out", "swap", "transfer_in_init", "transfer_in_finish"]
    assert lending.seen("ls-repay-swap")[0]["stage"] == "transfer-in"
    lending.give(lease, "USDC", 33_000_000)
    lending.advance(6)
    lending.dispatch("timealarms")
    assert lending.seen("ls-repay")[0]["payment-amount"] == "33000000"
    assert _status(lending, lease) == "idle"


def test_coins_that_never_arrive_are_asked_for_again(lending: Lending) -> None:
    """After a day of waiting the transfer is sent once more."""
    lease = lending.open()
    lending.tell(lease, {"close_position": {"full_close": {}}}, USER)
    lending.relay(lease, 249_000_000)
    lending.relay(lease, arrived=False)
    lending.advance(86_401)
    lending.dispatch("timealarms")
    assert _status(lending, lease)["in_progress"]["close"]["in_progress"] == "transfer_in_init"
    lending.relay(lease)
    assert lending.state(lease) == {"closed": []}


def test_closing_all_and_a_part(lending: Lending) -> None:
    """A part reduces the position; all of it ends the lease and pays the surplus to the customer."""
    lease = lending.open()
    lending.feed(BTC=630)
    close = {"partial_close": {"amount": {"amount": "100000", "ticker": "BTC"}}}
    with pytest.raises(Refusal, match="Unauthorized access"):
        lending.tell(lease, {"close_position": close}, KEEPER)
    lending.tell(lease, {"close_position": close}, ADMIN)
    assert list(_raw(lending, lease)) == ["PartialClose"]
    lending.relay(lease, 63_000_000)
    lending.relay(lease)
    assert lending.seen("ls-close-position")[0]["amount-amount"] == "100000"
    assert lending.state(lease)["opened"]["amount"]["amount"] == "296825"
    lending.tell(lease, {"close_position": {"full_close": {}}}, USER)
    assert list(_raw(lending, lease)) == ["FullClose"]
    lending.relay(lease, 186_000_000)
    before = lending.held(USER, "USDC")
    lending.relay(lease)
    event = lending.seen("ls-close-position")[0]
    assert event["loan-close"] == "true"
    assert lending.held(USER, "USDC") == before + int(event["change"])
    assert not lending.seen("ls-close")


@pytest.mark.parametrize(
    ("amount", "ticker", "text"),
    [
        ("1", "BTC", "The position close amount should worth at least 1000000 USDC"),
        ("390000", "BTC", "The position past this close should worth at least 15000000 USDC"),
        ("5", "OSMO", "Expected currency BTC, found OSMO"),
        ("5", "USDC", "pertaining to the lease group"),
    ],
)
def test_partial_closes_that_are_refused(lending: Lending, amount: str, ticker: str, text: str) -> None:
    """Too little, too much, or not the asset: refused, and the lease stays as it was."""
    lease = lending.open()
    lending.feed(BTC=630)
    before = _raw(lending, lease)
    message = {"close_position": {"partial_close": {"amount": {"amount": amount, "ticker": ticker}}}}
    with pytest.raises(Refusal, match=text):
        lending.tell(lease, message, USER)
    assert _raw(lending, lease) == before


def test_a_fall_warns_then_liquidates_a_part(lending: Lending) -> None:
    """The price alarm of a zone fires, warns and arms the next; at the maximum a part is sold."""
    lease = lending.open()
    lending.reprice(440)
    assert lending.dispatch() == 1
    warning = lending.seen("ls-liquidation-warning")[0]
    assert (warning["ltv"], warning["level"], warning["lease-asset"]) == ("850", "1", "BTC")
    lending.reprice(418)
    assert lending.dispatch() == 1
    liquidation = _status(lending, lease)["in_progress"]["liquidation"]
    assert liquidation["cause"] == "liability"
    swap = lending.outstanding(lease).fields["msgs"][0]["swap"]
    sold = int(liquidation["liquidation"]["amount"])
    assert int(swap["token_out_min_amount"]) == sold * 418 * 700 // 1000
    lending.relay(lease, sold * 418)
    lending.relay(lease)
    event = lending.seen("ls-liquidation")[0]
    assert (event["cause"], event["ltv"], event["ltv-healthy"]) == ("high liability", "900", "830")
    assert _status(lending, lease) == "idle"
    assert lending.state(lease)["opened"]["amount"]["amount"] == str(396_825 - sold)


def test_under_water_everything_is_sold_and_the_reserve_helps(lending: Lending) -> None:
    """The debt is paid in full; while the reserve can't, the answer is kept and tried again with every alarm."""
    lease = lending.open()
    lending.reprice(300)
    lending.dispatch()
    lending.relay(lease, 396_825 * 300)
    lending.relay(lease)
    assert lending.seen("next-delivery")
    assert list(_raw(lending, lease)["FullLiquidation"]) == ["TransferInInitRespDelivery"]
    with pytest.raises(Refusal, match="'handle heal' is not supported in the current state 'ResponseDelivery"):
        lending.tell(lease, {"heal": []}, USER)
    lending.give(lending.at["reserve"], "USDC", 10**9)
    lending.advance(5)
    lending.dispatch("timealarms")
    event = lending.seen("ls-liquidation")[0]
    cover = int(lending.seen("reserve-cover-loss")[0]["payment-amount"])
    assert int(event["payment-amount"]) == 396_825 * 300 + cover
    assert lending.state(lease) == {"liquidated": []}
    assert lending.ask("lpp", {"lpp_balance": []})["total_principal_due"]["amount"] == "0"


def test_a_refused_liquidation_waits_for_the_administrator(lending: Lending) -> None:
    """An error of the swap is taken for slippage; only the lease administrator has it looked at again."""
    lease = lending.open()
    lending.reprice(418)
    lending.dispatch()
    lending.fail(lease, "error")
    assert lending.seen("ls-slippage-anomaly")[0]["max_slippage"] == "300"
    assert _status(lending, lease) == "slippage_protection_activated"
    with pytest.raises(Refusal, match="'repay' is not supported in the current state"):
        lending.tell(lease, {"repay": []}, USER, ("USDC", 5_000_000))
    with pytest.raises(Refusal, match="Unauthorized access"):
        lending.tell(lease, {"heal": []}, USER)
    lending.reprice(630)
    lending.tell(lease, {"heal": []}, ADMIN)
    assert _status(lending, lease) == "idle"


def test_overdue_interest_is_collected(lending: Lending) -> None:
    """Once interest is overdue and large enough, the time alarm sells just as much asset."""
    lease = lending.open()
    lending.advance(31 * 86_400)
    lending.feed(BTC=630)
    lending.dispatch("timealarms")
    liquidation = _status(lending, lease)["in_progress"]["liquidation"]
    assert liquidation["cause"] == "overdue"
    lending.relay(lease, int(liquidation["liquidation"]["amount"]) * 630)
    lending.relay(lease)
    assert lending.seen("ls-liquidation")[0]["cause"] == "overdue interest"


def test_a_close_policy_fires(lending: Lending) -> None:
    """A stop-loss starts a full close in the transaction that delivers the alarm."""
    lease = lending.open()
    lending.feed(BTC=630)
    with pytest.raises(Refusal, match="would trigger 'stop loss above or equal to 60%'"):
        lending.tell(lease, {"change_close_policy": {"stop_loss": {"set": 600}}}, USER)
    lending.tell(lease, {"change_close_policy": {"stop_loss": {"set": 700}, "take_profit": {"set": 400}}}, USER)
    assert lending.state(lease)["opened"]["close_policy"] == {"take_profit": 400, "stop_loss": 700}
    with pytest.raises(Refusal, match="Unauthorized access"):
        lending.tell(lease, {"change_close_policy": {"stop_loss": "reset"}}, ADMIN)
    lending.reprice(530)
    lending.dispatch()
    assert lending.seen("ls-auto-close-position")[0]["stop-loss-ltv"] == "700"
    assert list(_raw(lending, lease)) == ["FullClose"]


def test_a_payment_clears_a_take_profit_it_would_fire(lending: Lending) -> None:
    """Paying lowers the LTV below the trigger; nothing is sold, the trigger is gone."""
    lease = lending.open()
    lending.feed(BTC=630)
    lending.tell(lease, {"change_close_policy": {"take_profit": {"set": 550}}}, USER)
    lending.tell(lease, {"repay": []}, USER, ("USDC", 30_000_000))
    assert lending.seen("ls-repay")
    assert lending.state(lease)["opened"]["close_policy"] == {"take_profit": None, "stop_loss": None}
    assert _status(lending, lease) == "idle"


def test_faults_of_the_dex(lending: Lending) -> None:
    """A timeout is told and sent again, a failed swap silently; a failed transfer home is refused."""
    lease = lending.open()
    lending.feed(BTC=630)
    lending.tell(lease, {"repay": []}, USER, ("OSMO", 10**9))
    lending.fail(lease, "timeout")
    assert lending.seen("ls-repay-swap")[0]["timeout"] == "retry"
    lending.relay(lease)
    lending.fail(lease, "error")
    assert not lending.seen("ls-repay-swap")
    assert _status(lending, lease)["in_progress"]["repayment"]["in_progress"] == "swap"
    lending.relay(lease, 33_000_000)
    with pytest.raises(Refusal, match="ICA error with details 'ABCI code: 5: refused'' is not supported"):
        lending.fail(lease, "error")


def test_healing(lending: Lending) -> None:
    """A lease at rest repays with what it holds; a finished one gives what is left to the caller."""
    lease = lending.open()
    lending.feed(BTC=630)
    with pytest.raises(Refusal, match="Inconsistency not detected"):
        lending.tell(lease, {"heal": []}, KEEPER)
    lending.give(lease, "USDC", 160_000_000)
    lending.tell(lease, {"heal": []}, KEEPER)
    assert lending.seen("ls-repay")[0]["loan-close"] == "true"
    lending.tell(lease, {"heal": []}, KEEPER)
    assert lending.state(lease)["closing"]["in_progress"] == "transfer_in_finish"
    lending.give(lease, "BTC", 396_825)
    lending.tell(lease, {"heal": []}, KEEPER)
    assert lending.state(lease) == {"closed": []}
    lending.give(lease, "OSMO", 12)
    lending.tell(lease, {"heal": []}, KEEPER)
    assert lending.held(KEEPER, "OSMO") == 12


def test_alarms_are_the_alarmists(lending: Lending) -> None:
    """Only the oracle and the time alarms may deliver; a lease in a DEX leg ignores prices and refuses times."""
    lease = lending.open()
    for message in ({"price_alarm": []}, {"time_alarm": {}}, {"dex_callback": []}):
        with pytest.raises(Refusal, match="Unauthorized access"):
            lending.tell(lease, message, USER)
    lending.tell(lease, {"close_position": {"full_close": {}}}, USER)
    lending.tell(lease, {"price_alarm": []}, USER)
    with pytest.raises(Refusal, match=r"'handle time alarm' is not supported .* 'SwapExactIn at ls-close-position'"):
        lending.tell(lease, {"time_alarm": {}}, lending.at["timealarms"])
    with pytest.raises(Refusal, match="'close position' is not supported in the current state"):
        lending.tell(lease, {"close_position": {"full_close": {}}}, USER)


def test_without_a_price(lending: Lending) -> None:
    """What re-evaluates the position says so; a full close goes on."""
    lease = lending.open()
    lending.advance(1000)
    before = _raw(lending, lease)
    for message, coins in (
        ({"repay": []}, (("USDC", 5_000_000),)),
        ({"change_close_policy": {}}, ()),
        ({"close_position": {"partial_close": {"amount": {"amount": "100000", "ticker": "BTC"}}}}, ()),
    ):
        with pytest.raises(Refusal, match=r"Failed to fetch price for the pair BTC/USDC.*No price"):
            lending.tell(lease, message, USER, *coins)
    assert _raw(lending, lease) == before
    lending.tell(lease, {"close_position": {"full_close": {}}}, USER)


def test_figures_ahead(lending: Lending) -> None:
    """A projection shows the interest of later and counts the overdue clock down."""
    lease = lending.open()
    now, ahead = lending.state(lease)["opened"], lending.state(lease, 86_400)["opened"]
    assert int(ahead["due_interest"]["amount"]) > int(now["due_interest"]["amount"])
    assert now["overdue_collect_in"] - ahead["overdue_collect_in"] == DAY
    assert ahead["due_projection_ns"] == 86_400 * SECOND
    assert ahead["validity"] == now["validity"] == str(lending.time)
