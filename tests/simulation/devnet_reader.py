"""A development chain as a witness: its blocks, and its contracts' own answers as of the end of any height."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from leasehold.core.addresses import decode
from leasehold.devnet.app.abci import Event
from leasehold.devnet.chain import Devnet
from leasehold.devnet.contracts.lpp_ledger import Ledger
from leasehold.devnet.wasm.failures import ModuleFailure
from leasehold.devnet.wasm.storage import ReadStorage

UNIT = 10**18
ROLES = ("leaser", "lpp", "oracle", "profit", "reserve")


def instant(time_ns: int) -> datetime:
    """Block time to the microsecond."""
    return datetime.fromtimestamp(time_ns // 10**9, UTC).replace(microsecond=time_ns % 10**9 // 1000)


@dataclass(frozen=True)
class Traded:
    """A registered protocol as its contracts describe it at the height they were asked."""

    name: str
    network: str
    dex: str
    contracts: dict[str, str]
    lpn: str
    stable: str
    currencies: dict[str, dict[str, Any]]

    @property
    def is_long(self) -> bool:
        return self.lpn == self.stable

    def decimals(self, ticker: str) -> int:
        return int(self.currencies[ticker]["decimal_digits"])

    def denom(self, ticker: str) -> str:
        return str(self.currencies[ticker]["bank_symbol"])


class ChainReader:
    """Asks an open devnet, in process; every answer of a past height is kept, since it can't change."""

    def __init__(self, devnet: Devnet) -> None:
        self.devnet = devnet
        self._answers: dict[tuple[str, str, int], Any] = {}
        self.admin = devnet.deployment.platform["admin"]
        self.native = devnet.app.identity.display
        self.native_denom = devnet.app.identity.base_denom
        self._protocols: dict[str, Traded] | None = None

    def reopened(self, devnet: Devnet) -> None:
        """Go on with the same chain, opened anew."""
        self.devnet = devnet

    @property
    def height(self) -> int:
        return self.devnet.node.height

    def block(self, height: int) -> Any:
        found = self.devnet.node.store.block(height)
        assert found is not None, f"block {height} is gone"
        return found

    def time_ns(self, height: int) -> int:
        return int(self.block(height).block.header.time_ns)

    def results(self, height: int) -> Any:
        found = self.devnet.node.store.results(height)
        assert found is not None, f"results of {height} are gone"
        return found

    def ask(self, contract: str, query: Any, height: int) -> Any:
        """A contract's answer at the end of a height; None when it refuses."""
        text = json.dumps(query, separators=(",", ":"))
        key = contract, text, height
        if key not in self._answers:
            app = self.devnet.app
            try:
                answer = app.modules.wasm.query_smart(app.context(height), contract, text.encode())
                self._answers[key] = json.loads(answer)
            except ModuleFailure:
                self._answers[key] = None
        return self._answers[key]

    def answer(self, method: str, request: Any, height: int = 0) -> Any:
        """A module's answer to a gRPC query."""
        app = self.devnet.app
        return app.queries.handlers[method](app.context(height), request)

    def balances(self, address: str, height: int) -> dict[str, int]:
        """All coins of an account."""
        request = self.devnet.registry.new(
            "cosmos.bank.v1beta1.QueryAllBalancesRequest", address=address, pagination={"limit": 1000}
        )
        found = self.answer("/cosmos.bank.v1beta1.Query/AllBalances", request, height)
        return {coin.denom: int(coin.amount) for coin in found.balances}

    def supply(self, denom: str, height: int) -> int:
        request = self.devnet.registry.new("cosmos.bank.v1beta1.QuerySupplyOfRequest", denom=denom)
        return int(self.answer("/cosmos.bank.v1beta1.Query/SupplyOf", request, height).amount.amount)

    @property
    def protocols(self) -> dict[str, Traded]:
        """Everything registered, by name; asked once, because the short histories here register nothing new."""
        if self._protocols is None:
            names = self.ask(self.admin, {"protocols": {}}, 1)
            self._protocols = {name: self._protocol(name) for name in sorted(names)}
        return self._protocols

    def _protocol(self, name: str) -> Traded:
        entry = self.ask(self.admin, {"protocol": name}, 1)
        contracts = entry["contracts"]
        dex = entry["dex"]
        return Traded(
            name,
            entry["network"],
            next(iter(dex)) if isinstance(dex, dict) else dex,
            contracts,
            self.ask(contracts["lpp"], {"lpn": []}, 1),
            self.ask(contracts["oracle"], {"stable_currency": {}}, 1),
            {one["ticker"]: one for one in self.ask(contracts["oracle"], {"currencies": {}}, 1)},
        )

    def by_contract(self, role: str, address: str) -> Traded | None:
        return next((p for p in self.protocols.values() if p.contracts[role] == address), None)

    def price(self, protocol: Traded, ticker: str, height: int) -> int | None:
        """USD of a whole token in 10^-18 by the oracle itself; None while it has none."""
        answer = self.ask(protocol.contracts["oracle"], {"stable_price": {"currency": ticker}}, height)
        if answer is None:
            return None
        amount, quote = int(answer["amount"]["amount"]), int(answer["amount_quote"]["amount"])
        shift = protocol.decimals(ticker) - protocol.decimals(protocol.stable)
        return int(quote * UNIT * 10 ** max(shift, 0) // (amount * 10 ** max(-shift, 0)))

    def totals(self, pool: str, height: int) -> tuple[int, ...]:
        """A pool's sums as its contract stores them."""
        return tuple(Ledger(self._storage(pool, height)).totals())

    def interest_paid(self, pool: str, lease: str, height: int) -> int | None:
        """Until when a loan's interest is paid, as the pool stores it; None without a loan."""
        loan = Ledger(self._storage(pool, height)).loan(lease)
        return None if loan is None else loan.interest_paid

    def margin_paid(self, lease: str, height: int) -> int | None:
        """Until when a lease's margin is paid, as it stores it; None when it owes nothing any more."""
        left = [json.loads(self._storage(lease, height).get(b"state") or b"null")]
        while left:
            one = left.pop()
            if isinstance(one, dict):
                if "margin_paid_by" in one:
                    return int(one["margin_paid_by"])
                left += one.values()
            elif isinstance(one, list):
                left += one
        return None

    def _storage(self, contract: str, height: int) -> ReadStorage:
        _, address = decode(contract)
        return ReadStorage(self.devnet.app.context(height).store, address)

    def lease(self, address: str, height: int) -> tuple[str, dict[str, Any]]:
        """Stage and content of a lease's state."""
        state = self.ask(address, {"state": {}}, height)
        return next(iter(state.items()))


def attributes(event: Event) -> dict[str, str]:
    """The first value of each attribute."""
    found: dict[str, str] = {}
    for key, value in event.attributes:
        found.setdefault(key, value)
    return found


def coins(text: str) -> Iterator[tuple[int, str]]:
    """Amounts and denoms of a coin list."""
    for part in filter(None, text.split(",")):
        digits = len(part) - len(part.lstrip("0123456789"))
        yield int(part[:digits]), part[digits:]
