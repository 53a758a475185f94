"""Payouts that begin by themselves: whoever has enough pending and nothing under way."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from datetime import timedelta

from leasehold.core.errors import Conflict
from leasehold.upstreams.referral.ledger import QUERIES, ReferralLedger

# A payout that failed is not tried again before this long.
RETRY_AFTER = timedelta(hours=1)


@dataclass(slots=True)
class PayoutPlanner:
    """Begins payouts of at least `minimum` base units."""

    ledger: ReferralLedger
    minimum: int

    async def step(self) -> bool:
        """Begin every payout that is due; never asks to be called again at once."""
        since = self.ledger.now() - RETRY_AFTER
        rows = await self.ledger.database.fetch(QUERIES.due_payouts, self.ledger.denom, self.minimum, since)
        for row in rows:
            # Someone may have begun the same payout by hand meanwhile.
            with contextlib.suppress(Conflict):
                await self.ledger.pay_out(row["wallet"])
        return False
