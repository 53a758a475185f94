"""Keys of operators in the database: made, listed, replaced and revoked while the service runs.

A key is told once, when it is made; only its hash is stored. Keys of the setting `app_api.admin_keys` are good too.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from leasehold.app_api.admin.audit import STATEMENTS, AuditLog
from leasehold.app_api.admin.keys import Keyring, checked_name, hashed
from leasehold.core.clock import Clock, to_datetime
from leasehold.core.errors import ConfigurationError
from leasehold.storage.pool import Database, Session

AREA = "access"
FRESH_SECONDS = 2.0
_KEY_BYTES = 32
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class HeldKey:
    """A key as it is listed: never the key, nor its hash."""

    name: str
    created_at: datetime
    ends_at: datetime | None

    def good(self, now: datetime) -> bool:
        return self.ends_at is None or self.ends_at > now


class KeyStore:
    """The keys of a database; `actor` is who changes them, for the audit log."""

    def __init__(self, database: Database, clock: Clock, actor: str) -> None:
        self._database = database
        self._clock = clock
        self._audit = AuditLog(clock)
        self._actor = actor

    def now(self) -> datetime:
        return to_datetime(self._clock.now_ns())

    async def listed(self) -> list[HeldKey]:
        rows = await self._database.fetch(STATEMENTS.all_keys)
        return [HeldKey(row["name"], row["created_at"], row["ends_at"]) for row in rows]

    async def create(self, name: str) -> str:
        """A new key under a name that has none."""

        async def work(session: Session) -> str:
            if await self._count(session, name):
                raise ConfigurationError(f"there is a key {name} already", hint="rotate it, or choose another name")
            return await self._add(session, name, "create_key")

        return await self._changed(name, work)

    async def rotate(self, name: str, overlap: timedelta) -> str:
        """A new key under a name; those it had end after the overlap."""

        async def work(session: Session) -> str:
            await self._end(session, name, self.now() + overlap)
            return await self._add(session, name, "rotate_key")

        return await self._changed(name, work)

    async def revoke(self, name: str) -> None:
        """End the keys of a name now."""

        async def work(session: Session) -> None:
            await self._end(session, name, self.now())
            await self._audit.note(session, AREA, "revoke_key", self._actor, key=name)

        await self._changed(name, work)

    async def _changed(self, name: str, work: Callable[[Session], Awaitable[T]]) -> T:
        checked_name(name)

        async def locked(session: Session) -> T:
            await session.execute(STATEMENTS.lock_keys)
            return await work(session)

        return await self._database.writing(locked)

    async def _count(self, session: Session, name: str) -> int:
        found: int = await session.fetchval(STATEMENTS.count_keys, name, self.now())
        return found

    async def _add(self, session: Session, name: str, action: str) -> str:
        key = secrets.token_urlsafe(_KEY_BYTES)
        await session.execute(STATEMENTS.add_key, name, hashed(name, key).text(), self.now())
        await self._audit.note(session, AREA, action, self._actor, key=name)
        return key

    async def _end(self, session: Session, name: str, at: datetime) -> None:
        if not await self._count(session, name):
            raise ConfigurationError(f"there is no key {name} in the database", hint="see `leasehold admin key list`")
        await session.execute(STATEMENTS.end_keys, name, self.now(), at)


class Keys:
    """The keys that are good now: those of the settings and, looked at every other second, those of the database."""

    def __init__(self, configured: tuple[str, ...], database: Callable[[], Database | None], clock: Clock) -> None:
        self._configured = configured
        self._database = database
        self._clock = clock
        self._entries = configured
        self._ring = Keyring(configured)
        self._looked = float("-inf")

    async def current(self) -> Keyring:
        """The keyring; a key revoked elsewhere opens nothing any more two seconds later."""
        database = self._database()
        if database is not None and self._clock.monotonic() - self._looked >= FRESH_SECONDS:
            rows = await database.fetch(STATEMENTS.good_keys, to_datetime(self._clock.now_ns()))
            self._looked = self._clock.monotonic()
            entries = (*self._configured, *(row["hash"] for row in rows))
            if entries != self._entries:
                self._ring, self._entries = Keyring(entries), entries
        return self._ring
