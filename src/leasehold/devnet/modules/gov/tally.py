"""Counting votes: a delegator's own vote overrides that of its validator."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from leasehold.core import fixed_point
from leasehold.core.fixed_point import ONE
from leasehold.devnet.app.context import Context
from leasehold.devnet.app.pagination import Unfinished, Walk
from leasehold.devnet.modules.gov.ledger import V1, Ledger

YES, ABSTAIN, NO, NO_WITH_VETO = 1, 2, 3, 4
# A few milliseconds' work.
VOTES_AT_ONCE = 100


@dataclass(slots=True)
class _Member:
    """A bonded validator in a count; shares are scaled."""

    tokens: int
    shares: int
    deducted: int = 0
    vote: Any = None

    def power(self, shares: int) -> int:
        return fixed_point.divide(shares * self.tokens, self.shares)


@dataclass(slots=True)
class Outcome:
    """Result of a count."""

    passes: bool
    burns: bool
    result: Any


@dataclass(slots=True)
class _Count:
    """Scaled powers by option."""

    total: int = 0
    by_option: dict[int, int] = field(default_factory=lambda: dict.fromkeys((YES, ABSTAIN, NO, NO_WITH_VETO), 0))

    def add(self, power: int, vote: Any) -> None:
        for choice in vote.options:
            self.by_option[choice.option] += fixed_point.multiply(power, fixed_point.parse(choice.weight))
        self.total += power


class Tally(Ledger):
    """The count of a proposal's votes."""

    def tally(self, ctx: Context, proposal: Any) -> Outcome:
        """Count and judge; the votes stay."""
        count = self._count(ctx, proposal.id)
        options = count.by_option
        result = self.new(
            V1 + "TallyResult",
            yes_count=str(options[YES] // ONE),
            abstain_count=str(options[ABSTAIN] // ONE),
            no_count=str(options[NO] // ONE),
            no_with_veto_count=str(options[NO_WITH_VETO] // ONE),
        )
        passes, burns = self._judge(ctx, proposal, count)
        return Outcome(passes, burns, result)

    def _members(self, ctx: Context) -> dict[str, _Member]:
        staking = self.modules.staking
        validators = (staking.validator(ctx, operator) for operator in staking.last_powers(ctx))
        return {one.operator_address: _Member(int(one.tokens), int(one.delegator_shares)) for one in validators}

    def _count(self, ctx: Context, proposal_id: int) -> _Count:
        """Count all votes; within a walk, some at a time."""
        staking = self.modules.staking
        walk = ctx.walk or Walk()
        if not walk.items:
            walk.items[:] = self._members(ctx), _Count()
        members: dict[str, _Member] = walk.items[0]
        count: _Count = walk.items[1]
        for counted, (voter, vote) in enumerate(self.votes(ctx, proposal_id, after=walk.at)):
            if ctx.walk is not None and counted == VOTES_AT_ONCE:
                raise Unfinished
            walk.at = voter
            own = members.get(self.prefixes.operator_text(voter))
            if own is not None:
                own.vote = vote
            for delegation in staking.delegations_of(ctx, voter):
                member = members.get(delegation.validator_address)
                if member is None:
                    continue
                member.deducted += int(delegation.shares)
                count.add(member.power(int(delegation.shares)), vote)
        for member in members.values():
            if member.vote is not None:
                count.add(member.power(member.shares - member.deducted), member.vote)
        return count

    def _judge(self, ctx: Context, proposal: Any, count: _Count) -> tuple[bool, bool]:
        params = self.params(ctx)
        bonded = self.modules.staking.total_bonded(ctx)
        if bonded == 0:
            return False, False
        if fixed_point.divide(count.total, bonded * ONE) < fixed_point.parse(params.quorum):
            return False, params.burn_vote_quorum
        decided = count.total - count.by_option[ABSTAIN]
        if decided == 0:
            return False, False
        veto = fixed_point.divide(count.by_option[NO_WITH_VETO], count.total)
        if veto > fixed_point.parse(params.veto_threshold):
            return False, params.burn_vote_veto
        threshold = params.expedited_threshold if proposal.expedited else params.threshold
        return fixed_point.divide(count.by_option[YES], decided) > fixed_point.parse(threshold), False
