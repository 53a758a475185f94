"""The referral ledger: who referred whom, what that earned, what was paid out."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import asyncpg

from leasehold.core.clock import Clock, to_datetime
from leasehold.core.errors import Conflict, NotFound
from leasehold.storage import queries
from leasehold.storage.pool import Database, Session
from leasehold.upstreams.index import Index

# No letter or digit that is mistaken for another one.
_ALPHABET = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"
_CODE_LENGTH = 8
_CODE_TRIES = 20
# Referred wallets that make a referrer premium.
PREMIUM_REFERRALS = 10

QUERIES = queries.load("leasehold.upstreams.referral", "queries.sql")

# Clients of the public service tell these apart by their words.
ALREADY_ASSIGNED = "wallet already assigned"
SELF_REFERRAL = "Self-referral not allowed"
ALREADY_REFERRER = "already referrer"


def random_code() -> str:
    """A code that is not guessed."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(_CODE_LENGTH))


@dataclass(slots=True)
class ReferralLedger:
    """Reads and changes; each change is one transaction that may be repeated."""

    database: Database
    clock: Clock
    denom: str
    index: Index
    new_code: Callable[[], str] = field(default=random_code)

    def now(self) -> datetime:
        return to_datetime(self.clock.now_ns())

    async def register(self, wallet: str) -> tuple[asyncpg.Record, bool]:
        """The referrer with a wallet, and whether it was there before."""

        async def change(session: Session) -> tuple[asyncpg.Record, bool]:
            for _ in range(_CODE_TRIES):
                known = await session.fetchrow(QUERIES.referrer_of_wallet, wallet)
                if known is not None:
                    return known, True
                added = await session.fetchrow(QUERIES.add_referrer, wallet, self.new_code(), self.now())
                if added is not None:
                    return added, False
            raise Conflict("no referral code is free")

        return await self.database.writing(change)

    async def assign(self, code: str, wallet: str) -> tuple[asyncpg.Record, asyncpg.Record]:
        """Refer a wallet; returns the referral and its referrer."""

        async def change(session: Session) -> tuple[asyncpg.Record, asyncpg.Record]:
            referrer = await session.fetchrow(QUERIES.referrer_of_code, code)
            if referrer is None or referrer["status"] != "active":
                raise NotFound("referral code not found")
            if referrer["wallet"] == wallet:
                raise Conflict(SELF_REFERRAL)
            if await session.fetchrow(QUERIES.referrer_of_wallet, wallet) is not None:
                raise Conflict(ALREADY_REFERRER)
            # The lock keeps the earner from passing heights that this referral is still to count from.
            counted = await session.fetchval(QUERIES.lock_rewards_cursor)
            height = max(counted, await self.index.height(session) or 0)
            added = await session.fetchrow(QUERIES.add_referral, referrer["id"], wallet, height, self.now())
            if added is None:
                raise Conflict(ALREADY_ASSIGNED)
            await session.execute(QUERIES.promote, referrer["id"], PREMIUM_REFERRALS)
            return added, referrer

        return await self.database.writing(change)

    async def of_code(self, code: str) -> asyncpg.Record | None:
        return await self.database.fetchrow(QUERIES.referrer_of_code, code)

    async def referrer(self, wallet: str) -> asyncpg.Record:
        """The referrer with a wallet; NotFound where it is none."""
        found = await self.database.fetchrow(QUERIES.referrer_of_wallet, wallet)
        if found is None:
            raise NotFound("referrer not found")
        return found

    async def change(self, wallet: str, tier: str | None, status: str | None) -> asyncpg.Record:
        found: asyncpg.Record | None = await self.database.writing(
            lambda session: session.fetchrow(QUERIES.change_referrer, wallet, tier, status)
        )
        if found is None:
            raise NotFound("referrer not found")
        return found

    async def change_referral(self, wallet: str, referred: str, status: str) -> asyncpg.Record:
        referrer = await self.referrer(wallet)
        found: asyncpg.Record | None = await self.database.writing(
            lambda session: session.fetchrow(QUERIES.change_referral, referrer["id"], referred, status)
        )
        if found is None:
            raise NotFound("referral not found")
        return found

    async def stats(self, referrer: int) -> asyncpg.Record:
        found = await self.database.fetchrow(QUERIES.stats, referrer)
        assert found is not None
        return found

    async def page(
        self, what: str, wallet: str, status: str | None, limit: int, offset: int
    ) -> tuple[list[asyncpg.Record], int]:
        """Rows of `referrals`, `rewards` or `payouts` of a referrer, oldest first, and how many there are."""
        referrer = await self.referrer(wallet)

        async def read(session: Session) -> tuple[list[asyncpg.Record], int]:
            rows = await session.fetch(QUERIES[what], referrer["id"], status, limit, offset)
            return rows, await session.fetchval(QUERIES[f"count_{what}"], referrer["id"], status)

        return await self.database.reading(read)

    async def pay_out(self, wallet: str) -> Any:
        """A new payout of everything pending; Conflict where nothing is."""

        async def change(session: Session) -> asyncpg.Record:
            referrer = await session.fetchval(QUERIES.lock_referrer, wallet)
            if referrer is None:
                raise NotFound("referrer not found")
            payout = await session.fetchrow(QUERIES.add_payout, referrer, self.now(), self.denom)
            if payout is None:
                raise Conflict("no pending rewards")
            await session.execute(QUERIES.include_rewards, referrer, payout["id"], self.denom)
            return payout

        return await self.database.writing(change)
