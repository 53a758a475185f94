"""Accounts that act: each signs its own transactions, one a block, following its sequence on the chain."""

from __future__ import annotations

import json
from typing import Any

from leasehold.chain.registry import Registry
from leasehold.chain.wallet import Wallet
from leasehold.devnet.app.context import Context
from leasehold.devnet.modules.auth import Auth

GAS_PER_MESSAGE = 1_500_000
GAS_PRICE = (25, 10_000)  # base units per unit of gas, as a fraction


class Hand:
    """One account of the market."""

    def __init__(self, wallet: Wallet, registry: Registry, denom: str, chain_id: str) -> None:
        self.wallet = wallet
        self.address = wallet.address
        self._registry = registry
        self._denom = denom
        self._chain_id = chain_id

    def sign(self, ctx: Context, auth: Auth, messages: list[Any], *, gas: int = 0, ahead: int = 0) -> bytes:
        """A transaction with the account's present sequence, or one that many later."""
        account = auth.get(ctx, self.wallet.address_bytes)
        assert account is not None, f"{self.address} is not funded"
        limit = gas or GAS_PER_MESSAGE * len(messages)
        fee = -(-limit * GAS_PRICE[0] // GAS_PRICE[1])
        return self.wallet.sign_direct(
            messages,
            fee={self._denom: fee},
            gas=limit,
            sequence=account.sequence + ahead,
            account_number=account.number,
            chain_id=self._chain_id,
        )

    def execute(self, contract: str, msg: dict[str, Any], funds: dict[str, int] | None = None) -> Any:
        """A call of a contract."""
        coins = [{"denom": denom, "amount": str(amount)} for denom, amount in sorted((funds or {}).items())]
        return self._registry.new(
            "cosmwasm.wasm.v1.MsgExecuteContract",
            sender=self.address,
            contract=contract,
            msg=json.dumps(msg, separators=(",", ":")).encode(),
            funds=coins,
        )

    def message(self, name: str, **fields: Any) -> Any:
        return self._registry.new(name, **fields)
