"""Documents and locales in PostgreSQL: a version per document and one for all; JSON files are import and export."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import msgspec

from leasehold.app_api.gating import documents
from leasehold.core.errors import Conflict, InvalidInput
from leasehold.storage import queries
from leasehold.storage.pool import Database, Session

_statements = queries.load("leasehold.app_api.gating", "queries.sql")
_LANGUAGES = "languages"


@dataclass(frozen=True, slots=True)
class Locale:
    """A language with its texts; only active ones are served."""

    lang: str
    label: str
    is_source: bool
    is_active: bool
    content: Any


class _Language(msgspec.Struct):
    key: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9-]{1,5}$")]
    label: str = ""
    is_source: bool = False
    is_active: bool = True


class _Languages(msgspec.Struct):
    languages: list[_Language]


class GatedStore:
    """Reads and changes of the gated configuration; every change is checked before it is stored."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def version(self) -> int:
        """Number that grows with every change of a document or locale."""
        found: int = await self._database.fetchval(_statements.version)
        return found

    async def contents(self) -> tuple[int, dict[str, Any]]:
        """The version and the documents there are, from one snapshot."""
        async with self._database.snapshot() as session:
            version: int = await session.fetchval(_statements.version)
            rows = await session.fetch(_statements.documents)
        return version, {row["name"]: row["content"] for row in rows}

    async def put(self, name: str, content: Any, *, expected: int | None = None) -> int:
        """Store a document and return its new version; Conflict unless it is at version `expected`."""
        documents.checked(name, content)

        async def change(session: Session) -> int:
            current: int | None = await session.fetchval(_statements.document_version, name)
            if expected is not None and (current or 0) != expected:
                raise Conflict(f"{name} is at version {current or 0}, not {expected}")
            await session.execute(_statements.touch)
            stored: int = await session.fetchval(_statements.put_document, name, content)
            return stored

        return await self._database.writing(change)

    async def locales(self) -> dict[str, Locale]:
        """Every language by its key."""
        rows = await self._database.fetch(_statements.locales)
        return {
            row["lang"]: Locale(row["lang"], row["label"], row["is_source"], row["is_active"], row["content"])
            for row in rows
        }

    async def put_locale(self, locale: Locale) -> None:
        async def change(session: Session) -> None:
            await session.execute(_statements.touch)
            await session.execute(
                _statements.put_locale,
                locale.lang,
                locale.label,
                locale.is_source,
                locale.is_active,
                locale.content,
            )

        await self._database.writing(change)

    async def transfer(self, key: UUID) -> Any:
        """Legs of a followed transfer, None for an unknown one."""
        return await self._database.fetchval(_statements.transfer, key)

    async def import_documents(self, contents: Mapping[str, Any]) -> None:
        """Take over documents by name, all or nothing."""
        for name, content in contents.items():
            documents.checked(name, content)

        async def change(session: Session) -> None:
            await session.execute(_statements.touch)
            for name, content in contents.items():
                await session.fetchval(_statements.put_document, name, content)

        await self._database.writing(change)

    async def import_folder(self, folder: Path) -> list[str]:
        """Take over `<name>.json` files of a folder and its `locales` subfolder; returns what was taken over."""
        found, locales = await asyncio.to_thread(read_folder, folder)
        if found:
            await self.import_documents(found)
        for locale in locales:
            await self.put_locale(locale)
        return [*found, *(f"locales/{locale.lang}" for locale in locales)]

    async def export_folder(self, folder: Path) -> list[str]:
        """Write the documents and locales as JSON files; the import of that folder restores them."""
        _, contents = await self.contents()
        locales = list((await self.locales()).values())
        await asyncio.to_thread(write_folder, folder, contents, locales)
        return [*contents, *(f"locales/{one.lang}" for one in locales)]


def read_folder(folder: Path) -> tuple[dict[str, Any], list[Locale]]:
    """The documents and locales a folder has."""
    found = {name: _json(folder / f"{name}.json") for name in documents.NAMES if (folder / f"{name}.json").exists()}
    languages = folder / "locales" / f"{_LANGUAGES}.json"
    if not languages.exists():
        return found, []
    listed = documents.converted(f"locales/{_LANGUAGES}", _json(languages), _Languages).languages
    locales = []
    for one in listed:
        path = folder / "locales" / f"{one.key}.json"
        place = f"locales/{one.key}"
        content = documents.converted(place, _json(path), dict[str, Any]) if path.exists() else {}
        locales.append(Locale(one.key, one.label or one.key, one.is_source, one.is_active, content))
    return found, locales


def write_folder(folder: Path, contents: Mapping[str, Any], locales: list[Locale]) -> None:
    """Write documents and locales as JSON files."""
    (folder / "locales").mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        _write(folder / f"{name}.json", content)
    listed = [
        {"key": one.lang, "label": one.label, "is_source": one.is_source, "is_active": one.is_active} for one in locales
    ]
    _write(folder / "locales" / f"{_LANGUAGES}.json", {"languages": listed})
    for one in locales:
        _write(folder / "locales" / f"{one.lang}.json", one.content)


def _json(path: Path) -> Any:
    try:
        return msgspec.json.decode(path.read_bytes())
    except msgspec.MsgspecError as error:
        raise InvalidInput(f"{path.name} is not JSON: {error}", field=path.stem) from None


def _write(path: Path, content: Any) -> None:
    path.write_bytes(msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n")
