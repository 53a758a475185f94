"""Locales: the texts of the application by language."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from leasehold.app_api.app import App
from leasehold.app_api.display import alphabetical
from leasehold.core.errors import InvalidInput, NotFound
from leasehold.serving.routes import Cache, Registry, Request

_LANGUAGE = re.compile(r"[A-Za-z0-9-]{1,5}")


class LanguageParams(msgspec.Struct, frozen=True):
    lang: str


def declare(api: Registry, app: App) -> None:
    """The route of locales."""

    @api.get(
        "/api/locales/{lang}",
        operation_id="get_locale",
        summary="Texts of a language",
        tags=("locales",),
        cache=Cache.live(30),
        errors=(400, 404),
    )
    async def locale(request: Request[LanguageParams, None]) -> dict[str, Any]:
        lang = request.params.lang
        if not _LANGUAGE.fullmatch(lang):
            raise InvalidInput("Invalid language code", field="lang")
        known = (app.cells.locales.get() or {}).get(lang)
        if known is None or not known.is_active:
            raise NotFound(f"Locale: {lang} not found")
        content: dict[str, Any] = alphabetical(known.content)
        return content
