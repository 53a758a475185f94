"""The distribution module: fees to validators each block, and its messages."""

from __future__ import annotations

from typing import Any

from leasehold.core.fixed_point import ONE
from leasehold.devnet.app import coins as coin_lists
from leasehold.devnet.app.coins import Coins, DecCoin, coins_text, from_proto
from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import (
    INVALID_COINS,
    UNAUTHORIZED,
    ChainError,
    Kind,
)
from leasehold.devnet.app.module import handles
from leasehold.devnet.modules.distribution import dec_coins
from leasehold.devnet.modules.distribution.dec_coins import DecCoins
from leasehold.devnet.modules.distribution.queries import Queries
from leasehold.devnet.modules.distribution.rewards import (
    PACKAGE,
    PARAMS,
    WITHDRAW,
)
from leasehold.devnet.modules.parameter_rules import check_distribution
from leasehold.devnet.modules.staking.errors import NO_DELEGATION, NO_VALIDATOR

_QUERY = PACKAGE + "Query/"
_PROPOSER = b"distribution/proposer"

NO_COMMISSION = Kind("distribution", 7, "no validator commission to withdraw")
WITHDRAW_ADDRESS_DISABLED = Kind("distribution", 8, "set withdraw address disabled")
POOL_TOO_SMALL = Kind("distribution", 9, "community pool does not have sufficient coins to distribute")


class Distribution(Queries):
    """Fees and rewards."""

    def init_genesis(self, ctx: Context, state: dict[str, Any]) -> None:
        self._set_params(ctx, self.from_json(PACKAGE + "Params", state["params"]))
        pool = self.from_json(PACKAGE + "FeePool", state.get("fee_pool", {}))
        self.save_pool(ctx, _dec(pool.community_pool))
        for entry in state.get("delegator_withdraw_infos", []):
            delegator = self.participants.account(entry["delegator_address"])
            ctx.store.set(WITHDRAW + delegator, self.participants.account(entry["withdraw_address"]))
        self.modules.auth.module_account(ctx, "distribution")

    def _set_params(self, ctx: Context, params: Any) -> None:
        ctx.store.set(PARAMS, params.SerializeToString())

    def begin_block(self, ctx: Context) -> None:
        if ctx.block.height > 1:
            self._allocate(ctx)
        ctx.store.set(_PROPOSER, ctx.block.proposer)

    def _allocate(self, ctx: Context) -> None:
        """Share the fee collector's coins among the signers of the last commit by power."""
        accounts = self.modules.auth
        collector = accounts.module_account(ctx, "fee_collector")
        collected = self.modules.bank.balances(ctx, collector)
        self.modules.bank.send(ctx, collector, accounts.module_account(ctx, "distribution"), collected)
        fees = dec_coins.from_coins(collected)
        total = sum(vote.power for vote in ctx.block.commit)
        remaining = fees
        if total:
            shared = dec_coins.multiply_truncated(fees, ONE - int(self.params(ctx).community_tax or "0"))
            for vote in ctx.block.commit:
                validator = self.modules.staking.seen_by_consensus(ctx, vote.address)
                if validator is None:
                    continue
                reward = dec_coins.multiply_truncated(shared, vote.power * ONE // total)
                self._reward(ctx, validator, reward)
                remaining = dec_coins.subtract(remaining, reward)
        self.save_pool(ctx, dec_coins.add(self.pool(ctx), remaining))

    def _reward(self, ctx: Context, validator: Any, coins: DecCoins) -> None:
        operator = self.participants.operator(validator.operator_address)
        commission = dec_coins.multiply(coins, int(validator.commission.commission_rates.rate or "0"))
        ctx.emit("commission", ("amount", coins_text(commission)), ("validator", validator.operator_address))
        ctx.emit("rewards", ("amount", coins_text(coins)), ("validator", validator.operator_address))
        self.credit(ctx, operator, coins, commission)

    # Messages.

    @handles(PACKAGE + "MsgSetWithdrawAddress")
    def handle_set_withdraw_address(self, ctx: Context, msg: Any) -> Any:
        delegator = self.participants.account(msg.delegator_address, "invalid delegator address: ")
        target = self.participants.account(msg.withdraw_address, "invalid withdraw address: ")
        if self.modules.bank.blocked(target):
            raise UNAUTHORIZED(f"{msg.withdraw_address} is not allowed to receive external funds")
        if not self.params(ctx).withdraw_addr_enabled:
            raise ChainError(WITHDRAW_ADDRESS_DISABLED)
        ctx.emit("set_withdraw_address", ("withdraw_address", msg.withdraw_address))
        ctx.store.set(WITHDRAW + delegator, target)
        return self.new(PACKAGE + "MsgSetWithdrawAddressResponse")

    @handles(PACKAGE + "MsgWithdrawDelegatorReward")
    def handle_withdraw_reward(self, ctx: Context, msg: Any) -> Any:
        operator = self.participants.operator(msg.validator_address)
        delegator = self.participants.account(msg.delegator_address, "invalid delegator address: ")
        staking = self.modules.staking
        if staking.find_validator(ctx, operator) is None:
            raise ChainError(NO_VALIDATOR)
        if staking.find_delegation(ctx, delegator, operator) is None:
            raise ChainError(NO_DELEGATION)
        paid = self.withdraw(ctx, delegator, operator)
        self.after_delegation_modified(ctx, delegator, operator)
        # A zero reward is shown in the event only; the response carries the zero coin as well.
        return self.new(PACKAGE + "MsgWithdrawDelegatorRewardResponse", amount=self.coins(paid))

    @handles(PACKAGE + "MsgWithdrawValidatorCommission")
    def handle_withdraw_commission(self, ctx: Context, msg: Any) -> Any:
        operator = self.participants.operator(msg.validator_address)
        owed = self.commission(ctx, operator)
        if not owed:
            raise ChainError(NO_COMMISSION)
        units, rest = dec_coins.whole(owed)
        self.save_commission(ctx, operator, rest)
        taken = dec_coins.from_coins(units)
        self.save_outstanding(ctx, operator, dec_coins.subtract(self.outstanding(ctx, operator), taken))
        if units:
            source = self.modules.auth.module_account(ctx, "distribution")
            self.modules.bank.send(ctx, source, self.withdraw_address(ctx, operator), units)
        ctx.emit("withdraw_commission", ("amount", coins_text(units)))
        return self.new(PACKAGE + "MsgWithdrawValidatorCommissionResponse", amount=self.coins(units))

    @handles(PACKAGE + "MsgFundCommunityPool")
    def handle_fund_pool(self, ctx: Context, msg: Any) -> Any:
        depositor = self.participants.account(msg.depositor, "invalid depositor address: ")
        coins = _valid(from_proto(msg.amount))
        self.fund(ctx, depositor, coins)
        return self.new(PACKAGE + "MsgFundCommunityPoolResponse")

    def fund(self, ctx: Context, source: bytes, coins: Coins) -> None:
        """Move an account's coins to the community pool."""
        target = self.modules.auth.module_account(ctx, "distribution")
        self.modules.bank.send(ctx, source, target, coins)
        self.save_pool(ctx, dec_coins.add(self.pool(ctx), dec_coins.from_coins(coins)))

    @handles(PACKAGE + "MsgCommunityPoolSpend")
    def handle_pool_spend(self, ctx: Context, msg: Any) -> Any:
        self.modules.gov.require_authority(msg.authority)
        coins = _valid(from_proto(msg.amount))
        recipient = self.participants.unwrapped_account(msg.recipient)
        if self.modules.bank.blocked(recipient):
            raise UNAUTHORIZED(f"{msg.recipient} is not allowed to receive external funds")
        rest = dec_coins.subtract(self.pool(ctx), dec_coins.from_coins(coins))
        if any(coin.amount < 0 for coin in rest):
            raise ChainError(POOL_TOO_SMALL)
        self.save_pool(ctx, rest)
        source = self.modules.auth.module_account(ctx, "distribution")
        self.modules.bank.send(ctx, source, recipient, coins)
        return self.new(PACKAGE + "MsgCommunityPoolSpendResponse")

    @handles(PACKAGE + "MsgDepositValidatorRewardsPool")
    def handle_deposit_rewards(self, ctx: Context, msg: Any) -> Any:
        depositor = self.participants.account(msg.depositor, "invalid depositor address: ")
        operator = self.participants.operator(msg.validator_address)
        validator = self.modules.staking.validator(ctx, operator)
        coins = _valid(from_proto(msg.amount))
        target = self.modules.auth.module_account(ctx, "distribution")
        self.modules.bank.send(ctx, depositor, target, coins)
        self._reward(ctx, validator, dec_coins.from_coins(coins))
        return self.new(PACKAGE + "MsgDepositValidatorRewardsPoolResponse")

    @handles(PACKAGE + "MsgUpdateParams")
    def handle_update_params(self, ctx: Context, msg: Any) -> Any:
        self.modules.gov.require_authority(msg.authority)
        check_distribution(msg.params)
        self._set_params(ctx, msg.params)
        return self.new(PACKAGE + "MsgUpdateParamsResponse")


def _valid(coins: Coins) -> Coins:
    if not coins or not coin_lists.valid(coins):
        raise INVALID_COINS(coins_text(coins))
    return coins


def _dec(coins: Any) -> DecCoins:
    return tuple(DecCoin(coin.denom, int(coin.amount)) for coin in coins)
