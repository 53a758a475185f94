"""Keepers: who feeds prices and dispatches alarms, so that the contracts know the time and the market."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from leasehold.devnet.app.abci import Event
from leasehold.devnet.app.context import Context
from leasehold.devnet.genesis.deployment import Deployment
from leasehold.devnet.genesis.protocols import ProtocolSpec
from leasehold.devnet.market.hands import Hand
from leasehold.devnet.market.prices import PriceModel, quotation
from leasehold.devnet.modules.wasm import Wasm
from leasehold.devnet.wasm.failures import ModuleFailure

ALARMS_A_CALL = 32
# A contract whose alarms only failed is left alone for so many seconds, twice as many each time, at most that many.
FIRST_REST, LONGEST_REST = 60, 3600
_STATUS = json.dumps({"alarms_status": {}}).encode()


class Feeder:
    """Feeds the prices of every edge of a protocol's swap tree."""

    def __init__(self, hand: Hand, deployment: Deployment, model: PriceModel) -> None:
        self._hand = hand
        self._deployment = deployment
        self._model = model

    def feed(self, spec: ProtocolSpec) -> Any:
        """A feed of one protocol's oracle at the model's present prices."""
        currencies = self._deployment.builds[spec.name].currencies.by_ticker
        prices = []
        for child, parent in spec.edges(self._deployment.identity):
            amount, quote = quotation(
                self._model.usd(child),
                currencies[child].decimal_digits,
                self._model.usd(parent),
                currencies[parent].decimal_digits,
            )
            prices.append(
                {
                    "amount": {"amount": str(amount), "ticker": child},
                    "amount_quote": {"amount": str(quote), "ticker": parent},
                }
            )
        oracle = self._deployment.addresses(spec.name).oracle
        return self._hand.execute(oracle, {"feed_prices": {"prices": prices}})


@dataclass(frozen=True, slots=True)
class AlarmState:
    """What a dispatcher has in mind: oracles to ask, and contracts left alone until when and for how long."""

    watched: tuple[str, ...]
    rests: dict[str, tuple[int, int]]


class Dispatcher:
    """Delivers alarms that are due.

    An alarm that fails stays due by the contracts' rules, so a contract whose last dispatch only failed is asked again
    later and later: one that can't be delivered must not keep the chain busy.
    """

    def __init__(self, hand: Hand, wasm: Wasm, deployment: Deployment) -> None:
        self._hand = hand
        self._wasm = wasm
        self._timealarms = deployment.platform["timealarms"]
        self._watched: set[str] = set()
        self._rests: dict[str, tuple[int, int]] = {}

    def watch(self, oracles: list[str]) -> None:
        """Prices have moved: ask these oracles for alarms until they have none."""
        self._watched.update(oracles)

    def due(self, ctx: Context, contract: str) -> bool:
        """Whether a contract has alarms to deliver; one that can't say so has none."""
        try:
            answer = json.loads(self._wasm.query_smart(ctx, contract, _STATUS))
        except ModuleFailure:
            return False
        return bool(answer["remaining_alarms"])

    def ready(self, ctx: Context, *, timely: bool = True) -> list[str]:
        """Contracts with alarms to deliver, judged by a state and its time; without `timely` only those of prices."""
        now = ctx.block.time_s
        found = []
        for contract in (*((self._timealarms,) if timely else ()), *sorted(self._watched)):
            if self._rests.get(contract, (0, 0))[0] > now:
                continue
            if self.due(ctx, contract):
                found.append(contract)
            else:
                self._watched.discard(contract)
        return found

    def dispatch(self, contract: str) -> Any:
        # Behind alarms that can't be delivered there may be others that can.
        count = ALARMS_A_CALL * (4 if contract in self._rests else 1)
        return self._hand.execute(contract, {"dispatch_alarms": {"max_count": count}})

    def state(self) -> AlarmState:
        return AlarmState(tuple(sorted(self._watched)), dict(self._rests))

    def restore(self, state: AlarmState) -> None:
        self._watched, self._rests = set(state.watched), dict(state.rests)

    def learn(self, now: int, events: Iterable[Event]) -> None:
        """Take note of how the deliveries of a dispatch at a unix second went."""
        outcomes: dict[str, set[str]] = {}
        for event in events:
            attributes = dict(event.attributes)
            if "delivered" in attributes and "_contract_address" in attributes:
                outcomes.setdefault(attributes["_contract_address"], set()).add(attributes["delivered"])
        for contract, seen in outcomes.items():
            if seen == {"error"}:
                rest = min(self._rests.get(contract, (0, FIRST_REST // 2))[1] * 2, LONGEST_REST)
                self._rests[contract] = (now + rest, rest)
            else:
                self._rests.pop(contract, None)
