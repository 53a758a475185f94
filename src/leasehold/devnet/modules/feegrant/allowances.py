"""What an allowance lets its grantee spend on fees: a total, an amount per period, fees of some messages only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from leasehold.chain.registry import Registry
from leasehold.devnet.app import coins as coin_lists
from leasehold.devnet.app.coins import Coins, coins_text, from_proto
from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import INVALID_COINS, Kind
from leasehold.devnet.modules.instants import duration, instant, set_instant

_PACKAGE = "cosmos.feegrant.v1beta1."
BASIC, PERIODIC, FILTERED = (_PACKAGE + name for name in ("BasicAllowance", "PeriodicAllowance", "AllowedMsgAllowance"))
_ITERATION_GAS = 10

LIMIT_EXCEEDED = Kind("feegrant", 2, "fee limit exceeded")
LIMIT_EXPIRED = Kind("feegrant", 3, "fee allowance expired")
INVALID_DURATION = Kind("feegrant", 4, "invalid duration")
NO_ALLOWANCE = Kind("feegrant", 5, "no allowance")
NO_MESSAGES = Kind("feegrant", 6, "allowed messages are empty")
MESSAGE_NOT_ALLOWED = Kind("feegrant", 7, "message not allowed")


class Allowances:
    """Judges allowances of every kind."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def check(self, allowance: Any) -> None:
        """Refuse an allowance that makes no sense by itself."""
        name = allowance.DESCRIPTOR.full_name
        if name == FILTERED:
            if not allowance.allowance.type_url:
                raise NO_ALLOWANCE("allowance should not be empty")
            if not allowance.allowed_messages:
                raise NO_MESSAGES("allowed messages shouldn't be empty")
            self.check(self._registry.unpack(allowance.allowance))
        elif name == PERIODIC:
            self._check_basic(allowance.basic)
            self._check_periodic(allowance)
        elif name == BASIC:
            self._check_basic(allowance)
        else:
            raise NO_ALLOWANCE("failed to get allowance")

    def _check_basic(self, basic: Any) -> None:
        limit = from_proto(basic.spend_limit)
        if not coin_lists.valid(limit):
            raise INVALID_COINS(f"send amount is invalid: {coins_text(limit)}")
        if basic.HasField("expiration") and basic.expiration.seconds < 0:
            raise INVALID_DURATION("expiration time cannot be negative")

    def _check_periodic(self, allowance: Any) -> None:
        limit, now = from_proto(allowance.period_spend_limit), from_proto(allowance.period_can_spend)
        if not coin_lists.valid(limit):
            raise INVALID_COINS(f"spend amount is invalid: {coins_text(limit)}")
        if not limit:
            raise INVALID_COINS("spend limit must be positive")
        if not coin_lists.valid(now):
            raise INVALID_COINS(f"can spend amount is invalid: {coins_text(now)}")
        total = {coin.denom for coin in allowance.basic.spend_limit}
        if total and any(coin.denom not in total for coin in limit):
            raise INVALID_COINS("period spend limit has different currency than basic spend limit")
        if duration(allowance.period) < 0:
            raise INVALID_DURATION("negative clock step")

    def expiration(self, allowance: Any) -> int | None:
        """When an allowance ends, in ns; None is never."""
        name = allowance.DESCRIPTOR.full_name
        if name == FILTERED:
            return self.expiration(self._registry.unpack(allowance.allowance))
        basic = allowance.basic if name == PERIODIC else allowance
        return instant(basic.expiration) if basic.HasField("expiration") else None

    def spend(self, ctx: Context, allowance: Any, fee: Coins, messages: Sequence[Any]) -> bool:
        """Take a fee out of an allowance, changing it; returns whether it is used up."""
        name = allowance.DESCRIPTOR.full_name
        if name == PERIODIC:
            return self._spend_periodic(ctx, allowance, fee)
        if name == BASIC:
            return self._spend_basic(ctx, allowance, fee)
        ctx.gas.consume(_ITERATION_GAS * (len(allowance.allowed_messages) + len(messages)), "check msg")
        allowed = set(allowance.allowed_messages)
        if any("/" + message.DESCRIPTOR.full_name not in allowed for message in messages):
            raise MESSAGE_NOT_ALLOWED("message does not exist in allowed messages")
        inner = self._registry.unpack(allowance.allowance)
        used_up = self.spend(ctx, inner, fee, messages)
        allowance.allowance.CopyFrom(self._registry.pack(inner))
        return used_up

    def _spend_basic(self, ctx: Context, basic: Any, fee: Coins) -> bool:
        if basic.HasField("expiration") and instant(basic.expiration) < ctx.block.time_ns:
            raise LIMIT_EXPIRED("basic allowance")
        return self._reduce(basic, fee, "basic allowance")

    def _reduce(self, basic: Any, fee: Coins, what: str) -> bool:
        if not basic.spend_limit:
            return False
        left = _less(from_proto(basic.spend_limit), fee, what)
        self._set(basic.spend_limit, left)
        return not left

    def _spend_periodic(self, ctx: Context, allowance: Any, fee: Coins) -> bool:
        basic, now = allowance.basic, ctx.block.time_ns
        if basic.HasField("expiration") and now > instant(basic.expiration):
            raise LIMIT_EXPIRED("absolute limit")
        self._renew(allowance, now)
        left = _less(from_proto(allowance.period_can_spend), fee, "period limit")
        self._set(allowance.period_can_spend, left)
        return self._reduce(basic, fee, "absolute limit")

    def _renew(self, allowance: Any, now: int) -> None:
        """Start a new period when the last one is over."""
        reset = instant(allowance.period_reset)
        if now < reset:
            return
        total, per_period = from_proto(allowance.basic.spend_limit), from_proto(allowance.period_spend_limit)
        short = any(coin.amount < 0 for coin in coin_lists.subtract(total, per_period))
        self._set(allowance.period_can_spend, total if total and short else per_period)
        reset += duration(allowance.period)
        set_instant(allowance.period_reset, now + duration(allowance.period) if now > reset else reset)

    def _set(self, field: Any, coins: Coins) -> None:
        del field[:]
        field.extend(self._registry.new("cosmos.base.v1beta1.Coin", denom=c.denom, amount=str(c.amount)) for c in coins)


def _less(coins: Coins, fee: Coins, what: str) -> Coins:
    left = coin_lists.subtract(coins, fee)
    if any(coin.amount < 0 for coin in left):
        raise LIMIT_EXCEEDED(what)
    return left
