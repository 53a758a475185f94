"""Staking's queries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from leasehold.core import fixed_point
from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import PlainError, Status, StatusError
from leasehold.devnet.app.module import answers
from leasehold.devnet.app.pagination import Page, page
from leasehold.devnet.modules.staking.errors import NO_DELEGATION
from leasehold.devnet.modules.staking.ledger import (
    DELEGATION,
    DELEGATION_BY_VALIDATOR,
    PACKAGE,
    REDELEGATION,
    REDELEGATION_BY_SOURCE,
    UNBONDING,
    UNBONDING_BY_VALIDATOR,
    VALIDATOR,
    sized,
    split_sized,
)
from leasehold.devnet.modules.staking.messages import Messages
from leasehold.devnet.modules.staking.shares import tokens_from_shares

_STATUSES = {"": 0, "BOND_STATUS_UNBONDED": 1, "BOND_STATUS_UNBONDING": 2, "BOND_STATUS_BONDED": 3}
_QUERY = PACKAGE + "Query/"


class Queries(Messages):
    """Answers."""

    def _listed(
        self,
        ctx: Context,
        prefix: bytes,
        request: Any,
        take: Callable[[bytes, bytes], Any],
        keep: Callable[[bytes, bytes], bool] | None = None,
    ) -> tuple[list[Any], Page]:
        try:
            return page(ctx, prefix, request.pagination, take, keep=keep)
        except PlainError as error:
            raise StatusError(Status.INTERNAL, str(error)) from None

    def _require(self, text: str, refusal: str) -> None:
        if not text:
            raise StatusError(Status.INVALID_ARGUMENT, refusal)

    def _delegator(self, text: str) -> bytes:
        self._require(text, "delegator address cannot be empty")
        return self.participants.queried_account(text)

    def _operator(self, text: str) -> bytes:
        self._require(text, "validator address cannot be empty")
        return self.participants.queried_operator(text)

    def _pair(self, request: Any) -> tuple[bytes, bytes]:
        """Delegator and validator; that both are given is looked at before either is read."""
        self._require(request.delegator_addr, "delegator address cannot be empty")
        self._require(request.validator_addr, "validator address cannot be empty")
        return self._delegator(request.delegator_addr), self._operator(request.validator_addr)

    @answers(_QUERY + "Validators")
    def query_validators(self, ctx: Context, request: Any) -> Any:
        status = _STATUSES.get(request.status)
        if status is None:
            raise StatusError(Status.INVALID_ARGUMENT, f"invalid validator status {request.status}")
        kind: Any = self.registry.type(PACKAGE + "Validator")

        keep = (lambda _, data: kind.FromString(data).status == status) if status else None
        items, result = self._listed(ctx, VALIDATOR, request, lambda _, data: kind.FromString(data), keep)
        return self.new(PACKAGE + "QueryValidatorsResponse", validators=items, pagination=self.page_response(result))

    @answers(_QUERY + "Validator")
    def query_validator(self, ctx: Context, request: Any) -> Any:
        validator = self.find_validator(ctx, self._operator(request.validator_addr))
        if validator is None:
            raise StatusError(Status.NOT_FOUND, f"validator {request.validator_addr} not found")
        return self.new(PACKAGE + "QueryValidatorResponse", validator=validator)

    def _delegation_response(self, ctx: Context, delegation: Any) -> Any:
        validator = self.validator(ctx, self.participants.operator(delegation.validator_address))
        amount = fixed_point.truncate(tokens_from_shares(validator, int(delegation.shares)))
        return self.new(
            PACKAGE + "DelegationResponse", delegation=delegation, balance=self.coin(self.bond_coin(ctx, amount))
        )

    @answers(_QUERY + "ValidatorDelegations")
    def query_validator_delegations(self, ctx: Context, request: Any) -> Any:
        operator = self._operator(request.validator_addr)

        def take(delegator: bytes, _: bytes) -> Any:
            return self._delegation_response(ctx, self.find_delegation(ctx, delegator, operator))

        items, result = self._listed(ctx, DELEGATION_BY_VALIDATOR + sized(operator), request, take)
        return self.new(
            PACKAGE + "QueryValidatorDelegationsResponse",
            delegation_responses=items,
            pagination=self.page_response(result),
        )

    @answers(_QUERY + "ValidatorUnbondingDelegations")
    def query_validator_unbondings(self, ctx: Context, request: Any) -> Any:
        operator = self._operator(request.validator_addr)

        def take(key: bytes, _: bytes) -> Any:
            return self.find_unbonding(ctx, split_sized(key)[0], operator)

        items, result = self._listed(ctx, UNBONDING_BY_VALIDATOR + sized(operator), request, take)
        return self.new(
            PACKAGE + "QueryValidatorUnbondingDelegationsResponse",
            unbonding_responses=items,
            pagination=self.page_response(result),
        )

    @answers(_QUERY + "Delegation")
    def query_delegation(self, ctx: Context, request: Any) -> Any:
        delegator, operator = self._pair(request)
        delegation = self.find_delegation(ctx, delegator, operator)
        if delegation is None:
            raise StatusError(
                Status.NOT_FOUND,
                f"delegation with delegator {request.delegator_addr} not found for validator {request.validator_addr}",
            )
        response = self._delegation_response(ctx, delegation)
        return self.new(PACKAGE + "QueryDelegationResponse", delegation_response=response)

    @answers(_QUERY + "UnbondingDelegation")
    def query_unbonding(self, ctx: Context, request: Any) -> Any:
        delegator, operator = self._pair(request)
        unbonding = self.find_unbonding(ctx, delegator, operator)
        if unbonding is None:
            raise StatusError(
                Status.NOT_FOUND,
                f"unbonding delegation with delegator {request.delegator_addr} "
                f"not found for validator {request.validator_addr}",
            )
        return self.new(PACKAGE + "QueryUnbondingDelegationResponse", unbond=unbonding)

    @answers(_QUERY + "DelegatorDelegations")
    def query_delegator_delegations(self, ctx: Context, request: Any) -> Any:
        delegator = self._delegator(request.delegator_addr)
        kind: Any = self.registry.type(PACKAGE + "Delegation")
        items, result = self._listed(
            ctx,
            DELEGATION + sized(delegator),
            request,
            lambda _, data: self._delegation_response(ctx, kind.FromString(data)),
        )
        return self.new(
            PACKAGE + "QueryDelegatorDelegationsResponse",
            delegation_responses=items,
            pagination=self.page_response(result),
        )

    @answers(_QUERY + "DelegatorUnbondingDelegations")
    def query_delegator_unbondings(self, ctx: Context, request: Any) -> Any:
        delegator = self._delegator(request.delegator_addr)
        kind: Any = self.registry.type(PACKAGE + "UnbondingDelegation")
        items, result = self._listed(ctx, UNBONDING + sized(delegator), request, lambda _, data: kind.FromString(data))
        return self.new(
            PACKAGE + "QueryDelegatorUnbondingDelegationsResponse",
            unbonding_responses=items,
            pagination=self.page_response(result),
        )

    @answers(_QUERY + "Redelegations")
    def query_redelegations(self, ctx: Context, request: Any) -> Any:
        try:
            items, result = self._redelegations(ctx, request)
        except PlainError as error:
            raise StatusError(Status.INTERNAL, str(error)) from None
        response = self.new(
            PACKAGE + "QueryRedelegationsResponse",
            redelegation_responses=[self._redelegation_response(ctx, item) for item in items],
        )
        if result is not None:
            response.pagination.CopyFrom(self.page_response(result))
        return response

    def _redelegations(self, ctx: Context, request: Any) -> tuple[list[Any], Page | None]:
        """Those that are asked for; a single one comes without a page."""
        delegator, source, target = request.delegator_addr, request.src_validator_addr, request.dst_validator_addr
        if delegator and source and target:
            return [self._one_redelegation(ctx, request)], None
        if source and not delegator and not target:
            origin = self.participants.queried_operator(source)

            def take(key: bytes, _: bytes) -> Any:
                holder, destination = split_sized(key)
                return self.find_redelegation(ctx, holder, origin, destination)

            return self._listed(ctx, REDELEGATION_BY_SOURCE + sized(origin), request, take)
        prefix = REDELEGATION + sized(self.participants.queried_account(delegator))
        kind: Any = self.registry.type(PACKAGE + "Redelegation")
        return self._listed(ctx, prefix, request, lambda _, data: kind.FromString(data))

    def _one_redelegation(self, ctx: Context, request: Any) -> Any:
        delegator = self.participants.queried_account(request.delegator_addr)
        source = self.participants.queried_operator(request.src_validator_addr)
        target = self.participants.queried_operator(request.dst_validator_addr)
        found = self.find_redelegation(ctx, delegator, source, target)
        if found is None:
            raise StatusError(
                Status.INTERNAL,
                f"rpc error: code = NotFound desc = redelegation not found for delegator address "
                f"{request.delegator_addr} from validator address {request.src_validator_addr}",
            )
        return found

    def _redelegation_response(self, ctx: Context, redelegation: Any) -> Any:
        target = self.validator(ctx, self.participants.operator(redelegation.validator_dst_address))
        response = self.new(PACKAGE + "RedelegationResponse")
        response.redelegation.CopyFrom(redelegation)
        del response.redelegation.entries[:]
        for entry in redelegation.entries:
            amount = fixed_point.truncate(tokens_from_shares(target, int(entry.shares_dst)))
            response.entries.add(redelegation_entry=entry, balance=str(amount))
        return response

    @answers(_QUERY + "DelegatorValidators")
    def query_delegator_validators(self, ctx: Context, request: Any) -> Any:
        delegator = self._delegator(request.delegator_addr)
        items, result = self._listed(
            ctx,
            DELEGATION + sized(delegator),
            request,
            lambda key, _: self.validator(ctx, split_sized(key)[0]),
        )
        return self.new(
            PACKAGE + "QueryDelegatorValidatorsResponse", validators=items, pagination=self.page_response(result)
        )

    @answers(_QUERY + "DelegatorValidator")
    def query_delegator_validator(self, ctx: Context, request: Any) -> Any:
        delegator, operator = self._pair(request)
        if self.find_delegation(ctx, delegator, operator) is None:
            raise StatusError(Status.INTERNAL, NO_DELEGATION.description)
        validator = self.validator(ctx, operator)
        return self.new(PACKAGE + "QueryDelegatorValidatorResponse", validator=validator)

    @answers(_QUERY + "HistoricalInfo")
    def query_historical_info(self, ctx: Context, request: Any) -> Any:
        if request.height < 0:
            raise StatusError(Status.INVALID_ARGUMENT, "height cannot be negative")
        found = self.historical_info(ctx, request.height)
        if found is None:
            raise StatusError(Status.NOT_FOUND, f"historical info for height {request.height} not found")
        return self.new(PACKAGE + "QueryHistoricalInfoResponse", hist=found)

    @answers(_QUERY + "Pool")
    def query_pool(self, ctx: Context, request: Any) -> Any:
        not_bonded, bonded = self.pools(ctx)
        pool = self.new(PACKAGE + "Pool", not_bonded_tokens=str(not_bonded), bonded_tokens=str(bonded))
        return self.new(PACKAGE + "QueryPoolResponse", pool=pool)

    @answers(_QUERY + "Params")
    def query_params(self, ctx: Context, request: Any) -> Any:
        return self.new(PACKAGE + "QueryParamsResponse", params=self.params(ctx))
