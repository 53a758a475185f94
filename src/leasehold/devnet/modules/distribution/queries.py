"""Distribution's queries; what needs a closed period closes one in the query's own throw-away state."""

from __future__ import annotations

from typing import Any

import msgspec

from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import ChainError, PlainError, Status, StatusError
from leasehold.devnet.app.module import answers
from leasehold.devnet.app.pagination import page
from leasehold.devnet.modules.distribution import dec_coins
from leasehold.devnet.modules.distribution.dec_coins import DecCoins
from leasehold.devnet.modules.distribution.rewards import PACKAGE, SLASHES, Rewards, SlashEvent
from leasehold.devnet.modules.staking.errors import NO_DELEGATION

_QUERY = PACKAGE + "Query/"


class Queries(Rewards):
    """Answers."""

    def _require_validator(self, text: str) -> None:
        if not text:
            raise StatusError(Status.INVALID_ARGUMENT, "empty validator address")

    def _require_delegator(self, text: str) -> None:
        if not text:
            raise StatusError(Status.INVALID_ARGUMENT, "empty delegator address")

    def _operator(self, text: str) -> bytes:
        self._require_validator(text)
        return self.participants.queried_operator(text)

    def _delegator(self, text: str) -> bytes:
        self._require_delegator(text)
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
        self._require_validator(request.validator_address)
        if last < first:
            raise StatusError(Status.INVALID_ARGUMENT, f"starting height greater than ending height ({first} > {last})")
        try:
            operator = self._operator(request.validator_address)
        except PlainError:
            raise StatusError(Status.INVALID_ARGUMENT, "invalid validator address") from None

        def keep(_: bytes, data: bytes) -> bool:
            # The bounds are called heights, yet what is compared with them are periods.
            return bool(first <= msgspec.msgpack.decode(data, type=SlashEvent).period <= last)

        items, result = page(ctx, SLASHES + operator, request.pagination, lambda _, data: self._slash(data), keep=keep)
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
        self._require_delegator(request.delegator_address)
        operator = self._known_operator(ctx, request.validator_address)
        delegator = self._delegator(request.delegator_address)
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
