"""What leases add up to: by day, in total, by asset and by account."""

from __future__ import annotations

from leasehold.indexer.moment import Moment
from leasehold.indexer.positions import LeasePosition
from leasehold.indexer.tables import USD_UNIT


def count_opening(moment: Moment, position: LeasePosition, down_usd: int, loan_usd: int) -> None:
    """A lease was opened."""
    volume = down_usd + loan_usd
    moment.today(openings=1, opened_usd=volume, opened_loans_usd=loan_usd)
    moment.total("tx_value", usd=volume)
    moment.total("opened_loans", usd=loan_usd)
    moment.rows.add(
        "asset_totals",
        (position.protocol, position.asset),
        moment.time,
        openings=1,
        loan=position.loan,
        loan_usd=loan_usd,
        downpayment_usd=down_usd,
    )
    moment.rows.add("accounts", (position.owner,), moment.time, openings=1, volume_usd=volume)
    moment.active(position.owner)


def count_settlement(
    moment: Moment, position: LeasePosition, kind: str, payment: int, sold: int, principal: int
) -> None:
    """A lease was paid, sold or liquidated, in part or as a whole; amounts in USD."""
    if kind == "repay":
        position.repayments += 1
        position.repaid_usd += payment
        position.last_repaid_at = moment.time
        moment.today(repaid_usd=payment, closed_loans_usd=principal)
        moment.total("tx_value", usd=payment)
        moment.rows.add("accounts", (position.owner,), moment.time, volume_usd=payment)
        moment.active(position.owner)
    elif kind == "market-close":
        position.market_closes += 1
        position.closed_usd += sold
        position.last_repaid_at = moment.time
        moment.today(market_closed_usd=payment, closed_loans_usd=principal)
        moment.total("tx_value", usd=payment)
        moment.rows.add("accounts", (position.owner,), moment.time, volume_usd=sold)
        moment.active(position.owner)
    else:
        position.liquidations += 1
        position.liquidated_usd += payment
        position.last_liquidated_at = moment.time
        moment.today(liquidations=1, liquidated_usd=payment, closed_loans_usd=principal)


def count_closing(moment: Moment, position: LeasePosition) -> None:
    """A loan was closed; what a lease brought its owner is known only if its opening was seen."""
    if position.opened_at is None:
        position.realized_pnl_usd = None
        return
    spent = (position.downpayment_usd or 0) + position.repaid_usd
    pnl = (position.collected_usd or 0) - spent
    position.realized_pnl_usd = pnl
    figures = {f"band_{band(pnl, spent)}": 1}
    moment.rows.add(
        "accounts", (position.owner,), moment.time, closings=1, wins=int(pnl > 0), realized_pnl_usd=pnl, **figures
    )
    moment.total("realized_pnl", usd=pnl)


def band(pnl: int, spent: int) -> int:
    """Which band of profit in percent of what was spent: <0, 0-50, 50-100, 100-300, above."""
    if pnl < 0:
        return 0
    if spent == 0:
        return 4 if pnl else 1
    percent = pnl * 100 * USD_UNIT // spent
    for band, limit in ((1, 50), (2, 100)):
        if percent < limit * USD_UNIT:
            return band
    return 3 if percent <= 300 * USD_UNIT else 4
