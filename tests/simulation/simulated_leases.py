"""Leases of a made-up chain from request to end, with their truth."""

from __future__ import annotations

from typing import Any

from simulated_market import (
    ADDON,
    BASE,
    MARGIN,
    OPTIMAL,
    Lease,
    Market,
    contract,
    interest,
)
from simulated_pools import SimulatedPools
from static_feed import event


class SimulatedLeases(SimulatedPools):
    """Borrowers, and what becomes of their positions."""

    # --- leases ------------------------------------------------------------------------------------------------

    def _request(self, market: Market) -> None:
        pool, denom = market.address("lpp"), market.coins[market.lpn].denom
        owner, asset = self.random.choice(self.users), self.random.choice(market.assets)
        loan = self.random.randint(10**8, 10**10)
        balance = self.truth.balances[pool, denom]
        if loan > balance:
            return self._deposit(market)
        self._lease_number += 1
        address, leaser = contract(f"lease{self._lease_number}"), market.address("leaser")
        owed = market.principal + market.interest_due(self.now) + loan
        left = balance - loan
        highest = OPTIMAL * 1000 // (1000 - OPTIMAL)
        rate = BASE + ADDON * (min(owed * 1000 // left, highest) if left else highest) // OPTIMAL
        events = [
            event("execute", ("_contract_address", leaser)),
            event("instantiate", ("_contract_address", address), ("code_id", "4")),
            *self._moved(pool, address, loan, denom),
            event("wasm-ls-request-loan", ("_contract_address", address), ("id", address)),
            event("wasm", ("_contract_address", leaser), ("lease_address", address)),
        ]
        self._noted(5, "/cosmwasm.wasm.v1.MsgExecuteContract", owner, leaser)
        down = self.random.randint(10**8, 10**9)
        self._tx([self._execute(owner, leaser, {"open_lease": {"currency": asset}}, [(down, denom)])], events)
        market.interest = market.interest_due(self.now)
        yearly = market.yearly() + loan * rate // 1000
        market.principal += loan
        market.annual, market.updated = (yearly, market.principal), self.now
        lease = Lease(
            address, owner, market, asset, loan, rate, down, market.lpn, self.now, loan, self.now, self.now, open_in=3
        )
        self.leases[address] = self.truth.leases[address] = lease
        return None

    def _open(self, lease: Lease) -> None:
        market = lease.market
        put_in = market.usd(market.lpn, lease.down) + market.usd(market.lpn, lease.loan)
        price = market.price(lease.asset)
        assert price is not None
        lease.amount = lease.bought = put_in * 10 ** market.decimals(lease.asset) // price * 997 // 1000
        lease.down_usd, lease.loan_usd = market.usd(market.lpn, lease.down), market.usd(market.lpn, lease.loan)
        lease.status = "open"
        self.amount_at[lease.address, self.height] = lease.amount
        pool = market.address("lpp")
        attributes = [
            ("_contract_address", lease.address),
            *self._dated(),
            ("id", lease.address),
            ("customer", lease.owner),
            ("air", str(lease.rate + MARGIN)),
            ("currency", lease.asset),
            ("loan-pool-id", pool),
            ("loan-amount", str(lease.loan)),
            ("loan-symbol", market.lpn),
            ("downpayment-amount", str(lease.down)),
            ("downpayment-symbol", lease.down_ticker),
        ]
        self._record(lease, "open", 0, lease.down, lease.down_usd)
        self._tx([self._execute(self.keeper, lease.address, {"relay": {}})], [event("wasm-ls-open", *attributes)])
        market.newest_rate = lease.rate + MARGIN
        self._count("tx_value", lease.down_usd + lease.loan_usd, "opened_usd")
        self.truth.days[self._day, "opened_loans_usd"] += lease.loan_usd
        self.truth.totals["opened_loans"] += lease.loan_usd
        self._active(lease.owner)

    def _settle(self, lease: Lease, kind: str) -> None:
        # A position of one unit has no part to sell; only a debt repaid in full closes it.
        if lease.amount < 2:
            kind = "repay"
        market, due = lease.market, lease.due(self.now)
        owed = sum(due.values()) + lease.principal
        choice = self.random.random()
        payment = owed + self.random.randint(0, 1000) if choice < 0.35 else self.random.randint(1, owed)
        change = max(payment - owed, 0)
        rest, parts = payment, {}
        for name in ("overdue_interest", "overdue_margin", "due_interest", "due_margin"):
            parts[name] = min(due[name], rest)
            rest -= parts[name]
        principal = min(rest, lease.principal)
        closes = principal == lease.principal
        sold = 0
        if kind != "repay":
            sold = lease.amount if closes and self.random.random() < 0.7 else self.random.randint(1, lease.amount - 1)
        self._pay(lease, parts, principal)
        events = self._payment_events(lease, parts, principal)
        old = self.random.random() < 0.3
        margin_names = (
            ("prev-margin-interest", "curr-margin-interest")
            if old
            else (
                "overdue-margin-interest",
                "due-margin-interest",
            )
        )
        loan_names = (
            ("prev-loan-interest", "curr-loan-interest")
            if old
            else (
                "overdue-loan-interest",
                "due-loan-interest",
            )
        )
        attributes = [
            ("_contract_address", lease.address),
            *self._dated(),
            ("to", lease.address),
            ("payment-amount", str(payment)),
            ("payment-symbol", market.lpn),
            ("loan-close", "true" if closes else "false"),
            (margin_names[0], str(parts["overdue_margin"])),
            (loan_names[0], str(parts["overdue_interest"])),
            (margin_names[1], str(parts["due_margin"])),
            (loan_names[1], str(parts["due_interest"])),
            ("principal", str(principal)),
            ("change", str(change)),
        ]
        if kind == "liquidation":
            attributes.append(("cause", "overdue interest"))
        if kind != "repay":
            attributes += [("amount-amount", str(sold)), ("amount-symbol", lease.asset)]
        lease.amount -= sold
        payment_usd = market.usd(market.lpn, payment)
        if kind == "repay":
            lease.repaid_usd += payment_usd
        elif kind == "liquidation":
            lease.liquidations += 1
            name = "FullyLiquidated" if closes else "PartiallyLiquidated"
            self.truth.outbox.add((lease.address, name, self.height))
        if closes:
            self._close(lease, kind, change)
        self._record(lease, kind, len(events), payment, payment_usd)
        names = {"repay": "ls-repay", "market-close": "ls-close-position", "liquidation": "ls-liquidation"}
        events.append(event("wasm-" + names[kind], *attributes))
        if self.random.random() < 0.2:
            # Progress of a swap under the same name, without a height: no settlement.
            events.append(event("wasm-ls-close-position", ("_contract_address", lease.address), ("stage", "swap")))
        if kind == "repay":
            self._noted(5, "/cosmwasm.wasm.v1.MsgExecuteContract", lease.owner, lease.address)
            denom = market.coins[market.lpn].denom
            self._tx([self._execute(lease.owner, lease.address, {"repay": []}, [(payment, denom)])], events)
        else:
            self._tx([self._execute(self.keeper, lease.address, {"relay": {}})], events)
        days = {"repay": "repaid_usd", "market-close": "market_closed_usd", "liquidation": "liquidated_usd"}
        self.truth.days[self._day, days[kind]] += payment_usd
        self.truth.days[self._day, "closed_loans_usd"] += market.usd(market.lpn, principal)
        if kind != "liquidation":
            self.truth.totals["tx_value"] += payment_usd
            self._active(lease.owner)

    def _pay(self, lease: Lease, parts: dict[str, int], principal: int) -> None:
        """Move the paid-until instants of lease and pool loan, and the pool's totals."""
        market = lease.market
        margin, loan = parts["overdue_margin"] + parts["due_margin"], parts["overdue_interest"] + parts["due_interest"]
        margin_due = interest(MARGIN, lease.principal, self.now - lease.margin_paid)
        loan_due = interest(lease.rate, lease.principal, self.now - lease.interest_paid)
        if margin_due:
            lease.margin_paid += (self.now - lease.margin_paid) * margin // margin_due
        if loan_due:
            lease.interest_paid += (self.now - lease.interest_paid) * loan // loan_due
        lease.principal -= principal
        left = market.principal - principal
        if left == 0:
            market.interest, market.annual = 0, (0, 1)
        else:
            market.interest = max(market.interest_due(self.now) - loan, 0)
            market.annual = (max(market.yearly() - principal * lease.rate // 1000, 0), left)
        market.principal, market.updated = left, self.now

    def _payment_events(self, lease: Lease, parts: dict[str, int], principal: int) -> list[dict[str, Any]]:
        market = lease.market
        denom = market.coins[market.lpn].denom
        margin = parts["overdue_margin"] + parts["due_margin"]
        to_pool = parts["overdue_interest"] + parts["due_interest"] + principal
        events = [event("execute", ("_contract_address", lease.address))]
        if margin:
            events += self._moved(lease.address, market.address("profit"), margin, denom)
        if to_pool:
            events += self._moved(lease.address, market.address("lpp"), to_pool, denom)
        return events

    def _close(self, lease: Lease, kind: str, change: int) -> None:
        market = lease.market
        whole = lease.amount == 0
        lease.close_kind = kind
        lease.status = ("liquidated" if kind == "liquidation" else "closed") if whole else "closing"
        lease.collected_usd = 0
        if not (kind == "liquidation" and whole):
            lease.collected_usd += market.usd(market.lpn, change)
        if not whole:
            lease.collected_usd += market.usd(lease.asset, lease.amount)
            lease.finish_in = 2
        if kind != "liquidation":
            self.truth.outbox.add((lease.address, "Closed", self.height))
        self.truth.totals["realized_pnl"] += lease.collected_usd - lease.down_usd - lease.repaid_usd

    def _warn(self, lease: Lease) -> None:
        level = self.random.randint(1, 3)
        kind = {1: "Funding", 2: "FundingRecommended", 3: "FundNow"}[level]
        self.truth.outbox.add((lease.address, kind, self.height))
        attributes = [
            ("_contract_address", lease.address),
            ("customer", lease.owner),
            ("lease", lease.address),
            ("lease-asset", lease.asset),
            ("ltv", str(850 + level)),
            ("level", str(level)),
        ]
        message = self._execute(self.keeper, lease.address, {"price_alarm": []})
        self._tx([message], [event("wasm-ls-liquidation-warning", *attributes)])

    def _keepers(self) -> None:
        """What moves by itself: leases that open or finish, profits and rewards."""
        for lease in list(self.leases.values()):
            if lease.status == "opening":
                lease.open_in -= 1
                if lease.open_in == 0:
                    self._open(lease)
            elif lease.status == "closing":
                lease.finish_in -= 1
                if lease.finish_in == 0:
                    self._finish(lease)
            if lease.status in ("closed", "liquidated"):
                del self.leases[lease.address]
        if self.random.random() < 0.1:
            self._treasury(self.random.choice(self.markets))

    def _finish(self, lease: Lease) -> None:
        lease.status, lease.amount = "closed", 0
        self._record(lease, "finish", 0, None, None)
        attributes = [("_contract_address", lease.address), ("id", lease.address), *self._dated()]
        self._tx([self._execute(self.keeper, lease.address, {"relay": {}})], [event("wasm-ls-close", *attributes)])
