"""What leases announce: warnings, refused swaps, automatic closes, covered losses, and word to their owners."""

from __future__ import annotations

from leasehold.indexer.knowledge import Protocol
from leasehold.indexer.moment import Moment
from leasehold.indexer.positions import LeasePosition
from leasehold.indexer.world import World
from leasehold.protocol import events

_WARNINGS = {1: "Funding", 2: "FundingRecommended", 3: "FundNow"}


class LeaseSignals:
    """Notes what is announced; none of it moves money."""

    def __init__(self, world: World) -> None:
        self._world = world

    def warned(self, moment: Moment, event: events.LiquidationWarning) -> None:
        """A position entered or stayed in a warning zone."""
        moment.rows.append_named(
            "lease_signals",
            {
                **moment.key,
                "lease": event.lease,
                "owner": event.customer,
                "kind": "warning",
                "asset": event.lease_asset,
                "level": event.level,
                "ltv": event.ltv,
            },
        )
        kind = _WARNINGS.get(event.level)
        if kind is not None:
            data = {"level": event.level, "ltv": event.ltv, "position": event.lease}
            moment.notify(event.lease, kind, event.customer, data)

    def refused_swap(self, moment: Moment, event: events.SlippageAnomaly) -> None:
        """A liquidation's swap was refused."""
        row = {"lease": event.lease, "owner": event.customer, "asset": event.lease_asset, "ltv": event.max_slippage}
        moment.rows.append_named("lease_signals", {**moment.key, **row, "kind": "slippage"})

    def auto_closed(self, moment: Moment, event: events.AutoClose) -> None:
        """A close policy fired."""
        position = self._world.positions.get(event.to)
        stop = event.stop_loss_ltv is not None
        strategy, ltv = ("stop-loss", event.stop_loss_ltv) if stop else ("take-profit", event.take_profit_ltv)
        row = {"lease": event.to, "owner": position.owner if position else "", "strategy": strategy, "ltv": ltv}
        moment.rows.append_named("lease_signals", {**moment.key, **row, "kind": "auto-close"})
        if position is not None:
            position.close_strategy, position.close_strategy_ltv = strategy, ltv
            position.updated_at, position.updated_height = moment.time, moment.height
            moment.dirty.positions.add(position.lease)

    def covered(self, moment: Moment, event: events.CoverLoss, protocol: Protocol | None) -> None:
        """The reserve paid for a lease."""
        usd = None
        if protocol is not None:
            usd = self._world.usd(protocol, event.payment_symbol, event.payment_amount, moment.time_ns)
        row = {
            "lease": event.to,
            "protocol": None if protocol is None else protocol.name,
            "amount": event.payment_amount,
            "ticker": event.payment_symbol,
            "usd": usd,
        }
        moment.rows.append_named("reserve_covers", {**moment.key, **row})


def tell_owner(moment: Moment, position: LeasePosition, kind: str, closes: bool) -> None:
    """Queue word of a closing or a liquidation."""
    data = {"position": position.lease}
    if kind == "liquidation":
        moment.notify(position.lease, "FullyLiquidated" if closes else "PartiallyLiquidated", position.owner, data)
    elif closes:
        moment.notify(position.lease, "Closed", position.owner, data)
