"""tax: which fees a node accepts, and the share of them that goes to the treasury or a protocol's profit."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from leasehold.core import fixed_point
from leasehold.core.addresses import module_address
from leasehold.devnet.app.coins import Coin, Coins, amount_of, coins_text
from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import (
    INSUFFICIENT_FEE,
    INVALID_ADDRESS,
    INVALID_REQUEST,
    UNKNOWN_ADDRESS,
    ChainError,
    Kind,
    PlainError,
)
from leasehold.devnet.app.module import Module, answers, handles, validates

_PARAMS = b"tax/params"

INVALID_RATE = Kind("tax", 1, "fee rate must be between 0 and 100")
TOO_MANY_COINS = Kind("tax", 3, "only one fee denom per tx")
DENOM_NOT_ALLOWED = "denom is not allowed"


class Tax(Module):
    """Fees and the tax on them."""

    name = "tax"
    # Base-denom price of a unit of gas below which this node refuses a transaction; a node's setting, not consensus.
    minimum_gas_price: int = fixed_point.parse("0.0025")

    def init_genesis(self, ctx: Context, state: dict[str, Any]) -> None:
        self.set_params(ctx, self.from_json("{ns}.tax.v2.Params", state["params"]))

    def params(self, ctx: Context) -> Any:
        # Before the first block there are none, which reads as all of them empty.
        return self.read(ctx, _PARAMS, "{ns}.tax.v2.Params") or self.new("{ns}.tax.v2.Params")

    def set_params(self, ctx: Context, params: Any) -> None:
        ctx.store.set(_PARAMS, params.SerializeToString())

    def check_fee(self, ctx: Context, fee: Coins, gas_limit: int) -> None:
        """Refuse a fee below the node's minimum; asked only before a transaction enters the mempool."""
        params = self.params(ctx)
        base = params.base_denom
        price = self.minimum_gas_price
        required = fixed_point.ceil_to_integer(fixed_point.multiply(price, gas_limit * fixed_point.ONE))
        if price == 0:
            return
        if not fee or amount_of(fee, base):
            if amount_of(fee, base) < required:
                raise INSUFFICIENT_FEE(f"insufficient fees; got: {coins_text(fee)} required: {required}{base}")
            return
        denom, floor = self._accepted(params, fee)
        least = fixed_point.round_to_integer(gas_limit * fixed_point.parse(floor))
        if amount_of(fee, denom) < least:
            raise INSUFFICIENT_FEE(f"insufficient fees; got: {coins_text(fee)} required: {least}{denom}")

    def _accepted(self, params: Any, fee: Coins) -> tuple[str, str]:
        for entry in params.dex_fee_params:
            if not entry.profit_address:
                continue
            for price in entry.accepted_denoms_min_prices:
                if amount_of(fee, price.denom) and Decimal(price.min_price or "0") > 0:
                    return price.denom, price.min_price
        raise INVALID_REQUEST(f"no fee param found for denoms: {coins_text(fee)}: {DENOM_NOT_ALLOWED}")

    def collect(self, ctx: Context, fee: Coins) -> None:
        """Move the tax out of the fee collector."""
        if len(fee) > 1:
            raise ChainError(TOO_MANY_COINS)
        params = self.params(ctx)
        coin = fee[0]
        tax = coin.amount * params.fee_rate // 100
        if tax == 0:
            return
        if coin.denom == params.base_denom:
            recipient, what = params.treasury_address, "treasury"
        else:
            recipient, what = self._profit_address(params, fee), "profit"
        try:
            address = self.modules.auth.address_bytes(recipient)
        except PlainError as error:
            raise UNKNOWN_ADDRESS(f"invalid {what} smart contract address: {error}") from None
        self.modules.bank.send(ctx, module_address("fee_collector"), address, (Coin(coin.denom, tax),))

    def _profit_address(self, params: Any, fee: Coins) -> str:
        denom, _ = self._accepted(params, fee)
        for entry in params.dex_fee_params:
            if any(price.denom == denom for price in entry.accepted_denoms_min_prices):
                return str(entry.profit_address)
        raise INVALID_REQUEST(f"no fee param found for denoms: {coins_text(fee)}: {DENOM_NOT_ALLOWED}")

    @validates("{ns}.tax.v2.MsgUpdateParams")
    def validate_update_params(self, msg: Any) -> None:
        try:
            self.modules.auth.address_bytes(msg.authority)
        except PlainError as error:
            raise INVALID_ADDRESS(f"invalid authority address: {error}") from None
        if not 0 <= msg.params.fee_rate <= 100:
            raise INVALID_RATE()

    @handles("{ns}.tax.v2.MsgUpdateParams")
    def handle_update_params(self, ctx: Context, msg: Any) -> Any:
        self.modules.gov.require_authority(msg.authority)
        self.validate_update_params(msg)
        self.set_params(ctx, msg.params)
        return self.new("{ns}.tax.v2.MsgUpdateParamsResponse")

    @answers("{ns}.tax.v2.Query/Params")
    def query_params(self, ctx: Context, request: Any) -> Any:
        return self.new("{ns}.tax.v2.QueryParamsResponse", params=self.params(ctx))
