"""Changes of the gated configuration: one at a time, checked, noted, and refused where somebody was faster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from leasehold.app_api.admin.audit import STATEMENTS, AuditLog
from leasehold.app_api.app import App
from leasehold.app_api.gating import documents
from leasehold.core.errors import Conflict, NotFound
from leasehold.storage.pool import Session

AREA = "gated"
# Shown even when it is empty, because clients walk through it.
_ALWAYS = frozenset(("downpayment_ranges",))


def rendered(value: Any) -> Any:
    """A typed document as it is stored and shown: defaults appear, empty and null members vanish."""
    if isinstance(value, msgspec.Struct):
        shown = {name: rendered(getattr(value, name)) for name in value.__struct_fields__}
        tag = {"chain_type": value.__struct_config__.tag} if value.__struct_config__.tag_field else {}
        return tag | {
            name: one
            for name, one in shown.items()
            if name in _ALWAYS or not (one is None or one == [] or (one == {} and _is_map(value, name)))
        }
    if isinstance(value, dict):
        return {name: rendered(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [rendered(one) for one in value]
    return value


def _is_map(value: msgspec.Struct, name: str) -> bool:
    return isinstance(getattr(value, name), dict)


class ConfigurationStore:
    """Documents with the version each is at."""

    def __init__(self, app: App, audit: AuditLog) -> None:
        self._app = app
        self._audit = audit

    async def read(self, name: str) -> tuple[int, Any]:
        """Version and typed content of a document."""
        row = await self._app.storage.fetchrow(STATEMENTS.document, name)
        if row is None:
            raise NotFound(f"Gated config: {name} not found")
        return row["version"], documents.checked(name, row["content"])

    async def change(
        self,
        name: str,
        edit: Callable[[Any], Any],
        *,
        actor: str,
        action: str = "update",
        expected: int | None = None,
        detail: str | None = None,
    ) -> tuple[int, Any]:
        """Apply an edit to a document's content; Conflict unless it is at version `expected`.

        The edit gets the stored JSON, None where there is no document yet, and returns the new one.
        """

        async def work(session: Session) -> tuple[int, Any]:
            await session.execute(STATEMENTS.touch)
            row = await session.fetchrow(STATEMENTS.document, name)
            current = row["version"] if row is not None else 0
            if expected is not None and expected != current:
                raise Conflict(f"{name} is at version {current}, not {expected}")
            typed = documents.checked(name, edit(row["content"] if row is not None else None))
            version: int = await session.fetchval(STATEMENTS.put_document, name, rendered(typed))
            resource = f"gated/{name}" + (f"/{detail}" if detail else "")
            await self._audit.note(session, AREA, action, actor, resource=resource, count=version)
            return version, typed

        found = await self._app.storage.writing(work)
        refresher = self._app.refreshers.get("gated_config")
        if refresher is not None:
            refresher.wake.set()
        return found
