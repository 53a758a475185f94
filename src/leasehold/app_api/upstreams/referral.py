"""The referral service: every answer wrapped in `{success, data, error}`."""

from __future__ import annotations

from typing import Any, Generic, TypeVar
from urllib.parse import quote, urlencode

import msgspec

from leasehold.app_api.upstreams.failures import ServiceFailure
from leasehold.app_api.upstreams.transport import Transport

T = TypeVar("T")


class Wrapped(msgspec.Struct, Generic[T]):
    """How the referral service and the payments manager answer."""

    success: bool = False
    data: T | None = None
    error: str | None = None


class ValidateCodeResponse(msgspec.Struct, omit_defaults=True):
    """Whether a code is live, and whose it is."""

    valid: bool
    referral_code: str | msgspec.UnsetType | None = msgspec.UNSET
    referrer_wallet: str | msgspec.UnsetType | None = msgspec.UNSET


class ReferrerResponse(msgspec.Struct):
    wallet_address: str
    referral_code: str
    tier: str
    status: str
    created_at: str


class StatsResponse(msgspec.Struct):
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


class ReferrerStatsResponse(msgspec.Struct):
    """A referrer with totals; amounts in base units of `rewards_denom`."""

    referrer: ReferrerResponse
    stats: StatsResponse


class RewardResponse(msgspec.Struct):
    id: int
    lease_id: str
    referred_wallet: str
    period_start: str
    period_end: str
    interest_collected: str
    interest_denom: str
    reward_amount: str
    reward_denom: str
    status: str
    created_at: str


class RewardsListResponse(msgspec.Struct):
    rewards: list[RewardResponse]
    total: int
    limit: int
    offset: int


class PayoutResponse(msgspec.Struct):
    id: int
    total_amount: str
    denom: str
    tx_hash: str | None
    status: str
    created_at: str
    executed_at: str | None


class PayoutsListResponse(msgspec.Struct):
    payouts: list[PayoutResponse]
    total: int
    limit: int
    offset: int


class _Referral(msgspec.Struct):
    """A referred wallet as the service sends it; whose it is, is not passed on."""

    id: int
    referrer_id: Any
    referred_wallet: str
    assigned_at: str
    status: str


class _Referrals(msgspec.Struct):
    referrals: list[_Referral]
    total: int
    limit: int
    offset: int


class ReferralResponse(msgspec.Struct):
    id: int
    referred_wallet: str
    assigned_at: str
    status: str


class ReferralsListResponse(msgspec.Struct):
    referrals: list[ReferralResponse]
    total: int
    limit: int
    offset: int


class ReferralService:
    """Reads of the referral service."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport

    async def validate(self, code: str) -> ValidateCodeResponse:
        found: ValidateCodeResponse = await self._read(
            f"api/referrals/validate/{quote(code, safe='')}", ValidateCodeResponse
        )
        return found

    async def stats(self, address: str) -> ReferrerStatsResponse | None:
        """Totals of a referrer, None for an unknown one."""
        try:
            found: ReferrerStatsResponse = await self._read(_of(address, "stats"), ReferrerStatsResponse)
        except ServiceFailure as error:
            if error.reply_status == 404:
                return None
            raise
        return found

    async def rewards(self, address: str, **page: str | int | None) -> RewardsListResponse:
        found: RewardsListResponse = await self._read(_of(address, "rewards"), RewardsListResponse, page)
        return found

    async def payouts(self, address: str, **page: str | int | None) -> PayoutsListResponse:
        found: PayoutsListResponse = await self._read(_of(address, "payouts"), PayoutsListResponse, page)
        return found

    async def referrals(self, address: str, **page: str | int | None) -> ReferralsListResponse:
        found: _Referrals = await self._read(_of(address, "referrals"), _Referrals, page)
        listed = [ReferralResponse(one.id, one.referred_wallet, one.assigned_at, one.status) for one in found.referrals]
        return ReferralsListResponse(listed, found.total, found.limit, found.offset)

    async def _read(self, path: str, kind: Any, page: dict[str, str | int | None] | None = None) -> Any:
        query = urlencode({name: value for name, value in (page or {}).items() if value is not None})
        return await unwrapped(self.transport, f"/{path}" + (f"?{query}" if query else ""), kind, path)


async def unwrapped(transport: Transport, target: str, kind: Any, context: str) -> Any:
    """What stands under `data`; an answer without it is the service's failure, in its own words."""
    wrapped = await transport.read(target, Wrapped[kind], context=context)
    if wrapped.data is None:
        raise transport.fail(wrapped.error or "Unknown error")
    return wrapped.data


def _of(address: str, what: str) -> str:
    return f"api/referrers/{quote(address, safe='')}/{what}"
