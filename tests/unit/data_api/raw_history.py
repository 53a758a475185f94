"""The simulated chain read again from its raw blocks, in plain Python: prices, leases and payments as the events say.

Neither the indexer nor its SQL nor the truth that the simulation keeps is used, except for what a lease bought, which
no event carries.
"""

from __future__ import annotations

import bisect
import hashlib
import json
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

from tests.unit.data_api.served_history import Scenario, simulated_chain

from leasehold.core.clock import parse_rfc3339

HOUR, NATIVE_TICKER, TYPES, Market = (
    simulated_chain.HOUR,
    simulated_chain.NATIVE_TICKER,
    simulated_chain.TYPES,
    simulated_chain.Market,
)
MAX_LTV = Fraction(9, 10)
_KINDS = {"wasm-ls-repay": "repay", "wasm-ls-close-position": "market-close", "wasm-ls-liquidation": "liquidation"}
SIGNALS = {
    "wasm-ls-liquidation-warning": "warning",
    "wasm-ls-slippage-anomaly": "slippage",
    "wasm-ls-auto-close-position": "auto-close",
}
Place = tuple[int, int, int]


@dataclass
class Payment:
    """A repayment, market close or liquidation; amounts in base units."""

    place: Place
    lease: str
    kind: str
    payment: int
    sold: int
    interest: int
    margin: int
    principal: int
    change: int
    closes: bool
    cause: str | None
    tx: str


@dataclass
class Lease:
    """An opened lease and all that was paid on it."""

    address: str
    owner: str
    market: Market
    asset: str
    loan: int
    down: int
    down_ticker: str
    rate: int
    place: Place
    tx: str
    bought: int
    payments: list[Payment] = field(default_factory=list)

    @property
    def short(self) -> bool:
        return self.market.lpn != self.market.stable

    @property
    def traded(self) -> str:
        return self.market.lpn if self.short else self.asset

    @property
    def closing(self) -> Payment | None:
        return next((payment for payment in self.payments if payment.closes), None)


def tokens(market: Market, ticker: str, amount: int) -> Fraction:
    """Whole tokens of base units."""
    return Fraction(amount, 10 ** market.decimals(ticker))


class RawHistory:
    """Everything the blocks say."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._markets = {market.name: market for market in Scenario(0).markets}
        self.times: dict[int, int] = {}
        self.hashes: dict[tuple[int, int], str] = {}
        self.prices: dict[tuple[int, str, str], Fraction] = {}
        self.fed: list[tuple[int, str]] = []
        self.leases: dict[str, Lease] = {}
        self.signals: list[tuple[Place, str, dict[str, str]]] = []
        self.finished: dict[str, Place] = {}
        self.covers: list[tuple[Place, Market, dict[str, str]]] = []
        self.txs: dict[tuple[int, int], Any] = {}
        for block in scenario.blocks:
            self._read(block)

    # -- reading ---------------------------------------------------------------------------------------------------

    def _read(self, block: Any) -> None:
        content = json.loads(block.block)["block"]
        height = int(content["header"]["height"])
        self.times[height] = parse_rfc3339(content["header"]["time"])
        results = json.loads(block.results)["txs_results"] or []
        raws = [b64decode(text) for text in content["data"]["txs"]]
        for number, raw in enumerate(raws):
            self.hashes[height, number] = hashlib.sha256(raw).hexdigest().upper()
            if results[number]["code"] == 0:
                self._feed(height, number, raw)
        # Prices of a block count for everything in it.
        for market in self._markets.values():
            for ticker in market.coins:
                price = market.price(ticker)
                if price is not None:
                    self.prices[height, market.name, ticker] = Fraction(price, 10**18)
        for number, result in enumerate(results):
            for place, event in enumerate(result["events"]):
                pairs = {pair["key"]: pair["value"] for pair in event["attributes"]}
                self._event((height, number, place), event["type"], pairs)

    def _feed(self, height: int, number: int, raw: bytes) -> None:
        tx = TYPES.parse("cosmos.tx.v1beta1.TxRaw", raw)
        body = TYPES.parse("cosmos.tx.v1beta1.TxBody", tx.body_bytes)
        self.txs[height, number] = body
        for packed in body.messages:
            if not packed.type_url.endswith("MsgExecuteContract"):
                continue
            message = TYPES.parse("cosmwasm.wasm.v1.MsgExecuteContract", packed.value)
            call = json.loads(message.msg)
            for market in self._markets.values():
                if message.contract == market.address("oracle") and "feed_prices" in call:
                    self.fed.append((height, market.name))
                    for price in call["feed_prices"]["prices"]:
                        one, other = price["amount"], price["amount_quote"]
                        market.fed[one["ticker"], other["ticker"]] = (int(one["amount"]), int(other["amount"]))

    def _event(self, place: Place, kind: str, said: dict[str, str]) -> None:
        contract = said.get("_contract_address", "")
        if kind == "wasm-ls-open" and said.get("loan-pool-id") in self._pools:
            market = self._pools[said["loan-pool-id"]]
            self.leases[contract] = Lease(
                contract, said["customer"], market, said["currency"], int(said["loan-amount"]),
                int(said["downpayment-amount"]), said["downpayment-symbol"], int(said["air"]), place,
                self.hashes[place[:2]], self._scenario.amount_at[contract, place[0]],
            )  # fmt: skip
        elif kind in _KINDS and "payment-amount" in said:
            self._paid(place, _KINDS[kind], contract, said)
        elif kind == "wasm-ls-close" and said.get("id") == contract in self.leases:
            self.finished[contract] = place
        elif kind in SIGNALS and contract in self.leases:
            self.signals.append((place, SIGNALS[kind], said))
        elif kind == "wasm-reserve-cover-loss" and contract in self._reserves:
            self.covers.append((place, self._reserves[contract], said))

    def _paid(self, place: Place, kind: str, contract: str, said: dict[str, str]) -> None:
        def part(*names: str) -> int:
            return sum(int(said.get(name, "0")) for name in names)

        payment = Payment(
            place, contract, kind, int(said["payment-amount"]), part("amount-amount"),
            part("prev-loan-interest", "curr-loan-interest", "overdue-loan-interest", "due-loan-interest"),
            part("prev-margin-interest", "curr-margin-interest", "overdue-margin-interest", "due-margin-interest"),
            part("principal"), part("change"), said["loan-close"] == "true", said.get("cause"), self.hashes[place[:2]],
        )  # fmt: skip
        self.leases[contract].payments.append(payment)

    @cached_property
    def _reserves(self) -> dict[str, Market]:
        return {market.address("reserve"): market for market in self._markets.values()}

    @cached_property
    def _pools(self) -> dict[str, Market]:
        return {market.address("lpp"): market for market in self._markets.values()}

    # -- what follows from it --------------------------------------------------------------------------------------

    @property
    def markets(self) -> list[Market]:
        return list(self._markets.values())

    def usd(self, market: Market, ticker: str, amount: int, height: int) -> Fraction:
        """What base units were worth at a height."""
        return tokens(market, ticker, amount) * self.prices[height, market.name, ticker]

    def native_usd(self, amount: int, height: int) -> Fraction:
        """What native base units were worth, by the first protocol by name."""
        return Fraction(amount, 10**6) * self.prices[height, min(self._markets), NATIVE_TICKER]

    def height_at(self, hour: int) -> int:
        """The last block not after an hour."""
        heights = sorted(self.times)
        return heights[bisect.bisect_right(heights, hour * HOUR, key=lambda height: self.times[height]) - 1]

    def payments(self, *kinds: str) -> list[Payment]:
        """Payments of some kinds, newest first."""
        found = (payment for lease in self.leases.values() for payment in lease.payments if payment.kind in kinds)
        return sorted(found, key=lambda payment: payment.place, reverse=True)

    def paid_in(self, lease: Lease) -> Fraction:
        """Down payment and repayments in USD, each at its time."""
        down = self.usd(lease.market, lease.down_ticker, lease.down, lease.place[0])
        return down + sum(self.worth(payment) for payment in lease.payments if payment.kind == "repay")

    def worth(self, payment: Payment) -> Fraction:
        """USD of what was paid."""
        market = self.leases[payment.lease].market
        return self.usd(market, market.lpn, payment.payment, payment.place[0])

    def sold_worth(self, payment: Payment) -> Fraction:
        """USD of what was sold."""
        lease = self.leases[payment.lease]
        return self.usd(lease.market, lease.asset, payment.sold, payment.place[0])

    def after(self, lease: Lease) -> Iterator[tuple[Payment, int, int]]:
        """Payments in order, with principal and position left after each."""
        principal, amount = lease.loan, lease.bought
        for payment in lease.payments:
            principal, amount = principal - payment.principal, amount - payment.sold
            yield payment, principal, amount

    def changed(self, lease: Lease) -> int:
        """The height of the last event that changed a lease: opened, paid, finished, or closed by its policy."""
        fired = [place for place, kind, said in self.signals if kind == "auto-close" and said["to"] == lease.address]
        places = [lease.place, *(payment.place for payment in lease.payments), *fired]
        return max([*places, *([self.finished[lease.address]] if lease.address in self.finished else [])])[0]

    def owed(self, lease: Lease, height: int) -> tuple[int, int]:
        """Principal and position of a lease after a block."""
        principal, amount = lease.loan, lease.bought
        for payment, left, kept in self.after(lease):
            if payment.place[0] <= height:
                principal, amount = left, kept
        return principal, amount

    def liquidation_price(self, lease: Lease, debt: int, amount: int, height: int) -> Fraction:
        """USD of the traded token at which the debt is nine tenths of the position's worth."""
        market = lease.market
        owed, held = tokens(market, market.lpn, debt), tokens(market, lease.asset, amount)
        if lease.short:
            return MAX_LTV * held * self.prices[height, market.name, lease.asset] / owed
        return owed * self.prices[height, market.name, market.lpn] / (MAX_LTV * held)
