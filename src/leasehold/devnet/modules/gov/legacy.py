"""Gov's queries as version 1beta1 shows them."""

from __future__ import annotations

from typing import Any

from leasehold.core import fixed_point
from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import INVALID_TYPE, Status, StatusError
from leasehold.devnet.app.module import answers
from leasehold.devnet.modules.gov.ledger import DEPOSIT, V1, VOTE, number
from leasehold.devnet.modules.gov.messages import BETA
from leasehold.devnet.modules.gov.queries import Queries
from leasehold.devnet.modules.instants import ZERO_NS, set_instant

_QUERY = BETA + "Query/"
_CARRIER = "/" + V1 + "MsgExecLegacyContent"


class LegacyQueries(Queries):
    """Answers in the old shape."""

    def _old_proposal(self, proposal: Any) -> Any:
        if len(proposal.messages) != 1:
            raise INVALID_TYPE(
                "can't convert a gov/v1 Proposal to gov/v1beta1 Proposal "
                "when amount of proposal messages not exactly one"
            )
        packed = proposal.messages[0]
        content = self.unpacked(packed).content if packed.type_url == _CARRIER else packed
        old = self.new(
            BETA + "Proposal",
            proposal_id=proposal.id,
            content=content,
            status=proposal.status,
            final_tally_result=self._old_tally(proposal.final_tally_result),
            submit_time=proposal.submit_time,
            deposit_end_time=proposal.deposit_end_time,
            total_deposit=proposal.total_deposit,
        )
        for name in ("voting_start_time", "voting_end_time"):
            if proposal.HasField(name):
                getattr(old, name).CopyFrom(getattr(proposal, name))
            else:
                set_instant(getattr(old, name), ZERO_NS)
        return old

    def _old_tally(self, tally: Any) -> Any:
        return self.new(
            BETA + "TallyResult",
            yes=tally.yes_count,
            abstain=tally.abstain_count,
            no=tally.no_count,
            no_with_veto=tally.no_with_veto_count,
        )

    def _old_vote(self, vote: Any) -> Any:
        old = self.new(BETA + "Vote", proposal_id=vote.proposal_id, voter=vote.voter)
        for choice in vote.options:
            old.options.add(option=choice.option, weight=str(fixed_point.parse(choice.weight)))
        return old

    def _old_deposit(self, deposit: Any) -> Any:
        return self.new(
            BETA + "Deposit",
            proposal_id=deposit.proposal_id,
            depositor=deposit.depositor,
            amount=deposit.amount,
        )

    @answers(_QUERY + "Proposal")
    def query_old_proposal(self, ctx: Context, request: Any) -> Any:
        proposal = self._old_proposal(self.queried_proposal(ctx, request.proposal_id))
        return self.new(BETA + "QueryProposalResponse", proposal=proposal)

    @answers(_QUERY + "Proposals")
    def query_old_proposals(self, ctx: Context, request: Any) -> Any:
        items, result = self.queried_proposals(ctx, request)
        return self.new(
            BETA + "QueryProposalsResponse",
            proposals=[self._old_proposal(item) for item in items],
            pagination=self.page_response(result),
        )

    @answers(_QUERY + "Vote")
    def query_old_vote(self, ctx: Context, request: Any) -> Any:
        vote = self._old_vote(self.queried_vote(ctx, request))
        return self.new(BETA + "QueryVoteResponse", vote=vote)

    @answers(_QUERY + "Votes")
    def query_old_votes(self, ctx: Context, request: Any) -> Any:
        self._require_id(request.proposal_id)
        items, result = self.listed(ctx, VOTE + number(request.proposal_id), V1 + "Vote", request)
        votes = [self._old_vote(item) for item in items]
        return self.new(BETA + "QueryVotesResponse", votes=votes, pagination=self.page_response(result))

    @answers(_QUERY + "Deposit")
    def query_old_deposit(self, ctx: Context, request: Any) -> Any:
        deposit = self._old_deposit(self.queried_deposit(ctx, request))
        return self.new(BETA + "QueryDepositResponse", deposit=deposit)

    @answers(_QUERY + "Deposits")
    def query_old_deposits(self, ctx: Context, request: Any) -> Any:
        self._require_id(request.proposal_id)
        items, result = self.listed(ctx, DEPOSIT + number(request.proposal_id), V1 + "Deposit", request)
        deposits = [self._old_deposit(item) for item in items]
        return self.new(BETA + "QueryDepositsResponse", deposits=deposits, pagination=self.page_response(result))

    @answers(_QUERY + "TallyResult", in_parts=True)
    def query_old_tally(self, ctx: Context, request: Any) -> Any:
        tally = self._old_tally(self.queried_tally(ctx, request.proposal_id))
        return self.new(BETA + "QueryTallyResultResponse", tally=tally)

    @answers(_QUERY + "Params")
    def query_old_params(self, ctx: Context, request: Any) -> Any:
        params = self.params(ctx)
        response = self.new(BETA + "QueryParamsResponse")
        response.voting_params.voting_period.SetInParent()
        response.deposit_params.max_deposit_period.SetInParent()
        for name in ("quorum", "threshold", "veto_threshold"):
            setattr(response.tally_params, name, b"0")
        kind = request.params_type
        if kind == "deposit":
            response.deposit_params.min_deposit.extend(params.min_deposit)
            response.deposit_params.max_deposit_period.CopyFrom(params.max_deposit_period)
        elif kind == "voting":
            response.voting_params.voting_period.CopyFrom(params.voting_period)
        elif kind == "tallying":
            for name in ("quorum", "threshold", "veto_threshold"):
                setattr(response.tally_params, name, str(fixed_point.parse(getattr(params, name))).encode())
        else:
            text = f"unknown params type: {kind}" if kind else " is not a valid parameter type"
            raise StatusError(Status.INVALID_ARGUMENT, text)
        return response
