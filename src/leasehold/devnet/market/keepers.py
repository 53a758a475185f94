"""Keepers: who feeds prices and dispatches alarms, so that the contracts know the time and the market."""

from __future__ import annotations

import json
from typing import Any

from leasehold.devnet.app.context import Context
from leasehold.devnet.genesis.deployment import Deployment
from leasehold.devnet.genesis.protocols import ProtocolSpec
from leasehold.devnet.market.hands import Hand
from leasehold.devnet.market.prices import PriceModel, quotation
from leasehold.devnet.modules.wasm import Wasm
from leasehold.devnet.wasm.failures import ModuleFailure

ALARMS_A_CALL = 32
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


class Dispatcher:
    """Delivers alarms that are due."""

    def __init__(self, hand: Hand, wasm: Wasm, deployment: Deployment) -> None:
        self._hand = hand
        self._wasm = wasm
        self._timealarms = deployment.platform["timealarms"]

    def due(self, ctx: Context, contract: str) -> bool:
        """Whether a contract has alarms to deliver; one that can't say so has none."""
        try:
            answer = json.loads(self._wasm.query_smart(ctx, contract, _STATUS))
        except ModuleFailure:
            return False
        return bool(answer["remaining_alarms"])

    def messages(self, ctx: Context, oracles: list[str]) -> list[Any]:
        """A dispatch for each contract that has alarms due."""
        contracts = [self._timealarms, *oracles]
        return [self.dispatch(contract) for contract in contracts if self.due(ctx, contract)]

    def dispatch(self, contract: str) -> Any:
        return self._hand.execute(contract, {"dispatch_alarms": {"max_count": ALARMS_A_CALL}})
