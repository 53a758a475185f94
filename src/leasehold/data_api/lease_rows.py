"""Wire types of leases: what they were opened with, what went through them, how they ended."""

from __future__ import annotations

import msgspec


class LeaseOpening(msgspec.Struct):
    """A lease as it was opened. Amounts in base units; `_stable` ones are USD in the scale of their token."""

    contract: str = msgspec.field(name="LS_contract_id")
    address: str = msgspec.field(name="LS_address_id")
    asset: str = msgspec.field(name="LS_asset_symbol")
    interest: int = msgspec.field(name="LS_interest")
    timestamp: str = msgspec.field(name="LS_timestamp")
    pool: str = msgspec.field(name="LS_loan_pool_id")
    amount: str = msgspec.field(name="LS_loan_amnt")
    loan_stable: str = msgspec.field(name="LS_loan_amnt_stable")
    loan: str = msgspec.field(name="LS_loan_amnt_asset")
    downpayment_symbol: str = msgspec.field(name="LS_cltr_symbol")
    downpayment_stable: str = msgspec.field(name="LS_cltr_amnt_stable")
    downpayment: str = msgspec.field(name="LS_cltr_amnt_asset")
    native_stable: str = msgspec.field(name="LS_native_amnt_stable")
    native: str = msgspec.field(name="LS_native_amnt_nolus")
    lpn_amount: str = msgspec.field(name="LS_lpn_loan_amnt")
    tx_hash: str = msgspec.field(name="Tx_Hash")
    position_type: str = msgspec.field(name="LS_position_type")
    lpn: str = msgspec.field(name="LS_lpn_symbol")
    lpn_power: int = msgspec.field(name="LS_lpn_decimals")
    price: str | None = msgspec.field(name="LS_opening_price")
    liquidation_price: str | None = msgspec.field(name="LS_liquidation_price_at_open")
    status: str
    closed_at: str | None
    pnl: str | None
    protocol: str


class LeaseEvent(msgspec.Struct):
    """A repayment, market close or liquidation; the first amounts in base units, the last three in whole ones."""

    symbol: str
    amount: str
    type: str
    time: str
    ls_amnt_symbol: str | None
    ls_amnt: str | None
    additional: str | None
    tx_hash: str
    debt_stable: str | None
    collateral_asset: str | None
    liquidation_price: str | None


class LeaseStory(msgspec.Struct):
    """A lease with its prices at opening, what opening cost, what was repaid in USD, and its history."""

    lease: LeaseOpening
    downpayment_price: str
    lpn_price: str
    fee: str
    repayment_value: str
    history: list[LeaseEvent]
    pnl: str | None


class LeaseBrief(msgspec.Struct):
    """A lease with the price of its asset at opening."""

    lease: LeaseOpening
    downpayment_price: str


class LoanClosing(msgspec.Struct):
    """A closed lease: USD put in, got back, and the difference."""

    contract: str = msgspec.field(name="LS_contract_id")
    asset: str = msgspec.field(name="LS_asset_symbol")
    pool: str = msgspec.field(name="LS_loan_pool_id")
    kind: str = msgspec.field(name="Type")
    at: str = msgspec.field(name="LS_timestamp")
    sent: float = msgspec.field(name="Ls_sent")
    received: float = msgspec.field(name="Ls_receive")
    pnl: float = msgspec.field(name="LS_pnl")
    strategy: str | None = msgspec.field(name="LS_Close_Strategy")
    strategy_ltv: int | None = msgspec.field(name="LS_Close_Strategy_Ltv")


class ClosingRow(msgspec.Struct):
    """A closed lease as the index has it."""

    contract: str
    asset: str
    pool: str
    kind: str
    at: str
    sent: str
    received: str
    pnl: str
    strategy: str | None
    strategy_ltv: int | None


class MonthlyLeases(msgspec.Struct):
    """USD of openings in a month."""

    amount: str
    date: str


class LeasedAsset(msgspec.Struct):
    """USD of open positions in an asset."""

    loan: str
    asset: str


class LeaseValue(msgspec.Struct):
    """USD of open positions of an asset: mean and largest."""

    asset: str
    avg_value: str
    max_value: str


class TokenLoans(msgspec.Struct):
    """USD of principal in open positions of a token."""

    symbol: str
    value: str


class GrantedLoans(msgspec.Struct):
    """USD of all loans ever granted for an asset."""

    asset: str
    loan: str


class Liquidation(msgspec.Struct):
    """A liquidation; `liquidation_amount` and `down_payment` in USD, `loan` in whole tokens of the pool."""

    timestamp: str
    ticker: str
    contract_id: str
    user: str
    transaction_type: str | None
    liquidation_amount: str
    closed_loan: bool
    down_payment: str
    loan: str
    liquidation_price: str | None


class InterestRepayment(msgspec.Struct):
    """Interest and margin paid, in USD."""

    timestamp: str
    contract_id: str
    position_owner: str
    position_type: str
    event_type: str
    loan_interest_repaid: str
    margin_interest_repaid: str


class Opened(msgspec.Struct):
    """An opening; `down_payment_amount` and `loan` in USD."""

    contract_id: str
    user: str
    leased_asset: str
    opening_date: str
    position_type: str
    down_payment_amount: str
    down_payment_asset: str
    loan: str
    total_position_amount_lpn: str
    price: str | None
    open: bool
    liquidation_price: str | None


class Repaid(msgspec.Struct):
    """A position that was paid; `loan` in whole tokens of the pool, `total_repaid` in USD."""

    contract_id: str
    symbol: str
    loan: str
    total_repaid: str
    close_timestamp: str | None
    loan_closed: str


class Liquidated(msgspec.Struct):
    """A position that was liquidated; `loan` in whole tokens of the pool, `total_liquidated` in USD."""

    contract_id: str
    asset: str
    loan: str
    total_liquidated: str
