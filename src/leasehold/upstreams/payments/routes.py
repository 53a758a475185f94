"""Routes of the payments manager, in the wire form its public client expects, and those of its operator."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from leasehold.core.addresses import Bech32Prefixes
from leasehold.serving.routes import Guard, NoParams, PlainRequest, Registry, Reply, Request
from leasehold.upstreams.payments import wire
from leasehold.upstreams.payments.campaigns import Campaigns
from leasehold.upstreams.payments.ledger import PaymentLedger

_CAMPAIGNS = ("Campaigns",)
_PAYMENTS = ("Zero interest",)


class CampaignParams(msgspec.Struct, frozen=True):
    id: Annotated[int, msgspec.Meta(ge=1)]


class CampaignEligibilityParams(msgspec.Struct, frozen=True):
    wallet: str
    protocol: str | None = None
    currency: str | None = None


class EligibilityParams(msgspec.Struct, frozen=True):
    lease: str
    owner: str


class OwnerParams(msgspec.Struct, frozen=True):
    owner: str


class LeaseParams(msgspec.Struct, frozen=True):
    lease: str


class PaymentParams(msgspec.Struct, frozen=True):
    id: str


def declare(api: Registry, campaigns: Campaigns, ledger: PaymentLedger, prefixes: Bech32Prefixes, guard: Guard) -> None:
    """Declare the service's routes under `/payments`."""
    base = "/payments/api/v1/campaigns"

    @api.get(f"{base}/active", summary="Campaigns that run", tags=_CAMPAIGNS, rate="none", guard=guard)
    async def active(request: PlainRequest) -> wire.Wrapped[wire.ActiveCampaigns]:
        return wire.Wrapped(await campaigns.running())

    @api.get(f"{base}/check-eligibility", summary="Campaigns for a wallet", tags=_CAMPAIGNS, rate="none", guard=guard)
    async def check(request: Request[CampaignEligibilityParams, None]) -> wire.Wrapped[wire.CampaignEligibility]:
        asked = request.params
        return wire.Wrapped(await campaigns.eligibility(asked.wallet, asked.protocol, asked.currency))

    @api.get(base, summary="All campaigns", tags=_CAMPAIGNS, rate="none", guard=guard)
    async def listed(request: PlainRequest) -> wire.Wrapped[list[wire.Campaign]]:
        return wire.Wrapped(await campaigns.all())

    @api.post(base, summary="Add a campaign", tags=_CAMPAIGNS, rate="none", guard=guard, status=201)
    async def add(request: Request[NoParams, wire.CampaignRequest]) -> wire.Wrapped[wire.Campaign]:
        return wire.Wrapped(await campaigns.add(request.body))

    @api.put(f"{base}/{{id}}", summary="Replace a campaign", tags=_CAMPAIGNS, rate="none", guard=guard, errors=(404,))
    async def replace(request: Request[CampaignParams, wire.CampaignRequest]) -> wire.Wrapped[wire.Campaign]:
        return wire.Wrapped(await campaigns.replace(request.params.id, request.body))

    _declare_payments(api, ledger, prefixes, guard)


def _declare_payments(api: Registry, ledger: PaymentLedger, prefixes: Bech32Prefixes, guard: Guard) -> None:
    base = "/payments/zero-interest"

    @api.get(f"{base}/config", summary="Terms of payments", tags=_PAYMENTS, rate="none", guard=guard)
    async def config(request: PlainRequest) -> wire.Terms:
        return await ledger.terms()

    @api.put(f"{base}/config", summary="Change the terms", tags=_PAYMENTS, rate="none", guard=guard)
    async def configure(request: Request[NoParams, wire.Terms]) -> wire.Terms:
        return await ledger.set_terms(request.body)

    @api.get(f"{base}/eligibility", summary="May a lease be paid for", tags=_PAYMENTS, rate="none", guard=guard)
    async def eligibility(request: Request[EligibilityParams, None]) -> wire.Eligibility:
        return await ledger.eligibility(request.params.lease, request.params.owner)

    @api.get(f"{base}/payments/{{owner}}", summary="Payments of an owner", tags=_PAYMENTS, rate="none", guard=guard)
    async def of_owner(request: Request[OwnerParams, None]) -> list[wire.Payment]:
        return await ledger.of_owner(request.params.owner)

    @api.get(
        f"{base}/lease/{{lease}}/payments", summary="Payments of a lease", tags=_PAYMENTS, rate="none", guard=guard
    )
    async def of_lease(request: Request[LeaseParams, None]) -> list[wire.Payment]:
        return await ledger.of_lease(request.params.lease)

    @api.post(
        f"{base}/payments",
        summary="Announce a repayment",
        description="The signature is kept and not verified: what public clients sign is not known.",
        tags=_PAYMENTS,
        rate="none",
        guard=guard,
        errors=(409,),
    )
    async def create(request: Request[NoParams, wire.CreateRequest]) -> wire.CreateAnswer:
        prefixes.contract_bytes(request.body.lease_address, field="lease_address")
        prefixes.wallet_bytes(request.body.owner_address, field="owner_address")
        return wire.CreateAnswer(await ledger.create(request.body), None)

    @api.delete(
        f"{base}/payments/{{id}}",
        summary="Cancel a payment",
        tags=_PAYMENTS,
        rate="none",
        guard=guard,
        status=204,
        errors=(404, 409),
    )
    async def cancel(request: Request[PaymentParams, wire.CancelRequest]) -> Any:
        await ledger.cancel(request.params.id, request.body.owner_address, request.body.signature)
        return Reply(status=204)
