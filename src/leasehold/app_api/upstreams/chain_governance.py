"""Proposals and votes, asked of the LCD."""

from __future__ import annotations

from typing import Any

import msgspec

from leasehold.app_api.upstreams.chain import part
from leasehold.app_api.upstreams.failures import ChainFailure
from leasehold.app_api.upstreams.lcd import ChainView, Lcd, refusal_of

PROPOSALS = "/cosmos/gov/v1/proposals?pagination.limit=100&pagination.reverse=true&pagination.countTotal=true"


class TallyResult(msgspec.Struct, frozen=True):
    """Votes cast so far or in the end, in base units."""

    yes_count: str
    abstain_count: str
    no_count: str
    no_with_veto_count: str


class TallyResponse(msgspec.Struct, frozen=True):
    tally: TallyResult


class ChainProposal(msgspec.Struct, frozen=True):
    id: str
    status: str
    final_tally_result: TallyResult | None = None
    submit_time: str | None = None
    deposit_end_time: str | None = None
    voting_start_time: str | None = None
    voting_end_time: str | None = None
    title: str | None = None
    summary: str | None = None
    messages: list[dict[str, Any]] = []
    metadata: str | None = None


class _Proposals(msgspec.Struct):
    proposals: list[ChainProposal]


class VoteOption(msgspec.Struct, frozen=True):
    option: str
    weight: str


class Vote(msgspec.Struct, frozen=True):
    proposal_id: str
    voter: str
    options: list[VoteOption] = []


class VoteResponse(msgspec.Struct, frozen=True):
    """A vote; its options carry weights that sum to one."""

    vote: Vote


class TallyingParams(msgspec.Struct, frozen=True):
    quorum: str
    threshold: str
    veto_threshold: str


class TallyingParamsResponse(msgspec.Struct, frozen=True):
    params: TallyingParams


async def proposals(view: ChainView) -> list[ChainProposal]:
    """The hundred newest proposals, newest first."""
    found = await view.read(PROPOSALS, _Proposals, context="proposals")
    listed: list[ChainProposal] = found.proposals
    return listed


async def tally(lcd: Lcd, proposal: str) -> TallyResponse:
    return await lcd.read(f"/cosmos/gov/v1/proposals/{part(proposal)}/tally", TallyResponse, context="tally")


async def vote(lcd: Lcd, proposal: str, voter: str) -> VoteResponse | None:
    """A vote, None where there is none: the LCD says that with 404, or with 400 and gRPC code 3."""
    target = f"/cosmos/gov/v1/proposals/{part(proposal)}/votes/{part(voter)}"
    try:
        return await lcd.read(target, VoteResponse, context="vote")
    except ChainFailure as error:
        refusal = refusal_of(error)
        absent = error.reply_status == 400 and refusal.code == 3 and "not found for proposal" in refusal.message
        if error.reply_status == 404 or absent:
            return None
        raise


async def tallying_params(lcd: Lcd) -> TallyingParamsResponse:
    return await lcd.read("/cosmos/gov/v1/params/tallying", TallyingParamsResponse, context="tallying params")
