"""Machine translation by any service that speaks the chat-completions form; 503 unless one is configured."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from leasehold.app_api.app import App
from leasehold.app_api.upstreams.transport import Manners, Transport
from leasehold.core.errors import NotReady

MANNERS = Manners(seconds=25.0, at_once=2)
MOST_KEYS = 200


class _Message(msgspec.Struct):
    content: str


class _Choice(msgspec.Struct):
    message: _Message


class _Completion(msgspec.Struct):
    choices: list[_Choice]


class _Translation(msgspec.Struct):
    key: str
    translation: str


class _Translations(msgspec.Struct):
    translations: list[_Translation]


class Machine:
    """A provider of translations."""

    def __init__(self, app: App) -> None:
        self._app = app

    @property
    def model(self) -> str:
        return self._app.settings.app_api.translation_model

    def require(self) -> None:
        """NotReady unless a provider is configured."""
        if not self._app.settings.app_api.translation_url:
            raise NotReady("Machine translation is not configured", hint="set app_api.translation_url")

    async def translated(self, source: Mapping[str, str], label: str) -> dict[str, str]:
        """Translations of texts by key; keys that the provider leaves out or makes up are absent."""
        self.require()
        settings = self._app.settings.app_api
        headers = {"authorization": f"Bearer {settings.translation_key}"} if settings.translation_key else {}
        transport = Transport(
            "Translation", settings.translation_url, self._app.upstreams.session, MANNERS, headers=headers
        )
        task = (
            f"Translate the texts of a lending application into {label}. Keep placeholders such as {{name}} and %s "
            'exactly. Answer with JSON: {"translations": [{"key": ..., "translation": ...}]}.'
        )
        listed = [{"key": key, "text": text} for key, text in source.items()]
        body = {
            "model": settings.translation_model,
            "temperature": 0.3,
            "response_format": {"type": "json_object"},
            "messages": [
                {"role": "system", "content": task},
                {"role": "user", "content": msgspec.json.encode(listed).decode()},
            ],
        }
        answer = await transport.ask("POST", "/chat/completions", context="translations", body=body)
        if not answer.good:
            raise transport.refused(answer, "translations")
        choices = transport.decode(answer.body, _Completion, "translations").choices
        if not choices:
            raise transport.unreadable("translations")
        found = transport.decode(choices[0].message.content.encode(), _Translations, "translations")
        return {one.key: one.translation for one in found.translations if one.key in source}
