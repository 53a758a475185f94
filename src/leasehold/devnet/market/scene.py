"""What every actor of the market can see and use."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from leasehold.devnet.app.application import ChainApplication
from leasehold.devnet.app.context import Context
from leasehold.devnet.genesis.deployment import Deployment
from leasehold.devnet.genesis.document import wallet
from leasehold.devnet.genesis.market import actor_wallet
from leasehold.devnet.genesis.protocols import ProtocolSpec
from leasehold.devnet.market.hands import Hand
from leasehold.devnet.market.prices import PriceModel
from leasehold.devnet.wasm.failures import ModuleFailure
from leasehold.protocol.currencies import Currency


@dataclass(slots=True)
class Scene:
    """The chain, the contracts on it, the prices, and one source of chance."""

    app: ChainApplication
    deployment: Deployment
    model: PriceModel
    chance: random.Random

    def named_hand(self, name: str) -> Hand:
        """The hand of a development account."""
        identity = self.app.identity
        return self._hand(wallet(name, identity.prefix, identity.namespace))

    def actor_hand(self, name: str) -> Hand:
        """The hand of one of the market's own accounts."""
        return self._hand(actor_wallet(self.app.identity, name))

    def _hand(self, owner: Any) -> Hand:
        return Hand(owner, self.app.registry, self.app.identity.base_denom, self.app.chain_id)

    def ask(self, ctx: Context, contract: str, query: dict[str, Any]) -> Any:
        """A contract's answer, or None when it refuses."""
        message = json.dumps(query, separators=(",", ":")).encode()
        try:
            return json.loads(self.app.modules.wasm.query_smart(ctx, contract, message))
        except ModuleFailure:
            return None

    def currency(self, spec: ProtocolSpec, ticker: str) -> Currency:
        return self.deployment.builds[spec.name].currencies.by_ticker[ticker]

    def units(self, spec: ProtocolSpec, ticker: str, usd: float) -> int:
        """Smallest units of a currency worth about so many dollars now."""
        price = self.model.usd(ticker)
        return int(Decimal(usd) / Decimal(price) * 10 ** self.currency(spec, ticker).decimal_digits)

    def holds(self, ctx: Context, hand: Hand, denom: str, amount: int) -> bool:
        return self.app.modules.bank.balance(ctx, hand.wallet.address_bytes, denom) >= amount
