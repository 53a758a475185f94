"""Builders of staking and of votes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec

from leasehold.app_api.app import App
from leasehold.app_api.writes import checks, messages
from leasehold.app_api.writes.completion import GovernanceTransactionResponse, StakingTransactionResponse, completed
from leasehold.app_api.writes.messages import Message
from leasehold.core.errors import InvalidInput
from leasehold.serving.routes import NoParams, Registry, Request

MOST_VALIDATORS = 256


class DelegateRequest(msgspec.Struct):
    """`amount` in base units; `denom` can only be the native one, and may be left out where there is a `sender`."""

    validator_address: str
    amount: str
    denom: str | None = None
    sender: str | None = None


class UndelegateRequest(msgspec.Struct):
    """As a delegation."""

    validator_address: str
    amount: str
    denom: str | None = None
    sender: str | None = None


class RedelegateRequest(msgspec.Struct):
    """From one validator to another without unbonding."""

    src_validator_address: str
    dst_validator_address: str
    amount: str
    denom: str | None = None
    sender: str | None = None


class ClaimRewardsRequest(msgspec.Struct):
    """One message per address, in order."""

    validator_addresses: Annotated[list[str], msgspec.Meta(max_length=MOST_VALIDATORS)]
    sender: str | None = None


class VoteRequest(msgspec.Struct):
    proposal_id: str
    option: Literal["yes", "abstain", "no", "no_with_veto"]
    sender: str | None = None


async def answer(app: App, built: Sequence[Message], memo: str, sender: str | None) -> StakingTransactionResponse:
    if sender is None:
        return StakingTransactionResponse(list(built), memo)
    return StakingTransactionResponse(**await completed(app, built, memo, checks.wallet(app, sender)))


def declare(api: Registry, app: App) -> None:
    """The builders of staking and governance."""
    tags = ("staking",)

    async def delegation(
        asked: DelegateRequest | UndelegateRequest, kind: str, memo: str
    ) -> StakingTransactionResponse:
        validator = checks.validator(app, asked.validator_address)
        amount = checks.amount(asked.amount)
        denom = checks.bond_denom(app, asked.denom, resolved=asked.sender is not None)
        message = messages.staking(kind, validator, amount, denom)
        return await answer(app, [message], memo, asked.sender)

    @api.post("/api/staking/delegate", summary="Build a delegation", tags=tags, operation_id="delegate", errors=(400,))
    async def delegate(request: Request[NoParams, DelegateRequest]) -> StakingTransactionResponse:
        return await delegation(request.body, messages.DELEGATE, f"Delegate to {app.brand} validator")

    @api.post(
        "/api/staking/stake",
        summary="Build a delegation, under its other name",
        tags=tags,
        operation_id="stake",
        errors=(400,),
    )
    async def stake(request: Request[NoParams, DelegateRequest]) -> StakingTransactionResponse:
        return await delegation(request.body, messages.DELEGATE, f"Delegate to {app.brand} validator")

    @api.post(
        "/api/staking/undelegate",
        summary="Build the end of a delegation",
        tags=tags,
        operation_id="undelegate",
        errors=(400,),
    )
    async def undelegate(request: Request[NoParams, UndelegateRequest]) -> StakingTransactionResponse:
        return await delegation(request.body, messages.UNDELEGATE, f"Undelegate from {app.brand} validator")

    @api.post(
        "/api/staking/redelegate",
        summary="Build a move to another validator",
        tags=tags,
        operation_id="redelegate",
        errors=(400,),
    )
    async def redelegate(request: Request[NoParams, RedelegateRequest]) -> StakingTransactionResponse:
        asked = request.body
        source = checks.validator(app, asked.src_validator_address, "src_validator_address")
        target = checks.validator(app, asked.dst_validator_address, "dst_validator_address")
        if source == target:
            raise InvalidInput("both validators are the same", field="dst_validator_address")
        amount = checks.amount(asked.amount)
        denom = checks.bond_denom(app, asked.denom, resolved=asked.sender is not None)
        message = messages.redelegate(source, target, amount, denom)
        return await answer(app, [message], f"Redelegate on {app.brand}", asked.sender)

    @api.post(
        "/api/staking/claim-rewards",
        summary="Build claims of staking rewards",
        tags=tags,
        operation_id="claim_rewards",
        errors=(400,),
    )
    async def claim(request: Request[NoParams, ClaimRewardsRequest]) -> StakingTransactionResponse:
        listed = [checks.validator(app, one, "validator_addresses") for one in request.body.validator_addresses]
        built = [messages.claim(one) for one in listed]
        return await answer(app, built, "Claim staking rewards", request.body.sender)

    @api.post("/api/governance/vote", summary="Build a vote", tags=("governance",), operation_id="vote", errors=(400,))
    async def vote(request: Request[NoParams, VoteRequest]) -> GovernanceTransactionResponse:
        asked = request.body
        message = messages.vote(checks.proposal(asked.proposal_id), asked.option)
        memo = f"Vote on {app.brand} proposal"
        if asked.sender is None:
            return GovernanceTransactionResponse([message], memo)
        sender = checks.wallet(app, asked.sender)
        return GovernanceTransactionResponse(**await completed(app, [message], memo, sender))
