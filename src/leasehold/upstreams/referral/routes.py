"""Routes of the referral service, in the wire form its public client expects, and those of its operator."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import msgspec

from leasehold.core.addresses import Bech32Prefixes
from leasehold.core.clock import from_datetime, rfc3339
from leasehold.serving.parameters import Input
from leasehold.serving.routes import Guard, NoParams, Registry, Reply, Request
from leasehold.upstreams.disbursement import Disbursements
from leasehold.upstreams.referral import wire
from leasehold.upstreams.referral.ledger import ReferralLedger

MAX_PAGE = 1000
_TAGS = ("Referral",)
_Limit = Annotated[int, msgspec.Meta(ge=0, le=MAX_PAGE), Input(clamp=True)]
_Offset = Annotated[int, msgspec.Meta(ge=0)]


class CodeParams(msgspec.Struct, frozen=True):
    code: str


class WalletParams(msgspec.Struct, frozen=True):
    wallet: str


class ReferredParams(msgspec.Struct, frozen=True):
    wallet: str
    referred: str


class ReferralsParams(msgspec.Struct, frozen=True):
    wallet: str
    status: wire.ReferralStatus | None = None
    limit: _Limit = 50
    offset: _Offset = 0


class RewardsParams(msgspec.Struct, frozen=True):
    wallet: str
    status: wire.RewardStatus | None = None
    limit: _Limit = 50
    offset: _Offset = 0


class PayoutsParams(msgspec.Struct, frozen=True):
    wallet: str
    status: wire.PayoutStatus | None = None
    limit: _Limit = 50
    offset: _Offset = 0


class PayoutParams(msgspec.Struct, frozen=True):
    id: Annotated[int, msgspec.Meta(ge=1)]


def declare(
    api: Registry, ledger: ReferralLedger, disbursements: Disbursements, prefixes: Bech32Prefixes, guard: Guard
) -> None:
    """Declare the service's routes under `/referral`."""

    @api.get(
        "/referral/api/referrals/validate/{code}",
        summary="Whether a code is live",
        tags=_TAGS,
        rate="none",
        guard=guard,
    )
    async def validate(request: Request[CodeParams, None]) -> wire.Wrapped[wire.Validity]:
        found = await ledger.of_code(request.params.code)
        if found is None or found["status"] != "active":
            return wire.Wrapped(wire.Validity(False))
        return wire.Wrapped(wire.Validity(True, found["code"], found["wallet"]))

    @api.post(
        "/referral/api/referrers/register",
        summary="Become a referrer",
        tags=_TAGS,
        rate="none",
        guard=guard,
        status=201,
        response=wire.Wrapped[wire.Registration],
        responses={200: wire.Wrapped[wire.Registration]},
    )
    async def register(request: Request[NoParams, wire.RegisterRequest]) -> Reply:
        wallet = request.body.wallet_address
        prefixes.wallet_bytes(wallet, field="wallet_address")
        row, known = await ledger.register(wallet)
        made = wire.Registration(row["wallet"], row["code"], row["tier"], instant(row["created_at"]), known)
        return Reply(content=wire.Wrapped(made), status=200 if known else 201)

    @api.post(
        "/referral/api/referrals/assign",
        summary="Refer a wallet",
        tags=_TAGS,
        rate="none",
        guard=guard,
        status=201,
        errors=(404, 409),
    )
    async def assign(request: Request[NoParams, wire.AssignRequest]) -> wire.Wrapped[wire.Assignment]:
        wallet = request.body.referred_wallet
        prefixes.wallet_bytes(wallet, field="referred_wallet")
        row, referrer = await ledger.assign(request.body.referral_code, wallet)
        made = wire.Assignment(
            row["id"], referrer["wallet"], row["wallet"], referrer["code"], instant(row["assigned_at"])
        )
        return wire.Wrapped(made)

    @api.get(
        "/referral/api/referrers/{wallet}/stats",
        summary="A referrer with totals",
        tags=_TAGS,
        rate="none",
        guard=guard,
        errors=(404,),
    )
    async def stats(request: Request[WalletParams, None]) -> wire.Wrapped[wire.ReferrerStats]:
        row = await ledger.referrer(request.params.wallet)
        return wire.Wrapped(wire.ReferrerStats(_referrer(row), _stats(await ledger.stats(row["id"]), ledger.denom)))

    @api.get(
        "/referral/api/referrers/{wallet}/referrals",
        summary="Wallets someone referred",
        tags=_TAGS,
        rate="none",
        guard=guard,
        errors=(404,),
    )
    async def referrals(request: Request[ReferralsParams, None]) -> wire.Wrapped[wire.ReferralsPage]:
        asked = request.params
        rows, total = await ledger.page("referrals", asked.wallet, asked.status, asked.limit, asked.offset)
        page = wire.ReferralsPage([_referral(row) for row in rows], total, asked.limit, asked.offset)
        return wire.Wrapped(page)

    @api.get(
        "/referral/api/referrers/{wallet}/rewards",
        summary="What someone earned",
        tags=_TAGS,
        rate="none",
        guard=guard,
        errors=(404,),
    )
    async def rewards(request: Request[RewardsParams, None]) -> wire.Wrapped[wire.RewardsPage]:
        asked = request.params
        rows, total = await ledger.page("rewards", asked.wallet, asked.status, asked.limit, asked.offset)
        return wire.Wrapped(wire.RewardsPage([_reward(row) for row in rows], total, asked.limit, asked.offset))

    @api.get(
        "/referral/api/referrers/{wallet}/payouts",
        summary="What someone was paid",
        tags=_TAGS,
        rate="none",
        guard=guard,
        errors=(404,),
    )
    async def payouts(request: Request[PayoutsParams, None]) -> wire.Wrapped[wire.PayoutsPage]:
        asked = request.params
        rows, total = await ledger.page("payouts", asked.wallet, asked.status, asked.limit, asked.offset)
        return wire.Wrapped(wire.PayoutsPage([_payout(row) for row in rows], total, asked.limit, asked.offset))

    # The operator's routes.

    @api.patch(
        "/referral/api/referrers/{wallet}",
        summary="Change a referrer's tier or status",
        tags=_TAGS,
        rate="none",
        guard=guard,
        errors=(404,),
    )
    async def change(request: Request[WalletParams, wire.ReferrerChange]) -> wire.Wrapped[wire.Referrer]:
        row = await ledger.change(request.params.wallet, request.body.tier, request.body.status)
        return wire.Wrapped(_referrer(row))

    @api.patch(
        "/referral/api/referrers/{wallet}/referrals/{referred}",
        summary="Let a referred wallet count or not",
        tags=_TAGS,
        rate="none",
        guard=guard,
        errors=(404,),
    )
    async def change_referral(request: Request[ReferredParams, wire.ReferralChange]) -> wire.Wrapped[wire.Referral]:
        asked = request.params
        row = await ledger.change_referral(asked.wallet, asked.referred, request.body.status)
        return wire.Wrapped(_referral(row))

    @api.post(
        "/referral/api/referrers/{wallet}/payouts",
        summary="Pay out everything pending",
        tags=_TAGS,
        rate="none",
        guard=guard,
        status=201,
        errors=(404, 409),
    )
    async def pay_out(request: Request[WalletParams, None]) -> wire.Wrapped[wire.Payout]:
        return wire.Wrapped(_payout(await ledger.pay_out(request.params.wallet)))

    @api.post(
        "/referral/api/payouts/{id}/submit",
        summary="Name the transaction that pays",
        tags=_TAGS,
        rate="none",
        guard=guard,
        errors=(404, 409),
    )
    async def submit(request: Request[PayoutParams, wire.SubmitRequest]) -> wire.Wrapped[wire.Payout]:
        return wire.Wrapped(_payout(await disbursements.submit(request.params.id, request.body.tx_hash)))

    @api.post(
        "/referral/api/payouts/{id}/fail",
        summary="Give up a payout",
        description="Its rewards become pending again. A payout whose transaction is on its way can't be given up.",
        tags=_TAGS,
        rate="none",
        guard=guard,
        errors=(404, 409),
    )
    async def fail(request: Request[PayoutParams, wire.FailRequest]) -> wire.Wrapped[wire.Payout]:
        return wire.Wrapped(_payout(await disbursements.give_up(request.params.id, request.body.reason)))


def instant(moment: datetime) -> str:
    """An instant as these services write it, in whole seconds."""
    return rfc3339(from_datetime(moment), digits="seconds")


def _referrer(row: Any) -> wire.Referrer:
    return wire.Referrer(row["wallet"], row["code"], row["tier"], row["status"], instant(row["created_at"]))


def _stats(row: Any, denom: str) -> wire.Stats:
    return wire.Stats(
        total_referrals=row["referrals"],
        active_referrals=row["active_referrals"],
        total_rewards_earned=str(int(row["earned"])),
        total_rewards_paid=str(int(row["paid"])),
        pending_rewards=str(int(row["earned"] - row["paid"])),
        rewards_denom=denom,
        bonus_rewards_earned=row["bonuses"],
        bonus_rewards_paid=row["bonuses_paid"],
        total_bonus_amount_earned=str(int(row["bonus_earned"])),
        total_bonus_amount_paid=str(int(row["bonus_paid"])),
    )


def _referral(row: Any) -> wire.Referral:
    return wire.Referral(row["id"], row["referrer_id"], row["wallet"], instant(row["assigned_at"]), row["status"])


def _reward(row: Any) -> wire.Reward:
    return wire.Reward(
        id=row["id"],
        lease_id=row["lease"],
        referred_wallet=row["wallet"],
        period_start=instant(row["period_start"]),
        period_end=instant(row["period_end"]),
        interest_collected=str(int(row["interest"])),
        interest_denom=row["interest_ticker"],
        reward_amount=str(int(row["amount"])),
        reward_denom=row["denom"],
        status=row["status"],
        created_at=instant(row["created_at"]),
    )


def _payout(row: Any) -> wire.Payout:
    executed = row["executed_at"] if row["status"] == "confirmed" else None
    return wire.Payout(
        id=row["id"],
        total_amount=str(int(row["amount"])),
        denom=row["denom"],
        tx_hash=row["tx_hash"],
        status=row["status"],
        created_at=instant(row["created_at"]),
        executed_at=instant(executed) if executed else None,
    )
