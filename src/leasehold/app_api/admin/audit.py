"""The audit log: every change over the admin routes, noted in the transaction that makes it."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import uuid4

import msgspec

from leasehold.app_api.display import alphabetical
from leasehold.core.clock import Clock, from_datetime, rfc3339, to_datetime
from leasehold.storage import queries
from leasehold.storage.pool import Database, Session

STATEMENTS = queries.load("leasehold.app_api.admin", "queries.sql")
MOST = 100
Absent = msgspec.UnsetType
UNSET = msgspec.UNSET


class AuditEntry(msgspec.Struct, omit_defaults=True):
    """Something an operator did; members without a value are left out."""

    id: str
    timestamp: str
    action: str
    admin_user: str | None
    lang: str | Absent = UNSET
    key: str | Absent = UNSET
    resource: str | Absent = UNSET
    old_value: str | Absent = UNSET
    new_value: str | Absent = UNSET
    source: str | Absent = UNSET
    ai_model: str | Absent = UNSET
    reason: str | Absent = UNSET
    count: int | Absent = UNSET
    batch_id: str | Absent = UNSET
    metadata: Any = UNSET


class AuditLog:
    """Notes and reads; an entry's extra members stand in `details`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def note(
        self,
        session: Session,
        area: str,
        action: str,
        actor: str,
        *,
        lang: str | None = None,
        key: str | None = None,
        **details: Any,
    ) -> None:
        """Note a change within its transaction."""
        kept = {name: value for name, value in details.items() if value is not None}
        at = to_datetime(self._clock.now_ns())
        await session.execute(STATEMENTS.note, str(uuid4()), at, area, action, actor, lang, key, kept)

    async def shorten(self, session: Session, area: str, kept: int) -> None:
        """Forget all but the newest notes of an area, one that anybody can add to."""
        await session.execute(STATEMENTS.shorten, area, kept)

    async def newest(
        self, database: Database, area: str, *, lang: str | None = None, action: str | None = None, limit: int = MOST
    ) -> list[AuditEntry]:
        rows = await database.fetch(STATEMENTS.notes, area, lang, action, min(limit, MOST))
        return [entry(row) for row in rows]

    async def of_key(self, database: Database, lang: str, key: str) -> list[AuditEntry]:
        rows = await database.fetch(STATEMENTS.notes_of_key, lang, key, MOST)
        return [entry(row) for row in rows]


def entry(row: Any) -> AuditEntry:
    """A row of the log as it is shown."""
    fields = {name: row[name] for name in ("lang", "key") if row[name] is not None}
    known = {name: alphabetical(value) for name, value in row["entry"].items() if name in AuditEntry.__struct_fields__}
    return AuditEntry(row["id"], _instant(row["at"]), row["action"], row["actor"] or None, **fields, **known)


def _instant(at: datetime) -> str:
    return rfc3339(from_datetime(at))
