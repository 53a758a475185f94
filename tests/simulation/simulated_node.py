"""A made-up node: who is on its chain, what it answers, and how transactions are put together."""

from __future__ import annotations

import json
import random
from typing import Any

from simulated_market import (
    ADDON,
    BASE,
    DUE_PERIOD,
    HOUR,
    MARGIN,
    MAX_LTV,
    NATIVE,
    NATIVE_TICKER,
    OPTIMAL,
    START_NS,
    TYPES,
    Coin,
    Lease,
    Market,
    Truth,
    account,
    contract,
)
from static_feed import Content, StaticBlock, event, tx_result


class SimulatedNode:
    """The chain's cast and state, and the answers a node would give about them."""

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
