"""The gov module: genesis and the end of each block."""

from __future__ import annotations

from typing import Any

from leasehold.devnet.app.context import Context
from leasehold.devnet.modules.gov.ledger import (
    ACTIVE_QUEUE,
    CONSTITUTION,
    DEPOSIT_PERIOD,
    INACTIVE_QUEUE,
    NEXT,
    V1,
    VOTE,
    VOTING_PERIOD,
    number,
)
from leasehold.devnet.modules.gov.legacy import LegacyQueries
from leasehold.devnet.modules.instants import instant, sortable
from leasehold.devnet.modules.staking.ledger import sized


class Gov(LegacyQueries):
    """Proposals and votes."""

    def init_genesis(self, ctx: Context, state: dict[str, Any]) -> None:
        self.set_params(ctx, self.from_json(V1 + "Params", state["params"]))
        ctx.store.set(NEXT, str(int(state.get("starting_proposal_id", "1"))).encode())
        ctx.store.set(CONSTITUTION, state.get("constitution", "").encode())
        for document in state.get("deposits") or []:
            deposit = self.from_json(V1 + "Deposit", document)
            self.save_deposit(ctx, self.participants.account(deposit.depositor), deposit)
        for document in state.get("votes") or []:
            vote = self.from_json(V1 + "Vote", document)
            key = VOTE + number(vote.proposal_id) + sized(self.participants.account(vote.voter))
            ctx.store.set(key, vote.SerializeToString())
        for document in state.get("proposals") or []:
            self._load(ctx, self.from_json(V1 + "Proposal", document))
        self.modules.auth.module_account(ctx, "gov")

    def _load(self, ctx: Context, proposal: Any) -> None:
        self.save_proposal(ctx, proposal)
        key = number(proposal.id)
        if proposal.status == DEPOSIT_PERIOD:
            ctx.store.set(INACTIVE_QUEUE + sortable(instant(proposal.deposit_end_time)) + key, b"")
        elif proposal.status == VOTING_PERIOD:
            ctx.store.set(ACTIVE_QUEUE + sortable(instant(proposal.voting_end_time)) + key, b"")

    def end_block(self, ctx: Context) -> None:
        for proposal in self.due(ctx, INACTIVE_QUEUE):
            self.end_deposit_period(ctx, proposal)
        for proposal in self.due(ctx, ACTIVE_QUEUE):
            self.end_voting_period(ctx, proposal)
