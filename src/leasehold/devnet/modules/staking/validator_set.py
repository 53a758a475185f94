"""The validator set: who signs, who leaves, jail, slashes."""

from __future__ import annotations

from typing import Any

from leasehold.core import fixed_point
from leasehold.core.fixed_point import ONE
from leasehold.devnet.app import abci
from leasehold.devnet.app.context import Context
from leasehold.devnet.modules.instants import duration, instant, set_instant, sortable
from leasehold.devnet.modules.staking.ledger import (
    BONDED_POOL,
    LAST_POWER,
    LAST_TOTAL,
    NOT_BONDED_POOL,
    REDELEGATION_BY_SOURCE,
    UNBONDING_BY_VALIDATOR,
    VALIDATOR_QUEUE,
    sized,
    split_sized,
)
from leasehold.devnet.modules.staking.maturity import Maturity
from leasehold.devnet.modules.staking.shares import (
    BONDED,
    POWER_REDUCTION,
    UNBONDED,
    UNBONDING,
    consensus_power,
    potential_power,
)
from leasehold.devnet.state.store import prefix_end


class ValidatorSet(Maturity):
    """Changes of the set and of its members' status."""

    def apply_set_updates(self, ctx: Context) -> list[abci.ValidatorUpdate]:
        """Bond the most powerful validators, unbond the rest, and tell what changed."""
        limit = self.params(ctx).max_validators
        last = self.last_powers(ctx)
        updates = []
        to_bonded = to_unbonded = total = 0
        chosen: list[bytes] = []
        for operator in self.ranked(ctx):
            if len(chosen) == limit:
                break
            chosen.append(operator)
        for operator in chosen:
            validator = self.seen_validator(ctx, operator)
            if potential_power(validator) == 0:
                break
            if validator.status != BONDED:
                validator = self.validator(ctx, operator)
                self._bond(ctx, validator)
                to_bonded += int(validator.tokens)
            power = consensus_power(validator)
            if last.pop(operator, None) != power:
                updates.append(abci.ValidatorUpdate(self.consensus_key(validator), power))
                ctx.store.set(LAST_POWER + sized(operator), str(power).encode())
            total += power
        for operator in sorted(last):
            validator = self.validator(ctx, operator)
            self._begin_unbonding(ctx, validator)
            to_unbonded += int(validator.tokens)
            ctx.store.delete(LAST_POWER + sized(operator))
            updates.append(abci.ValidatorUpdate(self.consensus_key(validator), 0))
        if to_bonded != to_unbonded:
            self.move_between_pools(ctx, abs(to_bonded - to_unbonded), to_bonded=to_bonded > to_unbonded)
        if updates:
            ctx.store.set(LAST_TOTAL, str(total).encode())
        return updates

    def _bond(self, ctx: Context, validator: Any) -> None:
        if validator.status == UNBONDING:
            self._leave_queue(ctx, validator)
        validator.status = BONDED
        self.save_validator(ctx, validator)
        self.index_power(ctx, validator)
        self.modules.slashing.after_validator_bonded(ctx, self.consensus_address(validator))

    def _begin_unbonding(self, ctx: Context, validator: Any) -> None:
        validator.status = UNBONDING
        set_instant(validator.unbonding_time, ctx.block.time_ns + duration(self.params(ctx).unbonding_time))
        validator.unbonding_height = ctx.block.height
        validator.unbonding_ids.append(self.next_unbonding_id(ctx))
        self.save_validator(ctx, validator)
        ctx.store.set(self._queue_key(validator), b"")

    def _queue_key(self, validator: Any) -> bytes:
        when = sortable(instant(validator.unbonding_time))
        return VALIDATOR_QUEUE + when + int(validator.unbonding_height).to_bytes(8, "big") + self.operator(validator)

    def _leave_queue(self, ctx: Context, validator: Any) -> None:
        ctx.store.delete(self._queue_key(validator))

    def complete_unbonding_validators(self, ctx: Context) -> None:
        """Make validators unbonded whose waiting time is over."""
        end = VALIDATOR_QUEUE + sortable(ctx.block.time_ns + 1)
        for key in [key for key, _ in ctx.store.iterate(VALIDATOR_QUEUE, end)]:
            operator = key[len(VALIDATOR_QUEUE) + 16 :]
            validator = self.find_validator(ctx, operator)
            ctx.store.delete(key)
            if validator is None or validator.status != UNBONDING:
                continue
            validator.status = UNBONDED
            self.save_validator(ctx, validator)
            if int(validator.delegator_shares) == 0:
                self.remove_validator(ctx, validator)

    # Jail and slashes.

    def jail(self, ctx: Context, consensus: bytes) -> None:
        validator = self.find_by_consensus(ctx, consensus)
        if validator is not None and not validator.jailed:
            self.jail_validator(ctx, validator)

    def unjail(self, ctx: Context, consensus: bytes) -> None:
        validator = self.find_by_consensus(ctx, consensus)
        if validator is not None:
            validator.jailed = False
            self.save_validator(ctx, validator)
            self.index_power(ctx, validator)

    def slash(self, ctx: Context, consensus: bytes, infraction_height: int, power: int, fraction: int) -> int:
        """Burn a scaled fraction of what a power stood for at a height; returns the tokens burned of the validator.

        Stake that left since the infraction pays first: unbonding entries and redelegations begun after it.
        """
        amount = fixed_point.truncate(power * POWER_REDUCTION * fraction)
        validator = self.find_by_consensus(ctx, consensus)
        if validator is None or validator.status == UNBONDED:
            return 0
        operator = self.operator(validator)
        remaining = amount
        if infraction_height < ctx.block.height:
            remaining -= self._slash_unbondings(ctx, operator, infraction_height, fraction)
            remaining -= self._slash_redelegations(ctx, operator, infraction_height, fraction)
            validator = self.validator(ctx, operator)
        burned = max(0, min(remaining, int(validator.tokens)))
        if burned == 0:
            return 0
        effective = min(ONE, fixed_point.divide_rounded_up(burned, int(validator.tokens)))
        self.modules.distribution.before_validator_slashed(ctx, operator, effective)
        self.unindex_power(ctx, validator)
        validator.tokens = str(int(validator.tokens) - burned)
        self.save_validator(ctx, validator)
        self.index_power(ctx, validator)
        pool = BONDED_POOL if validator.status == BONDED else NOT_BONDED_POOL
        self.modules.bank.burn(ctx, pool, (self.bond_coin(ctx, burned),))
        return burned

    def _slash_unbondings(self, ctx: Context, operator: bytes, since: int, fraction: int) -> int:
        prefix = UNBONDING_BY_VALIDATOR + sized(operator)
        found = [split_sized(key[len(prefix) :])[0] for key, _ in ctx.store.iterate(prefix, prefix_end(prefix))]
        total = 0
        for delegator in found:
            unbonding = self.find_unbonding(ctx, delegator, operator)
            burned = 0
            for entry in unbonding.entries:
                if entry.creation_height < since or instant(entry.completion_time) <= ctx.block.time_ns:
                    continue
                share = fixed_point.truncate(int(entry.initial_balance) * fraction)
                total += share
                taken = min(share, int(entry.balance))
                if taken:
                    burned += taken
                    entry.balance = str(int(entry.balance) - taken)
            self.save_unbonding(ctx, delegator, operator, unbonding)
            if burned:
                self.modules.bank.burn(ctx, NOT_BONDED_POOL, (self.bond_coin(ctx, burned),))
        return total

    def _slash_redelegations(self, ctx: Context, operator: bytes, since: int, fraction: int) -> int:
        prefix = REDELEGATION_BY_SOURCE + sized(operator)
        found = [split_sized(key[len(prefix) :]) for key, _ in ctx.store.iterate(prefix, prefix_end(prefix))]
        total = 0
        for delegator, target in found:
            redelegation = self.find_redelegation(ctx, delegator, operator, target)
            bonded = unbonded = 0
            for entry in redelegation.entries:
                if entry.creation_height < since or instant(entry.completion_time) <= ctx.block.time_ns:
                    continue
                share = fixed_point.truncate(int(entry.initial_balance) * fraction)
                total += share
                left = self._slash_undelegated(ctx, delegator, target, share)
                unbonded += share - left
                if left == 0:
                    continue
                taken, was_bonded = self._slash_redelegated(ctx, delegator, target, entry, fraction)
                if was_bonded:
                    bonded += taken
                else:
                    unbonded += taken
            for pool, amount in ((BONDED_POOL, bonded), (NOT_BONDED_POOL, unbonded)):
                if amount:
                    self.modules.bank.burn(ctx, pool, (self.bond_coin(ctx, amount),))
        return total

    def _slash_undelegated(self, ctx: Context, delegator: bytes, target: bytes, amount: int) -> int:
        """Take from what the delegator has since begun to unbond at the target; returns what is left to take."""
        unbonding = self.find_unbonding(ctx, delegator, target)
        if unbonding is None:
            return amount
        for entry in unbonding.entries:
            if amount and instant(entry.completion_time) > ctx.block.time_ns:
                taken = min(amount, int(entry.balance))
                entry.balance = str(int(entry.balance) - taken)
                amount -= taken
        self.save_unbonding(ctx, delegator, target, unbonding)
        return amount

    def _slash_redelegated(
        self, ctx: Context, delegator: bytes, target: bytes, entry: Any, fraction: int
    ) -> tuple[int, bool]:
        """Take a redelegated entry's share out of where it is now."""
        shares = fixed_point.multiply(fraction, int(entry.shares_dst))
        delegation = self.find_delegation(ctx, delegator, target)
        if shares == 0 or delegation is None:
            return 0, True
        shares = min(shares, int(delegation.shares))
        taken = self.unbond(ctx, delegator, target, shares)
        validator = self.find_validator(ctx, target)
        return taken, validator is not None and validator.status == BONDED
