"""tax: which fees a node accepts, and the share of them that goes to the treasury or a protocol's profit."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from leasehold.core import fixed_point
from leasehold.core.addresses import module_address
from leasehold.devnet.app.coins import Coin, Coins, coins_text, denom_valid
from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import (
    INSUFFICIENT_FEE,
    INVALID_REQUEST,
    UNKNOWN_ADDRESS,
    ChainError,
    Kind,
    PlainError,
    undefined,
)
from leasehold.devnet.app.module import Module, answers, handles, validates

_PARAMS = b"tax/params"

INVALID_RATE = Kind("tax", 1, "feeRate should be between 0 and 100")
INVALID_CONTRACT = Kind("tax", 2, "invalid address")
TOO_MANY_COINS = Kind("tax", 3, "only one fee denom per tx")
DENOM_NOT_ALLOWED = Kind("tax", 4, "denom is not allowed")
INVALID_FEE_PARAM = Kind("tax", 7, "current fee param is not valid")


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
        if price == 0:
            return
        required = fixed_point.ceil_to_integer(fixed_point.multiply(price, gas_limit * fixed_point.ONE))
        if not fee or _has(fee, base):
            if not any(coin.denom == base and coin.amount >= required for coin in fee):
                raise INSUFFICIENT_FEE(f"insufficient fees; got: {coins_text(fee)} required: {required}{base}")
            return
        try:
            accepted = self._accepted(params, fee)
        except ChainError as error:
            raise INVALID_REQUEST(error.log) from None
        # Only the first coin is looked at; a second one is refused when the tax is taken.
        first = fee[0]
        floor = next((p.min_price for p in accepted.accepted_denoms_min_prices if p.denom == first.denom), None)
        if floor is None:
            raise DENOM_NOT_ALLOWED(f"denom({first.denom}) is not allowed")
        least = fixed_point.round_to_integer(gas_limit * fixed_point.parse(floor))
        if first.amount < least:
            raise INSUFFICIENT_FEE(f"insufficient fees; got: {first} required: {least}{first.denom}")

    def _accepted(self, params: Any, fee: Coins) -> Any:
        """The parameters of the protocol that takes one of the coins."""
        for entry in params.dex_fee_params:
            if not entry.profit_address:
                continue
            for price in entry.accepted_denoms_min_prices:
                if _has(fee, price.denom) and Decimal(price.min_price or "0") > 0:
                    return entry
        raise DENOM_NOT_ALLOWED(f"no fee param found for denoms: {coins_text(fee)}")

    def collect(self, ctx: Context, fee: Coins) -> None:
        """Move the tax out of the fee collector."""
        params = self.params(ctx)
        treasury = self._recipient(params.treasury_address, "treasury")
        if len(fee) > 1:
            raise ChainError(TOO_MANY_COINS)
        coin = fee[0]
        recipient = treasury
        if coin.denom != params.base_denom:
            recipient = self._recipient(self._accepted(params, fee).profit_address, "profit")
        tax = coin.amount * params.fee_rate // 100
        if tax:
            self.modules.bank.send(ctx, module_address("fee_collector"), recipient, (Coin(coin.denom, tax),))

    def _recipient(self, text: str, what: str) -> bytes:
        try:
            return bytes(self.modules.auth.plain_address_bytes(text))
        except PlainError as error:
            raise UNKNOWN_ADDRESS(f"invalid {what} smart contract address: {error}") from None

    @validates("{ns}.tax.v2.MsgUpdateParams")
    def validate_update_params(self, msg: Any) -> None:
        try:
            self.modules.auth.plain_address_bytes(msg.authority)
        except PlainError as error:
            raise undefined(f"invalid authority address: {error}") from None
        self._check_params(msg.params)

    def _check_params(self, params: Any) -> None:
        if not 0 <= params.fee_rate <= 100:
            raise ChainError(INVALID_RATE)
        self._check_address(params.treasury_address, INVALID_CONTRACT)
        if not params.base_denom.strip():
            raise undefined("base denom cannot be blank")
        if not denom_valid(params.base_denom):
            raise undefined(f"invalid denom: {params.base_denom}")
        for entry in params.dex_fee_params:
            self._check_address(entry.profit_address, INVALID_CONTRACT, INVALID_FEE_PARAM)
            for price in entry.accepted_denoms_min_prices:
                _check_price(price)

    def _check_address(self, text: str, *kinds: Kind) -> None:
        """Every kind wraps the text of the one before it."""
        try:
            self.modules.auth.plain_address_bytes(text)
        except PlainError as error:
            shown = str(error)
            for kind in kinds[:-1]:
                shown = kind(shown).log
            raise kinds[-1](shown) from None

    @handles("{ns}.tax.v2.MsgUpdateParams")
    def handle_update_params(self, ctx: Context, msg: Any) -> Any:
        self.validate_update_params(msg)
        self.modules.gov.require_authority(msg.authority)
        self.set_params(ctx, msg.params)
        return self.new("{ns}.tax.v2.MsgUpdateParamsResponse")

    @answers("{ns}.tax.v2.Query/Params")
    def query_params(self, ctx: Context, request: Any) -> Any:
        return self.new("{ns}.tax.v2.QueryParamsResponse", params=self.params(ctx))


def _has(coins: Coins, denom: str) -> bool:
    """Whether a denom is among coins as the original looks for it: by halves, which finds little in a disorder."""
    while coins:
        middle = len(coins) // 2
        if coins[middle].denom == denom:
            return True
        coins = coins[:middle] if denom < coins[middle].denom else coins[middle + 1 :]
    return False


def _check_price(price: Any) -> None:
    if not price.denom.strip() or not price.ticker.strip():
        raise INVALID_FEE_PARAM("denom or ticker cannot be blank")
    if not price.min_price.strip():
        raise INVALID_FEE_PARAM("min price cannot be blank")
    try:
        scaled = fixed_point.parse(price.min_price)
    except ValueError:
        raise INVALID_FEE_PARAM("failed to set decimal string with base 10: " + price.min_price) from None
    if scaled <= 0:
        raise INVALID_FEE_PARAM("min price cannot be zero or negative")
