"""Referral reads: passed on to the referral service, typed on the way."""

from __future__ import annotations

from typing import Annotated

import msgspec

from leasehold.app_api.app import App
from leasehold.app_api.upstreams.referral import (
    PayoutsListResponse,
    ReferralsListResponse,
    ReferrerStatsResponse,
    RewardsListResponse,
    ValidateCodeResponse,
)
from leasehold.core.errors import InvalidInput, NotFound
from leasehold.serving.parameters import Input
from leasehold.serving.routes import Registry, Request

Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


def _one_of(*values: str) -> Input:
    def parse(text: str) -> str:
        if text.lower() not in values:
            raise InvalidInput(f"status is one of {', '.join(values)}", field="status")
        return text.lower()

    return Input(parse=parse, schema={"type": "string", "enum": list(values)})


class CodeParams(msgspec.Struct, frozen=True):
    code: str


class ReferrerParams(msgspec.Struct, frozen=True):
    address: str


class RewardParams(msgspec.Struct, frozen=True):
    address: str
    status: Annotated[str | None, _one_of("pending", "included", "paid")] = None
    limit: Count | None = None
    offset: Count | None = None


class PayoutParams(msgspec.Struct, frozen=True):
    address: str
    status: Annotated[str | None, _one_of("pending", "submitted", "confirmed", "failed")] = None
    limit: Count | None = None
    offset: Count | None = None


class ReferralParams(msgspec.Struct, frozen=True):
    address: str
    status: Annotated[str | None, _one_of("active", "inactive")] = None
    limit: Count | None = None
    offset: Count | None = None


def declare(api: Registry, app: App) -> None:
    """The read routes of referral."""
    tags = ("referral",)

    @api.get(
        "/api/referral/validate/{code}",
        operation_id="validate_code",
        summary="Whose code it is",
        tags=tags,
        errors=(502,),
    )
    async def validate(request: Request[CodeParams, None]) -> ValidateCodeResponse:
        return await app.upstreams.referral.validate(request.params.code)

    @api.get(
        "/api/referral/stats/{address}",
        operation_id="get_stats",
        summary="Totals of a referrer",
        tags=tags,
        errors=(404, 502),
    )
    async def stats(request: Request[ReferrerParams, None]) -> ReferrerStatsResponse:
        found = await app.upstreams.referral.stats(request.params.address)
        if found is None:
            raise NotFound(f"Referrer {request.params.address} not found")
        return found

    @api.get(
        "/api/referral/rewards/{address}",
        operation_id="get_rewards",
        summary="Rewards of a referrer",
        tags=tags,
        errors=(400, 502),
    )
    async def rewards(request: Request[RewardParams, None]) -> RewardsListResponse:
        asked = request.params
        return await app.upstreams.referral.rewards(
            asked.address, status=asked.status, limit=asked.limit, offset=asked.offset
        )

    @api.get(
        "/api/referral/payouts/{address}",
        operation_id="get_payouts",
        summary="Payouts of a referrer",
        tags=tags,
        errors=(400, 502),
    )
    async def payouts(request: Request[PayoutParams, None]) -> PayoutsListResponse:
        asked = request.params
        return await app.upstreams.referral.payouts(
            asked.address, status=asked.status, limit=asked.limit, offset=asked.offset
        )

    @api.get(
        "/api/referral/referrals/{address}",
        operation_id="get_referrals",
        summary="Referred wallets",
        tags=tags,
        errors=(400, 502),
    )
    async def referrals(request: Request[ReferralParams, None]) -> ReferralsListResponse:
        asked = request.params
        return await app.upstreams.referral.referrals(
            asked.address, status=asked.status, limit=asked.limit, offset=asked.offset
        )
