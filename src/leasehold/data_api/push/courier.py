"""Delivering what the outbox holds: after commit, to the owner's browsers, each message to each browser at most once.

A delivery is taken (committed as `sending`) before anything leaves. A clear refusal is tried again later; whatever may
have reached the push service is never repeated.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import aiohttp
import asyncpg
import msgspec
from cryptography.hazmat.primitives.asymmetric import ec

from leasehold.core import logging
from leasehold.core.background import background
from leasehold.core.clock import NANOSECONDS, Clock, to_datetime
from leasehold.core.errors import InvalidInput, LeaseholdError
from leasehold.data_api.index import Index
from leasehold.data_api.push.endpoints import Guard
from leasehold.data_api.push.sealing import BrowserKeys, seal
from leasehold.data_api.push.vapid import Vapid
from leasehold.storage.queries import load

sql = load("leasehold.data_api", "push/push.sql")
FRESH = timedelta(minutes=10)
LIFETIME = timedelta(hours=24)
TTL_SECONDS = 86_400
BATCH = 100
BACK_OFF_SECONDS = (5, 30, 120, 600, 1800, 3600)
GONE = frozenset({404, 410})
_log = logging.get("push")


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an attempt ended: sent, gone, refused, uncertain or later."""

    name: str
    after_seconds: int = 0


class Courier:
    """Reads the outbox and sends; several may run at once."""

    def __init__(
        self,
        index: Index,
        session: aiohttp.ClientSession,
        vapid: Vapid,
        clock: Clock,
        guard: Guard,
        *,
        poll: float = 2.0,
        seconds: float = 10.0,
        random_bytes: Callable[[int], bytes] = secrets.token_bytes,
    ) -> None:
        self._index = index
        self._session = session
        self._vapid = vapid
        self._clock = clock
        self._guard = guard
        self._poll = poll
        self._timeout = aiohttp.ClientTimeout(total=seconds, connect=seconds / 2)
        self._random_bytes = random_bytes

    async def round(self) -> int:
        """Spread new messages, then send what is due; returns how many deliveries were attempted."""
        now = to_datetime(self._clock.now_ns())

        async def spread(session: Any) -> int:
            await session.execute(sql.abandon, now - timedelta(minutes=5))
            found = await session.fetchval(sql.spread, BATCH, now - FRESH, LIFETIME)
            return int(found or 0)

        async def take(session: Any) -> list[asyncpg.Record]:
            rows: list[asyncpg.Record] = await session.fetch(sql.take, now, BATCH)
            return rows

        while await self._index.writing(spread) == BATCH:
            continue
        taken = await self._index.writing(take)
        async with asyncio.TaskGroup() as group:
            for row in taken:
                group.create_task(self._deliver(row))
        return len(taken)

    async def run(self) -> None:
        """Deliver for ever."""
        while True:
            try:
                attempted = await self.round()
            except (LeaseholdError, asyncpg.PostgresError) as error:
                _log.warning("outbox not read", error=str(error))
                attempted = 0
            if not attempted:
                await asyncio.sleep(self._poll)

    def running(self) -> AbstractAsyncContextManager[None]:
        """Deliver in the background for as long as the context lasts."""
        return background(self.run(), name="push")

    async def _deliver(self, row: asyncpg.Record) -> None:
        key = (row["message"], row["subscription"])
        now = to_datetime(self._clock.now_ns())
        if not row["active"] or row["expires_at"] <= now:
            await self._write(sql.settle, *key, "expired")
            return
        outcome = await self._send(row)
        if outcome.name == "later":
            pause = max(outcome.after_seconds, BACK_OFF_SECONDS[min(row["attempts"], len(BACK_OFF_SECONDS)) - 1])
            await self._write(sql.postpone, *key, now + timedelta(seconds=pause))
            return
        if outcome.name == "gone":
            await self._write(sql.drop_endpoint, row["endpoint"])
        await self._write(sql.settle, *key, "refused" if outcome.name == "gone" else outcome.name)

    async def _send(self, row: asyncpg.Record) -> Outcome:
        endpoint = row["endpoint"]
        try:
            self._guard.check(endpoint)
            keys = BrowserKeys.of(row["p256dh"], row["auth"])
            fresh_key = ec.generate_private_key(ec.SECP256R1())
            body = seal(msgspec.json.encode(row["payload"]), keys, private=fresh_key, salt=self._random_bytes(16))
        except InvalidInput:
            return Outcome("refused")
        headers = {
            "Authorization": self._vapid.authorization(endpoint, self._clock.now_ns() // NANOSECONDS),
            "Content-Encoding": "aes128gcm",
            "Content-Type": "application/octet-stream",
            "TTL": str(TTL_SECONDS),
            "Urgency": "high",
            # A push service that still holds the message replaces it instead of showing it twice.
            "Topic": f"leasehold-{row['message']}"[:32],
        }
        try:
            async with self._session.post(
                endpoint, data=body, headers=headers, timeout=self._timeout, allow_redirects=False
            ) as response:
                return _judged(response.status, response.headers.get("retry-after", ""))
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError):
            return Outcome("later")
        except (aiohttp.ClientError, TimeoutError):
            return Outcome("uncertain")

    async def _write(self, statement: str, *arguments: Any) -> None:
        await self._index.writing(lambda session: session.execute(statement, *arguments))


def _judged(status: int, retry_after: str) -> Outcome:
    if 200 <= status < 300:
        return Outcome("sent")
    if status in GONE:
        return Outcome("gone")
    if status == 429 or status >= 500:
        return Outcome("later", min(int(retry_after), 3600) if retry_after.isdigit() else 0)
    return Outcome("refused")
