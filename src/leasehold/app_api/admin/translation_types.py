"""Wire types of languages, texts and proposed texts."""

from __future__ import annotations

import msgspec

Absent = msgspec.UnsetType
UNSET = msgspec.UNSET


class PendingTranslation(msgspec.Struct, omit_defaults=True):
    """A proposed text; approving or editing it makes it a text, rejecting keeps it with the reason."""

    id: str
    created_at: str
    source_key: str
    source_value: str
    target_lang: str
    proposed_value: str
    placeholders: list[str]
    placeholders_valid: bool
    status: str
    reviewed_by: str | Absent = UNSET
    reviewed_at: str | Absent = UNSET
    edited_value: str | Absent = UNSET
    rejection_reason: str | Absent = UNSET
    source: str | Absent = UNSET
    ai_model: str | Absent = UNSET
    batch_id: str | Absent = UNSET


class MissingKey(msgspec.Struct):
    key: str
    source_value: str
    placeholders: list[str]


class MissingTexts(msgspec.Struct):
    lang: str
    missing_keys: list[MissingKey]
    total_source_keys: int
    total_target_keys: int


class SyncedLanguage(msgspec.Struct):
    lang: str
    total_keys: int
    missing_keys: int
    pending_keys: int


class Synced(msgspec.Struct):
    synced_at: str
    source_key_count: int
    languages: list[SyncedLanguage]


class Language(msgspec.Struct):
    key: str
    label: str
    is_source: bool
    is_active: bool
    key_count: int
    missing_count: int
    pending_count: int
    is_complete: bool
