"""Positions: what a lease was opened with, what went through it, and what it owes at an instant."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from leasehold.indexer.oracles import worth
from leasehold.indexer.tables import USD_UNIT, ten
from leasehold.protocol.loan import Due, LeaseLoan
from leasehold.protocol.percent import MILLE
from leasehold.protocol.pool import Loan

OPENING, OPEN, CLOSING, CLOSED, LIQUIDATED = "opening", "open", "closing", "closed", "liquidated"
LIVING = (OPENING, OPEN, CLOSING)


@dataclass(slots=True)
class LeasePosition:
    """One lease; members are the columns of its row. Amounts in base units, USD and prices in 10^-18 USD."""

    lease: str
    protocol: str
    pool: str
    owner: str
    position_type: str
    asset: str
    lpn: str
    status: str
    requested_at: datetime
    requested_ns: int
    requested_height: int
    requested_tx: bytes
    loan: int
    loan_rate: int
    margin_rate: int
    due_period_ns: int
    max_ltv: int
    principal: int
    interest_paid_ns: int
    margin_paid_ns: int
    updated_at: datetime
    updated_height: int
    amount: int = 0
    opened_at: datetime | None = None
    opened_height: int | None = None
    opened_tx: bytes | None = None
    downpayment: int | None = None
    downpayment_ticker: str | None = None
    downpayment_usd: int | None = None
    downpayment_price: int | None = None
    loan_usd: int | None = None
    opened_amount: int | None = None
    amount_is_exact: bool = True
    opened_asset_price: int | None = None
    opened_lpn_price: int | None = None
    opened_lpn_amount: int | None = None
    opened_liquidation_price: int | None = None
    fee: int | None = None
    annual_rate: int | None = None
    change: int = 0
    repayments: int = 0
    repaid_usd: int = 0
    market_closes: int = 0
    closed_usd: int = 0
    liquidations: int = 0
    liquidated_usd: int = 0
    last_repaid_at: datetime | None = None
    last_liquidated_at: datetime | None = None
    close_kind: str | None = None
    close_strategy: str | None = None
    close_strategy_ltv: int | None = None
    close_tx: bytes | None = None
    closed_at: datetime | None = None
    closed_height: int | None = None
    finished_at: datetime | None = None
    collected: list[dict[str, str]] | None = None
    collected_usd: int | None = None
    realized_pnl_usd: int | None = None

    @property
    def lease_loan(self) -> LeaseLoan:
        """The loan as the arithmetic wants it."""
        pool_loan = Loan(self.principal, self.loan_rate, self.interest_paid_ns)
        return LeaseLoan(pool_loan, self.margin_rate, self.due_period_ns, self.margin_paid_ns)

    def due(self, at_ns: int) -> Due:
        """What is owed at an instant."""
        return self.lease_loan.due(at_ns)

    def keep_loan(self, loan: LeaseLoan) -> None:
        """Continue with a loan after a payment."""
        self.principal = loan.loan.principal
        self.interest_paid_ns = loan.loan.interest_paid
        self.margin_paid_ns = loan.margin_paid_by

    def row(self) -> dict[str, Any]:
        """The position as its table keeps it."""
        return {name: getattr(self, name) for name in COLUMNS}


COLUMNS = tuple(member.name for member in fields(LeasePosition))


@dataclass(frozen=True, slots=True)
class Valued:
    """A position at an instant with its prices; None where a price was never known."""

    due: Due
    asset_price: int | None
    lpn_price: int | None
    value_usd: int | None
    debt_usd: int | None
    principal_usd: int | None
    pnl_usd: int | None
    liquidation_price: int | None


def valued(
    position: LeasePosition,
    due: Due,
    asset_price: int | None,
    lpn_price: int | None,
    asset_decimals: int,
    lpn_decimals: int,
) -> Valued:
    """A position's worth, debt, unrealized profit and the price at which it is liquidated."""
    value = worth(position.amount, asset_price, asset_decimals)
    debt = worth(due.total, lpn_price, lpn_decimals)
    pnl = None
    if value is not None and debt is not None and position.downpayment_usd is not None:
        pnl = value - debt - position.downpayment_usd - position.repaid_usd
    return Valued(
        due,
        asset_price,
        lpn_price,
        value,
        debt,
        worth(due.principal, lpn_price, lpn_decimals),
        pnl,
        liquidation_price(
            position.position_type == "Long",
            position.amount,
            due.total,
            position.max_ltv,
            asset_price,
            lpn_price,
            asset_decimals,
            lpn_decimals,
        ),
    )


def liquidation_price(
    long: bool,
    amount: int,
    debt: int,
    max_ltv: int,
    asset_price: int | None,
    lpn_price: int | None,
    asset_decimals: int,
    lpn_decimals: int,
) -> int | None:
    """USD price of the traded token at which the LTV reaches its maximum.

    For a long position that of the asset falling, for a short one that of the lent token rising.
    """
    if amount == 0 or debt == 0:
        return 0
    if long:
        if lpn_price is None:
            return None
        return debt * lpn_price * MILLE * ten(asset_decimals) // (max_ltv * amount * ten(lpn_decimals))
    if asset_price is None:
        return None
    return amount * asset_price * max_ltv * ten(lpn_decimals) // (MILLE * debt * ten(asset_decimals))


def opening_fee(asset_decimals: int, put_in_usd: int | None, bought_usd: int | None) -> int | None:
    """What opening cost: value put in minus value bought, in USD scaled by the asset's decimals, rounded."""
    if put_in_usd is None or bought_usd is None:
        return None
    scale = ten(asset_decimals)
    return round_half(put_in_usd * scale) - round_half(bought_usd * scale)


def round_half(scaled: int) -> int:
    """Nearest integer of a value in 10^-18, halves up."""
    return (scaled + USD_UNIT // 2) // USD_UNIT
