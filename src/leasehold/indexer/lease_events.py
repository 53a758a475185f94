"""What the events of leases do to positions and pools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leasehold.core import logging
from leasehold.indexer.knowledge import LPP, Protocol
from leasehold.indexer.lease_signals import tell_owner
from leasehold.indexer.lease_sums import count_closing, count_opening, count_settlement
from leasehold.indexer.moment import Moment
from leasehold.indexer.oracles import worth
from leasehold.indexer.positions import (
    CLOSED,
    CLOSING,
    LIQUIDATED,
    OPEN,
    OPENING,
    LeasePosition,
    liquidation_price,
    opening_fee,
)
from leasehold.indexer.tables import ten, usd_text
from leasehold.indexer.world import World
from leasehold.protocol import events
from leasehold.protocol.errors import ProtocolError
from leasehold.protocol.percent import MILLE
from leasehold.protocol.pool import RepayShares

_log = logging.get("leases")


class Leases:
    """Applies lease events in order; `divergences` counts where the chain's word differed from our arithmetic."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.divergences = 0
        self.orphans = 0

    def requested(self, moment: Moment, lease: str, owner: str, pool: str, loan: int) -> None:
        """A lease drew a loan from a pool; the coins have left the pool already."""
        protocol = self._world.knowledge.of(LPP, pool)
        if protocol is None or lease in self._world.positions:
            return
        terms, state = protocol.terms, self._world.pools[pool]
        balance = self._world.balance(pool, protocol.lpn_denom)
        owed = state.totals.principal + state.totals.interest_due(moment.time_ns) + loan
        try:
            rate = terms.borrow_rate.at(owed, balance)
        except ProtocolError:
            rate = terms.base_rate
        state.totals = state.totals.borrow(moment.time_ns, loan, rate)
        moment.dirty.pools[pool] = moment.time
        self._world.positions[lease] = LeasePosition(
            lease=lease,
            protocol=protocol.name,
            pool=pool,
            owner=owner,
            position_type=protocol.position_type,
            asset="",
            lpn=protocol.lpn,
            status=OPENING,
            requested_at=moment.time,
            requested_ns=moment.time_ns,
            requested_height=moment.height,
            requested_tx=moment.tx_hash,
            loan=loan,
            loan_rate=rate,
            margin_rate=terms.margin,
            due_period_ns=terms.due_period,
            max_ltv=terms.max_ltv,
            principal=loan,
            interest_paid_ns=moment.time_ns,
            margin_paid_ns=moment.time_ns,
            updated_at=moment.time,
            updated_height=moment.height,
        )
        self._touch(moment, self._world.positions[lease])

    def opened(self, moment: Moment, event: events.Open, amount: int | None) -> None:
        """A lease bought its asset; `amount` is what the chain says it bought, None if nobody could tell."""
        position = self._world.positions.get(event.id)
        protocol = self._world.knowledge.of(LPP, event.loan_pool_id)
        if position is None or protocol is None or event.currency not in protocol.currencies:
            self.orphans += 1
            return
        self._agree_on_rate(moment, position, event.air)
        world, now = self._world, moment.time_ns
        asset_price = world.price(protocol, event.currency, now)
        lpn_price = world.price(protocol, protocol.lpn, now)
        down_usd = world.usd(protocol, event.downpayment_symbol, event.downpayment_amount, now)
        loan_usd = worth(event.loan_amount, lpn_price, protocol.decimals(protocol.lpn))
        put_in = None if down_usd is None or loan_usd is None else down_usd + loan_usd
        asset_decimals = protocol.decimals(event.currency)
        position.amount_is_exact = amount is not None
        if amount is None:
            amount = 0 if put_in is None or not asset_price else put_in * ten(asset_decimals) // asset_price
        position.owner, position.asset, position.status = event.customer, event.currency, OPEN
        position.opened_at, position.opened_height, position.opened_tx = moment.time, moment.height, moment.tx_hash
        position.downpayment, position.downpayment_ticker = event.downpayment_amount, event.downpayment_symbol
        position.downpayment_usd = down_usd
        position.downpayment_price = world.price(protocol, event.downpayment_symbol, now)
        position.loan_usd, position.annual_rate = loan_usd, event.air
        position.amount = position.opened_amount = amount
        position.opened_asset_price, position.opened_lpn_price = asset_price, lpn_price
        if asset_price is not None and lpn_price:
            position.opened_lpn_amount = amount * asset_price // lpn_price
        position.opened_liquidation_price = self._liquidation_price(protocol, position, event.loan_amount, now)
        position.fee = opening_fee(asset_decimals, put_in, worth(amount, asset_price, asset_decimals))
        world.pools[position.pool].newest_rate = event.air
        moment.dirty.pools[position.pool] = moment.time
        self._record(
            moment,
            protocol,
            position,
            "open",
            payment=event.downpayment_amount,
            payment_ticker=event.downpayment_symbol,
            payment_usd=down_usd,
        )
        count_opening(moment, position, down_usd or 0, loan_usd or 0)

    def settled(self, moment: Moment, event: events.Repay) -> None:
        """A repayment, market close or liquidation was applied to a loan."""
        position = self._world.positions.get(event.to)
        if position is None:
            self.orphans += 1
            return
        protocol = self._world.knowledge.protocols[position.protocol]
        self._apply_payment(moment, position, event)
        kind, sold, sold_ticker = "repay", None, None
        if isinstance(event, events.ClosePosition | events.Liquidation):
            kind = "market-close" if isinstance(event, events.ClosePosition) else "liquidation"
            sold, sold_ticker = event.amount_amount, event.amount_symbol
            position.amount = max(position.amount - sold, 0)
        world, now = self._world, moment.time_ns
        lpn_price = world.price(protocol, protocol.lpn, now)
        lpn_decimals = protocol.decimals(protocol.lpn)
        payment_usd = world.usd(protocol, event.payment_symbol, event.payment_amount, now)
        sold_usd = None if sold is None else world.usd(protocol, sold_ticker or "", sold, now)
        principal_usd = worth(event.principal, lpn_price, lpn_decimals)
        if event.loan_close:
            self._close(moment, protocol, position, kind, event.change)
        self._record(
            moment,
            protocol,
            position,
            kind,
            payment=event.payment_amount,
            payment_ticker=event.payment_symbol,
            payment_usd=payment_usd,
            sold=sold,
            sold_ticker=sold_ticker,
            sold_usd=sold_usd,
            overdue_margin=event.overdue_margin_interest,
            overdue_interest=event.overdue_loan_interest,
            due_margin=event.due_margin_interest,
            due_interest=event.due_loan_interest,
            principal=event.principal,
            change=event.change,
            interest_usd=worth(event.overdue_loan_interest + event.due_loan_interest, lpn_price, lpn_decimals),
            margin_usd=worth(event.overdue_margin_interest + event.due_margin_interest, lpn_price, lpn_decimals),
            principal_usd=principal_usd,
            loan_close=event.loan_close,
            **_cause(event),
        )
        count_settlement(moment, position, kind, payment_usd or 0, sold_usd or 0, principal_usd or 0)
        if event.loan_close:
            count_closing(moment, position)
        tell_owner(moment, position, kind, event.loan_close)
        self._drop_final(moment, position)

    def finished(self, moment: Moment, event: events.Close) -> None:
        """A paid lease returned its asset."""
        position = self._world.positions.get(event.id)
        if position is None:
            self.orphans += 1
            return
        position.status, position.finished_at, position.amount = CLOSED, moment.time, 0
        protocol = self._world.knowledge.protocols[position.protocol]
        self._record(moment, protocol, position, "finish")
        self._drop_final(moment, position)

    def _agree_on_rate(self, moment: Moment, position: LeasePosition, air: int) -> None:
        rate = air - position.margin_rate
        if rate == position.loan_rate or rate < 0:
            return
        # The chain's word counts: a governance change that no event announced, or a pool we did not see from its start.
        self.divergences += 1
        pool = self._world.pools[position.pool]
        totals = pool.totals
        yearly = totals.yearly() + position.loan * (rate - position.loan_rate) // MILLE
        if totals.principal:
            pool.totals = totals._replace(annual=max(yearly, 0), rate_of=totals.principal)
        _log.info("loan rate differs from ours", lease=position.lease, ours=position.loan_rate, chain=rate)
        position.loan_rate = rate

    def _apply_payment(self, moment: Moment, position: LeasePosition, event: events.Repay) -> None:
        after, receipt = position.lease_loan.repay(moment.time_ns, event.payment_amount - event.change)
        interest = event.overdue_loan_interest + event.due_loan_interest
        margin = event.overdue_margin_interest + event.due_margin_interest
        agreed = (receipt.overdue_interest + receipt.due_interest, receipt.margin, receipt.principal)
        if agreed == (interest, margin, event.principal):
            position.keep_loan(after)
        else:
            self.divergences += 1
            position.principal = max(position.principal - event.principal, 0)
            position.interest_paid_ns = position.margin_paid_ns = moment.time_ns
        pool = self._world.pools[position.pool]
        shares = RepayShares(interest, min(event.principal, pool.totals.principal), 0)
        pool.totals = pool.totals.repay(moment.time_ns, shares, position.loan_rate)
        moment.dirty.pools[position.pool] = moment.time
        if event.loan_close:
            position.principal = 0

    def _close(self, moment: Moment, protocol: Protocol, position: LeasePosition, kind: str, change: int) -> None:
        whole = position.amount == 0
        position.status = (LIQUIDATED if kind == "liquidation" else CLOSED) if whole else CLOSING
        position.change += change
        position.close_kind, position.close_tx = kind, moment.tx_hash
        position.closed_at, position.closed_height = moment.time, moment.height
        # The surplus of a full liquidation goes to the profit; in every other case it is the owner's.
        returned = {} if kind == "liquidation" and whole else {position.lpn: position.change}
        if not whole:
            returned[position.asset] = returned.get(position.asset, 0) + position.amount
        position.collected, total = [], 0
        for ticker, amount in returned.items():
            usd = self._world.usd(protocol, ticker, amount, moment.time_ns)
            if amount:
                text = None if usd is None else usd_text(usd)
                position.collected.append({"ticker": ticker, "amount": str(amount), "usd": text or "0"})
                total += usd or 0
        position.collected_usd = total
        spent = (position.downpayment_usd or 0) + position.repaid_usd
        position.realized_pnl_usd = total - spent

    def _record(self, moment: Moment, protocol: Protocol, position: LeasePosition, kind: str, **values: Any) -> None:
        now = moment.time_ns
        asset_price = self._world.price(protocol, position.asset, now) if position.asset else None
        lpn_price = self._world.price(protocol, protocol.lpn, now)
        final = position.principal == 0
        row: dict[str, Any] = {
            **_NOTHING,
            **moment.key,
            "lease": position.lease,
            "owner": position.owner,
            "protocol": position.protocol,
            "kind": kind,
            "asset_price": asset_price,
            "lpn_price": lpn_price,
            "principal_after": position.principal,
            "amount_after": position.amount,
            "debt_after_usd": worth(position.principal, lpn_price, protocol.decimals(protocol.lpn)),
            "liquidation_price_after": 0 if final else self._liquidation_price(protocol, position, None, now),
            **values,
        }
        moment.rows.append_named("position_events", row)
        self._touch(moment, position)
        moment.log(
            "position",
            position.lease,
            {
                "kind": kind,
                "owner": position.owner,
                "status": position.status,
                "amount": str(position.amount),
                "principal": str(position.principal),
            },
        )

    def _liquidation_price(
        self, protocol: Protocol, position: LeasePosition, debt: int | None, now_ns: int
    ) -> int | None:
        if not position.asset:
            return None
        return liquidation_price(
            position.position_type == "Long",
            position.amount,
            position.due(now_ns).total if debt is None else debt,
            position.max_ltv,
            self._world.price(protocol, position.asset, now_ns),
            self._world.price(protocol, protocol.lpn, now_ns),
            protocol.decimals(position.asset),
            protocol.decimals(protocol.lpn),
        )

    def _touch(self, moment: Moment, position: LeasePosition) -> None:
        position.updated_at, position.updated_height = moment.time, moment.height
        moment.dirty.positions.add(position.lease)

    def _drop_final(self, moment: Moment, position: LeasePosition) -> None:
        self._touch(moment, position)
        if position.status in (CLOSED, LIQUIDATED):
            moment.rows.replace("positions", position.row())
            moment.dirty.positions.discard(position.lease)
            del self._world.positions[position.lease]


_NOTHING: Mapping[str, Any] = {
    "overdue_margin": 0,
    "overdue_interest": 0,
    "due_margin": 0,
    "due_interest": 0,
    "principal": 0,
    "change": 0,
    "loan_close": False,
}


def _cause(event: events.Repay) -> dict[str, Any]:
    """Why a position was liquidated, and the thresholds that stood."""
    if not isinstance(event, events.Liquidation):
        return {}
    return {"cause": event.cause, "ltv": event.ltv, "ltv_healthy": event.ltv_healthy}
