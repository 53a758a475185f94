"""What the payments manager says and takes."""

from __future__ import annotations

from typing import Annotated, Generic, Literal, TypeVar

import msgspec

T = TypeVar("T")
PaymentStatus = Literal["pending", "completed", "failed", "cancelled"]


class Wrapped(msgspec.Struct, Generic[T]):
    """How the campaign routes answer; those of zero interest answer bare."""

    data: T
    success: bool = True


class CampaignRequest(msgspec.Struct, frozen=True):
    """A campaign as its operator describes it; an empty list means all."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    active: bool = True
    eligible_protocols: list[str] = []
    eligible_currencies: list[str] = []
    eligible_wallets: list[str] = []
    start_date: str | None = None
    end_date: str | None = None
    description: str | None = None


class Campaign(msgspec.Struct):
    id: int
    name: str
    active: bool
    eligible_protocols: list[str]
    eligible_currencies: list[str]
    eligible_wallets: list[str]
    start_date: str | None
    end_date: str | None
    description: str | None


class ActiveCampaigns(msgspec.Struct):
    """Campaigns that run now; a universal one restricts nothing."""

    campaigns: list[Campaign]
    all_eligible_currencies: list[str]
    all_eligible_protocols: list[str]
    has_universal_campaign: bool


class MatchingCampaign(msgspec.Struct):
    id: int
    name: str


class CampaignEligibility(msgspec.Struct, omit_defaults=True):
    eligible: bool
    matching_campaigns: list[MatchingCampaign]
    reason: str | msgspec.UnsetType = msgspec.UNSET


class Terms(msgspec.Struct):
    """Whether zero interest is on, and the bounds of a payment: base units, USD, count, bank denoms."""

    enabled: bool
    max_payment_amount: str
    min_lease_value: str
    max_active_payments: Annotated[int, msgspec.Meta(ge=0, le=10_000)]
    supported_denoms: list[str]


class Eligibility(msgspec.Struct, omit_defaults=True):
    """Whether a lease may be paid for, and up to which amount; the last two only where it may."""

    eligible: bool
    reason: str | None
    max_amount: str | msgspec.UnsetType = msgspec.UNSET
    available_slots: int | msgspec.UnsetType = msgspec.UNSET


class Payment(msgspec.Struct):
    id: str
    lease_address: str
    amount: str
    denom: str
    payment_date: str
    status: PaymentStatus


class CreateRequest(msgspec.Struct, frozen=True):
    lease_address: str
    amount: str
    denom: str
    owner_address: str
    signature: str


class CreateAnswer(msgspec.Struct):
    payment: Payment
    tx_hash: str | None


class CancelRequest(msgspec.Struct, frozen=True):
    owner_address: str
    signature: str
