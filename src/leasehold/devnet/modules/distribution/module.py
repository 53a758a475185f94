"""The distribution module: fees to validators each block, its messages and queries."""

from __future__ import annotations

from typing import Any

import msgspec

from leasehold.core.fixed_point import ONE
from leasehold.devnet.app import coins as coin_lists
from leasehold.devnet.app.coins import Coins, DecCoin, coins_text, from_proto
from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import (
    INVALID_COINS,
    UNAUTHORIZED,
    ChainError,
    Kind,
    Status,
    StatusError,
)
from leasehold.devnet.app.module import answers, handles
from leasehold.devnet.app.pagination import page_of
from leasehold.devnet.modules.distribution import dec_coins
from leasehold.devnet.modules.distribution.dec_coins import DecCoins
from leasehold.devnet.modules.distribution.rewards import (
    PACKAGE,
    PARAMS,
    SLASHES,
    WITHDRAW,
    Rewards,
    SlashEvent,
)
from leasehold.devnet.modules.parameter_rules import check_distribution
from leasehold.devnet.modules.staking.errors import NO_DELEGATION, NO_VALIDATOR

_QUERY = PACKAGE + "Query/"
_PROPOSER = b"distribution/proposer"

NO_COMMISSION = Kind("distribution", 7, "no validator commission to withdraw")
WITHDRAW_ADDRESS_DISABLED = Kind("distribution", 8, "set withdraw address disabled")
POOL_TOO_SMALL = Kind("distribution", 9, "community pool does not have sufficient coins to distribute")


class Distribution(Rewards):
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
        self.save_commission(ctx, operator, dec_coins.add(self.commission(ctx, operator), commission))
        self.add_rewards(ctx, operator, dec_coins.subtract(coins, commission))
        ctx.emit("rewards", ("amount", coins_text(coins)), ("validator", validator.operator_address))
        self.save_outstanding(ctx, operator, dec_coins.add(self.outstanding(ctx, operator), coins))

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
        recipient = self.participants.account(msg.recipient, "invalid recipient address: ")
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

    # Queries.

    def _operator(self, text: str) -> bytes:
        if not text:
            raise StatusError(Status.INVALID_ARGUMENT, "empty validator address")
        return self.participants.queried_operator(text)

    def _delegator(self, text: str) -> bytes:
        if not text:
            raise StatusError(Status.INVALID_ARGUMENT, "empty delegator address")
        return self.participants.queried_account(text)

    def _known_operator(self, ctx: Context, text: str) -> bytes:
        operator = self._operator(text)
        self.modules.staking.validator(ctx, operator)
        return operator

    @answers(_QUERY + "Params")
    def query_params(self, ctx: Context, request: Any) -> Any:
        return self.new(PACKAGE + "QueryParamsResponse", params=self.params(ctx))

    @answers(_QUERY + "CommunityPool")
    def query_pool(self, ctx: Context, request: Any) -> Any:
        return self.new(PACKAGE + "QueryCommunityPoolResponse", pool=self.dec_coins(self.pool(ctx)))

    @answers(_QUERY + "ValidatorDistributionInfo")
    def query_validator_info(self, ctx: Context, request: Any) -> Any:
        operator = self._known_operator(ctx, request.validator_address)
        validator = self.modules.staking.validator(ctx, operator)
        if self.modules.staking.find_delegation(ctx, operator, operator) is None:
            raise ChainError(NO_DELEGATION)
        commission = self.commission(ctx, operator)
        ending = self.close_period(ctx, operator, validator)
        own = self.earned(ctx, operator, operator, validator, ending)
        return self.new(
            PACKAGE + "QueryValidatorDistributionInfoResponse",
            operator_address=self.prefixes.account_text(operator),
            self_bond_rewards=self.dec_coins(own),
            commission=self.dec_coins(commission),
        )

    @answers(_QUERY + "ValidatorOutstandingRewards")
    def query_outstanding(self, ctx: Context, request: Any) -> Any:
        operator = self._known_operator(ctx, request.validator_address)
        rewards = self.new(
            PACKAGE + "ValidatorOutstandingRewards", rewards=self.dec_coins(self.outstanding(ctx, operator))
        )
        return self.new(PACKAGE + "QueryValidatorOutstandingRewardsResponse", rewards=rewards)

    @answers(_QUERY + "ValidatorCommission")
    def query_commission(self, ctx: Context, request: Any) -> Any:
        operator = self._known_operator(ctx, request.validator_address)
        commission = self.new(
            PACKAGE + "ValidatorAccumulatedCommission", commission=self.dec_coins(self.commission(ctx, operator))
        )
        return self.new(PACKAGE + "QueryValidatorCommissionResponse", commission=commission)

    @answers(_QUERY + "ValidatorSlashes")
    def query_slashes(self, ctx: Context, request: Any) -> Any:
        first, last = request.starting_height, request.ending_height
        operator = self._operator(request.validator_address)
        if last < first:
            raise StatusError(Status.INVALID_ARGUMENT, f"starting height greater than ending height ({first} > {last})")
        prefix = SLASHES + operator
        found = ctx.store.iterate(prefix + first.to_bytes(8, "big"), prefix + min(last + 1, 2**63).to_bytes(8, "big"))
        events = [(key[len(prefix) :], self._slash(data)) for key, data in found]
        items, result = page_of(events, request.pagination)
        return self.new(PACKAGE + "QueryValidatorSlashesResponse", slashes=items, pagination=self.page_response(result))

    def _slash(self, data: bytes) -> Any:
        event = msgspec.msgpack.decode(data, type=SlashEvent)
        return self.new(PACKAGE + "ValidatorSlashEvent", validator_period=event.period, fraction=event.fraction)

    def _pending(self, ctx: Context, delegator: bytes, operator: bytes) -> DecCoins:
        """Unpaid rewards; closes a period in the query's own throw-away state."""
        validator = self.modules.staking.validator(ctx, operator)
        if self.modules.staking.find_delegation(ctx, delegator, operator) is None:
            raise ChainError(NO_DELEGATION)
        ending = self.close_period(ctx, operator, validator)
        return self.earned(ctx, delegator, operator, validator, ending)

    @answers(_QUERY + "DelegationRewards")
    def query_delegation_rewards(self, ctx: Context, request: Any) -> Any:
        delegator = self._delegator(request.delegator_address)
        operator = self._operator(request.validator_address)
        rewards = self._pending(ctx, delegator, operator)
        return self.new(PACKAGE + "QueryDelegationRewardsResponse", rewards=self.dec_coins(rewards))

    @answers(_QUERY + "DelegationTotalRewards")
    def query_total_rewards(self, ctx: Context, request: Any) -> Any:
        delegator = self._delegator(request.delegator_address)
        response = self.new(PACKAGE + "QueryDelegationTotalRewardsResponse")
        total: DecCoins = ()
        for delegation in self.modules.staking.delegations_of(ctx, delegator):
            operator = self.participants.operator(delegation.validator_address)
            pending = self._pending(ctx, delegator, operator)
            response.rewards.add(validator_address=delegation.validator_address, reward=self.dec_coins(pending))
            total = dec_coins.add(total, pending)
        response.total.extend(self.dec_coins(total))
        return response

    @answers(_QUERY + "DelegatorValidators")
    def query_delegator_validators(self, ctx: Context, request: Any) -> Any:
        delegator = self._delegator(request.delegator_address)
        found = [d.validator_address for d in self.modules.staking.delegations_of(ctx, delegator)]
        return self.new(PACKAGE + "QueryDelegatorValidatorsResponse", validators=found)

    @answers(_QUERY + "DelegatorWithdrawAddress")
    def query_withdraw_address(self, ctx: Context, request: Any) -> Any:
        target = self.withdraw_address(ctx, self._delegator(request.delegator_address))
        text = self.prefixes.account_text(target)
        return self.new(PACKAGE + "QueryDelegatorWithdrawAddressResponse", withdraw_address=text)


def _valid(coins: Coins) -> Coins:
    if not coins or not coin_lists.valid(coins):
        raise INVALID_COINS(coins_text(coins))
    return coins


def _dec(coins: Any) -> DecCoins:
    return tuple(DecCoin(coin.denom, int(coin.amount)) for coin in coins)
