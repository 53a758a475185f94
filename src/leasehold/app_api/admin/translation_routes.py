"""Admin routes of locales and translations."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import uuid4

import msgspec

from leasehold.app_api.admin.audit import MOST, AuditEntry, AuditLog
from leasehold.app_api.admin.gate import AdminRoutes, actor
from leasehold.app_api.admin.machine import MOST_KEYS, Machine
from leasehold.app_api.admin.translation_types import Language, MissingTexts, PendingTranslation, Synced
from leasehold.app_api.admin.translations import AREA, Translations
from leasehold.app_api.app import App
from leasehold.core.errors import InvalidInput
from leasehold.serving.routes import NoParams, PlainRequest, Request

_STATES = ("pending", "approved", "rejected", "edited")
_ACTIONS = ("approve", "reject", "edit", "bulk_approve", "add_language", "generate")
LanguageKey = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9-]{1,5}$")]
Label = Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
Text = Annotated[str, msgspec.Meta(max_length=10_000)]


class LangParams(msgspec.Struct, frozen=True):
    lang: str | None = None


class PendingParams(msgspec.Struct, frozen=True):
    lang: str | None = None
    status: str | None = None
    batch_id: str | None = None


class IdParams(msgspec.Struct, frozen=True):
    id: str


class TextParams(msgspec.Struct, frozen=True):
    lang: str
    key: str


class AuditParams(msgspec.Struct, frozen=True):
    lang: str | None = None
    action: str | None = None
    limit: int = MOST


class GenerateRequest(msgspec.Struct):
    lang: str
    keys: list[str] | None = None


class RejectRequest(msgspec.Struct):
    reason: Text


class ValueRequest(msgspec.Struct):
    value: Text


class BatchRequest(msgspec.Struct):
    ids: list[str] | None = None


class LanguageRequest(msgspec.Struct):
    key: LanguageKey
    label: Label
    copy_from: str | None = None


class Reviewed(msgspec.Struct):
    id: str
    status: str


class ApprovedBatch(msgspec.Struct):
    approved_count: int


class SetText(msgspec.Struct):
    key: str
    lang: str
    status: str


class AddedLanguage(msgspec.Struct):
    key: str
    label: str
    status: str


class Generated(msgspec.Struct):
    batch_id: str
    lang: str
    total_keys: int
    status: str


def declare(admin: AdminRoutes, app: App, audit: AuditLog) -> None:
    """The routes of translations."""
    held = Translations(app, audit)
    machine = Machine(app)
    base = "/translations"

    @admin("POST", f"{base}/sync", "How far every language has got")
    async def sync(request: PlainRequest) -> Synced:
        return await held.sync()

    @admin("GET", f"{base}/missing", "Texts that languages lack")
    async def missing(request: Request[LangParams, None]) -> list[MissingTexts]:
        return await held.missing(request.params.lang)

    @admin("GET", f"{base}/languages", "Active languages")
    async def languages(request: PlainRequest) -> list[Language]:
        return await held.languages()

    @admin("POST", f"{base}/languages", "Add a language")
    async def add_language(request: Request[NoParams, LanguageRequest]) -> AddedLanguage:
        asked = request.body
        await held.add_language(asked.key, asked.label, asked.copy_from, actor(request.raw))
        return AddedLanguage(asked.key, asked.label, "created")

    @admin("GET", f"{base}/active", "Texts of a language")
    async def active(request: Request[LangParams, None]) -> dict[str, Any]:
        if not request.params.lang:
            raise InvalidInput("lang query parameter is required", field="lang")
        content: dict[str, Any] = await held.content(request.params.lang)
        return content

    @admin("PUT", f"{base}/active/{{lang}}/{{key}}", "Set a text")
    async def set_text(request: Request[TextParams, ValueRequest]) -> SetText:
        lang, key = request.params.lang, request.params.key
        await held.set_text(lang, key, request.body.value, actor(request.raw))
        return SetText(key, lang, "updated")

    @admin("GET", f"{base}/audit", "Changes of texts, newest first")
    async def changes(request: Request[AuditParams, None]) -> list[AuditEntry]:
        asked = request.params
        action = asked.action if asked.action in _ACTIONS else None
        limit = min(max(asked.limit, 1), MOST)
        return await audit.newest(app.storage, AREA, lang=asked.lang, action=action, limit=limit)

    @admin("GET", f"{base}/key-history/{{lang}}/{{key}}", "Changes of a text, newest first")
    async def history(request: Request[TextParams, None]) -> list[AuditEntry]:
        return await audit.of_key(app.storage, request.params.lang, request.params.key)

    @admin("POST", f"{base}/generate", "Have texts translated by a machine", errors=(400, 401, 403, 404, 502, 503))
    async def generate(request: Request[NoParams, GenerateRequest]) -> Generated:
        machine.require()
        return await _generated(held, machine, request.body, actor(request.raw))

    _declare_pending(admin, held, base)


async def _generated(held: Translations, machine: Machine, asked: GenerateRequest, who: str) -> Generated:
    """Propose a machine's translations of what a language lacks."""
    (lacking,) = await held.missing(asked.lang)
    wanted = {one.key: one.source_value for one in lacking.missing_keys if asked.keys is None or one.key in asked.keys}
    wanted = dict(list(wanted.items())[:MOST_KEYS])
    if not wanted:
        return Generated("", asked.lang, 0, "no_keys_to_translate")
    label = next((one.label for one in await held.languages() if one.key == asked.lang), asked.lang)
    found = await machine.translated(wanted, label)
    batch = str(uuid4())
    proposals = [
        held.proposal(asked.lang, key, wanted[key], value, batch, machine.model) for key, value in found.items()
    ]
    await held.propose(proposals)
    await held.note_batch(asked.lang, batch, len(proposals), machine.model, who)
    return Generated(batch, asked.lang, len(proposals), "completed")


def _declare_pending(admin: AdminRoutes, held: Translations, base: str) -> None:
    """The routes of proposed texts."""

    @admin("GET", f"{base}/pending", "Proposed texts")
    async def pending(request: Request[PendingParams, None]) -> list[PendingTranslation]:
        asked = request.params
        status = asked.status if asked.status in _STATES else None
        return await held.pending(asked.lang, status, asked.batch_id)

    @admin("GET", f"{base}/pending/{{id}}", "One proposed text")
    async def one(request: Request[IdParams, None]) -> PendingTranslation:
        return await held.one(request.params.id)

    @admin("POST", f"{base}/pending/approve-batch", "Approve several")
    async def approve_batch(request: Request[NoParams, BatchRequest]) -> ApprovedBatch:
        return ApprovedBatch(await held.approve_all(request.body.ids, actor(request.raw)))

    @admin("POST", f"{base}/pending/{{id}}/approve", "Approve")
    async def approve(request: Request[IdParams, None]) -> Reviewed:
        await held.approve(request.params.id, actor(request.raw))
        return Reviewed(request.params.id, "approved")

    @admin("POST", f"{base}/pending/{{id}}/reject", "Turn down")
    async def reject(request: Request[IdParams, RejectRequest]) -> Reviewed:
        await held.reject(request.params.id, request.body.reason, actor(request.raw))
        return Reviewed(request.params.id, "rejected")

    @admin("POST", f"{base}/pending/{{id}}/edit", "Approve in other words")
    async def edit(request: Request[IdParams, ValueRequest]) -> Reviewed:
        await held.edit(request.params.id, request.body.value, actor(request.raw))
        return Reviewed(request.params.id, "edited_and_approved")
