"""Referral: become a referrer, and assign a wallet to one."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from leasehold.app_api.app import App
from leasehold.app_api.upstreams.failures import status_text
from leasehold.app_api.upstreams.referral import Wrapped
from leasehold.app_api.upstreams.transport import Answer, Transport
from leasehold.app_api.writes import checks
from leasehold.core.errors import NotFound
from leasehold.serving.routes import NoParams, Registry, Reply, Request

# The service tells conflicts apart by its texts only; these are the words clients of ours get.
_CONFLICTS = (
    (re.compile(r"already (assigned|has a referrer)", re.IGNORECASE), "Wallet already has a referrer"),
    (re.compile(r"self[- ]referral|refer yourself", re.IGNORECASE), "Cannot refer yourself"),
    (re.compile(r"already (a )?referrer", re.IGNORECASE), "Wallet is already a referrer"),
)


class RegisterRequest(msgspec.Struct):
    wallet_address: str


class RegisterResponse(msgspec.Struct):
    """A referrer with its code; `already_registered` says whether it was one before."""

    wallet_address: str
    referral_code: str
    tier: str
    created_at: str
    already_registered: bool


class AssignRequest(msgspec.Struct):
    referral_code: str
    referred_wallet: str


class AssignResponse(msgspec.Struct):
    id: int
    referrer_wallet: str
    referred_wallet: str
    referral_code: str
    assigned_at: str


def data_of(transport: Transport, answer: Answer, kind: Any, context: str) -> Any:
    """What stands under `data` of a good answer; anything else is the service's failure."""
    if not answer.good:
        raise transport.refused(answer, context)
    wrapped = transport.decode(answer.body, Wrapped[kind], context)
    if wrapped.data is None:
        raise transport.fail(wrapped.error or "Unknown error")
    return wrapped.data


def conflict(answer: Answer) -> str | None:
    """Our words for a conflict, None for one nobody knows."""
    text = answer.body.decode("utf-8", "replace")
    return next((words for pattern, words in _CONFLICTS if pattern.search(text)), None)


def declare(api: Registry, app: App) -> None:
    """The write routes of referral."""
    tags = ("referral",)

    @api.post(
        "/api/referral/register",
        summary="Become a referrer",
        tags=tags,
        operation_id="register",
        response=RegisterResponse,
        responses={201: RegisterResponse},
        errors=(400, 502),
    )
    async def register(request: Request[NoParams, RegisterRequest]) -> Reply:
        checks.wallet(app, request.body.wallet_address, "wallet_address")
        transport = app.upstreams.referral.transport
        path = "api/referrers/register"
        answer = await transport.ask("POST", f"/{path}", context=path, body=request.body, again=True)
        found: RegisterResponse = data_of(transport, answer, RegisterResponse, path)
        return Reply(content=found, status=200 if found.already_registered else 201)

    @api.post(
        "/api/referral/assign",
        summary="Assign a wallet to a referrer",
        tags=tags,
        operation_id="assign",
        status=201,
        errors=(400, 404, 502),
    )
    async def assign(request: Request[NoParams, AssignRequest]) -> AssignResponse:
        checks.wallet(app, request.body.referred_wallet, "referred_wallet")
        transport = app.upstreams.referral.transport
        path = "api/referrals/assign"
        answer = await transport.ask("POST", f"/{path}", context=path, body=request.body)
        if answer.status == 404:
            raise NotFound("Referral code not found")
        if answer.status == 409 and (words := conflict(answer)) is not None:
            raise transport.fail(words)
        if not answer.good:
            # Clients tell assignments that failed by these words.
            raise transport.fail(f"API error: {status_text(answer.status).removeprefix('HTTP ')}")
        found: AssignResponse = data_of(transport, answer, AssignResponse, "")
        return found
