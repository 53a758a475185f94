"""How fees become rewards: per validator a running ratio of reward per token, closed into a period at each change."""

from __future__ import annotations

from typing import Any

import msgspec

from leasehold.chain.registry import Registry
from leasehold.core.fixed_point import ONE
from leasehold.core.settings import Identity
from leasehold.devnet.app.coins import Coin, Coins, coins_text
from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import ChainError, Kind
from leasehold.devnet.app.module import Module
from leasehold.devnet.modules.distribution import dec_coins
from leasehold.devnet.modules.distribution.dec_coins import DecCoins
from leasehold.devnet.modules.participants import Participants
from leasehold.devnet.modules.staking.shares import tokens_from_shares, tokens_from_shares_truncated
from leasehold.devnet.state.store import prefix_end

PACKAGE = "cosmos.distribution.v1beta1."
PARAMS = b"distribution/params"
POOL = b"distribution/pool"
VALIDATOR = b"distribution/v/"
HISTORICAL = b"distribution/h/"
STARTING = b"distribution/s/"
SLASHES = b"distribution/x/"
WITHDRAW = b"distribution/w/"

# How far rounding may let a stake exceed what its shares are worth now.
_MARGIN = 3

NO_DISTRIBUTION_INFO = Kind("distribution", 5, "no delegation distribution info")


class _Account(msgspec.Struct, array_like=True):
    """What a validator is owed, in one record because every block changes all of it."""

    period: int
    rewards: bytes = b""
    """Gathered for delegators in the open period."""
    commission: bytes = b""
    outstanding: bytes = b""


class _Historical(msgspec.Struct, array_like=True):
    """Reward per token up to the end of a period, kept while anyone refers to it."""

    references: int
    ratio: bytes


class Starting(msgspec.Struct, array_like=True):
    """Where a delegation's rewards count from; the stake is scaled."""

    period: int
    height: int
    stake: str


class SlashEvent(msgspec.Struct, array_like=True):
    """A slash as rewards see it; the fraction is scaled."""

    period: int
    fraction: str


_encode = msgspec.msgpack.encode


def _decode(data: bytes | None, kind: Any) -> Any:
    assert data is not None
    return msgspec.msgpack.decode(data, type=kind)


def _number(value: int) -> bytes:
    return value.to_bytes(8, "big")


class Rewards(Module):
    """Periods, ratios, and what a delegation has earned."""

    name = "distribution"

    def __init__(self, identity: Identity, registry: Registry) -> None:
        super().__init__(identity, registry)
        self.participants = Participants(self.prefixes)

    def params(self, ctx: Context) -> Any:
        return self.read(ctx, PARAMS, PACKAGE + "Params")

    def pool(self, ctx: Context) -> DecCoins:
        """The community pool."""
        return dec_coins.unpack(ctx.store.get(POOL))

    def save_pool(self, ctx: Context, coins: DecCoins) -> None:
        ctx.store.set(POOL, dec_coins.pack(coins))

    def _account(self, ctx: Context, operator: bytes) -> _Account:
        account: _Account = _decode(ctx.store.get(VALIDATOR + operator), _Account)
        return account

    def _save_account(self, ctx: Context, operator: bytes, account: _Account) -> None:
        ctx.store.set(VALIDATOR + operator, _encode(account))

    def outstanding(self, ctx: Context, operator: bytes) -> DecCoins:
        data = ctx.store.get(VALIDATOR + operator)
        return () if data is None else dec_coins.unpack(_decode(data, _Account).outstanding)

    def save_outstanding(self, ctx: Context, operator: bytes, coins: DecCoins) -> None:
        account = self._account(ctx, operator)
        account.outstanding = dec_coins.pack(coins)
        self._save_account(ctx, operator, account)

    def commission(self, ctx: Context, operator: bytes) -> DecCoins:
        data = ctx.store.get(VALIDATOR + operator)
        return () if data is None else dec_coins.unpack(_decode(data, _Account).commission)

    def save_commission(self, ctx: Context, operator: bytes, coins: DecCoins) -> None:
        account = self._account(ctx, operator)
        account.commission = dec_coins.pack(coins)
        self._save_account(ctx, operator, account)

    # A validator's periods.

    def after_validator_created(self, ctx: Context, operator: bytes) -> None:
        ctx.store.set(HISTORICAL + operator + _number(0), _encode(_Historical(1, b"")))
        self._save_account(ctx, operator, _Account(1))

    def credit(self, ctx: Context, operator: bytes, coins: DecCoins, commission: DecCoins) -> None:
        """Owe a validator coins: its commission, and the rest to its delegators in the open period."""
        account = self._account(ctx, operator)
        shared = dec_coins.subtract(coins, commission)
        account.rewards = dec_coins.pack(dec_coins.add(dec_coins.unpack(account.rewards), shared))
        account.commission = dec_coins.pack(dec_coins.add(dec_coins.unpack(account.commission), commission))
        account.outstanding = dec_coins.pack(dec_coins.add(dec_coins.unpack(account.outstanding), coins))
        self._save_account(ctx, operator, account)

    def close_period(self, ctx: Context, operator: bytes, validator: Any) -> int:
        """End a validator's open period and return its number."""
        account = self._account(ctx, operator)
        gathered = dec_coins.unpack(account.rewards)
        tokens = int(validator.tokens)
        if tokens == 0:
            # Nobody to give it to: the community gets it.
            self.save_pool(ctx, dec_coins.add(self.pool(ctx), gathered))
            account.outstanding = dec_coins.pack(dec_coins.subtract(dec_coins.unpack(account.outstanding), gathered))
            step: DecCoins = ()
        else:
            step = dec_coins.divide_truncated(gathered, tokens * ONE)
        closed = account.period
        before = self._historical(ctx, operator, closed - 1)
        self._refer(ctx, operator, closed - 1, -1)
        ratio = dec_coins.add(dec_coins.unpack(before.ratio), step)
        key = HISTORICAL + operator + _number(closed)
        ctx.store.set(key, _encode(_Historical(1, dec_coins.pack(ratio))))
        account.period, account.rewards = closed + 1, b""
        self._save_account(ctx, operator, account)
        return closed

    def _historical(self, ctx: Context, operator: bytes, period: int) -> _Historical:
        found: _Historical = _decode(ctx.store.get(HISTORICAL + operator + _number(period)), _Historical)
        return found

    def _refer(self, ctx: Context, operator: bytes, period: int, change: int) -> None:
        key = HISTORICAL + operator + _number(period)
        record = self._historical(ctx, operator, period)
        record.references += change
        if record.references == 0:
            ctx.store.delete(key)
        else:
            ctx.store.set(key, _encode(record))

    def before_validator_slashed(self, ctx: Context, operator: bytes, fraction: int) -> None:
        validator = self.modules.staking.validator(ctx, operator)
        period = self.close_period(ctx, operator, validator)
        self._refer(ctx, operator, period, 1)
        key = SLASHES + operator + _number(ctx.block.height) + _number(period)
        ctx.store.set(key, _encode(SlashEvent(period, str(fraction))))

    def slashes(self, ctx: Context, operator: bytes, first: int, last: int) -> list[SlashEvent]:
        """Slash events from a height to a height, both included."""
        prefix = SLASHES + operator
        found = ctx.store.iterate(prefix + _number(first), prefix + _number(last + 1))
        return [_decode(data, SlashEvent) for _, data in found]

    def after_validator_removed(self, ctx: Context, operator: bytes) -> None:
        owed = self.commission(ctx, operator)
        units, rest = dec_coins.whole(owed)
        left = dec_coins.subtract(self.outstanding(ctx, operator), owed)
        if units:
            source = self.modules.auth.module_account(ctx, "distribution")
            self.modules.bank.send(ctx, source, self.withdraw_address(ctx, operator), units)
        self.save_pool(ctx, dec_coins.add(dec_coins.add(self.pool(ctx), rest), left))
        stale = [VALIDATOR + operator]
        for prefix in (SLASHES + operator, HISTORICAL + operator):
            stale += [key for key, _ in ctx.store.iterate(prefix, prefix_end(prefix))]
        for key in stale:
            ctx.store.delete(key)

    # Delegations.

    def before_delegation_created(self, ctx: Context, operator: bytes) -> None:
        self.close_period(ctx, operator, self.modules.staking.validator(ctx, operator))

    def before_shares_modified(self, ctx: Context, delegator: bytes, operator: bytes) -> None:
        self.withdraw(ctx, delegator, operator)

    def after_delegation_modified(self, ctx: Context, delegator: bytes, operator: bytes) -> None:
        """Count a delegation's rewards from here on."""
        staking = self.modules.staking
        period = self._account(ctx, operator).period - 1
        self._refer(ctx, operator, period, 1)
        delegation = staking.find_delegation(ctx, delegator, operator)
        stake = tokens_from_shares_truncated(staking.validator(ctx, operator), int(delegation.shares))
        info = Starting(period, ctx.block.height, str(stake))
        ctx.store.set(STARTING + operator + delegator, _encode(info))

    def earned(self, ctx: Context, delegator: bytes, operator: bytes, validator: Any, ending: int) -> DecCoins:
        """What a delegation has earned up to the end of a closed period."""
        data = ctx.store.get(STARTING + operator + delegator)
        if data is None:
            raise ChainError(NO_DISTRIBUTION_INFO)
        start: Starting = _decode(data, Starting)
        if start.height == ctx.block.height:
            return ()
        period, stake = start.period, int(start.stake)
        total: DecCoins = ()
        for event in self.slashes(ctx, operator, start.height, ctx.block.height):
            if event.period > period:
                total = dec_coins.add(total, self._between(ctx, operator, period, event.period, stake))
                stake = stake * (ONE - int(event.fraction)) // ONE
                period = event.period
        delegation = self.modules.staking.find_delegation(ctx, delegator, operator)
        worth = tokens_from_shares(validator, int(delegation.shares))
        if stake > worth:
            # Rounding may leave the remembered stake a hair above what the shares are worth.
            assert stake <= worth + _MARGIN, "calculated final stake greater than current stake"
            stake = worth
        return dec_coins.add(total, self._between(ctx, operator, period, ending, stake))

    def _between(self, ctx: Context, operator: bytes, first: int, last: int, stake: int) -> DecCoins:
        start = dec_coins.unpack(self._historical(ctx, operator, first).ratio)
        end = dec_coins.unpack(self._historical(ctx, operator, last).ratio)
        return dec_coins.multiply_truncated(dec_coins.subtract(end, start), stake)

    def withdraw(self, ctx: Context, delegator: bytes, operator: bytes) -> Coins:
        """Pay a delegation's rewards to its withdraw address and stop counting; returns what was paid."""
        key = STARTING + operator + delegator
        data = ctx.store.get(key)
        if data is None:
            raise ChainError(NO_DISTRIBUTION_INFO)
        validator = self.modules.staking.validator(ctx, operator)
        ending = self.close_period(ctx, operator, validator)
        outstanding = self.outstanding(ctx, operator)
        rewards = dec_coins.lesser(self.earned(ctx, delegator, operator, validator, ending), outstanding)
        paid, rest = dec_coins.whole(rewards)
        if paid:
            source = self.modules.auth.module_account(ctx, "distribution")
            self.modules.bank.send(ctx, source, self.withdraw_address(ctx, delegator), paid)
        self.save_outstanding(ctx, operator, dec_coins.subtract(outstanding, rewards))
        self.save_pool(ctx, dec_coins.add(self.pool(ctx), rest))
        self._refer(ctx, operator, _decode(data, Starting).period, -1)
        ctx.store.delete(key)
        shown = paid or (Coin(self.identity.base_denom, 0),)
        ctx.emit(
            "withdraw_rewards",
            ("amount", coins_text(shown)),
            ("validator", self.prefixes.operator_text(operator)),
            ("delegator", self.prefixes.account_text(delegator)),
        )
        return shown

    def withdraw_address(self, ctx: Context, delegator: bytes) -> bytes:
        """Where a delegator's rewards go."""
        return ctx.store.get(WITHDRAW + delegator) or delegator
