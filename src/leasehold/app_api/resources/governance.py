"""Governance: proposals with tallies and votes, and the figures a voter looks at."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec

from leasehold.app_api.app import App
from leasehold.app_api.display import alphabetical, double
from leasehold.app_api.upstreams import chain, chain_governance, chain_staking
from leasehold.app_api.upstreams.chain_governance import TallyResult
from leasehold.app_api.upstreams.failures import ServiceFailure
from leasehold.serving.parameters import Input
from leasehold.serving.routes import Cache, PlainRequest, Registry, Reply, Request

Absent = msgspec.UnsetType
UNSET = msgspec.UNSET
VOTING = "PROPOSAL_STATUS_VOTING_PERIOD"
_TALLIES_AT_ONCE = 8
_LARGEST_LIMIT = 2**32 - 1


class HiddenProposalsResponse(msgspec.Struct):
    hidden_ids: list[str]


class ProposalResponse(msgspec.Struct, frozen=True, omit_defaults=True):
    """A proposal; `tally` only while it is voted on, `voted` only when a voter was named."""

    id: str
    status: str
    final_tally_result: TallyResult | None
    submit_time: str | None
    deposit_end_time: str | None
    voting_start_time: str | None
    voting_end_time: str | None
    title: str | None
    summary: str | None
    messages: list[dict[str, Any]]
    metadata: str | None
    tally: TallyResult | Absent = UNSET
    voted: bool | Absent = UNSET


class Pagination(msgspec.Struct):
    total: str
    next_key: str | None


class ProposalsListResponse(msgspec.Struct):
    """Proposals, newest first; `total` counts all that are not hidden."""

    proposals: list[ProposalResponse]
    pagination: Pagination


class AprResponse(msgspec.Struct):
    """Tokens minted a year and tokens bonded, in base units; `apr` is the first as a number."""

    annual_inflation: str
    bonded_tokens: str
    apr: float


@dataclass(frozen=True, slots=True)
class ProposalBook:
    """The newest proposals and the tallies of those being voted on."""

    proposals: tuple[ProposalResponse, ...]
    tallies: dict[str, TallyResult]


async def read_book(app: App, last: ProposalBook | None) -> ProposalBook:
    """Proposals as of the newest block; a tally that can't be read keeps its last good value."""
    found = await chain_governance.proposals(await app.chain())
    slots = asyncio.Semaphore(_TALLIES_AT_ONCE)
    tallies: dict[str, TallyResult] = {}

    async def tally(proposal: str) -> None:
        async with slots:
            try:
                tallies[proposal] = (await chain_governance.tally(app.upstreams.lcd, proposal)).tally
            except ServiceFailure:
                if last is not None and proposal in last.tallies:
                    tallies[proposal] = last.tallies[proposal]

    await asyncio.gather(*(tally(one.id) for one in found if one.status == VOTING))
    return ProposalBook(tuple(_proposal(one) for one in found), tallies)


def _proposal(one: chain_governance.ChainProposal) -> ProposalResponse:
    return ProposalResponse(
        one.id,
        one.status,
        one.final_tally_result,
        one.submit_time,
        one.deposit_end_time,
        one.voting_start_time,
        one.voting_end_time,
        one.title,
        one.summary,
        alphabetical(one.messages),
        one.metadata,
    )


class ProposalsParams(msgspec.Struct, frozen=True):
    limit: Annotated[int, msgspec.Meta(ge=0, le=_LARGEST_LIMIT), Input(about="most proposals; 0 gives none")] = 10
    voter: Annotated[str, Input(about="bech32 address whose votes are looked up")] = ""


class ProposalParams(msgspec.Struct, frozen=True):
    proposal_id: str


class VoteParams(msgspec.Struct, frozen=True):
    proposal_id: str
    voter: str


class AccountParams(msgspec.Struct, frozen=True):
    address: str


class DenomParams(msgspec.Struct, frozen=True):
    denom: str


def declare(api: Registry, app: App) -> None:
    """The routes of governance."""
    tags = ("governance",)
    cells = app.cells
    api.snapshot(
        "/api/governance/hidden-proposals",
        operation_id="get_hidden_proposals",
        summary="Proposals to hide",
        tags=tags,
        name="Gated config",
        response=HiddenProposalsResponse,
        cache=Cache.snapshot(30),
    )
    api.snapshot(
        "/api/governance/staking-pool",
        operation_id="get_staking_pool",
        summary="Bonded and not bonded tokens",
        tags=tags,
        name="Staking pool",
        response=chain_staking.StakingPoolResponse,
        cache=Cache.snapshot(30),
    )

    @api.get(
        "/api/governance/apr",
        operation_id="get_apr",
        summary="Annual inflation and bonded tokens",
        tags=tags,
        cache=Cache.snapshot(30),
        errors=(503,),
    )
    async def apr(request: PlainRequest) -> AprResponse:
        # Reached only while there is no snapshot: says which of the two is missing.
        return apr_of(cells.inflation.value, cells.staking_pool.value.pool.bonded_tokens)

    @api.get(
        "/api/governance/proposals",
        operation_id="get_proposals",
        summary="Proposals, newest first",
        tags=tags,
        cache=Cache.live(30),
        response=ProposalsListResponse,
        response_headers={
            "Cache-Status": "warm, or cold before the first refresh",
            "Cache-Age": "seconds since the list was read; only when warm",
        },
        errors={502: "a vote could not be looked up"},
    )
    async def proposals(request: Request[ProposalsParams, None]) -> Reply:
        book, age = cells.proposals.get(), cells.proposals.age
        if book is None or age is None:
            return _reply(ProposalsListResponse([], Pagination("0", None)), {"cache-status": "cold"})
        gated = cells.gated.get()
        hidden = set(gated.ui.hidden_proposals) if gated is not None else set()
        visible = [one for one in book.proposals if one.id not in hidden]
        page = [_with_tally(one, book) for one in visible[: request.params.limit]]
        voter = request.params.voter
        if voter:
            page = await _with_votes(app, page, voter)
        answer = ProposalsListResponse(page, Pagination(str(len(visible)), None))
        # An answer about one voter is nobody else's to keep.
        headers = {"cache-control": "no-store"} if voter else {}
        return _reply(answer, {**headers, "cache-status": "warm", "cache-age": str(int(age))})

    @api.get(
        "/api/governance/proposals/{proposal_id}/tally",
        operation_id="get_proposal_tally",
        summary="Live tally",
        tags=tags,
        errors=(502,),
    )
    async def tally(request: Request[ProposalParams, None]) -> chain_governance.TallyResponse:
        return await chain_governance.tally(app.upstreams.lcd, request.params.proposal_id)

    @api.get(
        "/api/governance/proposals/{proposal_id}/votes/{voter}",
        operation_id="get_proposal_vote",
        summary="A vote, null where there is none",
        tags=tags,
        errors=(502,),
    )
    async def vote(request: Request[VoteParams, None]) -> chain_governance.VoteResponse | None:
        return await chain_governance.vote(app.upstreams.lcd, request.params.proposal_id, request.params.voter)

    @api.get(
        "/api/governance/params/tallying",
        operation_id="get_tallying_params",
        summary="Quorum and thresholds",
        tags=tags,
        cache=Cache.live(30),
        errors=(502,),
    )
    async def tallying(request: PlainRequest) -> chain_governance.TallyingParamsResponse:
        return await chain_governance.tallying_params(app.upstreams.lcd)

    @api.get(
        "/api/governance/accounts/{address}",
        operation_id="get_account",
        summary="A raw auth account",
        tags=tags,
        errors=(502,),
    )
    async def account(request: Request[AccountParams, None]) -> chain.AccountResponse:
        found = await chain.account(app.upstreams.lcd, request.params.address)
        return chain.AccountResponse(alphabetical(found.account))

    @api.get(
        "/api/governance/denoms/{denom}",
        operation_id="get_denom_metadata",
        summary="Metadata of a denom, null where none is registered",
        tags=tags,
        cache=Cache.live(30),
        errors=(502,),
    )
    async def denom(request: Request[DenomParams, None]) -> chain.DenomMetadata | None:
        return await chain.denom_metadata(app.upstreams.lcd, request.params.denom)


def _reply(answer: ProposalsListResponse, headers: dict[str, str]) -> Reply:
    return Reply(content=answer, headers=headers)


def _with_tally(one: ProposalResponse, book: ProposalBook) -> ProposalResponse:
    if one.status != VOTING or one.id not in book.tallies:
        return one
    return msgspec.structs.replace(one, tally=book.tallies[one.id])


async def _with_votes(app: App, page: list[ProposalResponse], voter: str) -> list[ProposalResponse]:
    async def looked_up(one: ProposalResponse) -> ProposalResponse:
        if one.status != VOTING:
            return one
        found = await chain_governance.vote(app.upstreams.lcd, one.id, voter)
        return msgspec.structs.replace(one, voted=found is not None and bool(found.vote.options))

    return list(await asyncio.gather(*(looked_up(one) for one in page)))


def apr_of(inflation: str, bonded: str) -> AprResponse:
    return AprResponse(inflation, bonded, double(int(inflation)) if inflation.isdecimal() else 0.0)


async def refresh_proposals(app: App) -> bool:
    """Read the proposals; they are served with the age of this read."""
    return app.cells.proposals.put(await read_book(app, app.cells.proposals.get()))


async def refresh_hidden(app: App) -> bool:
    """Publish which proposals are hidden."""
    hidden = HiddenProposalsResponse(list(app.cells.gated.value.ui.hidden_proposals))
    await app.publish("/api/governance/hidden-proposals", hidden)
    return False


async def refresh_inflation(app: App) -> bool:
    view = await app.chain()
    return app.cells.inflation.put(await chain_staking.annual_inflation(view, app.settings.identity.namespace))


async def refresh_staking_pool(app: App) -> bool:
    """Publish the staking pool as of the newest block."""
    head = await app.upstreams.node.head()
    found = await chain_staking.staking_pool(app.upstreams.reads.at(head.height))
    changed = app.cells.staking_pool.put(found, height=head.height, time_ns=head.time_ns)
    await app.publish("/api/governance/staking-pool", found, height=head.height, time_ns=head.time_ns)
    return changed


async def refresh_apr(app: App) -> bool:
    """Publish inflation and bonded tokens together."""
    cells = app.cells
    made = apr_of(cells.inflation.value, cells.staking_pool.value.pool.bonded_tokens)
    await app.publish("/api/governance/apr", made)
    return False
