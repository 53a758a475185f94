"""Delegating, undelegating, redelegating."""

from __future__ import annotations

from typing import Any

from leasehold.core import fixed_point
from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import INVALID_REQUEST, ChainError
from leasehold.devnet.modules.instants import ZERO_NS, duration, instant, set_instant, sortable
from leasehold.devnet.modules.staking.errors import (
    BAD_DESTINATION,
    BAD_SOURCE,
    INSUFFICIENT_SHARES,
    INVALID_EXCHANGE_RATE,
    NO_DELEGATION,
    NO_DELEGATOR,
    NOT_ENOUGH_SHARES,
    SELF_REDELEGATION,
    TINY_REDELEGATION,
    TOO_MANY_REDELEGATIONS,
    TOO_MANY_UNBONDINGS,
    TRANSITIVE_REDELEGATION,
)
from leasehold.devnet.modules.staking.ledger import (
    BONDED_POOL,
    BY_CONSENSUS,
    NOT_BONDED_POOL,
    PACKAGE,
    REDELEGATION_QUEUE,
    UNBONDING_QUEUE,
    VALIDATOR,
    Ledger,
    sized,
)
from leasehold.devnet.modules.staking.shares import (
    BONDED,
    UNBONDED,
    UNBONDING,
    add_tokens,
    exchange_rate_invalid,
    remove_shares,
    shares_from_tokens,
    tokens_from_shares,
)


class Delegations(Ledger):
    """Movements of stake."""

    def delegate(
        self, ctx: Context, delegator: bytes, amount: int, validator: Any, *, source: int | None = None
    ) -> int:
        """Stake tokens with a validator and return the scaled shares issued.

        `source` is the bond status the tokens already have; None takes them from the delegator's account.
        """
        if exchange_rate_invalid(validator):
            raise ChainError(INVALID_EXCHANGE_RATE)
        operator = self.operator(validator)
        delegation = self.find_delegation(ctx, delegator, operator)
        if delegation is not None:
            self.modules.distribution.before_shares_modified(ctx, delegator, operator)
        else:
            self.modules.distribution.before_delegation_created(ctx, operator)
            delegation = self.new(
                PACKAGE + "Delegation",
                delegator_address=self.account_text(delegator),
                validator_address=validator.operator_address,
                shares="0",
            )
        bonded = validator.status == BONDED
        if source is None:
            pool = BONDED_POOL if bonded else NOT_BONDED_POOL
            self.modules.bank.delegate(ctx, delegator, pool, (self.bond_coin(ctx, amount),))
        elif (source == BONDED) != bonded:
            self.move_between_pools(ctx, amount, to_bonded=bonded)
        issued = self._add_tokens(ctx, validator, amount)
        delegation.shares = str(int(delegation.shares) + issued)
        self.save_delegation(ctx, delegator, operator, delegation)
        self.modules.distribution.after_delegation_modified(ctx, delegator, operator)
        return issued

    def _add_tokens(self, ctx: Context, validator: Any, amount: int) -> int:
        self.unindex_power(ctx, validator)
        issued = add_tokens(validator, amount)
        self.save_validator(ctx, validator)
        self.index_power(ctx, validator)
        return issued

    def shares_for(self, ctx: Context, delegator: bytes, operator: bytes, amount: int) -> int:
        """Scaled shares an amount of a delegation stands for, or a refusal when the delegation has fewer."""
        validator = self.validator(ctx, operator)
        delegation = self.find_delegation(ctx, delegator, operator)
        if delegation is None:
            raise ChainError(NO_DELEGATION)
        if int(validator.tokens) == 0:
            raise ChainError(INSUFFICIENT_SHARES)
        shares = shares_from_tokens(validator, amount)
        held = int(delegation.shares)
        if shares > held:
            raise INVALID_REQUEST("invalid shares amount")
        return shares

    def unbond(self, ctx: Context, delegator: bytes, operator: bytes, shares: int) -> int:
        """Take scaled shares out of a delegation and return the tokens they are worth."""
        if self.find_delegation(ctx, delegator, operator) is None:
            raise ChainError(NO_DELEGATOR)
        self.modules.distribution.before_shares_modified(ctx, delegator, operator)
        delegation = self.find_delegation(ctx, delegator, operator)
        held = int(delegation.shares)
        if held < shares:
            raise NOT_ENOUGH_SHARES(fixed_point.text(held))
        validator = self.validator(ctx, operator)
        rest = held - shares
        delegation.shares = str(rest)
        if delegator == operator and not validator.jailed:
            left = fixed_point.truncate(tokens_from_shares(validator, rest))
            if left < int(validator.min_self_delegation):
                self.jail_validator(ctx, validator)
        if rest == 0:
            self.drop_delegation(ctx, delegator, operator)
        else:
            self.save_delegation(ctx, delegator, operator, delegation)
            self.modules.distribution.after_delegation_modified(ctx, delegator, operator)
        self.unindex_power(ctx, validator)
        amount = remove_shares(validator, shares)
        self.save_validator(ctx, validator)
        self.index_power(ctx, validator)
        if int(validator.delegator_shares) == 0 and validator.status == UNBONDED:
            self.remove_validator(ctx, validator)
        return amount

    def jail_validator(self, ctx: Context, validator: Any) -> None:
        """Take a validator out of the ranking until it is unjailed."""
        validator.jailed = True
        self.save_validator(ctx, validator)
        self.unindex_power(ctx, validator)

    def remove_validator(self, ctx: Context, validator: Any) -> None:
        """Forget a validator nobody delegates to."""
        operator = self.operator(validator)
        consensus = self.consensus_address(validator)
        ctx.store.delete(VALIDATOR + sized(operator))
        ctx.store.delete(BY_CONSENSUS + sized(consensus))
        self.unindex_power(ctx, validator)
        self.modules.distribution.after_validator_removed(ctx, operator)

    def undelegate(self, ctx: Context, delegator: bytes, operator: bytes, shares: int) -> tuple[int, int]:
        """Start an unbonding; returns its completion time in ns and its amount."""
        params = self.params(ctx)
        unbonding = self.find_unbonding(ctx, delegator, operator)
        if unbonding is not None and len(unbonding.entries) >= params.max_entries:
            raise ChainError(TOO_MANY_UNBONDINGS)
        bonded = self.validator(ctx, operator).status == BONDED
        amount = self.unbond(ctx, delegator, operator, shares)
        if bonded:
            self.move_between_pools(ctx, amount, to_bonded=False)
        completion = ctx.block.time_ns + duration(params.unbonding_time)
        number = self.next_unbonding_id(ctx)
        if unbonding is None:
            unbonding = self.new(
                PACKAGE + "UnbondingDelegation",
                delegator_address=self.account_text(delegator),
                validator_address=self.operator_text(operator),
            )
        self._add_unbonding_entry(ctx, unbonding, completion, amount, number)
        self.save_unbonding(ctx, delegator, operator, unbonding)
        key = UNBONDING_QUEUE + sortable(completion) + number.to_bytes(8, "big")
        ctx.store.set(key, sized(delegator) + sized(operator))
        return completion, amount

    def _add_unbonding_entry(self, ctx: Context, unbonding: Any, completion: int, amount: int, number: int) -> None:
        for entry in unbonding.entries:
            if entry.creation_height == ctx.block.height and instant(entry.completion_time) == completion:
                entry.balance = str(int(entry.balance) + amount)
                entry.initial_balance = str(int(entry.initial_balance) + amount)
                return
        entry = unbonding.entries.add(
            creation_height=ctx.block.height,
            initial_balance=str(amount),
            balance=str(amount),
            unbonding_id=number,
        )
        set_instant(entry.completion_time, completion)

    def redelegate(self, ctx: Context, delegator: bytes, source: bytes, target: bytes, shares: int) -> int:
        """Move a delegation to another validator; returns the completion time in ns."""
        if source == target:
            raise ChainError(SELF_REDELEGATION)
        destination = self.find_validator(ctx, target)
        if destination is None:
            raise ChainError(BAD_DESTINATION)
        origin = self.find_validator(ctx, source)
        if origin is None:
            raise ChainError(BAD_SOURCE)
        if self.receives_redelegation(ctx, delegator, source):
            raise ChainError(TRANSITIVE_REDELEGATION)
        redelegation = self.find_redelegation(ctx, delegator, source, target)
        if redelegation is not None and len(redelegation.entries) >= self.params(ctx).max_entries:
            raise ChainError(TOO_MANY_REDELEGATIONS)
        amount = self.unbond(ctx, delegator, source, shares)
        if amount == 0:
            raise ChainError(TINY_REDELEGATION)
        issued = self.delegate(ctx, delegator, amount, destination, source=origin.status)
        origin = self.find_validator(ctx, source)
        completion, height = self._begin_info(ctx, origin)
        if height < 0:
            return ZERO_NS
        number = self.next_unbonding_id(ctx)
        if redelegation is None:
            redelegation = self.new(
                PACKAGE + "Redelegation",
                delegator_address=self.account_text(delegator),
                validator_src_address=self.operator_text(source),
                validator_dst_address=self.operator_text(target),
            )
        entry = redelegation.entries.add(
            creation_height=height, initial_balance=str(amount), shares_dst=str(issued), unbonding_id=number
        )
        set_instant(entry.completion_time, completion)
        self.save_redelegation(ctx, delegator, source, target, redelegation)
        key = REDELEGATION_QUEUE + sortable(completion) + number.to_bytes(8, "big")
        ctx.store.set(key, sized(delegator) + sized(source) + sized(target))
        return completion

    def _begin_info(self, ctx: Context, validator: Any) -> tuple[int, int]:
        """When stake leaving a validator is free, and the height it counts from; height -1 is at once."""
        if validator is None or validator.status == BONDED:
            return ctx.block.time_ns + duration(self.params(ctx).unbonding_time), ctx.block.height
        if validator.status == UNBONDING:
            return instant(validator.unbonding_time), validator.unbonding_height
        return ZERO_NS, -1
