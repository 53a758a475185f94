"""Languages, their texts, and proposed translations that somebody has to look at before they are shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

import msgspec

from leasehold.app_api.admin import texts
from leasehold.app_api.admin.audit import STATEMENTS, AuditLog
from leasehold.app_api.admin.translation_types import (
    Language,
    MissingKey,
    MissingTexts,
    PendingTranslation,
    Synced,
    SyncedLanguage,
)
from leasehold.app_api.app import App
from leasehold.core.clock import parse_rfc3339, rfc3339, to_datetime
from leasehold.core.errors import InvalidInput, NotFound
from leasehold.storage.pool import Session

AREA = "translations"


class Translations:
    """Reads and changes; every change is one transaction with its note."""

    def __init__(self, app: App, audit: AuditLog) -> None:
        self._app = app
        self._audit = audit

    def _now(self) -> str:
        return rfc3339(self._app.clock.now_ns())

    async def source(self) -> tuple[str, dict[str, str]]:
        """Key of the source language, and its texts."""
        for row in await self._app.storage.fetch(STATEMENTS.locales):
            if row["is_source"]:
                return row["lang"], texts.flattened(row["content"])
        raise NotFound("there is no source language")

    async def content(self, lang: str) -> Any:
        row = await self._app.storage.fetchrow(STATEMENTS.locale, lang)
        if row is None:
            raise NotFound(f"Locale: {lang} not found")
        return row["content"]

    async def missing(self, lang: str | None) -> list[MissingTexts]:
        """What the source says and a language does not; of every active language where none is given."""
        _, source = await self.source()
        rows = [row for row in await self._app.storage.fetch(STATEMENTS.locales) if not row["is_source"]]
        chosen = [row for row in rows if (row["is_active"] if lang is None else row["lang"] == lang)]
        if lang is not None and not chosen:
            raise NotFound(f"Locale: {lang} not found")
        found = []
        for row in chosen:
            known = texts.flattened(row["content"])
            keys = [MissingKey(key, text, texts.placeholders(text)) for key, text in source.items() if key not in known]
            found.append(MissingTexts(row["lang"], keys, len(source), len(known)))
        return found

    async def languages(self) -> list[Language]:
        """Active languages, the source first."""
        _, source = await self.source()
        waiting = await self._waiting()
        found = []
        for row in await self._app.storage.fetch(STATEMENTS.locales):
            if not row["is_active"]:
                continue
            known = texts.flattened(row["content"])
            absent = sum(key not in known for key in source)
            found.append(
                Language(
                    row["lang"],
                    row["label"],
                    row["is_source"],
                    row["is_active"],
                    len(known),
                    absent,
                    waiting.get(row["lang"], 0),
                    absent == 0,
                )
            )
        return found

    async def sync(self) -> Synced:
        """How far every active language has got; nothing is changed."""
        _, source = await self.source()
        waiting = await self._waiting()
        languages = [
            SyncedLanguage(one.lang, one.total_target_keys, len(one.missing_keys), waiting.get(one.lang, 0))
            for one in await self.missing(None)
        ]
        return Synced(self._now(), len(source), languages)

    async def pending(
        self, lang: str | None = None, status: str | None = None, batch: str | None = None
    ) -> list[PendingTranslation]:
        rows = await self._app.storage.fetch(STATEMENTS.pending, lang, status, batch)
        return [msgspec.convert(row["entry"], PendingTranslation) for row in rows]

    async def propose(self, proposals: Sequence[PendingTranslation]) -> None:
        """Store proposed texts."""

        async def work(session: Session) -> None:
            for one in proposals:
                await self._put(session, one)

        await self._app.storage.writing(work)

    async def one(self, key: str) -> PendingTranslation:
        found = next((one for one in await self.pending() if one.id == key), None)
        if found is None:
            raise NotFound(f"Pending translation: {key} not found")
        return found

    async def approve(self, key: str, actor: str) -> None:
        """Make a proposed text a text; one that lacks a placeholder is refused."""

        async def work(session: Session) -> None:
            found = await self._locked(session, key)
            lacking = texts.missing(found.source_value, found.proposed_value)
            if lacking:
                raise InvalidInput(
                    f"Translation has invalid placeholders. Missing: {_listed(lacking)}", field="proposed_value"
                )
            await self._apply(session, found, found.proposed_value)
            await self._audit.note(
                session,
                AREA,
                "approve",
                actor,
                lang=found.target_lang,
                key=found.source_key,
                new_value=found.proposed_value,
                source=found.source or None,
                ai_model=found.ai_model or None,
            )

        await self._app.storage.writing(work)

    async def approve_all(self, keys: list[str] | None, actor: str) -> int:
        """Approve the proposed texts of these ids, or every one that waits; those that can't be are kept."""

        async def work(session: Session) -> int:
            rows = await session.fetch(STATEMENTS.pending, None, "pending", None)
            waiting = [msgspec.convert(row["entry"], PendingTranslation) for row in rows]
            good = [
                one
                for one in waiting
                if (keys is None or one.id in keys) and not texts.missing(one.source_value, one.proposed_value)
            ]
            for one in good:
                await self._apply(session, one, one.proposed_value)
            for lang in dict.fromkeys(one.target_lang for one in good):
                count = sum(one.target_lang == lang for one in good)
                await self._audit.note(session, AREA, "bulk_approve", actor, lang=lang, count=count)
            return len(good)

        return await self._app.storage.writing(work)

    async def edit(self, key: str, value: str, actor: str) -> None:
        """Make another text than the proposed one the text."""

        async def work(session: Session) -> None:
            found = await self._locked(session, key)
            lacking = texts.missing(found.source_value, value)
            if lacking:
                raise InvalidInput(
                    f"Edited translation has invalid placeholders. Missing: {_listed(lacking)}", field="value"
                )
            await self._apply(session, found, value)
            await self._audit.note(
                session,
                AREA,
                "edit",
                actor,
                lang=found.target_lang,
                key=found.source_key,
                old_value=found.proposed_value,
                new_value=value,
                source="manual_edit",
            )

        await self._app.storage.writing(work)

    async def reject(self, key: str, reason: str, actor: str) -> None:
        """Turn a proposed text down; it stays, with the reason."""

        async def work(session: Session) -> None:
            found = await self._locked(session, key)
            turned = msgspec.structs.replace(
                found, status="rejected", reviewed_at=self._now(), reviewed_by=actor, rejection_reason=reason
            )
            await self._put(session, turned)
            await self._audit.note(
                session, AREA, "reject", actor, lang=found.target_lang, key=found.source_key, reason=reason
            )

        await self._app.storage.writing(work)

    async def set_text(self, lang: str, key: str, value: str, actor: str) -> None:
        """Set a text of a language; it keeps the source's placeholders, and the source must have it."""
        source_lang, source = await self.source()
        if lang != source_lang and key not in source:
            raise InvalidInput(f"the source language has no text {texts.checked_key(key)}", field="key")
        lacking = texts.missing(source.get(key, ""), value) if lang != source_lang else []
        if lacking:
            raise InvalidInput(f"Translation has invalid placeholders. Missing: {_listed(lacking)}", field="value")

        async def work(session: Session) -> None:
            before = await self._write(session, lang, key, value)
            await self._audit.note(
                session,
                AREA,
                "edit",
                actor,
                lang=lang,
                key=key,
                old_value=before,
                new_value=value,
                source="manual_edit",
            )

        await self._app.storage.writing(work)

    async def add_language(self, lang: str, label: str, copy_from: str | None, actor: str) -> None:
        """Add an active language, with the texts of another or with none."""
        content = await self.content(copy_from or (await self.source())[0])

        async def work(session: Session) -> None:
            await session.execute(STATEMENTS.touch)
            if await session.fetchrow(STATEMENTS.locale, lang) is not None:
                raise InvalidInput(f"Language '{lang}' already exists", field="key")
            await session.execute(STATEMENTS.add_locale, lang, label, content if copy_from else texts.emptied(content))
            about = {"label": label, "copied_from": copy_from}
            await self._audit.note(session, AREA, "add_language", actor, lang=lang, metadata=about)

        await self._app.storage.writing(work)

    async def note_batch(self, lang: str, batch: str, count: int, model: str, actor: str) -> None:
        async def work(session: Session) -> None:
            await self._audit.note(
                session, AREA, "generate", actor, lang=lang, batch_id=batch, count=count, ai_model=model
            )

        await self._app.storage.writing(work)

    def proposal(self, lang: str, key: str, source: str, value: str, batch: str, model: str) -> PendingTranslation:
        """A machine's translation, not yet looked at."""
        valid = not texts.missing(source, value)
        found = PendingTranslation(
            str(uuid4()), self._now(), key, source, lang, value, texts.placeholders(source), valid, "pending"
        )
        return msgspec.structs.replace(found, source="ai_generated", ai_model=model, batch_id=batch)

    async def _waiting(self) -> dict[str, int]:
        rows = await self._app.storage.fetch(STATEMENTS.waiting)
        return {row["target_lang"]: row["waiting"] for row in rows}

    async def _locked(self, session: Session, key: str) -> PendingTranslation:
        row = await session.fetchrow(STATEMENTS.pending_one, key)
        if row is None:
            raise NotFound(f"Pending translation: {key} not found")
        return msgspec.convert(row["entry"], PendingTranslation)

    async def _apply(self, session: Session, found: PendingTranslation, value: str) -> None:
        await self._write(session, found.target_lang, found.source_key, value)
        await session.execute(STATEMENTS.drop_pending, found.id)

    async def _write(self, session: Session, lang: str, key: str, value: str) -> str | None:
        """Set a text; returns the one before."""
        await session.execute(STATEMENTS.touch)
        row = await session.fetchrow(STATEMENTS.locale, lang)
        if row is None:
            raise NotFound(f"Locale: {lang} not found")
        await session.execute(STATEMENTS.put_texts, lang, texts.with_text(row["content"], key, value))
        return texts.flattened(row["content"]).get(key)

    async def _put(self, session: Session, one: PendingTranslation) -> None:
        created = to_datetime(parse_rfc3339(one.created_at))
        batch = one.batch_id or None
        await session.execute(
            STATEMENTS.put_pending,
            one.id,
            created,
            one.target_lang,
            one.source_key,
            one.status,
            batch,
            msgspec.to_builtins(one),
        )


def _listed(names: list[str]) -> str:
    return msgspec.json.encode(names).decode().replace(",", ", ")
