"""Zero-interest payments: announced by the owner, completed by the indexed repayment, failed by time.

pending ──a repayment of at least the amount is indexed──▶ completed, its interest refunded
   ├──the payment date passes──▶ failed
   └──the owner cancels──▶ cancelled
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import asyncpg

from leasehold.core.clock import Clock, to_datetime
from leasehold.core.errors import Conflict, InvalidInput, NotFound
from leasehold.storage.pool import Database, Session
from leasehold.upstreams import disbursement
from leasehold.upstreams.index import Index
from leasehold.upstreams.payments import wire
from leasehold.upstreams.payments.campaigns import NO_CAMPAIGN, QUERIES, Campaigns

# Days the owner has to make the repayment.
PAYMENT_DAYS = 5
LARGEST_AMOUNT = 2**128 - 1
_USD = re.compile(r"[0-9]{1,18}(\.[0-9]{1,18})?")


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a lease may be paid for: the reason it may not, else the largest amount, the slots left and its row."""

    reason: str | None
    largest: int = 0
    slots: int = 0
    position: asyncpg.Record | None = None


def base_units(text: str, *, field: str) -> int:
    """A positive integer of base units within 128 bits."""
    if not (text.isascii() and text.isdigit() and len(text) <= 39) or not 0 < int(text) <= LARGEST_AMOUNT:
        raise InvalidInput("must be a positive integer in base units", field=field)
    return int(text)


@dataclass(slots=True)
class PaymentLedger:
    """Terms and payments in PostgreSQL."""

    database: Database
    clock: Clock
    index: Index
    campaigns: Campaigns

    async def terms(self) -> wire.Terms:
        async def read(session: Session) -> wire.Terms:
            row: Any = await session.fetchrow(QUERIES.terms)
            return _terms(row, row["supported_denoms"] or await self.index.lent_denoms(session))

        return await self.database.reading(read)

    async def set_terms(self, asked: wire.Terms) -> wire.Terms:
        largest = base_units(asked.max_payment_amount, field="max_payment_amount")
        if not _USD.fullmatch(asked.min_lease_value):
            raise InvalidInput("must be an amount of USD", field="min_lease_value")
        columns = (
            asked.enabled,
            largest,
            Decimal(asked.min_lease_value),
            asked.max_active_payments,
            asked.supported_denoms,
        )
        await self.database.writing(lambda session: session.execute(QUERIES.set_terms, *columns))
        return await self.terms()

    async def eligibility(self, lease: str, owner: str) -> wire.Eligibility:
        async def read(session: Session) -> Verdict:
            return await self._judge(session, await session.fetchrow(QUERIES.terms), lease, owner)

        verdict = await self.database.reading(read)
        if verdict.reason is not None:
            return wire.Eligibility(False, verdict.reason)
        return wire.Eligibility(True, None, str(verdict.largest), verdict.slots)

    async def create(self, asked: wire.CreateRequest) -> wire.Payment:
        """Announce a repayment; Conflict says why a lease may not be paid for."""
        amount = base_units(asked.amount, field="amount")
        _signed(asked.signature)

        async def change(session: Session) -> Any:
            terms = await session.fetchrow(QUERIES.lock_terms)
            verdict = await self._judge(session, terms, asked.lease_address, asked.owner_address)
            if verdict.reason is not None or verdict.position is None:
                raise Conflict(verdict.reason or "lease not found")
            if await session.fetchval(QUERIES.is_pending, asked.lease_address):
                raise Conflict("a payment for this lease is pending")
            if asked.denom != verdict.position["denom"]:
                raise InvalidInput(f"this lease is repaid in {verdict.position['denom']}", field="denom")
            if amount > verdict.largest:
                raise InvalidInput(f"at most {verdict.largest} can be paid", field="amount")
            return await session.fetchrow(
                QUERIES.add_payment,
                asked.lease_address,
                asked.owner_address,
                amount,
                asked.denom,
                verdict.position["lpn"],
                asked.signature,
                await self.index.height(session) or 0,
                (self._now() + timedelta(days=PAYMENT_DAYS)).date(),
                self._now(),
            )

        return payment(await self.database.writing(change))

    async def cancel(self, text: str, owner: str, signature: str) -> None:
        """Cancel a pending payment of an owner."""
        _signed(signature)
        number = _number(text)

        async def change(session: Session) -> None:
            row = await session.fetchrow(QUERIES.lock_payment, number) if number is not None else None
            if row is None or row["owner"] != owner:
                raise NotFound("payment not found")
            # Cancelling twice is cancelling once: a client that lost the answer asks again.
            if row["status"] not in ("pending", "cancelled"):
                raise Conflict(f"payment is {row['status']}")
            await session.execute(QUERIES.finish, number, "cancelled", None, self._now())

        await self.database.writing(change)

    async def of_owner(self, owner: str) -> list[wire.Payment]:
        return [payment(row) for row in await self.database.fetch(QUERIES.of_owner, owner)]

    async def of_lease(self, lease: str) -> list[wire.Payment]:
        return [payment(row) for row in await self.database.fetch(QUERIES.of_lease, lease)]

    async def step(self) -> bool:
        """End the payments that the index or the calendar decides; never asks to be called again at once."""
        await self.database.writing(self._settle)
        return False

    async def _settle(self, session: Session) -> None:
        if await self.index.height(session) is not None:
            for row in await session.fetch(QUERIES.covered):
                refund = await self._refund(session, row) if row["interest"] > 0 else None
                await session.execute(QUERIES.finish, row["id"], "completed", refund, self._now())
        for row in await session.fetch(QUERIES.overdue, self._now().date()):
            await session.execute(QUERIES.finish, row["id"], "failed", None, self._now())

    async def _refund(self, session: Session, row: Any) -> int:
        number: int = await session.fetchval(
            disbursement.QUERIES.add_refund, row["owner"], row["interest"], row["denom"], self._now()
        )
        return number

    async def _judge(self, session: Session, terms: Any, lease: str, owner: str) -> Verdict:
        if not terms["enabled"]:
            return Verdict("zero interest is disabled")
        found = await self.index.position(session, lease)
        if found is None:
            return Verdict("lease not found")
        if found["owner"] != owner:
            return Verdict("lease belongs to another owner")
        if found["status"] != "open":
            return Verdict(f"lease is {found['status']}")
        supported = terms["supported_denoms"] or await self.index.lent_denoms(session)
        if found["denom"] not in supported:
            return Verdict("denom not supported")
        if found["value"] is None or found["value"] < terms["min_lease_value"]:
            return Verdict("lease value too small")
        if not await self.campaigns.matching(session, owner, found["protocol"], found["asset"]):
            return Verdict(NO_CAMPAIGN)
        slots = terms["max_active_payments"] - await session.fetchval(QUERIES.count_pending, owner)
        if slots <= 0:
            return Verdict("too many active payments")
        largest = min(int(terms["max_payment_amount"]), int(found["principal"]))
        return Verdict(None, largest, slots, found) if largest > 0 else Verdict("nothing is owed")

    def _now(self) -> datetime:
        return to_datetime(self.clock.now_ns())


def payment(row: Any) -> wire.Payment:
    return wire.Payment(
        id=f"p-{row['id']}",
        lease_address=row["lease"],
        amount=str(int(row["amount"])),
        denom=row["denom"],
        payment_date=row["payment_date"].isoformat(),
        status=row["status"],
    )


def _signed(signature: str) -> None:
    if not signature.strip():
        raise InvalidInput("must not be empty", field="signature")


def _number(text: str) -> int | None:
    digits = text.removeprefix("p-")
    valid = text.startswith("p-") and digits.isascii() and digits.isdigit() and len(digits) <= 18
    return int(digits) if valid else None


def _terms(row: Any, denoms: list[str]) -> wire.Terms:
    least = format(row["min_lease_value"].normalize(), "f")
    return wire.Terms(row["enabled"], str(int(row["max_payment_amount"])), least, row["max_active_payments"], denoms)
