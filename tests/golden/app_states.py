"""The state that a recorded admin request was made in, rebuilt from what its answer shows.

The recordings of admins are sessions: what a request shows depends on what was changed before, and that may not be in
the set at hand, or be done otherwise here (D37, D38). A request is asked in the state that the session has led to; only
where its answer differs is the state rebuilt that the recorded answer shows, and the request asked once more.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

from leasehold.app_api.admin import texts
from leasehold.app_api.admin.audit import STATEMENTS, AuditLog
from leasehold.app_api.admin.translation_types import PendingTranslation
from leasehold.app_api.admin.translations import AREA, Translations
from leasehold.app_api.app import App
from leasehold.app_api.gating import documents
from leasehold.app_api.gating.store import GatedStore, Locale
from leasehold.core.clock import parse_rfc3339, to_datetime

_TABLES = ("documents", "locales", "pending_translations", "audit")
_STATUSES = ("pending", "approved", "rejected", "edited")
Held = dict[str, Any]
Step = Callable[..., Awaitable[None]]


class States:
    """What the admin routes read and change, kept, put back and rebuilt."""

    def __init__(self, app: App, world: dict[str, Any]) -> None:
        self._app, self._world = app, world
        self._gated = GatedStore(app.storage)
        self._translations = Translations(app, AuditLog(app.clock))

    async def begin(self) -> None:
        """The recorded proposals and the recorded notes, which no import takes over."""
        files = self._world["locale_files"]
        await self._put_pending(files["pending.json"]["translations"])
        await self._put_notes(files["audit.json"]["entries"])

    async def held(self) -> Held:
        """Everything as it is."""
        storage = self._app.storage
        return {name: await storage.fetchval(f"SELECT json_agg(t) FROM app_api.{name} AS t") for name in _TABLES}

    async def put_back(self, held: Held) -> None:
        """Everything as it was."""
        for name, rows in held.items():
            await self._execute(f"DELETE FROM app_api.{name}")
            await self._execute(
                f"INSERT INTO app_api.{name} OVERRIDING SYSTEM VALUE "
                f"SELECT * FROM json_populate_recordset(NULL::app_api.{name}, $1)",
                rows or [],
            )
        await self._changed()

    async def rebuild(self, case: dict[str, Any], held: Held) -> bool:
        """Make the state that a case shows out of the one it was asked in; False for a case that shows none."""
        request, response = case["request"], case["response"]
        parts = urlsplit(request["path"])
        asked = f"{request['method']} {parts.path}"
        for pattern, step in self._steps():
            match = re.fullmatch(pattern, asked)
            if match is not None:
                await self.put_back(held)
                told = {**response, "asked": request["body"]}
                await step(told, *map(unquote, match.groups()), **dict(parse_qsl(parts.query)))
                await self._changed()
                return True
        return False

    def _steps(self) -> Iterable[tuple[str, Step]]:
        gated, text = "/api/admin/gated/", "/api/admin/translations/"
        entry, pending = r"(currency-display|network-config)/([^/]+)", f"{text}pending"
        yield f"GET {gated}({'|'.join(documents.NAMES)})", self._document
        yield f"GET {gated}(?:currencies|protocols|networks|unconfigured)", self._first_documents
        yield f"DELETE {gated}{entry}", self._entry
        yield f"(POST|DELETE) {gated}ui-settings/hidden-proposals/([^/]+)", self._hidden
        yield f"GET {pending}", self._listed
        yield f"GET {pending}/([^/]+)", self._one
        yield f"POST {pending}/([^/]+)/(?:approve|edit|reject)", self._waiting
        yield f"POST {pending}/approve-batch", self._batch
        yield f"GET {text}active", self._texts
        yield f"GET {text}(?:languages|missing)", self._languages
        yield f"POST {text}sync", self._languages
        yield f"POST {text}languages", self._new_language
        yield f"GET {text}(?:audit|key-history/.*)", self._notes

    async def _document(self, response: Any, name: str) -> None:
        await self._gated.put(name, response["body"])

    async def _first_documents(self, response: Any) -> None:
        for name in documents.NAMES:
            await self._gated.put(name, self._world["gated_files"][f"{name}.json"])

    async def _entry(self, response: Any, name: str, key: str) -> None:
        """An entry that can be deleted, or that is not there."""
        _, stored = await self._gated.contents()
        held = {other: value for other, value in stored[name].items() if other != key}
        if response["status"] == 200:
            held[key] = next(iter(self._world["gated_files"][f"{name}.json"].values()))
        await self._gated.put(name, held)

    async def _hidden(self, response: Any, method: str, number: str) -> None:
        """The list before a proposal was hidden or shown."""
        _, stored = await self._gated.contents()
        shown = response["body"].get("hidden_proposals")
        if shown is None:
            shown = [one for one in stored[documents.UI_SETTINGS].get("hidden_proposals", []) if one != number]
        elif method == "DELETE":
            shown = [*shown, number]
        elif shown[-1] == number:
            shown = shown[:-1]
        await self._gated.put(documents.UI_SETTINGS, {**stored[documents.UI_SETTINGS], "hidden_proposals": shown})

    async def _listed(self, response: Any, lang: str = "", status: str = "", batch_id: str = "") -> None:
        wanted = status if status in _STATUSES else None
        for one in await self._translations.pending(lang or None, wanted, batch_id or None):
            await self._drop_pending(one.id)
        await self._put_pending(response["body"])

    async def _one(self, response: Any, key: str) -> None:
        await self._drop_pending(key)
        if response["status"] == 200:
            await self._put_pending([response["body"]])

    async def _waiting(self, response: Any, key: str) -> None:
        await self._drop_pending(key)
        if response["status"] == 404:
            return
        known = self._world["locale_files"]["pending.json"]["translations"]
        # One that lacks a placeholder where that is what was said about it.
        fitting = [one for one in known if one["placeholders_valid"] == (response["status"] == 200)]
        found = next((one for one in known if one["id"] == key), (fitting or known)[0])
        await self._put_pending([{**found, "id": key, "status": "pending"}])

    async def _batch(self, response: Any) -> None:
        """As many of the named proposals as were approved."""
        known = {one["id"]: one for one in self._world["locale_files"]["pending.json"]["translations"]}
        good = [key for key in response["asked"]["ids"] if known.get(key, {}).get("placeholders_valid")]
        await self._put_pending([known[key] for key in good[: response["body"]["approved_count"]]])

    async def _texts(self, response: Any, lang: str = "") -> None:
        if response["status"] == 200:
            await self._put_locale(lang, content=response["body"])
        elif response["status"] == 404:
            await self._execute("DELETE FROM app_api.locales WHERE lang = $1", lang)

    async def _new_language(self, response: Any) -> None:
        if response["status"] == 200:
            await self._execute("DELETE FROM app_api.locales WHERE lang = $1", response["body"]["key"])
        else:
            await self._put_locale(re.findall(r"'(.*)'", response["body"]["error"]["message"])[0])

    async def _languages(self, response: Any, lang: str = "") -> None:
        """As many texts and proposals as are counted."""
        source, known = await self._translations.source()
        body = response["body"]
        listed = {
            one.get("lang", one.get("key")): one for one in (body if isinstance(body, list) else body["languages"])
        }
        for other in await self._gated.locales():
            if not lang and other not in (source, *listed):
                await self._execute("UPDATE app_api.locales SET is_active = false WHERE lang = $1", other)
        for key, one in listed.items():
            if key == source:
                continue
            lacking = one.get("missing_keys", one.get("missing_count"))
            absent = (
                [text["key"] for text in lacking] if isinstance(lacking, list) else [*known][-lacking or len(known) :]
            )
            held = {name: text for name, text in known.items() if name not in absent}
            total = one.get("key_count", one.get("total_keys", one.get("total_target_keys")))
            held |= {f"more.number-{number}": "" for number in range(total - len(held))}
            content: dict[str, Any] = {}
            for name, text in held.items():
                content = texts.with_text(content, name, text)
            await self._put_locale(key, label=one.get("label"), content=content)
            waiting = one.get("pending_count", one.get("pending_keys"))
            if waiting is not None:
                await self._execute("DELETE FROM app_api.pending_translations WHERE target_lang = $1", key)
                some = self._world["locale_files"]["pending.json"]["translations"][0]
                await self._put_pending([{**some, "id": f"{key}-{n}", "target_lang": key} for n in range(waiting)])

    async def _notes(self, response: Any, **_: str) -> None:
        await self._execute("DELETE FROM app_api.audit WHERE area = $1", AREA)
        await self._put_notes(response["body"])

    async def _put_pending(self, entries: list[dict[str, Any]]) -> None:
        await self._translations.propose(msgspec.convert(entries, list[PendingTranslation]))

    async def _put_notes(self, entries: list[dict[str, Any]]) -> None:
        for one in reversed(entries):
            at = to_datetime(parse_rfc3339(one["timestamp"]))
            known = ("id", "timestamp", "action", "admin_user", "lang", "key")
            more = {name: value for name, value in one.items() if name not in known and value is not None}
            note = (one["id"], at, AREA, one["action"], "", one.get("lang"), one.get("key"), more)
            await self._execute(STATEMENTS.note, *note)

    async def _drop_pending(self, key: str) -> None:
        await self._execute(STATEMENTS.drop_pending, key)

    async def _put_locale(self, lang: str, *, label: str | None = None, content: Any = None) -> None:
        held = (await self._gated.locales()).get(lang)
        if held is None:
            held = Locale(lang, lang, is_source=False, is_active=True, content={})
        kept = held.content if content is None else content
        await self._gated.put_locale(Locale(lang, label or held.label, held.is_source, held.is_active, kept))

    async def _execute(self, statement: str, *arguments: Any) -> None:
        await self._app.storage.writing(lambda session: session.execute(statement, *arguments))

    async def _changed(self) -> None:
        """Wait until the service has read what was changed behind its back."""
        await self._execute(STATEMENTS.touch)
        version = await self._gated.version()
        self._app.refreshers["gated_config"].wake.set()
        async with asyncio.timeout(60):
            while self._app.cells.gated.value.version < version:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.01)
