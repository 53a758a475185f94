"""What the referral service says and takes."""

from __future__ import annotations

from typing import Annotated, Generic, Literal, TypeVar

import msgspec

T = TypeVar("T")
Tier = Literal["general", "premium"]
ReferrerStatus = Literal["active", "disabled"]
ReferralStatus = Literal["active", "inactive"]
RewardStatus = Literal["pending", "included", "paid"]
PayoutStatus = Literal["pending", "submitted", "confirmed", "failed"]
Count = Annotated[int, msgspec.Meta(ge=0)]


class Wrapped(msgspec.Struct, Generic[T]):
    """Every answer: what was asked for under `data`."""

    data: T
    success: bool = True
    error: str | None = None


class RegisterRequest(msgspec.Struct, frozen=True):
    wallet_address: str


class Registration(msgspec.Struct):
    wallet_address: str
    referral_code: str
    tier: Tier
    created_at: str
    already_registered: bool


class AssignRequest(msgspec.Struct, frozen=True):
    referral_code: str
    referred_wallet: str


class Assignment(msgspec.Struct):
    id: int
    referrer_wallet: str
    referred_wallet: str
    referral_code: str
    assigned_at: str


class Validity(msgspec.Struct, omit_defaults=True):
    """Whether a code is live, and whose it is."""

    valid: bool
    referral_code: str | msgspec.UnsetType = msgspec.UNSET
    referrer_wallet: str | msgspec.UnsetType = msgspec.UNSET


class Referrer(msgspec.Struct):
    wallet_address: str
    referral_code: str
    tier: Tier
    status: ReferrerStatus
    created_at: str


class ReferrerChange(msgspec.Struct, frozen=True):
    tier: Tier | None = None
    status: ReferrerStatus | None = None


class Stats(msgspec.Struct):
    """Counts, and amounts in base units of `rewards_denom`."""

    total_referrals: int
    active_referrals: int
    total_rewards_earned: str
    total_rewards_paid: str
    pending_rewards: str
    rewards_denom: str
    bonus_rewards_earned: int
    bonus_rewards_paid: int
    total_bonus_amount_earned: str
    total_bonus_amount_paid: str


class ReferrerStats(msgspec.Struct):
    referrer: Referrer
    stats: Stats


class Referral(msgspec.Struct):
    id: int
    referrer_id: int
    referred_wallet: str
    assigned_at: str
    status: ReferralStatus


class ReferralChange(msgspec.Struct, frozen=True):
    status: ReferralStatus


class ReferralsPage(msgspec.Struct):
    referrals: list[Referral]
    total: int
    limit: int
    offset: int


class Reward(msgspec.Struct):
    """What a referred wallet's lease earned its referrer; amounts in base units."""

    id: int
    lease_id: str
    referred_wallet: str
    period_start: str
    period_end: str
    interest_collected: str
    interest_denom: str
    reward_amount: str
    reward_denom: str
    status: RewardStatus
    created_at: str


class RewardsPage(msgspec.Struct):
    rewards: list[Reward]
    total: int
    limit: int
    offset: int


class Payout(msgspec.Struct):
    id: int
    total_amount: str
    denom: str
    tx_hash: str | None
    status: PayoutStatus
    created_at: str
    executed_at: str | None


class PayoutsPage(msgspec.Struct):
    payouts: list[Payout]
    total: int
    limit: int
    offset: int


class SubmitRequest(msgspec.Struct, frozen=True):
    """The transaction with which an operator paid."""

    tx_hash: str


class FailRequest(msgspec.Struct, frozen=True):
    reason: str
