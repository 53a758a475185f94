"""Leases as clients see them, in every state a contract can be in."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import msgspec
import pytest
from tests.unit.app_api.conftest import LEASE, coin, opened

from leasehold.app_api.resources.currencies import Catalogue, CurrenciesResponse, CurrencyInfo
from leasehold.app_api.resources.lease_states import State
from leasehold.app_api.resources.lease_views import LeaseInfo, Market, lease_info
from leasehold.app_api.resources.prices import Prices
from leasehold.app_api.upstreams import data

DIGITS = {"ATOM": 6, "USDC": 6, "BTC": 8}


def market(*, short: bool = False, prices: dict[str, Fraction] | None = None) -> Market:
    infos = {
        f"{ticker}@P": CurrencyInfo(
            f"{ticker}@P", ticker, "d", ticker, ticker, digits, "d", "x", "i", False, None, "P", "lease", True
        )
        for ticker, digits in DIGITS.items()
    }
    values = prices or {"ATOM@P": Fraction(3), "USDC@P": Fraction(1), "BTC@P": Fraction(60_000)}
    catalogue = Catalogue.of(CurrenciesResponse(infos, [], [], {}))
    return Market("P", short, catalogue, Prices.of(values), Fraction(9, 10))


def view(answer: Any, known: data.Opening | None = None, seen: Market | None = None) -> LeaseInfo:
    found = lease_info(LEASE, msgspec.convert(answer, State), known, seen or market())
    assert found is not None
    return found


def wire(info: LeaseInfo) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(info)
    return found


def test_an_opening_lease_says_its_stage() -> None:
    """The stage is a text or the key of an object; what will be there has no amount yet."""
    opening = {
        "currency": "BTC",
        "downpayment": coin(100, "USDC"),
        "loan": coin(150, "USDC"),
        "loan_interest_rate": 60,
    }
    for stage in ("open_ica_account", {"buy_asset": {"ica_account": "x"}}):
        info = wire(view({"opening": {**opening, "in_progress": stage}}))
        name = stage if isinstance(stage, str) else "buy_asset"
        assert (info["status"], info["in_progress"]) == ("opening", {"opening": {"stage": name}})
        assert (info["amount"]["ticker"], info["amount"]["amount"], info["debt"]["ticker"]) == ("BTC", "0", "USDC")
        assert info["opening_info"]["loan"] == {"ticker": "USDC", "amount": "150", "amount_usd": "0.00015"}
        assert info["interest"] == {"loan_rate": 60, "margin_rate": 0, "annual_rate_percent": 6.0}
        assert "close_policy" not in info


@pytest.mark.parametrize(
    ("status", "activity"),
    [
        ("idle", None),
        ("slippage_protection_activated", {"slippage_protection": {}}),
        ({"in_progress": {"repayment": {"payment": coin(1, "USDC"), "in_progress": "swap"}}}, {"repayment": {}}),
        ({"in_progress": {"close": {"close": coin(1, "ATOM"), "in_progress": "swap"}}}, {"close": {}}),
        ({"in_progress": {"liquidation": {"cause": "overdue"}}}, {"liquidation": {"cause": "overdue"}}),
        ({"in_progress": {"liquidation": {}}}, {"liquidation": {}}),
    ],
)
def test_an_opened_lease_says_what_it_is_doing(status: Any, activity: Any) -> None:
    """What is in progress has one name; an idle lease says nothing."""
    answer = opened(lpn="USDC")
    answer["opened"]["status"] = status
    info = wire(view(answer))
    assert info.get("in_progress") == activity
    assert (info["status"], info["debt"]["total"], info["overdue_collect_in"]) == ("opened", "5000010", "7000000000")
    assert info["close_policy"] == {"stop_loss": 850, "take_profit": None}


@pytest.mark.parametrize(
    "extra",
    [
        {},
        {
            "principal_due": coin(5, "USDC"),
            "overdue_margin": coin(0, "USDC"),
            "overdue_interest": coin(0, "USDC"),
            "due_margin": coin(1, "USDC"),
            "due_interest": coin(2, "USDC"),
        },
    ],
)
def test_a_closing_lease_is_understood_in_both_forms(extra: dict[str, Any]) -> None:
    """The current contracts name no debt any more, older ones did."""
    info = view({"closing": {"amount": coin(7, "ATOM"), "in_progress": "transfer_in_init", **extra}})
    assert (info.status, info.amount.amount, info.in_progress) == ("closing", "7", {"close": {}})
    assert info.debt.total == ("8" if extra else "0")


def test_a_finished_lease_is_empty() -> None:
    """Closed, liquidated and failed leases have no currency; a failed one says why."""
    for status in ("closed", "liquidated"):
        info = wire(view({status: []}))
        assert (info["status"], info["amount"], info["debt"]["total"]) == (
            status,
            {"ticker": "", "amount": "0", "amount_usd": None},
            "0",
        )
    assert view({"open_failed": {"reason": "no liquidity"}}).reason == "no liquidity"
    assert view({"paid_off": {"amount": coin(4, "ATOM")}}).amount.amount_usd == "0.000012"


def test_a_state_nobody_knows_is_no_lease() -> None:
    """A contract of the future is left out rather than misread."""
    assert lease_info(LEASE, msgspec.convert({"frozen": {}}, State), None, market()) is None


def test_profit_is_what_is_left() -> None:
    """Worth less debt, less what was paid in, plus the fee; percent of what was paid in; exact until it is written."""
    lease = data.OpenedLease(LS_cltr_symbol="BTC", LS_cltr_amnt_stable="50000000", LS_asset_symbol="ATOM")
    known = data.Opening(lease, fee="250000", repayment_value="0.25", history=())
    info = view(opened(lpn="USDC"), known)
    gain = Fraction(6) - Fraction("5.00001") - Fraction(1, 2) + Fraction(1, 4) - Fraction(1, 4)
    assert info.pnl is not None
    assert Fraction(info.pnl.amount) == gain
    assert (info.pnl.percent, info.pnl.downpayment, info.pnl.pnl_positive) == ("66.67", "50000000", True)
    assert view(opened(lpn="USDC"), known, market(prices={"ATOM@P": Fraction(3)})).pnl is None
    assert view(opened(lpn="USDC")).pnl is None


def test_a_liquidation_price_has_two_sides() -> None:
    """Long: the asset's price in pool currency. Short: the pool currency's price in the asset. None without debt."""
    long = view(opened(amount=2_000_000, principal=4_499_990, lpn="USDC"))
    assert long.liquidation_price == "2.5"
    short = view(opened(amount=9_000_000, ticker="USDC", principal=1_999_990, lpn="ATOM"), seen=market(short=True))
    assert short.liquidation_price == "4.05"
    free = opened(lpn="USDC")
    for part in ("principal_due", "overdue_margin", "overdue_interest", "due_margin", "due_interest"):
        free["opened"][part]["amount"] = "0"
    assert view(free).liquidation_price is None


def test_history_names_the_cause_of_a_liquidation() -> None:
    """A liquidation carries its cause; without one it is unknown."""
    rows = (
        data.HistoryRow(type="repay", amount="5"),
        data.HistoryRow(type="liquidation", additional="high liability"),
        data.HistoryRow(type="liquidation"),
    )
    info = view({"closed": []}, data.Opening(data.OpenedLease(LS_timestamp="t"), history=rows))
    assert info.opened_at == "t"
    assert isinstance(info.etl_data, msgspec.Struct)
    assert info.etl_data.history is not None
    actions = [event.action for event in info.etl_data.history]
    assert actions == ["repay", "liquidation-high liability", "liquidation-unknown"]
