"""Figures of a position: worth, debt, profit, fee and the price at which it is liquidated."""

from __future__ import annotations

from datetime import UTC, datetime

from leasehold.indexer.lease_sums import band
from leasehold.indexer.positions import LeasePosition, liquidation_price, opening_fee, valued
from leasehold.indexer.tables import USD_UNIT

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DAY = 24 * 3600 * 10**9


def position(**changes: object) -> LeasePosition:
    """The sheet's worked lease: 150 of six decimals lent against 416666 sat."""
    values: dict[str, object] = {
        "lease": "l", "protocol": "p", "pool": "q", "owner": "o", "position_type": "Long", "asset": "BTC",
        "lpn": "USDC", "status": "open", "requested_at": NOW, "requested_ns": 0, "requested_height": 1,
        "requested_tx": b"", "loan": 150_000_000, "loan_rate": 60, "margin_rate": 20, "due_period_ns": 30 * DAY,
        "max_ltv": 900, "principal": 150_000_000, "interest_paid_ns": 0, "margin_paid_ns": 0, "updated_at": NOW,
        "updated_height": 1, "amount": 416_666, "downpayment_usd": 100 * USD_UNIT,
    }  # fmt: skip
    return LeasePosition(**{**values, **changes})  # type: ignore[arg-type]


def test_what_is_owed_follows_the_worked_example() -> None:
    """After 31 days interest is overdue for one day and due for thirty, to the unit."""
    due = position().due(31 * DAY)
    assert (due.overdue_interest, due.overdue_margin) == (24_657, 8_219)
    assert (due.due_interest, due.due_margin) == (739_726, 246_575)


def test_unrealized_profit_is_worth_less_debt_and_what_was_put_in() -> None:
    """At 60,000 USD the position is worth 249.9996; debt, down-payment and repayments are subtracted."""
    held = position(repaid_usd=7 * USD_UNIT)
    found = valued(held, held.due(0), 60_000 * USD_UNIT, USD_UNIT, 8, 6)
    assert found.value_usd == 249_999_600_000_000_000_000
    assert found.debt_usd == 150 * USD_UNIT
    assert found.pnl_usd == found.value_usd - (150 + 100 + 7) * USD_UNIT


def test_a_position_without_prices_has_no_figures_in_usd() -> None:
    """An unknown price makes figures unknown, not zero."""
    held = position()
    found = valued(held, held.due(0), None, None, 8, 6)
    assert (found.value_usd, found.debt_usd, found.pnl_usd, found.liquidation_price) == (None, None, None, None)


def test_liquidation_prices_of_long_and_short_positions() -> None:
    """Long: debt over ninety percent of the amount; short: ninety percent of the collateral over the debt."""
    long = liquidation_price(True, 10**8, 45_000 * 10**6, 900, None, USD_UNIT, 8, 6)
    short = liquidation_price(False, 1000 * 10**6, 10**6, 900, USD_UNIT, None, 6, 8)
    assert (long, short) == (50_000 * USD_UNIT, 90_000 * USD_UNIT)
    assert liquidation_price(True, 0, 5, 900, None, None, 8, 6) == 0


def test_the_fee_is_what_was_put_in_less_what_was_bought_in_the_assets_scale() -> None:
    """250 put in, 249.25 bought, eight decimals: 0.75 USD as 75,000,000."""
    assert opening_fee(8, 250 * USD_UNIT, 249_250_000_000_000_000_000) == 75_000_000
    assert opening_fee(8, None, 1) is None


def test_profit_bands_have_no_holes() -> None:
    """Below zero, up to 50, up to 100, up to 300 percent inclusive, above."""
    spent = 100 * USD_UNIT
    cases = {-1: 0, 0: 1, 49: 1, 50: 2, 99: 2, 100: 3, 300: 3, 301: 4}
    assert {percent: band(percent * USD_UNIT, spent) for percent in cases} == cases
    assert band(0, 0) == 1
