"""The payments manager: zero-interest campaigns and payments."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlencode

import msgspec

from leasehold.app_api.upstreams.referral import unwrapped
from leasehold.app_api.upstreams.transport import Transport
from leasehold.core.clock import parse_rfc3339, rfc3339


class ZeroInterestCampaign(msgspec.Struct):
    """A campaign; an empty list of eligible things means all of them."""

    id: int
    name: str
    active: bool
    eligible_protocols: list[str] = []
    eligible_currencies: list[str] = []
    eligible_wallets: list[str] = []
    start_date: str | None = None
    end_date: str | None = None
    description: str | None = None


class ActiveCampaignsResponse(msgspec.Struct):
    campaigns: list[ZeroInterestCampaign] = []
    all_eligible_currencies: list[str] = []
    all_eligible_protocols: list[str] = []
    has_universal_campaign: bool = False


class MatchingCampaign(msgspec.Struct):
    id: int
    name: str


class CampaignEligibilityResponse(msgspec.Struct):
    eligible: bool
    matching_campaigns: list[MatchingCampaign] = []
    reason: str | None = None


class ZeroInterestConfigResponse(msgspec.Struct):
    """Whether zero interest is on, and the bounds of a payment."""

    enabled: bool
    max_payment_amount: str
    min_lease_value: str
    max_active_payments: int
    supported_denoms: list[str]


class EligibilityResponse(msgspec.Struct):
    """Whether a lease may be paid for, and up to which amount."""

    eligible: bool
    reason: str | None = None
    max_amount: str | None = None
    available_slots: int | None = None


class PaymentResponse(msgspec.Struct):
    id: str
    lease_address: str
    amount: str
    denom: str
    payment_date: str
    status: str


class PaymentsManager:
    """Reads of the payments manager."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport

    async def active_campaigns(self) -> ActiveCampaignsResponse:
        path = "api/v1/campaigns/active"
        found: ActiveCampaignsResponse = await unwrapped(self.transport, f"/{path}", ActiveCampaignsResponse, path)
        for campaign in found.campaigns:
            try:
                campaign.start_date = _instant(campaign.start_date)
                campaign.end_date = _instant(campaign.end_date)
            except ValueError as error:
                raise self.transport.unreadable(path, error) from error
        return found

    async def campaign_eligibility(
        self, wallet: str, protocol: str | None, currency: str | None
    ) -> CampaignEligibilityResponse:
        path = "api/v1/campaigns/check-eligibility"
        members = {"wallet": wallet, "protocol": protocol, "currency": currency}
        query = urlencode({name: value for name, value in members.items() if value is not None})
        found: CampaignEligibilityResponse = await unwrapped(
            self.transport, f"/{path}?{query}", CampaignEligibilityResponse, path
        )
        return found

    async def config(self) -> ZeroInterestConfigResponse:
        path = "zero-interest/config"
        return await self.transport.read(f"/{path}", ZeroInterestConfigResponse, context=path)

    async def eligibility(self, lease: str, owner: str) -> EligibilityResponse:
        path = "zero-interest/eligibility"
        query = urlencode({"lease": lease, "owner": owner})
        return await self.transport.read(f"/{path}?{query}", EligibilityResponse, context=path)

    async def payments_of_owner(self, owner: str) -> list[PaymentResponse]:
        return await self._payments(f"zero-interest/payments/{quote(owner, safe='')}")

    async def payments_of_lease(self, lease: str) -> list[PaymentResponse]:
        return await self._payments(f"zero-interest/lease/{quote(lease, safe='')}/payments")

    async def _payments(self, path: str) -> list[PaymentResponse]:
        kind: Any = list[PaymentResponse]
        found: list[PaymentResponse] = await self.transport.read(f"/{path}", kind, context=path)
        return found


def _instant(text: str | None) -> str | None:
    """An instant in UTC with 0, 3, 6 or 9 digits of a second."""
    return rfc3339(parse_rfc3339(text), digits="grouped") if text is not None else None
