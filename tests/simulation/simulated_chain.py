"""A seeded history of a made-up chain with its ground truth, computed here in plain Python and nowhere else.

Two protocols (one long, one short), lenders, borrowers, stakers and voters act at random. Every block comes with the
answers a node would give; `Truth` holds what an index of it must contain. Nothing of the indexer is imported.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from static_feed import Content, StaticBlock, event, sealed, tx_result

from leasehold.chain.registry import registry
from leasehold.core.addresses import encode

PREFIX, NATIVE, NATIVE_TICKER = "chain", "ulsh", "LSH"
CHAIN_ID = "static-1"
START_NS = 1_735_689_600_000_000_000 + 123_456_789
SECOND = 1_000_000_000
HOUR = 3600 * SECOND
YEAR = 365 * 24 * HOUR
UNIT = 10**18
MARGIN, DUE_PERIOD, MAX_LTV, BASE, OPTIMAL, ADDON = 40, 30 * 24 * HOUR, 900, 60, 700, 20
TYPES = registry("leasehold")


def account(name: str) -> str:
    return encode(PREFIX, hashlib.sha256(name.encode()).digest()[:20])


def contract(name: str) -> str:
    return encode(PREFIX, hashlib.sha256(name.encode()).digest())


def interest(rate: int, principal: int, period: int) -> int:
    return principal * rate // 1000 * period // YEAR


@dataclass
class Coin:
    ticker: str
    denom: str
    decimals: int
    group: str


@dataclass
class Market:
    """One protocol: its contracts, currencies, newest prices (quote per amount, in the root) and pool."""

    name: str
    lpn: str
    stable: str
    coins: dict[str, Coin]
    tree: list[tuple[str, int, str | None]]
    assets: list[str]
    fed: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    sampled_at: int = 0
    receipts: int = 0
    principal: int = 0
    interest: int = 0
    annual: tuple[int, int] = (0, 1)
    updated: int = 0
    newest_rate: int = 0

    def address(self, role: str) -> str:
        return contract(f"{self.name}/{role}")

    def decimals(self, ticker: str) -> int:
        return self.coins[ticker].decimals

    def yearly(self) -> int:
        return self.principal * self.annual[0] // self.annual[1]

    def interest_due(self, now: int) -> int:
        return 0 if self.principal == 0 else self.interest + self.yearly() * (now - self.updated) // YEAR

    def in_root(self, ticker: str) -> tuple[int, int] | None:
        """(amount, quote) of a ticker in the root currency."""
        parents = {child: parent for child, _, parent in self.tree}
        amount, quote = 1, 1
        while (parent := parents[ticker]) is not None:
            if (ticker, parent) not in self.fed:
                return None
            leg = self.fed[ticker, parent]
            amount, quote, ticker = amount * leg[0], quote * leg[1], parent
        return amount, quote

    def price(self, ticker: str) -> int | None:
        """USD of a whole token in 10^-18, floored."""
        of = self.in_root(ticker)
        stable = self.in_root(self.stable)
        if of is None or stable is None:
            return None
        amount, quote = of[0] * stable[1], of[1] * stable[0]
        shift = self.decimals(ticker) - self.decimals(self.stable)
        scaled = quote * UNIT * 10 ** max(shift, 0)
        return scaled // (amount * 10 ** max(-shift, 0))

    def usd(self, ticker: str, amount: int) -> int:
        price = self.price(ticker)
        assert price is not None
        return amount * price // 10 ** self.decimals(ticker)


@dataclass
class Lease:
    address: str
    owner: str
    market: Market
    asset: str
    loan: int
    rate: int
    down: int
    down_ticker: str
    start: int
    principal: int
    interest_paid: int
    margin_paid: int
    amount: int = 0
    open_in: int = 0
    status: str = "opening"
    down_usd: int = 0
    loan_usd: int = 0
    repaid_usd: int = 0
    liquidations: int = 0
    close_kind: str | None = None
    collected_usd: int | None = None
    finish_in: int = 0
    bought: int = 0

    def due(self, now: int) -> dict[str, int]:
        margin = interest(MARGIN, self.principal, now - self.margin_paid)
        loan = interest(self.rate, self.principal, now - self.interest_paid)
        late_margin = late_loan = 0
        if now - self.margin_paid >= DUE_PERIOD:
            late_margin = interest(MARGIN, self.principal, now - self.margin_paid - DUE_PERIOD)
            late_loan = interest(self.rate, self.principal, max(now - DUE_PERIOD - self.interest_paid, 0))
        return {
            "overdue_margin": late_margin,
            "overdue_interest": late_loan,
            "due_margin": margin - late_margin,
            "due_interest": loan - late_loan,
        }


@dataclass
class Truth:
    """What the index must hold after the last block."""

    blocks: list[tuple[int, str, int, int]] = field(default_factory=list)
    messages: set[tuple[Any, ...]] = field(default_factory=set)
    account_messages: set[tuple[Any, ...]] = field(default_factory=set)
    position_events: dict[tuple[int, int, int], tuple[Any, ...]] = field(default_factory=dict)
    pool_flows: dict[tuple[int, int, int], tuple[Any, ...]] = field(default_factory=dict)
    treasury_flows: dict[tuple[int, int, int], tuple[Any, ...]] = field(default_factory=dict)
    outbox: set[tuple[str, str, int]] = field(default_factory=set)
    quarantine: set[tuple[int, int, str]] = field(default_factory=set)
    leases: dict[str, Lease] = field(default_factory=dict)
    lenders: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    balances: dict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))
    totals: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    days: dict[tuple[int, str], int] = field(default_factory=lambda: defaultdict(int))
    wallets: set[tuple[int, str]] = field(default_factory=set)
    votes: dict[tuple[int, str], str] = field(default_factory=dict)
    staking: set[tuple[Any, ...]] = field(default_factory=set)
    position_hours: dict[tuple[str, int], tuple[int, ...]] = field(default_factory=dict)
    pool_hours: dict[tuple[str, int], tuple[int, ...]] = field(default_factory=dict)
    candles: dict[tuple[str, str, int], list[int]] = field(default_factory=dict)
    events: int = 0
    txs: int = 0


class Scenario:
    """Grows a chain block by block; deterministic in its seed."""

    def __init__(self, seed: int, *, spacing: tuple[int, int] = (1, 900)) -> None:
        self.random = random.Random(seed)
        self.spacing = spacing
        self.truth = Truth()
        self.blocks: list[StaticBlock] = []
        self.now = START_NS
        self.height = 0
        self.users = [account(f"user{n}") for n in range(8)]
        self.lenders = [account(f"lender{n}") for n in range(5)]
        self.feeder, self.keeper, self.validator = account("feeder"), account("keeper"), "chainvaloper1validator"
        self.admin, self.treasury = contract("admin"), contract("treasury")
        self.leases: dict[str, Lease] = {}
        self.amount_at: dict[tuple[str, int], int] = {}
        self.balances_at: dict[int, dict[tuple[str, str], int]] = {}
        self.markets = [self._long(), self._short()]
        self._content = Content()
        self._lease_number = 0
        self._previous_ns = 0

    # --- set-up ---------------------------------------------------------------------------------------------

    def _long(self) -> Market:
        coins = [
            Coin("USDC", "ibc/USDC", 6, "lpn"),
            Coin("BTC", "ibc/BTC", 8, "lease"),
            Coin("ETH", "ibc/ETH", 18, "lease"),
            Coin(NATIVE_TICKER, NATIVE, 6, "native"),
        ]
        tree = [("USDC", 0, None), ("BTC", 1, "USDC"), ("ETH", 2, "BTC"), (NATIVE_TICKER, 3, "USDC")]
        return Market("OSMOSIS-OSMOSIS-USDC", "USDC", "USDC", {c.ticker: c for c in coins}, tree, ["BTC", "ETH"])

    def _short(self) -> Market:
        coins = [
            Coin("BTC", "ibc/BTC", 8, "lpn"),
            Coin("USDC", "ibc/USDC", 6, "lease"),
            Coin(NATIVE_TICKER, NATIVE, 6, "native"),
        ]
        tree = [("BTC", 0, None), ("USDC", 1, "BTC"), (NATIVE_TICKER, 2, "USDC")]
        return Market("OSMOSIS-OSMOSIS-BTC", "BTC", "USDC", {c.ticker: c for c in coins}, tree, ["USDC"])

    def query(self, path: str, data: bytes, height: int) -> bytes | None:
        """Answers of the chain to what an indexer may ask."""
        if path == "/cosmos.bank.v1beta1.Query/AllBalances":
            address = TYPES.parse("cosmos.bank.v1beta1.QueryAllBalancesRequest", data).address
            response = TYPES.new("cosmos.bank.v1beta1.QueryAllBalancesResponse")
            for (owner, denom), amount in self.balances_at.get(height, {}).items():
                if owner == address and amount:
                    response.balances.add(denom=denom, amount=str(amount))
            return bytes(response.SerializeToString())
        if path != "/cosmwasm.wasm.v1.Query/SmartContractState":
            return None
        request = TYPES.parse("cosmwasm.wasm.v1.QuerySmartContractStateRequest", data)
        answer = self._smart(request.address, json.loads(request.query_data), height)
        if answer is None:
            return None
        message = TYPES.new("cosmwasm.wasm.v1.QuerySmartContractStateResponse", data=json.dumps(answer).encode())
        return bytes(message.SerializeToString())

    def _smart(self, address: str, query: dict[str, Any], height: int) -> Any:
        kind = next(iter(query))
        if address == self.admin:
            if kind == "platform":
                return {"treasury": self.treasury, "timealarms": contract("timealarms")}
            if kind == "protocols":
                return sorted(market.name for market in self.markets)
            market = next(m for m in self.markets if m.name == query["protocol"])
            roles = ("leaser", "lpp", "oracle", "profit", "reserve")
            contracts = {role: market.address(role) for role in roles}
            return {"network": "Osmosis", "dex": "Osmosis", "contracts": contracts}
        for market in self.markets:
            if address == market.address("oracle"):
                return self._oracle(market, kind)
            if address == market.address("lpp") and kind == "lpn":
                return market.lpn
            if address == market.address("lpp") and kind == "config":
                rate = {
                    "base_interest_rate": BASE,
                    "utilization_optimal": OPTIMAL,
                    "addon_optimal_interest_rate": ADDON,
                }
                return {"lease_code": 4, "borrow_rate": rate, "min_utilization": 0}
            if address == market.address("leaser"):
                spec = {"liability": {"max": MAX_LTV}}
                return {
                    "config": {
                        "lease_interest_rate_margin": MARGIN,
                        "lease_due_period": DUE_PERIOD,
                        "lease_position_spec": spec,
                    }
                }
        if (address, height) in self.amount_at:
            return {"opened": {"amount": {"amount": str(self.amount_at[address, height]), "ticker": "X"}}}
        return None

    def _oracle(self, market: Market, kind: str) -> Any:
        if kind == "currencies":
            return [
                {
                    "ticker": c.ticker,
                    "bank_symbol": c.denom,
                    "dex_symbol": "dex" + c.denom,
                    "decimal_digits": c.decimals,
                    "group": c.group,
                }
                for c in market.coins.values()
            ]
        if kind == "stable_currency":
            return market.stable
        if kind == "feeders":
            return [self.feeder]
        if kind == "config":
            # One long sample: the price of an edge is simply its last observation.
            config = {"min_feeders": 500, "sample_period_secs": 10**7, "samples_number": 1, "discount_factor": 650}
            return {"price_config": config}
        nodes = {ticker: {"value": [number, ticker], "children": []} for ticker, number, _ in market.tree}
        for ticker, _, parent in market.tree:
            if parent is not None:
                nodes[parent]["children"].append(nodes[ticker])
        return {"tree": nodes[market.tree[0][0]]}

    # --- building transactions -------------------------------------------------------------------------------

    def _tx(self, messages: list[Any], events: list[dict[str, Any]], *, code: int = 0, authz: bool = False) -> None:
        """Add a transaction of packed messages; events are those of message 0 unless they say otherwise."""
        signer = TYPES.signers(messages[0])[0] if messages else self.keeper
        packed = [TYPES.pack(message) for message in messages]
        if authz:
            packed = [TYPES.pack(TYPES.new("cosmos.authz.v1beta1.MsgExec", grantee=self.keeper, msgs=packed))]
        memo = f"{self.height}/{len(self._content.txs)}"
        body = TYPES.new("cosmos.tx.v1beta1.TxBody", messages=packed, memo=memo)
        fee = TYPES.new("cosmos.tx.v1beta1.Fee", gas_limit=200000)
        fee.amount.add(denom=NATIVE, amount="500")
        auth = TYPES.new("cosmos.tx.v1beta1.AuthInfo", fee=fee)
        raw = TYPES.new(
            "cosmos.tx.v1beta1.TxRaw",
            body_bytes=body.SerializeToString(),
            auth_info_bytes=auth.SerializeToString(),
            signatures=[b"s" * 64],
        ).SerializeToString()
        ante = [
            event("coin_spent", ("spender", signer), ("amount", f"500{NATIVE}")),
            event("coin_received", ("receiver", self.treasury), ("amount", f"100{NATIVE}")),
            event("tx", ("fee", f"500{NATIVE}"), ("fee_payer", signer)),
        ]
        self.truth.balances[self.treasury, NATIVE] += 100
        for item in events:
            item["attributes"].append({"key": "msg_index", "value": "0", "index": True})
        self._content.txs.append(raw)
        self._content.results.append(tx_result(ante + (events if code == 0 else []), code=code))
        self.truth.txs += 1
        self.truth.events += 3 + (len(events) if code == 0 else 0)

    @property
    def _place(self) -> tuple[int, int]:
        """Height and index of the transaction about to be added."""
        return self.height, len(self._content.txs)

    def _noted(self, kind: int, type_url: str, sender: str, receiver: str, *, inner: int = 0) -> None:
        """A message that an account's history must show."""
        height, tx = self._place
        self.truth.messages.add((height, tx, 0, inner, type_url, sender, receiver))
        for address in {sender, receiver}:
            if "1" in address:
                self.truth.account_messages.add((address, kind, height, tx, 0, inner))

    def _execute(self, sender: str, to: str, call: Any, funds: list[tuple[int, str]] | None = None) -> Any:
        message = TYPES.new(
            "cosmwasm.wasm.v1.MsgExecuteContract", sender=sender, contract=to, msg=json.dumps(call).encode()
        )
        for amount, denom in funds or []:
            message.funds.add(denom=denom, amount=str(amount))
        return message

    def _moved(self, sender: str, receiver: str, amount: int, denom: str) -> list[dict[str, Any]]:
        """Bank events of a transfer; the truth follows the watched contracts."""
        text = f"{amount}{denom}"
        watched = {self.treasury} | {m.address(r) for m in self.markets for r in ("lpp", "profit", "reserve")}
        if sender in watched:
            self.truth.balances[sender, denom] -= amount
        if receiver in watched:
            self.truth.balances[receiver, denom] += amount
        return [
            event("coin_spent", ("spender", sender), ("amount", text)),
            event("coin_received", ("receiver", receiver), ("amount", text)),
            event("transfer", ("recipient", receiver), ("sender", sender), ("amount", text)),
        ]

    def _dated(self) -> list[tuple[str, str]]:
        return [("height", str(self.height)), ("at", str(self.now)), ("idx", str(len(self._content.txs)))]

    def _key(self, before: int) -> tuple[int, int, int]:
        """Key of an event that comes after `before` events of its message, behind three of the ante chain."""
        return (*self._place, 3 + before)

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

    # --- prices ------------------------------------------------------------------------------------------------

    def _feed(self, market: Market) -> None:
        prices = []
        for ticker, _, parent in market.tree:
            if parent is None:
                continue
            amount, quote = self._quote(market, ticker, parent)
            market.fed[ticker, parent] = (amount, quote)
            prices.append(
                {
                    "amount": {"amount": str(amount), "ticker": ticker},
                    "amount_quote": {"amount": str(quote), "ticker": parent},
                }
            )
        oracle = market.address("oracle")
        call = {"feed_prices": {"prices": prices}}
        self._tx([self._execute(self.feeder, oracle, call)], [event("execute", ("_contract_address", oracle))])

    def _quote(self, market: Market, ticker: str, parent: str) -> tuple[int, int]:
        whole = {"BTC": 60_000, "ETH": 3_000, "USDC": 1, NATIVE_TICKER: 0.05}
        factor = self.random.randint(900, 1100)
        quote = int(whole[ticker] / whole[parent] * factor * 10**9) or 1
        amount = 10**12
        shift = market.decimals(ticker) - market.decimals(parent)
        return (amount * 10 ** max(shift, 0), quote * 10 ** max(-shift, 0))

    def _sample(self, market: Market) -> None:
        same_minute = self.now // (60 * SECOND) == market.sampled_at // (60 * SECOND)
        if same_minute and self.now - market.sampled_at < 15 * SECOND:
            return
        market.sampled_at = self.now // 1000 * 1000
        for ticker, _, _ in market.tree:
            price = market.price(ticker)
            assert price is not None
            start = self.now // HOUR
            candle = self.truth.candles.setdefault((market.name, ticker, start), [price, price, price, price, 0])
            candle[1], candle[2], candle[3] = max(candle[1], price), min(candle[2], price), price
            candle[4] += 1

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

    # --- pools -------------------------------------------------------------------------------------------------

    def _value(self, market: Market) -> int:
        balance = self.truth.balances[market.address("lpp"), market.coins[market.lpn].denom]
        return balance + market.principal + market.interest_due(self.now)

    def _deposit(self, market: Market) -> None:
        lender, pool = self.random.choice(self.lenders), market.address("lpp")
        amount = self.random.randint(10**9, 10**12)
        receipts = amount * market.receipts // self._value(market) if market.receipts else amount
        denom = market.coins[market.lpn].denom
        usd = market.usd(market.lpn, amount)
        events = [event("execute", ("_contract_address", pool)), *self._moved(lender, pool, amount, denom)]
        self.truth.pool_flows[self._key(len(events))] = ("deposit", pool, lender, amount, receipts, usd, False)
        parties = ("from", lender), ("to", pool)
        coins = ("deposit-amount", str(amount)), ("deposit-symbol", market.lpn), ("receipts", str(receipts))
        events.append(event("wasm-lp-deposit", ("_contract_address", pool), *self._dated(), *parties, *coins))
        self._noted(4, "/cosmwasm.wasm.v1.MsgExecuteContract", lender, pool)
        self._tx([self._execute(lender, pool, {"deposit": []}, [(amount, denom)])], events)
        market.receipts += receipts
        state = self.truth.lenders.setdefault((lender, pool), [0, 0, 0])
        state[0] += receipts
        state[1] += amount
        self._count("tx_value", usd, "deposited_usd")
        self._active(lender)

    def _withdraw(self, market: Market) -> None:
        pool = market.address("lpp")
        denom = market.coins[market.lpn].denom
        holders = [(who, s) for (who, of), s in self.truth.lenders.items() if of == pool and s[0] > 0]
        if not holders:
            return self._deposit(market)
        lender, state = self.random.choice(holders)
        receipts = state[0] if self.random.random() < 0.3 else self.random.randint(1, state[0])
        amount = receipts * self._value(market) // market.receipts
        if not 0 < amount <= self.truth.balances[pool, denom]:
            return self._deposit(market)
        closes = receipts == state[0]
        usd = market.usd(market.lpn, amount)
        events = [event("execute", ("_contract_address", pool)), *self._moved(pool, lender, amount, denom)]
        self.truth.pool_flows[self._key(len(events))] = ("withdraw", pool, lender, amount, receipts, usd, closes)
        parties = ("to", lender), ("from", pool)
        coins = ("withdraw-amount", str(amount)), ("withdraw-symbol", market.lpn), ("receipts", str(receipts))
        close = ("close", "true" if closes else "false")
        events.append(event("wasm-lp-withdraw", ("_contract_address", pool), *self._dated(), *parties, *coins, close))
        self._noted(4, "/cosmwasm.wasm.v1.MsgExecuteContract", lender, pool)
        self._tx([self._execute(lender, pool, {"burn": {"amount": {"amount": str(receipts)}}})], events)
        market.receipts -= receipts
        state[0] -= receipts
        state[2] += amount
        self._count("tx_value", usd, "withdrawn_usd")
        self._active(lender)
        return None

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

    def _treasury(self, market: Market) -> None:
        amount = self.random.randint(1, 10**10)
        usd = amount * (market.price(NATIVE_TICKER) or 0) // 10**6
        if self.random.random() < 0.5:
            profit = market.address("profit")
            events = self._moved(profit, self.treasury, amount, NATIVE)
            self.truth.treasury_flows[self._key(len(events))] = ("profit", amount, usd)
            coins = ("profit-amount-amount", str(amount)), ("profit-amount-symbol", NATIVE_TICKER)
            if self.random.random() < 0.3:
                coins = ()
            events.append(event("wasm-tr-profit", ("_contract_address", profit), *self._dated(), *coins))
            name = "profit"
        else:
            pool = market.address("lpp")
            events = self._moved(self.treasury, pool, amount, NATIVE)
            self.truth.treasury_flows[self._key(len(events))] = ("rewards", amount, usd)
            coins = ("rewards-amount", str(amount)), ("rewards-symbol", NATIVE_TICKER)
            head = ("_contract_address", self.treasury), *self._dated(), ("to", pool)
            events.append(event("wasm-tr-rewards", *head, *coins))
            name = "rewards"
        self.truth.totals[name] += usd
        self.truth.days[self._day, f"{name}_usd"] += usd
        self._tx([self._execute(self.keeper, contract("timealarms"), {"dispatch_alarms": {}})], events)

    # --- bookkeeping -------------------------------------------------------------------------------------------

    @property
    def _day(self) -> int:
        return self.now // (24 * HOUR)

    def _count(self, total: str, usd: int, day: str) -> None:
        self.truth.totals[total] += usd
        self.truth.days[self._day, day] += usd

    def _active(self, address: str) -> None:
        self.truth.wallets.add((self._day, address))

    def _record(self, lease: Lease, kind: str, before: int, payment: int | None, usd: int | None) -> None:
        row = (lease.address, kind, payment, usd, lease.principal, lease.amount)
        self.truth.position_events[self._key(before)] = row
