"""What deposits, withdrawals, rewards and profits do to pools, lenders, the treasury and the roll-ups."""

from __future__ import annotations

from leasehold.indexer.knowledge import LPP, PROFIT
from leasehold.indexer.moment import Moment
from leasehold.indexer.oracles import worth
from leasehold.indexer.world import LenderState, World
from leasehold.protocol import events


class Pools:
    """Applies the events of pools and of the treasury in order."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.orphans = 0

    def deposited(self, moment: Moment, event: events.Deposit) -> None:
        """A lender put coins in."""
        self._flow(
            moment,
            "deposit",
            event.to,
            event.sender,
            event.deposit_amount,
            event.deposit_symbol,
            event.receipts,
            closes=False,
        )

    def withdrew(self, moment: Moment, event: events.Withdraw) -> None:
        """A lender took coins out."""
        self._flow(
            moment,
            "withdraw",
            event.sender,
            event.to,
            event.withdraw_amount,
            event.withdraw_symbol,
            event.receipts,
            closes=event.close,
        )

    def _flow(
        self,
        moment: Moment,
        kind: str,
        pool: str,
        lender: str,
        amount: int,
        ticker: str,
        receipts: int,
        *,
        closes: bool,
    ) -> None:
        protocol = self._world.knowledge.of(LPP, pool)
        if protocol is None:
            self.orphans += 1
            return
        price = self._world.price(protocol, ticker, moment.time_ns)
        usd = worth(amount, price, protocol.decimals(protocol.lpn))
        moment.rows.append_named(
            "pool_flows",
            {
                **moment.key,
                "kind": kind,
                "pool": pool,
                "protocol": protocol.name,
                "lender": lender,
                "amount": amount,
                "ticker": ticker,
                "receipts": receipts,
                "price": price,
                "usd": usd,
                "closes": closes,
            },
        )
        known = self._world.lenders.get((lender, pool))
        if known is None:
            known = self._world.lenders[lender, pool] = LenderState(lender, pool, joined_at=moment.time)
        state = self._world.pools[pool]
        if kind == "deposit":
            known.receipts += receipts
            known.deposited += amount
            known.deposited_usd += usd or 0
            state.totals = state.totals.with_receipts(receipts)
            moment.today(deposited_usd=usd or 0)
        else:
            known.receipts = 0 if closes else max(known.receipts - receipts, 0)
            known.withdrawn += amount
            known.withdrawn_usd += usd or 0
            state.totals = state.totals.with_receipts(-receipts)
            moment.today(withdrawn_usd=usd or 0)
        moment.dirty.lenders[lender, pool] = moment.time
        moment.dirty.pools[pool] = moment.time
        moment.total("tx_value", usd=usd or 0)
        moment.active(lender)
        moment.log("pool", pool, {"kind": kind, "lender": lender, "amount": str(amount), "receipts": str(receipts)})

    def rewarded(self, moment: Moment, event: events.Rewards) -> None:
        """The treasury sent native tokens to a pool."""
        protocol = self._world.knowledge.of(LPP, event.to)
        price = self._world.native_price(moment.time_ns, protocol)
        usd = worth(event.rewards_amount, price, self._world.knowledge.native_decimals)
        name = None if protocol is None else protocol.name
        row = {"kind": "rewards", "protocol": name, "pool": event.to, "amount": event.rewards_amount}
        moment.rows.append_named("treasury_flows", {**moment.key, **row, "price": price, "usd": usd})
        moment.today(rewards=event.rewards_amount, rewards_usd=usd or 0)
        moment.total("rewards", amount=event.rewards_amount, usd=usd or 0)

    def profited(self, moment: Moment, event: events.Profit, contract: str) -> None:
        """A profit contract sent bought-back native tokens to the treasury."""
        protocol = self._world.knowledge.of(PROFIT, contract)
        price = self._world.native_price(moment.time_ns, protocol)
        amount = event.profit_amount_amount
        usd = worth(amount, price, self._world.knowledge.native_decimals)
        name = None if protocol is None else protocol.name
        row = {"kind": "profit", "protocol": name, "amount": amount, "price": price, "usd": usd}
        moment.rows.append_named("treasury_flows", {**moment.key, **row})
        moment.today(profit=amount, profit_usd=usd or 0)
        moment.total("profit", amount=amount, usd=usd or 0)

    def claimed(self, moment: Moment, lender: str, pool: str, amount: int, message: int, inner: int) -> None:
        """A lender took native rewards out of a pool."""
        protocol = self._world.knowledge.of(LPP, pool)
        price = self._world.native_price(moment.time_ns, protocol)
        usd = worth(amount, price, self._world.knowledge.native_decimals)
        moment.rows.append(
            "reward_claims",
            (moment.height, moment.tx, message, inner, lender, pool, amount, usd, moment.time),
        )
        known = self._world.lenders.get((lender, pool))
        if known is not None:
            known.rewards += amount
            moment.dirty.lenders[lender, pool] = moment.time
