"""Money leaving the service: pending → submitted → confirmed or failed, each step one transaction in PostgreSQL.

A payment is signed with a height after which the chain refuses it, and noted before it is sent. Whatever crashes,
the same bytes are sent again until a block has them or that height has passed; so nothing is ever paid twice.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from math import ceil
from typing import Any

import asyncpg

from leasehold.chain.wallet import Wallet
from leasehold.core import logging
from leasehold.core.clock import Clock, to_datetime
from leasehold.core.errors import Conflict, InvalidInput, NotFound, NotReady
from leasehold.storage import queries
from leasehold.storage.pool import Database, Session
from leasehold.upstreams.chain_access import ChainAccess, FoundTx, tx_hash

QUERIES = queries.load("leasehold.upstreams", "disbursement.sql")
GAS = 200_000
# Most payments looked after in one step.
AT_ONCE = 100
# How long a payment stays pending, so that an operator can still stop it.
REVIEW = timedelta(seconds=5)
# Blocks a payment may wait for inclusion, and more that a node may need to index it.
PATIENCE_BLOCKS = 30
INDEXING_BLOCKS = 2
# How long a transaction an operator named may stay unseen.
OPERATOR_PATIENCE = timedelta(minutes=10)
_HASH = re.compile(r"[0-9A-F]{64}")
_log = logging.get("disbursement")


@dataclass(slots=True)
class Disbursements:
    """The queue of payments; `wallet` pays them, without one an operator does and names the transactions."""

    database: Database
    clock: Clock
    chain: ChainAccess
    chain_id: str
    base_denom: str
    gas_price: Decimal
    wallet: Wallet | None = None

    async def step(self) -> bool:
        """See to the payments under way, then begin the oldest that waits; whether more may be done at once."""
        under_way = await self.database.fetch(QUERIES.oldest, "submitted", AT_ONCE)
        ended = [await self._look_after(row) for row in under_way]
        # Our own payments go one by one, so that the account's sequence is never guessed.
        if self.wallet is None or any(row["tx"] and not over for row, over in zip(under_way, ended, strict=True)):
            return any(ended)
        for waiting in await self.database.fetch(QUERIES.due, self._now() - REVIEW):
            await self._submit(waiting)
        return any(ended)

    # What the operator does.

    async def submit(self, payout: int, digest: str) -> asyncpg.Record:
        """Note the transaction with which a pending payout was paid by hand."""
        digest = digest.upper()
        if not _HASH.fullmatch(digest):
            raise InvalidInput("a transaction hash is 64 hexadecimal digits", field="tx_hash")

        async def change(session: Session) -> asyncpg.Record:
            await self._payout(session, payout, "pending")
            if await session.fetchval(QUERIES.is_claimed, digest, payout):
                raise Conflict("another payout names this transaction")
            row = await session.fetchrow(QUERIES.submit, payout, None, digest, None, self._now())
            assert row is not None, "a locked pending row can be submitted"
            return row

        return await self.database.writing(change)

    async def give_up(self, payout: int, reason: str) -> asyncpg.Record:
        """Fail a payout that is still pending; its rewards become pending again."""

        async def change(session: Session) -> asyncpg.Record:
            await self._payout(session, payout, "pending")
            return await self._finish(session, payout, "failed", reason)

        return await self.database.writing(change)

    async def _payout(self, session: Session, payout: int, wanted: str) -> asyncpg.Record:
        found = await session.fetchrow(QUERIES.lock_payout, payout)
        if found is None:
            raise NotFound("payout not found")
        if found["status"] != wanted:
            raise Conflict(f"payout is {found['status']}")
        return found

    # What happens by itself.

    async def _submit(self, row: Any) -> None:
        assert self.wallet is not None
        account = await self.chain.account(self.wallet.address)
        if account is None:
            raise NotReady(f"the paying account {self.wallet.address} does not exist on the chain")
        limit = await self.chain.head() + PATIENCE_BLOCKS
        message = self.chain.types.new(
            "cosmos.bank.v1beta1.MsgSend",
            from_address=self.wallet.address,
            to_address=row["recipient"],
            amount=[{"denom": row["denom"], "amount": str(int(row["amount"]))}],
        )
        raw = self.wallet.sign_direct(
            [message],
            fee={self.base_denom: ceil(GAS * self.gas_price)},
            gas=GAS,
            sequence=account.sequence,
            account_number=account.number,
            chain_id=self.chain_id,
            memo=f"{row['purpose']} {row['id']}",
            timeout_height=limit,
        )
        noted = await self.database.writing(
            lambda session: session.fetchrow(QUERIES.submit, row["id"], raw, tx_hash(raw), limit, self._now())
        )
        if noted is not None:
            await self._send(noted)

    async def _send(self, row: Any) -> None:
        code, log = await self.chain.broadcast(row["tx"])
        if code:
            _log.warning("a payment was not taken yet", id=row["id"], code=code, log=log)

    async def _look_after(self, row: Any) -> bool:
        found = await self.chain.tx(row["tx_hash"])
        if found is not None:
            failure = self._fault(row, found)
            await self._end(row["id"], "failed" if failure else "confirmed", failure)
            return True
        if row["tx"] is None:
            if self._now() - row["submitted_at"] > OPERATOR_PATIENCE:
                await self._end(row["id"], "failed", "the transaction was not seen")
                return True
            return False
        if await self.chain.head() > row["timeout_height"] + INDEXING_BLOCKS:
            await self._end(row["id"], "failed", "not included in time")
            return True
        await self._send(row)
        return False

    def _fault(self, row: Any, found: FoundTx) -> str | None:
        """What is wrong with the transaction that should have paid."""
        if found.tx_result.code:
            return f"code {found.tx_result.code}: {found.tx_result.log}"[:500]
        if row["tx"] is not None:
            return None
        wanted = f"{int(row['amount'])}{row['denom']}"
        for moved in found.attributes("transfer"):
            if moved.get("recipient") == row["recipient"] and wanted in moved.get("amount", "").split(","):
                return None
        return "the transaction does not pay this amount to this wallet"

    async def _end(self, number: int, status: str, failure: str | None) -> None:
        await self.database.writing(lambda session: self._finish(session, number, status, failure))

    async def _finish(self, session: Session, number: int, status: str, failure: str | None) -> asyncpg.Record:
        row = await session.fetchrow(QUERIES.finish, number, status, failure, self._now())
        if row is None:
            # Ended already: the same step was repeated after a lost commit.
            known = await session.fetchrow(QUERIES.one, number)
            assert known is not None, "disbursements are never deleted"
            return known
        await session.execute(QUERIES.pay_rewards if status == "confirmed" else QUERIES.release_rewards, number)
        return row

    def _now(self) -> Any:
        return to_datetime(self.clock.now_ns())
