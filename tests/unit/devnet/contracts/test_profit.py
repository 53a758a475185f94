"""The profit: what it pays at once, what it buys back through the DEX, and how it takes the DEX's faults."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.unit.devnet.contracts.lending import OWNER, USER, Lending, Refusal

HOUR = 3600


@pytest.fixture
def lending() -> Lending:
    """A profit whose account on the DEX is open."""
    lending = Lending()
    lending.create(
        "profit",
        {
            "cadence_hours": 12,
            "treasury": lending.at["treasury"],
            "oracle": lending.at["oracle"],
            "timealarms": lending.at["timealarms"],
            "dex": {
                "connection_id": "connection-0",
                "transfer_channel": {"local_endpoint": "channel-0", "remote_endpoint": "channel-7"},
            },
        },
    )
    lending.relay(lending.at["profit"])
    return lending


def _round(lending: Lending) -> None:
    lending.advance(12 * HOUR + 1)
    lending.feed(BTC=630)
    lending.dispatch("timealarms")


def _stage(lending: Lending) -> Any:
    state = json.loads(lending.runtime.raw(lending.store, lending.at["profit"], b"state") or b"{}")
    ((name, body),) = state.items()
    return next(iter(body)) if name == "BuyBack" else name


def _progress(lending: Lending) -> list[dict[str, str]]:
    return [
        {key: value for key, value in event.items() if key != "_contract_address"} for event in lending.seen("BuyBack")
    ]


def _paid(lending: Lending) -> list[str]:
    return [event["profit-amount-amount"] for event in lending.seen("tr-profit")]


def test_native_coins_are_paid_at_once(lending: Lending) -> None:
    """All but a fee reserve of 100 units goes to the treasury; the reserve alone moves nothing."""
    lending.give(lending.at["profit"], "NLS", 12_345)
    _round(lending)
    assert _paid(lending) == ["12245"]
    assert lending.held("profit", "NLS") == 100
    _round(lending)
    assert _paid(lending) == []
    assert _stage(lending) == "Idle"


def test_buy_back_through_every_stage(lending: Lending) -> None:
    """Coins go out one by one, are swapped in one transaction, come home in one transfer, and are paid."""
    profit = lending.at["profit"]
    lending.give(profit, "USDC", 5_000_000)
    lending.give(profit, "BTC", 777)
    lending.give(profit, "NLS", 150)
    _round(lending)
    assert _stage(lending) == "TransferOut"
    assert (lending.held("profit", "USDC"), lending.held("profit", "BTC")) == (0, 0)
    lending.relay(profit)
    assert (_stage(lending), _progress(lending)) == ("TransferOut", [{}])
    lending.relay(profit)
    assert (_stage(lending), _progress(lending)) == ("SwapExactIn", [{}])
    swaps = [message["swap"] for message in lending.outstanding(profit).fields["msgs"]]
    assert [swap["token_in"]["amount"] for swap in swaps] == ["5000000", "777"]
    assert [[route["pool_id"] for route in swap["routes"]] for swap in swaps] == [[3], [1, 3]]
    assert {swap["token_out_min_amount"] for swap in swaps} == {"1"}
    lending.relay(profit, 1000, 50)
    assert _stage(lending) == "TransferInInit"
    lending.relay(profit)
    assert _paid(lending) == ["1100"]
    assert (_stage(lending), lending.held("profit", "NLS")) == ("Idle", 100)


def test_late_coins_are_polled_for(lending: Lending) -> None:
    """What has not arrived with its acknowledgement is asked for every five seconds, and after a day sent again."""
    profit = lending.at["profit"]
    lending.give(profit, "USDC", 5_000_000)
    _round(lending)
    lending.relay(profit)
    lending.relay(profit, 1000)
    lending.relay(profit, arrived=False)
    waiting = [{"stage": "transfer-in", "amount-amount": "1000", "amount-symbol": "NLS"}]
    assert (_stage(lending), _progress(lending)) == ("TransferInFinish", waiting)
    lending.advance(6)
    lending.dispatch("timealarms")
    assert (_stage(lending), _progress(lending)) == ("TransferInFinish", waiting)
    with pytest.raises(Refusal, match=r"operation 'handle transaction response' .* 'TransferInFinish at BuyBack'"):
        lending.govern("profit", {"response": {"request": {}, "data": ""}})
    lending.advance(24 * HOUR)
    lending.dispatch("timealarms")
    assert _stage(lending) == "TransferInInit"
    lending.give(profit, "NLS", 1000)
    lending.tell("profit", {"heal": []}, USER)
    assert (_stage(lending), _paid(lending)) == ("Idle", ["900"])


def test_faults_of_the_dex(lending: Lending) -> None:
    """Timeouts send again and say so, a refused swap is sent again silently, a refused transfer home is not taken."""
    profit = lending.at["profit"]
    lending.give(profit, "USDC", 5_000_000)
    _round(lending)
    retried = [{"id": profit, "timeout": "retry"}]
    for how in ("timeout", "error"):
        lending.fail(profit, how)
        assert (_stage(lending), _progress(lending)) == ("TransferOut", retried)
        assert lending.held("profit", "USDC") == 0, "the coins went out again"
    lending.relay(profit)
    lending.fail(profit, "timeout")
    assert (_stage(lending), _progress(lending)) == ("SwapExactIn", retried)
    lending.fail(profit, "error")
    assert (_stage(lending), _progress(lending)) == ("SwapExactIn", [])
    lending.relay(profit, 1000)
    lending.fail(profit, "timeout")
    assert (_stage(lending), _progress(lending)) == ("TransferInInit", retried)
    with pytest.raises(Refusal, match="handle ICA error with details 'ABCI code: 5: refused''"):
        lending.govern("profit", {"error": {"request": {}, "details": "ABCI code: 5: refused"}})
    lending.relay(profit)
    assert _paid(lending) == ["900"]


def test_an_answer_that_fails_is_delivered_again(lending: Lending) -> None:
    """An answer whose handling fails is kept, announced, and delivered by the next time alarm."""
    profit = lending.at["profit"]
    lending.give(profit, "USDC", 5_000_000)
    _round(lending)
    tree = {"value": [0, "USDC"], "children": [{"value": [1, "BTC"]}]}
    lending.govern("oracle", {"swap_tree": {"tree": tree}})
    lending.relay(profit)
    assert _stage(lending) == "TransferOutRespDelivery"
    assert lending.seen("next-delivery")[0]["what"] == "dex-response"
    with pytest.raises(Refusal, match=r"'handle heal' .* 'ResponseDelivery\(TransferOut at BuyBack\)'"):
        lending.tell("profit", {"heal": []}, USER)
    tree["children"] = [{"value": [1, "BTC"]}, {"value": [3, "NLS"]}]
    lending.govern("oracle", {"swap_tree": {"tree": tree}})
    lending.advance(2)
    lending.dispatch("timealarms")
    assert _stage(lending) == "SwapExactIn"


def test_configuration_only_while_idle(lending: Lending) -> None:
    """The owner changes the cadence between rounds, which sets the alarm anew; during one nobody does."""
    with pytest.raises(Refusal, match="Unauthorized access"):
        lending.tell("profit", {"config": {"cadence_hours": 5}}, USER)
    lending.tell("profit", {"config": {"cadence_hours": 5}}, OWNER)
    assert lending.ask("profit", {"config": {}}) == {"cadence_hours": 5}
    lending.give(lending.at["profit"], "USDC", 5_000_000)
    lending.advance(5 * HOUR + 1)
    lending.dispatch("timealarms")
    assert _stage(lending) == "TransferOut"
    assert lending.ask("profit", {"config": {}}) == {"cadence_hours": 5}
    with pytest.raises(Refusal, match="Configuration changes are not allowed in this state!"):
        lending.tell("profit", {"config": {"cadence_hours": 7}}, OWNER)


@pytest.mark.parametrize(
    ("message", "sender", "text"),
    [
        ({"time_alarm": {}}, USER, "Unauthorized access"),
        ({"dex_callback": []}, USER, "Unauthorized access"),
        ({"dex_callback_continue": []}, USER, "Unauthorized access"),
        ({"heal": []}, USER, r"\[Profit\] \[Dex\] The operation 'handle heal' .* current state 'Idle'"),
        ({"heal": {}}, USER, "invalid type: map, expected tuple variant ExecuteMsg::Heal"),
    ],
)
def test_refusals(lending: Lending, message: Any, sender: str, text: str) -> None:
    """Alarms come from the time alarms, callbacks from itself, and there is nothing to heal when idle."""
    with pytest.raises(Refusal, match=text):
        lending.tell("profit", message, sender)


def test_nothing_works_before_the_account_is_open() -> None:
    """Until its account is open it neither takes timeouts nor configuration."""
    lending = Lending()
    with pytest.raises(Refusal, match=r"'handle transaction timeout' is not supported .* 'IcaConnector\(Idle\)'"):
        lending.govern("profit", {"timeout": {"request": {}}})
    with pytest.raises(Refusal, match="not allowed in this state"):
        lending.tell("profit", {"config": {"cadence_hours": 5}}, OWNER)
    ack = {"port_id": "p", "channel_id": "c", "counterparty_channel_id": "d", "counterparty_version": "{}"}
    with pytest.raises(Refusal, match="Invalid ICA host account"):
        lending.govern("profit", {"open_ack": ack})
