"""mint: the chain's own emission, a polynomial of the time passed."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec

from leasehold.core import fixed_point
from leasehold.core.fixed_point import ONE, multiply
from leasehold.devnet.app.coins import Coin, denom_valid
from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import undefined
from leasehold.devnet.app.module import Module, answers, handles

_MINTER = b"mint/minter"
_PARAMS = b"mint/params"

MONTH_NS = 30 * 24 * 3600 * 10**9
LAST_MONTH = 120 * ONE
_CUBE, _SQUARE, _LINEAR, _CONSTANT = (fixed_point.parse(c) for c in ("-0.0279375", "16.9415", "-883.75", "833810"))


class Minter(msgspec.Struct, array_like=True):
    """Emission state: months passed (scaled by 10^18), total minted, last block's time in ns, next year's emission."""

    months: int
    total: int
    previous_ns: int
    annual: int


@lru_cache(maxsize=16)
def emitted(months: int) -> int:
    """Base units emitted up to a scaled number of months: the integral of the emission curve, truncated."""
    value = multiply(
        multiply(multiply(multiply(_CUBE, months) + _SQUARE, months) + _LINEAR, months) + _CONSTANT, months
    )
    return fixed_point.truncate(value * 10**6)


def annual_emission(months: int) -> int:
    """Base units of the next twelve months."""
    return emitted(min(months + 12 * ONE, LAST_MONTH)) - emitted(months) if months < LAST_MONTH else 0


class Mint(Module):
    """Emission at the start of every block."""

    name = "mint"

    def init_genesis(self, ctx: Context, state: dict[str, Any]) -> None:
        given = state["minter"]
        self._save(
            ctx,
            Minter(
                months=fixed_point.parse(given["norm_time_passed"]),
                total=int(given["total_minted"]),
                previous_ns=int(given["prev_block_timestamp"]),
                annual=int(given["annual_inflation"]),
            ),
        )
        ctx.store.set(_PARAMS, self.from_json("{ns}.mint.v1beta1.Params", state["params"]).SerializeToString())
        self.modules.auth.module_account(ctx, "mint")

    def minter(self, ctx: Context) -> Minter:
        return msgspec.msgpack.decode(ctx.store.get(_MINTER) or b"", type=_Stored).minter()

    def _save(self, ctx: Context, minter: Minter) -> None:
        stored = _Stored(str(minter.months), str(minter.total), str(minter.previous_ns), str(minter.annual))
        ctx.store.set(_MINTER, msgspec.msgpack.encode(stored))

    def params(self, ctx: Context) -> Any:
        return self.read(ctx, _PARAMS, "{ns}.mint.v1beta1.Params")

    def begin_block(self, ctx: Context) -> None:
        params = self.params(ctx)
        minter = self.minter(ctx)
        now = ctx.block.time_ns
        amount = 0
        if minter.previous_ns and minter.months < LAST_MONTH:
            passed = min(now - minter.previous_ns, int(params.max_mintable_nanoseconds))
            months = minter.months + fixed_point.divide(passed * ONE, MONTH_NS * ONE)
            amount = emitted(min(months, LAST_MONTH)) - emitted(minter.months)
            minter.months = months
            minter.total += amount
        minter.previous_ns = now
        minter.annual = annual_emission(minter.months)
        self._save(ctx, minter)
        if amount:
            coins = (Coin(params.mint_denom, amount),)
            self.modules.bank.mint(ctx, "mint", coins)
            source = self.modules.auth.module_account(ctx, "mint")
            collector = self.modules.auth.module_account(ctx, "fee_collector")
            self.modules.bank.send(ctx, source, collector, coins)
        ctx.emit("mint", ("denom", params.mint_denom), ("amount", str(amount)))

    @handles("{ns}.mint.v1beta1.MsgUpdateParams")
    def handle_update_params(self, ctx: Context, msg: Any) -> Any:
        self.modules.gov.require_authority(msg.authority)
        if not denom_valid(msg.params.mint_denom):
            raise undefined(f"invalid denom: {msg.params.mint_denom}")
        if int(msg.params.max_mintable_nanoseconds or "0") <= 0:
            raise undefined(f"max mintable period must be positive: {msg.params.max_mintable_nanoseconds}")
        ctx.store.set(_PARAMS, msg.params.SerializeToString())
        return self.new("{ns}.mint.v1beta1.MsgUpdateParamsResponse")

    @answers("{ns}.mint.v1beta1.Query/Params")
    def query_params(self, ctx: Context, request: Any) -> Any:
        return self.new("{ns}.mint.v1beta1.QueryParamsResponse", params=self.params(ctx))

    @answers("{ns}.mint.v1beta1.Query/MintState")
    def query_state(self, ctx: Context, request: Any) -> Any:
        minter = self.minter(ctx)
        return self.new(
            "{ns}.mint.v1beta1.QueryMintStateResponse",
            norm_time_passed=str(minter.months).encode(),
            total_minted=str(minter.total).encode(),
        )

    @answers("{ns}.mint.v1beta1.Query/AnnualInflation")
    def query_annual_inflation(self, ctx: Context, request: Any) -> Any:
        minter = self.minter(ctx)
        return self.new("{ns}.mint.v1beta1.QueryAnnualInflationResponse", annual_inflation=str(minter.annual).encode())


class _Stored(msgspec.Struct, array_like=True):
    """A minter with its big integers as text: they exceed what the storage format takes as numbers."""

    months: str
    total: str
    previous_ns: str
    annual: str

    def minter(self) -> Minter:
        return Minter(int(self.months), int(self.total), int(self.previous_ns), int(self.annual))
