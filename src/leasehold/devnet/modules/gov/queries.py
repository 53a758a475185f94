"""Gov's queries, version 1."""

from __future__ import annotations

from typing import Any

from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import PlainError, Status, StatusError
from leasehold.devnet.app.module import answers
from leasehold.devnet.app.pagination import Page, page
from leasehold.devnet.modules.gov.ledger import (
    CONSTITUTION,
    DEPOSIT,
    DEPOSIT_PERIOD,
    PROPOSAL,
    V1,
    VOTE,
    VOTING_PERIOD,
    number,
)
from leasehold.devnet.modules.gov.messages import Messages

_QUERY = V1 + "Query/"
# Those a proposal can have; asking for another one asks for all.
_STATUSES = frozenset(range(1, 6))


class Queries(Messages):
    """Answers."""

    def listed(self, ctx: Context, prefix: bytes, kind: str, request: Any, keep: Any = None) -> tuple[list[Any], Page]:
        """Stored messages of a kind under a prefix, page by page."""
        message: Any = self.registry.type(kind)

        def keeps(_: bytes, data: bytes) -> bool:
            return bool(keep(message.FromString(data)))

        try:
            items, result = page(
                ctx,
                prefix,
                request.pagination,
                lambda _, data: message.FromString(data),
                keep=None if keep is None else keeps,
                walks=True,
            )
        except PlainError as error:
            raise StatusError(Status.INTERNAL, str(error)) from None
        return items, result

    def queried_proposal(self, ctx: Context, proposal_id: int) -> Any:
        if proposal_id == 0:
            raise StatusError(Status.INVALID_ARGUMENT, "proposal id can not be 0")
        found = self.find_proposal(ctx, proposal_id)
        if found is None:
            raise StatusError(Status.NOT_FOUND, f"proposal {proposal_id} doesn't exist")
        return found

    def queried_proposals(self, ctx: Context, request: Any) -> tuple[list[Any], Page]:
        status = request.proposal_status if request.proposal_status in _STATUSES else 0

        def keep(proposal: Any) -> bool:
            # Addresses are read for each proposal, so that nobody notices a bad one while there are none.
            voted = deposited = True
            if request.voter:
                voter = self.participants.queried_account(request.voter)
                voted = self.find_vote(ctx, proposal.id, voter) is not None
            if request.depositor:
                depositor = self.participants.queried_account(request.depositor)
                deposited = self.find_deposit(ctx, proposal.id, depositor) is not None
            return voted and deposited and (not status or proposal.status == status)

        return self.listed(ctx, PROPOSAL, V1 + "Proposal", request, keep)

    def queried_vote(self, ctx: Context, request: Any) -> Any:
        if request.proposal_id == 0:
            raise StatusError(Status.INVALID_ARGUMENT, "proposal id can not be 0")
        if not request.voter:
            raise StatusError(Status.INVALID_ARGUMENT, "empty voter address")
        vote = self.find_vote(ctx, request.proposal_id, self.participants.queried_account(request.voter))
        if vote is None:
            raise StatusError(
                Status.INVALID_ARGUMENT, f"voter: {request.voter} not found for proposal: {request.proposal_id}"
            )
        return vote

    def queried_deposit(self, ctx: Context, request: Any) -> Any:
        if request.proposal_id == 0:
            raise StatusError(Status.INVALID_ARGUMENT, "proposal id can not be 0")
        if not request.depositor:
            raise StatusError(Status.INVALID_ARGUMENT, "empty depositor address")
        depositor = self.participants.queried_account(request.depositor)
        deposit = self.find_deposit(ctx, request.proposal_id, depositor)
        if deposit is None:
            key = f'("{request.proposal_id}", "{self.prefixes.account_text(depositor)}")'
            text = f"collections: not found: key '{key}' of type github.com/cosmos/gogoproto/{V1}Deposit"
            raise StatusError(Status.NOT_FOUND, text)
        return deposit

    def queried_tally(self, ctx: Context, proposal_id: int) -> Any:
        proposal = self.queried_proposal(ctx, proposal_id)
        if proposal.status == DEPOSIT_PERIOD:
            return self.empty_tally()
        if proposal.status == VOTING_PERIOD:
            return self.tally(ctx, proposal).result
        return proposal.final_tally_result

    def _require_id(self, proposal_id: int) -> None:
        if proposal_id == 0:
            raise StatusError(Status.INVALID_ARGUMENT, "proposal id can not be 0")

    @answers(_QUERY + "Constitution")
    def query_constitution(self, ctx: Context, request: Any) -> Any:
        text = (ctx.store.get(CONSTITUTION) or b"").decode()
        return self.new(V1 + "QueryConstitutionResponse", constitution=text)

    @answers(_QUERY + "Proposal")
    def query_proposal(self, ctx: Context, request: Any) -> Any:
        proposal = self.queried_proposal(ctx, request.proposal_id)
        return self.new(V1 + "QueryProposalResponse", proposal=proposal)

    @answers(_QUERY + "Proposals")
    def query_proposals(self, ctx: Context, request: Any) -> Any:
        items, result = self.queried_proposals(ctx, request)
        return self.new(V1 + "QueryProposalsResponse", proposals=items, pagination=self.page_response(result))

    @answers(_QUERY + "Vote")
    def query_vote(self, ctx: Context, request: Any) -> Any:
        return self.new(V1 + "QueryVoteResponse", vote=self.queried_vote(ctx, request))

    @answers(_QUERY + "Votes")
    def query_votes(self, ctx: Context, request: Any) -> Any:
        self._require_id(request.proposal_id)
        items, result = self.listed(ctx, VOTE + number(request.proposal_id), V1 + "Vote", request)
        return self.new(V1 + "QueryVotesResponse", votes=items, pagination=self.page_response(result))

    @answers(_QUERY + "Deposit")
    def query_deposit(self, ctx: Context, request: Any) -> Any:
        return self.new(V1 + "QueryDepositResponse", deposit=self.queried_deposit(ctx, request))

    @answers(_QUERY + "Deposits")
    def query_deposits(self, ctx: Context, request: Any) -> Any:
        self._require_id(request.proposal_id)
        items, result = self.listed(ctx, DEPOSIT + number(request.proposal_id), V1 + "Deposit", request)
        return self.new(V1 + "QueryDepositsResponse", deposits=items, pagination=self.page_response(result))

    @answers(_QUERY + "TallyResult", in_parts=True)
    def query_tally(self, ctx: Context, request: Any) -> Any:
        tally = self.queried_tally(ctx, request.proposal_id)
        return self.new(V1 + "QueryTallyResultResponse", tally=tally)

    @answers(_QUERY + "Params")
    def query_params(self, ctx: Context, request: Any) -> Any:
        params = self.params(ctx)
        response = self.new(V1 + "QueryParamsResponse", params=params)
        if request.params_type == "deposit":
            response.deposit_params.min_deposit.extend(params.min_deposit)
            response.deposit_params.max_deposit_period.CopyFrom(params.max_deposit_period)
        elif request.params_type == "voting":
            response.voting_params.voting_period.CopyFrom(params.voting_period)
        elif request.params_type == "tallying":
            response.tally_params.quorum = params.quorum
            response.tally_params.threshold = params.threshold
            response.tally_params.veto_threshold = params.veto_threshold
        elif request.params_type:
            raise StatusError(Status.INVALID_ARGUMENT, f"unknown params type: {request.params_type}")
        return response
