"""Keys in the database: shown once, stored as hashes, followed by a running service, noted in the audit log."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from tests.unit.app_api.write_stage import Stage, staged

from leasehold.app_api.admin.access import MOST_REFUSALS, note_refusal
from leasehold.app_api.admin.audit import AuditLog
from leasehold.app_api.admin.keystore import AREA, FRESH_SECONDS, KeyStore
from leasehold.core.clock import ManualClock
from leasehold.core.errors import ConfigurationError

STATS = "/api/admin/cache/stats"


@pytest.fixture
async def stage(database: str) -> AsyncIterator[Stage]:
    """An application API without a key in its settings."""
    async with staged(database=database) as running:
        yield running


@pytest.fixture
def store(stage: Stage) -> KeyStore:
    return KeyStore(stage.app.storage, stage.app.clock, "root at the command line")


async def _status(stage: Stage, key: str, path: str = STATS) -> int:
    status, _ = await stage.send(path, method="GET", headers={"Authorization": f"Bearer {key}"})
    return status


def _later(stage: Stage, seconds: int = int(FRESH_SECONDS)) -> None:
    assert isinstance(stage.app.clock, ManualClock)
    stage.app.clock.advance(seconds=seconds)


async def test_a_key_opens_once_it_is_made_and_never_after_it_is_revoked(stage: Stage, store: KeyStore) -> None:
    """Without any key admin is off; a running service takes a new one and forgets a revoked one within seconds."""
    assert await _status(stage, "x") == 403
    key = await store.create("alice")
    _later(stage)
    assert await _status(stage, key) == 200
    assert await _status(stage, "wrong") == 401
    await store.revoke("alice")
    _later(stage)
    assert await _status(stage, key) == 403


async def test_rotation_lets_the_old_key_end(stage: Stage, store: KeyStore) -> None:
    """Old and new key work side by side for the overlap; another rotation does not prolong it."""
    first = await store.create("alice")
    second = await store.rotate("alice", timedelta(seconds=100))
    third = await store.rotate("alice", timedelta(seconds=300))
    _later(stage)
    assert [await _status(stage, key) for key in (first, second, third)] == [200, 200, 200]
    _later(stage, 100)
    assert [await _status(stage, key) for key in (first, second, third)] == [401, 200, 200]
    _later(stage, 300)
    assert [await _status(stage, key) for key in (second, third)] == [401, 200]


async def test_only_hashes_are_stored(stage: Stage, store: KeyStore) -> None:
    """Neither the table, nor the audit log, nor the routes know a key."""
    key = await store.create("alice")
    rows = [dict(row) for row in await stage.app.storage.fetch("SELECT name, hash FROM app_api.admin_keys")]
    assert [row["name"] for row in rows] == ["alice"]
    assert rows[0]["hash"].startswith("alice:scrypt:16384:")
    _later(stage)
    headers = {"Authorization": f"Bearer {key}"}
    _, listed = await stage.send("/api/admin/access/keys", method="GET", headers=headers)
    assert [(one["name"], one["ends_at"], one["good"]) for one in listed] == [("alice", None, True)]
    _, notes = await stage.send("/api/admin/access/audit", method="GET", headers=headers)
    assert [(one["action"], one["key"], one["admin_user"]) for one in notes] == [
        ("create_key", "alice", "root at the command line")
    ]
    assert key not in json.dumps([rows[0]["hash"], listed, notes])


async def test_wrong_keys_are_noted_and_the_log_is_bounded(stage: Stage, store: KeyStore) -> None:
    """A refused key leaves who and where, never the key; only so many refusals are kept."""
    key = await store.create("alice")
    _later(stage)
    assert await _status(stage, "hunter2") == 401
    _, notes = await stage.send(
        "/api/admin/access/audit?limit=1", method="GET", headers={"Authorization": f"Bearer {key}"}
    )
    (note,) = notes
    assert (note["action"], note["metadata"]["path"]) == ("refused_key", STATS)
    assert note["metadata"]["client"]
    assert "hunter2" not in json.dumps(note)
    audit = AuditLog(stage.app.clock)
    await stage.app.storage.writing(
        lambda session: session.execute(
            "INSERT INTO app_api.audit (id, at, area, action, actor, entry)"
            " SELECT n::text, now(), $1, 'refused_key', '', '{}' FROM generate_series(1, $2::int) n",
            AREA,
            MOST_REFUSALS + 50,
        )
    )
    await note_refusal(stage.app, audit, "192.0.2.1", STATS)
    assert await stage.app.storage.fetchval("SELECT count(*) FROM app_api.audit") == MOST_REFUSALS


@pytest.mark.parametrize("name", ["", "a:b", "a,b", "a b", "x" * 65, "é"])
async def test_names_are_plain(store: KeyStore, name: str) -> None:
    """A name that could be mistaken in settings or logs is refused."""
    with pytest.raises(ConfigurationError):
        await store.create(name)


async def test_a_name_has_one_key_at_a_time(store: KeyStore) -> None:
    """A second key under a name, and a change of one that is not there, are refused with what to do."""
    await store.create("alice")
    with pytest.raises(ConfigurationError, match="rotate"):
        await store.create("alice")
    for change in (store.revoke("bob"), store.rotate("bob", timedelta())):
        with pytest.raises(ConfigurationError, match="no key bob"):
            await change
    await store.revoke("alice")
    assert await store.create("alice")
