"""A lease as clients see it: the contract's state, the index's history, worth in USD, profit and liquidation price."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import msgspec

from leasehold.app_api.display import double, fixed, number, shortest
from leasehold.app_api.resources.currencies import Catalogue
from leasehold.app_api.resources.lease_states import (
    Amount,
    ClosePolicy,
    Closing,
    Opened,
    State,
    Status,
    activity_of,
    stage_of,
)
from leasehold.app_api.resources.prices import Prices, worth
from leasehold.app_api.upstreams import data

Absent = msgspec.UnsetType
UNSET = msgspec.UNSET


class LeaseAssetInfo(msgspec.Struct):
    ticker: str
    amount: str
    amount_usd: str | None


class LeaseDebtInfo(msgspec.Struct):
    """What is owed, in base units; `total` is the sum of the five."""

    ticker: str
    principal: str
    overdue_margin: str
    overdue_interest: str
    due_margin: str
    due_interest: str
    total: str
    total_usd: str | None


class LeaseInterestInfo(msgspec.Struct):
    """Rates in permille, and together in percent."""

    loan_rate: int
    margin_rate: int
    annual_rate_percent: float


class LeasePnlInfo(msgspec.Struct):
    """Profit in USD and in percent; `downpayment` as the index scales it."""

    amount: str
    percent: str
    downpayment: str
    pnl_positive: bool


class LeaseOpeningStateInfo(msgspec.Struct):
    currency: str
    downpayment: LeaseAssetInfo
    loan: LeaseAssetInfo
    loan_interest_rate: int


class LeaseHistoryEntry(msgspec.Struct):
    tx_hash: str | None
    action: str
    amount: str | None
    symbol: str | None
    timestamp: str | None
    debt_stable: str | None
    collateral_asset: str | None
    liquidation_price: str | None


class LeaseEtlData(msgspec.Struct):
    """What the index knows; three scales stand side by side, see docs/app-api.md."""

    downpayment_amount: str | None
    loan_amount_stable: str | None
    collateral_symbol: str | None
    price: str | None
    lpn_price: str | None
    fee: str | None
    ls_asset_symbol: str | None
    lease_position_ticker: str | None
    repayment_value: str | None
    history: list[LeaseHistoryEntry] | None


class LeaseInfo(msgspec.Struct, omit_defaults=True):
    """A lease; amounts in base units of their currencies."""

    address: str
    protocol: str
    status: Status
    amount: LeaseAssetInfo
    debt: LeaseDebtInfo
    interest: LeaseInterestInfo
    liquidation_price: str | None
    opened_at: str | None
    pnl: LeasePnlInfo | None
    reason: str | Absent = UNSET
    close_policy: ClosePolicy | Absent = UNSET
    overdue_collect_in: str | Absent = UNSET
    in_progress: dict[str, Any] | Absent = UNSET
    opening_info: LeaseOpeningStateInfo | Absent = UNSET
    etl_data: LeaseEtlData | Absent = UNSET


@dataclass(frozen=True, slots=True)
class Market:
    """What a lease of one protocol is valued with: decimals, prices, and the liability that liquidates it."""

    protocol: str
    is_short: bool
    catalogue: Catalogue | None
    prices: Prices | None
    max_liability: Fraction | None

    def digits(self, ticker: str | None) -> int | None:
        found = self.catalogue.by_key.get(f"{ticker}@{self.protocol}") if self.catalogue else None
        return found.decimal_digits if found is not None else None

    def usd(self, amount: str, ticker: str) -> Fraction | None:
        """Worth of an amount by this protocol's oracle."""
        digits = self.digits(ticker)
        price = self.prices.get(f"{ticker}@{self.protocol}") if self.prices else None
        return None if digits is None or price is None else worth(int(amount), digits, price)


def _text(value: Fraction | None) -> str | None:
    return None if value is None else shortest(value)


def _asset(amount: Amount, market: Market) -> LeaseAssetInfo:
    return LeaseAssetInfo(amount.ticker, amount.amount, _text(market.usd(amount.amount, amount.ticker)))


def _debt(found: Opened | Closing | None, market: Market) -> LeaseDebtInfo:
    if found is None or found.principal_due is None:
        return LeaseDebtInfo("", "0", "0", "0", "0", "0", "0", None)

    def due(part: Amount | None) -> str:
        return part.amount if part is not None else "0"

    debt = LeaseDebtInfo(
        found.principal_due.ticker,
        found.principal_due.amount,
        due(found.overdue_margin),
        due(found.overdue_interest),
        due(found.due_margin),
        due(found.due_interest),
        "0",
        None,
    )
    parts = (debt.principal, debt.overdue_margin, debt.overdue_interest, debt.due_margin, debt.due_interest)
    debt.total = str(sum(int(part) for part in parts))
    debt.total_usd = _text(market.usd(debt.total, debt.ticker))
    return debt


def _interest(loan: int, margin: int) -> LeaseInterestInfo:
    return LeaseInterestInfo(loan, margin, double(Fraction(loan + margin, 10)))


def liquidation_price(held: Amount, owed: Amount, market: Market) -> Fraction | None:
    """Price at which the debt reaches the liability that liquidates: of the asset in pool currency for a long position,
    of the pool currency in the asset for a short one. None without debt."""
    digits, owed_digits = market.digits(held.ticker), market.digits(owed.ticker)
    asset, debt, share = int(held.amount), int(owed.amount), market.max_liability
    if digits is None or owed_digits is None or not asset or not debt or not share:
        return None
    # What may be owed for the asset and what is, in the same units.
    bearable, borne = asset * share.numerator * 10**owed_digits, debt * share.denominator * 10**digits
    return Fraction(bearable, borne) if market.is_short else Fraction(borne, bearable)


def profit(opened: Opened, total_debt: str, known: data.Opening | None, market: Market) -> LeasePnlInfo | None:
    """Profit so far: what is left after the debt, less everything paid in."""
    if known is None:
        return None
    worth = market.usd(opened.amount.amount, opened.amount.ticker)
    owed = market.usd(total_debt, opened.principal_due.ticker)
    asset_digits = market.digits(opened.amount.ticker)
    pool_digits = market.digits(opened.principal_due.ticker)
    if worth is None or owed is None or asset_digits is None or pool_digits is None:
        return None
    paid_digits = market.digits(known.lease.LS_cltr_symbol)
    paid = _scaled(known.lease.LS_cltr_amnt_stable, pool_digits if paid_digits is None else paid_digits)
    fee = _scaled(known.fee, asset_digits)
    repaid = number(known.repayment_value) or Fraction(0)
    gain = worth - owed - paid + fee - repaid
    invested = paid + repaid
    percent = gain / invested * 100 if invested > 0 else Fraction(0)
    return LeasePnlInfo(fixed(gain, 6), fixed(percent, 2), known.lease.LS_cltr_amnt_stable or "0", gain >= 0)


def _scaled(text: str | None, digits: int) -> Fraction:
    return (number(text) or Fraction(0)) / Fraction(10**digits)


def history_of(known: data.Opening | None) -> list[LeaseHistoryEntry] | None:
    """What happened to a lease, oldest first; None where the index has no list."""
    if known is None:
        return None
    rows = known.history if known.history is not None else known.lease.history
    return None if rows is None else [_event(row) for row in rows]


def _event(row: data.HistoryRow) -> LeaseHistoryEntry:
    action = f"liquidation-{row.additional or 'unknown'}" if row.type == "liquidation" else row.type
    return LeaseHistoryEntry(
        row.tx_hash,
        action,
        row.amount,
        row.symbol,
        row.time,
        row.debt_stable,
        row.collateral_asset,
        row.liquidation_price,
    )


def _indexed(known: data.Opening | None) -> LeaseEtlData | Absent:
    if known is None:
        return UNSET
    lease = known.lease
    return LeaseEtlData(
        lease.LS_cltr_amnt_stable,
        lease.LS_loan_amnt_stable,
        lease.LS_cltr_symbol,
        lease.LS_opening_price,
        known.lpn_price,
        known.fee,
        lease.LS_asset_symbol,
        lease.LS_asset_symbol,
        known.repayment_value,
        history_of(known),
    )


def lease_info(address: str, state: State, known: data.Opening | None, market: Market) -> LeaseInfo | None:
    """A lease from its contract's state and what the index knows; None for a state nobody knows."""
    status = state.status
    if status is None:
        return None
    info = LeaseInfo(
        address,
        market.protocol,
        status,
        LeaseAssetInfo("", "0", None),
        _debt(None, market),
        _interest(0, 0),
        None,
        known.lease.LS_timestamp if known is not None else None,
        None,
        etl_data=_indexed(known),
    )
    if isinstance(state.opening, msgspec.Struct):
        opening = state.opening
        stage = stage_of(opening.in_progress)
        info.amount = LeaseAssetInfo(opening.currency, "0", None)
        info.debt.ticker = opening.loan.ticker
        info.interest = _interest(opening.loan_interest_rate, 0)
        info.in_progress = {"opening": {} if stage is None else {"stage": stage}}
        info.opening_info = LeaseOpeningStateInfo(
            opening.currency,
            _asset(opening.downpayment, market),
            _asset(opening.loan, market),
            opening.loan_interest_rate,
        )
    elif isinstance(state.opened, msgspec.Struct):
        opened = state.opened
        info.amount = _asset(opened.amount, market)
        info.debt = _debt(opened, market)
        info.interest = _interest(opened.loan_interest_rate, opened.margin_interest_rate)
        owed = Amount(info.debt.total, info.debt.ticker)
        info.liquidation_price = _text(liquidation_price(opened.amount, owed, market))
        info.pnl = profit(opened, info.debt.total, known, market)
        info.close_policy = opened.close_policy
        info.overdue_collect_in = str(opened.overdue_collect_in)
        activity = activity_of(opened.status)
        info.in_progress = UNSET if activity is None else activity
    elif isinstance(state.closing, msgspec.Struct):
        closing = state.closing
        info.amount = _asset(closing.amount, market)
        info.debt = _debt(closing, market)
        info.interest = _interest(closing.loan_interest_rate, closing.margin_interest_rate)
        info.in_progress = {"close": {}}
    elif isinstance(state.paid_off, msgspec.Struct):
        info.amount = _asset(state.paid_off.amount, market)
    elif isinstance(state.open_failed, msgspec.Struct):
        info.reason = state.open_failed.reason
    return info
