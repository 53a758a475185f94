"""Documents and locales in PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from leasehold.app_api.gating.first import first_documents, first_locales
from leasehold.app_api.gating.store import GatedStore
from leasehold.app_api.service import SCHEMA
from leasehold.core.configuration import load
from leasehold.core.errors import Conflict, InvalidInput
from leasehold.core.settings import Database
from leasehold.storage import migrations, pool


@pytest.fixture
async def store(database: str) -> AsyncIterator[GatedStore]:
    await migrations.apply(database, schema=SCHEMA, migrations=migrations.of_package("leasehold.app_api"))
    async with pool.opened(Database(url=database), service="test") as opened:
        yield GatedStore(opened)


async def test_every_change_moves_the_version(store: GatedStore) -> None:
    """Readers notice a change of any document or locale by one number."""
    assert await store.version() == 0
    await store.import_documents(first_documents(load().settings))
    assert await store.version() == 1
    await store.put("ui-settings", {"hidden_proposals": ["7"]})
    for locale in first_locales():
        await store.put_locale(locale)
    assert await store.version() == 2 + len(first_locales())


async def test_a_writer_who_read_an_old_version_is_refused(store: GatedStore) -> None:
    """Two people who edit the same document don't overwrite each other."""
    assert await store.put("ui-settings", {}, expected=0) == 1
    assert await store.put("ui-settings", {"hidden_proposals": ["1"]}, expected=1) == 2
    with pytest.raises(Conflict):
        await store.put("ui-settings", {}, expected=1)


async def test_a_wrong_document_changes_nothing(store: GatedStore) -> None:
    """An import is all or nothing."""
    contents = first_documents(load().settings)
    contents["ui-settings"] = {"hidden_proposals": "7"}
    with pytest.raises(InvalidInput):
        await store.import_documents(contents)
    assert await store.contents() == (0, {})


@pytest.mark.parametrize(
    ("files", "field"),
    [
        ({"languages": {}}, "locales/languages.languages"),
        ({"languages": {"languages": [{"label": "English"}]}}, "locales/languages.languages[0].key"),
        ({"languages": {"languages": [{"key": "../x"}]}}, "locales/languages.languages[0].key"),
        ({"languages": {"languages": [{"key": "en", "is_active": "yes"}]}}, "locales/languages.languages[0].is_active"),
        ({"languages": {"languages": [{"key": "en"}]}, "en": []}, "locales/en"),
    ],
)
async def test_wrong_languages_are_named_and_change_nothing(
    store: GatedStore, tmp_path: Path, files: dict[str, Any], field: str
) -> None:
    """A folder whose languages are wrong is refused as a whole, with the name of the field."""
    (tmp_path / "locales").mkdir()
    (tmp_path / "ui-settings.json").write_text("{}")
    for name, content in files.items():
        (tmp_path / "locales" / f"{name}.json").write_text(json.dumps(content))
    with pytest.raises(InvalidInput) as refusal:
        await store.import_folder(tmp_path)
    assert refusal.value.field == field
    assert await store.contents() == (0, {})


async def test_files_restore_what_they_were_written_from(store: GatedStore, tmp_path: Path) -> None:
    """An export, imported, is the same configuration, order of members included."""
    await store.import_documents(first_documents(load().settings))
    for locale in first_locales():
        await store.put_locale(locale)
    _, before = await store.contents()
    written = await store.export_folder(tmp_path)
    assert await store.import_folder(tmp_path) == written
    _, after = await store.contents()
    assert list(after["network-config"]) == list(before["network-config"])
    assert after == before
    assert [one.lang for one in (await store.locales()).values()] == ["de", "en", "es"]
    assert [one.lang for one in first_locales() if one.is_source] == ["en"]
