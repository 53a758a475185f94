"""Rewards from indexed events: each event of a referred wallet's lease is rewarded once, whatever crashes."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from leasehold.core import logging
from leasehold.storage.pool import Session
from leasehold.upstreams.referral.ledger import QUERIES, ReferralLedger

# Most heights accounted for in one transaction.
BATCH_HEIGHTS = 50_000
_log = logging.get("referral")


@dataclass(frozen=True, slots=True)
class Share:
    """What a tier earns: of the interest a referred wallet pays, and once of each loan it takes; in permille."""

    interest: int
    opening: int


SHARES = {"general": Share(interest=100, opening=1), "premium": Share(interest=200, opening=2)}


def reward(usd: Decimal, permille: int, native_price: Decimal, decimals: int) -> int:
    """Base units of the native token worth a share of an amount in USD, floored."""
    value = Fraction(usd) * permille / 1000 / Fraction(native_price) * 10**decimals
    return int(value)


@dataclass(slots=True)
class Earner:
    """Follows the index and turns events into rewards."""

    ledger: ReferralLedger
    native_ticker: str
    native_decimals: int

    async def step(self) -> bool:
        """Account for the next range of heights; whether there is more to do."""
        return await self.ledger.database.writing(self._advance)

    async def _advance(self, session: Session) -> bool:
        done: int = await session.fetchval(QUERIES.lock_rewards_cursor)
        newest = await self.ledger.index.height(session)
        if newest is None or newest <= done:
            return False
        upto = min(newest, done + BATCH_HEIGHTS)
        rows = await session.fetch(QUERIES.earning_events, done, upto)
        if rows:
            price = await self.ledger.index.price(session, self.native_ticker)
            if not price:
                # Without a price nothing can be valued; the events wait where they are.
                _log.warning("no price of the native token, rewards wait", ticker=self.native_ticker)
                return False
            for row in rows:
                await self._reward(session, row, price)
        await session.execute(QUERIES.move_rewards_cursor, upto)
        return upto < newest

    async def _reward(self, session: Session, row: Any, price: Decimal) -> None:
        share = SHARES[row["tier"]]
        opening = row["kind"] == "open"
        usd = row["loan_usd"] if opening else row["interest_usd"]
        amount = reward(usd, share.opening if opening else share.interest, price, self.native_decimals)
        if amount <= 0:
            return
        start = row["time"] if opening else max(filter(None, (row["before"], row["opened_at"])), default=row["time"])
        await session.execute(
            QUERIES.add_reward,
            row["referrer_id"],
            row["referral_id"],
            "bonus" if opening else "interest",
            row["height"],
            row["tx"],
            row["event"],
            row["lease"],
            min(start, row["time"]),
            row["time"],
            0 if opening else row["interest"],
            row["lpn"],
            amount,
            self.ledger.denom,
            self.ledger.now(),
        )
