"""Zero interest: campaigns, eligibility and payments, passed on to the payments manager."""

from __future__ import annotations

from typing import Annotated

import msgspec

from leasehold.app_api.app import App
from leasehold.app_api.upstreams.payments import (
    ActiveCampaignsResponse,
    CampaignEligibilityResponse,
    EligibilityResponse,
    PaymentResponse,
    ZeroInterestConfigResponse,
)
from leasehold.serving.parameters import Input
from leasehold.serving.routes import Cache, PlainRequest, Registry, Request


class CampaignParams(msgspec.Struct, frozen=True):
    wallet: Annotated[str, Input(about="bech32 address of a wallet")]
    protocol: str | None = None
    currency: Annotated[str | None, Input(about="ticker")] = None


class EligibilityParams(msgspec.Struct, frozen=True):
    lease: Annotated[str, Input(about="address of a lease contract")]
    owner: Annotated[str, Input(about="bech32 address of its owner")]


class OwnerParams(msgspec.Struct, frozen=True):
    owner: str


class LeaseParams(msgspec.Struct, frozen=True):
    lease_address: str


def declare(api: Registry, app: App) -> None:
    """The read routes of campaigns and zero interest."""

    @api.get(
        "/api/campaigns/active",
        operation_id="get_active_campaigns",
        summary="Active campaigns",
        tags=("campaigns",),
        cache=Cache.live(30),
        errors=(502,),
    )
    async def active(request: PlainRequest) -> ActiveCampaignsResponse:
        return await app.upstreams.payments.active_campaigns()

    @api.get(
        "/api/campaigns/eligibility",
        operation_id="check_campaign_eligibility",
        summary="Campaigns a wallet matches",
        tags=("campaigns",),
        errors=(400, 502),
    )
    async def matching(request: Request[CampaignParams, None]) -> CampaignEligibilityResponse:
        asked = request.params
        return await app.upstreams.payments.campaign_eligibility(asked.wallet, asked.protocol, asked.currency)

    tags = ("zero-interest",)

    @api.get(
        "/api/zero-interest/config",
        operation_id="get_zero_interest_config",
        summary="Bounds of payments",
        tags=tags,
        cache=Cache.live(30),
        errors=(502,),
    )
    async def config(request: PlainRequest) -> ZeroInterestConfigResponse:
        return await app.upstreams.payments.config()

    @api.get(
        "/api/zero-interest/eligibility",
        operation_id="check_eligibility",
        summary="Whether a lease may be paid for",
        tags=tags,
        errors=(400, 502),
    )
    async def eligibility(request: Request[EligibilityParams, None]) -> EligibilityResponse:
        return await app.upstreams.payments.eligibility(request.params.lease, request.params.owner)

    @api.get(
        "/api/zero-interest/payments/by-owner/{owner}",
        operation_id="get_payments",
        summary="An owner's payments",
        tags=tags,
        errors=(502,),
    )
    async def of_owner(request: Request[OwnerParams, None]) -> list[PaymentResponse]:
        return await app.upstreams.payments.payments_of_owner(request.params.owner)

    @api.get(
        "/api/zero-interest/lease/{lease_address}/payments",
        operation_id="get_lease_payments",
        summary="A lease's payments",
        tags=tags,
        errors=(502,),
    )
    async def of_lease(request: Request[LeaseParams, None]) -> list[PaymentResponse]:
        return await app.upstreams.payments.payments_of_lease(request.params.lease_address)
