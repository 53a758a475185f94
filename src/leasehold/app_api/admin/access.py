"""Keys and refusals over the admin routes: which keys there are, and who was turned away."""

from __future__ import annotations

from typing import Annotated

import msgspec

from leasehold.app_api.admin.audit import MOST, AuditEntry, AuditLog
from leasehold.app_api.admin.gate import AdminRoutes
from leasehold.app_api.admin.keystore import AREA, KeyStore
from leasehold.app_api.app import App
from leasehold.core.clock import from_datetime, rfc3339
from leasehold.serving.routes import PlainRequest, Request
from leasehold.storage.pool import Session

MOST_REFUSALS = 1000


class LimitParams(msgspec.Struct, frozen=True):
    limit: Annotated[int, msgspec.Meta(ge=1)] = MOST


class KeyInfo(msgspec.Struct):
    """A key of the database by its name; `ends_at` is null while nobody has ended it."""

    name: str
    created_at: str
    ends_at: str | None
    good: bool


async def note_refusal(app: App, audit: AuditLog, client: str, path: str) -> None:
    """Note a wrong key; the log of them can't be made to grow."""
    if app.database is None:
        return

    async def work(session: Session) -> None:
        about = {"client": client, "path": path[:200]}
        await audit.note(session, AREA, "refused_key", "", metadata=about)
        await audit.shorten(session, AREA, MOST_REFUSALS)

    await app.storage.writing(work)


def declare(admin: AdminRoutes, app: App, audit: AuditLog) -> None:
    """The routes of access."""

    @admin("GET", "/access/keys", "Keys of the database, never what opens them")
    async def keys(request: PlainRequest) -> list[KeyInfo]:
        store = KeyStore(app.storage, app.clock, "")
        now = store.now()
        return [
            KeyInfo(
                one.name,
                rfc3339(from_datetime(one.created_at)),
                None if one.ends_at is None else rfc3339(from_datetime(one.ends_at)),
                one.good(now),
            )
            for one in await store.listed()
        ]

    @admin("GET", "/access/audit", "Keys made, replaced and revoked, and keys refused, newest first")
    async def changes(request: Request[LimitParams, None]) -> list[AuditEntry]:
        return await audit.newest(app.storage, AREA, limit=request.params.limit)
