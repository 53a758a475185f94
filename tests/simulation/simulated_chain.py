"""A seeded history of a made-up chain with its ground truth, computed here in plain Python and nowhere else.

Two protocols (one long, one short), lenders, borrowers, stakers and voters act at random. Every block comes with the
answers a node would give; `Truth` holds what an index of it must contain. Nothing of the indexer is imported.
"""

from __future__ import annotations

from simulated_leases import SimulatedLeases
from simulated_market import (
    CHAIN_ID,
    HOUR,
    NATIVE,
    NATIVE_TICKER,
    SECOND,
    START_NS,
    TYPES,
    UNIT,
    YEAR,
    Lease,
    Market,
    Truth,
    account,
    contract,
)
from static_feed import Content, event, sealed, tx_result

__all__ = [
    "CHAIN_ID",
    "HOUR",
    "NATIVE",
    "NATIVE_TICKER",
    "SECOND",
    "START_NS",
    "TYPES",
    "UNIT",
    "YEAR",
    "Lease",
    "Market",
    "Scenario",
    "Truth",
    "account",
    "contract",
    "event",
]


class Scenario(SimulatedLeases):
    """Grows a chain block by block; deterministic in its seed."""

    # --- time --------------------------------------------------------------------------------------------------

    def advance(self, count: int) -> None:
        """Seal `count` more blocks."""
        for _ in range(count):
            self._block()

    def _block(self) -> None:
        if self.height:
            self.now += self.random.randint(*self.spacing) * SECOND + self.random.randint(0, 999_999_999)
            self._hours()
        self.height += 1
        self._content = Content()
        # Prices of a block count for everything in it, wherever in the block they were fed.
        fed = [market for market in self.markets if self.height <= 3 or self.random.random() < 0.5]
        for market in fed:
            self._feed(market)
        if self.height > 3:
            for _ in range(self.random.choice([0, 0, 1, 1, 2, 3, 4])):
                self._act()
            self._keepers()
        for market in fed:
            self._sample(market)
        self._content.events.append(event("mint", ("denom", NATIVE), ("amount", "0"), ("mode", "BeginBlock")))
        self.truth.events += 1
        previous = self.blocks[-1].hash if self.blocks else ""
        self.blocks.append(sealed(self.height, self.now, self._content, previous, chain_id=CHAIN_ID))
        count = 1 + sum(len(result["events"]) for result in self._content.results)
        self.truth.blocks.append((self.height, self.blocks[-1].hash, len(self._content.txs), count))
        self._previous_ns = self.now
        if self.height == 1:
            self.balances_at[1] = dict(self.truth.balances)

    def _hours(self) -> None:
        """Rows on the hour: those not before the previous block and before this one, as of the previous block."""
        first, last = -(-self._previous_ns // HOUR), -(-self.now // HOUR) - 1
        for hour in range(max(first, last - 47), last + 1):
            for lease in self.leases.values():
                if lease.status == "open":
                    due = lease.due(self._previous_ns)
                    market = lease.market
                    debt = lease.principal + sum(due.values())
                    value = market.usd(lease.asset, lease.amount)
                    owed = market.usd(market.lpn, debt)
                    self.truth.position_hours[lease.address, hour] = (
                        lease.amount,
                        lease.principal,
                        due["overdue_margin"],
                        due["overdue_interest"],
                        due["due_margin"],
                        due["due_interest"],
                        value,
                        owed,
                        value - owed - lease.down_usd - lease.repaid_usd,
                    )
            for market in self.markets:
                balance = self.truth.balances[market.address("lpp"), market.coins[market.lpn].denom]
                owed = market.interest_due(self._previous_ns)
                value = balance + market.principal + owed
                self.truth.pool_hours[market.address("lpp"), hour] = (
                    balance,
                    market.principal,
                    owed,
                    market.receipts,
                    market.usd(market.lpn, value),
                )

    # --- actors ------------------------------------------------------------------------------------------------

    def _act(self) -> None:
        choose = self.random.random()
        opened = [lease for lease in self.leases.values() if lease.status == "open"]
        if choose < 0.15:
            self._send()
        elif choose < 0.22:
            self._stake()
        elif choose < 0.26:
            self._vote()
        elif choose < 0.29:
            self._broken()
        elif choose < 0.31:
            self._impostor()
        elif choose < 0.45:
            self._deposit(self.random.choice(self.markets))
        elif choose < 0.52:
            self._withdraw(self.random.choice(self.markets))
        elif choose < 0.68:
            self._request(self.random.choice(self.markets))
        elif not opened:
            self._send()
        elif choose < 0.82:
            self._settle(self.random.choice(opened), "repay")
        elif choose < 0.90:
            self._settle(self.random.choice(opened), "market-close")
        elif choose < 0.96:
            self._settle(self.random.choice(opened), "liquidation")
        else:
            self._warn(self.random.choice(opened))

    def _send(self) -> None:
        sender, receiver = self.random.sample(self.users, 2)
        amount = self.random.randint(1, 10**9)
        message = TYPES.new("cosmos.bank.v1beta1.MsgSend", from_address=sender, to_address=receiver)
        message.amount.add(denom=NATIVE, amount=str(amount))
        code = self.random.choice([0, 0, 0, 5])
        authz = self.random.random() < 0.2
        self._noted(1, "/cosmos.bank.v1beta1.MsgSend", sender, receiver, inner=int(authz))
        self._tx([message], self._moved(sender, receiver, amount, NATIVE), code=code, authz=authz)

    def _stake(self) -> None:
        user = self.random.choice(self.users)
        amount = self.random.randint(1, 10**9)
        height, tx = self._place
        if self.random.random() < 0.5:
            message = TYPES.new(
                "cosmos.staking.v1beta1.MsgDelegate", delegator_address=user, validator_address=self.validator
            )
            message.amount.denom, message.amount.amount = NATIVE, str(amount)
            self._noted(2, "/cosmos.staking.v1beta1.MsgDelegate", user, self.validator)
            self.truth.staking.add((height, tx, user, "delegate", amount))
            self._tx([message], [event("delegate", ("validator", self.validator), ("amount", f"{amount}{NATIVE}"))])
            return
        message = TYPES.new(
            "cosmos.distribution.v1beta1.MsgWithdrawDelegatorReward",
            delegator_address=user,
            validator_address=self.validator,
        )
        self._noted(2, "/cosmos.distribution.v1beta1.MsgWithdrawDelegatorReward", user, self.validator)
        self.truth.staking.add((height, tx, user, "withdraw", amount))
        pair = ("validator", self.validator), ("delegator", user)
        self._tx([message], [event("withdraw_rewards", ("amount", f"{amount}{NATIVE}"), *pair)])

    def _vote(self) -> None:
        user, proposal = self.random.choice(self.users), self.random.randint(1, 3)
        option = self.random.choice([1, 3])
        message = TYPES.new("cosmos.gov.v1.MsgVote", voter=user, proposal_id=proposal, option=option)
        self._noted(3, "/cosmos.gov.v1.MsgVote", user, str(proposal))
        self.truth.votes[proposal, user] = {1: "yes", 3: "no"}[option]
        self._tx([message], [event("proposal_vote", ("voter", user), ("proposal_id", str(proposal)))])

    def _broken(self) -> None:
        """Something that can't be understood: it must be set aside and stop nothing."""
        height, tx = self._place
        if self.random.random() < 0.5:
            self._content.txs.append(b"\xff\xff\xff not a transaction")
            self._content.results.append(tx_result([], code=2, log="tx parse error"))
            self.truth.txs += 1
            self.truth.quarantine.add((height, tx, "tx"))
            return
        attributes = [("_contract_address", contract("nobody")), *self._dated(), ("id", "x")]
        message = self._execute(self.keeper, contract("nobody"), {"anything": {}})
        self.truth.quarantine.add((height, tx, "event"))
        self._tx([message], [event("wasm-ls-open", *attributes)])

    def _impostor(self) -> None:
        """A contract that is no part of the protocol speaks its language: nothing may come of it."""
        stranger, market = contract("impostor"), self.random.choice(self.markets)
        pool = market.address("lpp")
        lease = self.random.choice([*self.leases, stranger])
        dated = self._dated()
        forged = [
            event("wasm-lp-deposit", ("_contract_address", stranger), *dated, ("from", stranger), ("to", pool),
                  ("deposit-amount", "5"), ("deposit-symbol", market.lpn), ("receipts", "5")),
            event("wasm-tr-profit", ("_contract_address", stranger), *dated, ("profit-amount-amount", "999"),
                  ("profit-amount-symbol", NATIVE_TICKER)),
            event("wasm-ls-close", ("_contract_address", stranger), ("id", lease), *dated),
            event("wasm-ls-request-loan", ("_contract_address", stranger), ("id", stranger)),
            event("wasm-ls-liquidation-warning", ("_contract_address", stranger), ("customer", stranger),
                  ("lease", lease), ("lease-asset", "BTC"), ("ltv", "850"), ("level", "1")),
        ]  # fmt: skip
        self._tx([self._execute(self.keeper, stranger, {"anything": {}})], forged)
