"""Admin routes over a database: versions, notes, refreshes, translations; invisible to everybody else."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.unit.app_api.write_stage import Stage, staged

from leasehold.app_api.admin.keys import hashed
from leasehold.app_api.gating.first import first_documents
from leasehold.app_api.gating.store import Locale
from leasehold.app_api.schedule import refreshers
from leasehold.serving.openapi import document

KEY = "operator's key"
AUTH = {"Authorization": f"Bearer {KEY}"}
DISPLAY = "/api/admin/gated/currency-display"
TEXTS = "/api/admin/translations"
SOURCE = {"message": {"hello": "Hello {name}", "bye": "Bye"}, "push": {}}


@pytest.fixture
async def admin(database: str) -> AsyncIterator[Stage]:
    keys = (hashed("ann", KEY, cost=2**4).text(),)
    async with staged(database=database, admin_keys=keys) as stage:
        refreshers(stage.app)
        await stage.app.store.import_documents(first_documents(stage.app.settings))
        await stage.app.store.put_locale(Locale("en", "English", True, True, SOURCE))
        await stage.app.store.put_locale(Locale("de", "Deutsch", False, True, {"message": {"bye": "Tschüss"}}))
        yield stage


async def _ask(stage: Stage, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
    return await stage.send(path, body, method=method, headers={**AUTH, **headers})


async def _version(stage: Stage, path: str) -> str:
    async with stage.session.get(stage.base + path, headers=AUTH) as reply:
        assert reply.headers["cache-control"] == "no-store"
        return reply.headers["etag"]


async def test_a_change_needs_the_version_it_was_made_for(admin: Stage) -> None:
    """Of two operators who read the same version, the second is told that the first was faster."""
    read = await _version(admin, DISPLAY)
    entry = {"icon": "/i.svg", "displayName": "X"}
    assert (await _ask(admin, "PUT", f"{DISPLAY}/XXX", entry, **{"If-Match": read}))[0] == 200
    status, answer = await _ask(admin, "PUT", f"{DISPLAY}/YYY", entry, **{"If-Match": read})
    assert (status, answer["error"]["code"]) == (409, "CONFLICT")
    assert (await _ask(admin, "PUT", f"{DISPLAY}/YYY", entry, **{"If-Match": "x"}))[0] == 400
    hidden = "/api/admin/gated/ui-settings/hidden-proposals/5"
    for method in ("POST", "DELETE"):
        assert (await _ask(admin, method, hidden, **{"If-Match": '"999"'}))[0] == 409
    shown = (await _ask(admin, "GET", DISPLAY))[1]
    assert "XXX" in shown
    assert "YYY" not in shown


async def test_changes_at_once_are_all_kept(admin: Stage) -> None:
    """Entries set at the same time do not overwrite each other."""
    entry = {"icon": "/i.svg", "displayName": "X"}
    answers = await asyncio.gather(*(_ask(admin, "PUT", f"{DISPLAY}/T{n}", entry) for n in range(8)))
    assert [status for status, _ in answers] == [200] * 8
    assert {f"T{n}" for n in range(8)} <= set((await _ask(admin, "GET", DISPLAY))[1])


async def test_one_network_keeps_what_it_does_not_mention(admin: Stage) -> None:
    """Setting a network without its venue and pools leaves both as they are."""
    path = "/api/admin/gated/network-config"
    before = (await _ask(admin, "GET", path))[1]["OSMOSIS"]
    entry = {name: value for name, value in before.items() if name not in ("swap_venue", "pools")}
    assert (await _ask(admin, "PUT", f"{path}/OSMOSIS", {**entry, "name": "Renamed"}))[0] == 200
    after = (await _ask(admin, "GET", path))[1]["OSMOSIS"]
    assert after == {**before, "name": "Renamed"}


async def test_documents_keep_the_declared_order(admin: Stage) -> None:
    """What is optional stands where clients know it, between what is required."""
    network = (await _ask(admin, "GET", "/api/admin/gated/network-config"))[1]["OSMOSIS"]
    known = ("name", "rpc", "lcd", "gas_price", "primaryProtocol", "swap_venue", "gas_multiplier", "pools")
    assert [name for name in network if name in known] == list(known)
    status, rules = await _ask(admin, "PUT", "/api/admin/gated/lease-rules", {"due_projection_secs": 5})
    assert (status, list(rules)) == (200, ["downpayment_ranges", "asset_restrictions", "due_projection_secs"])


async def test_wrong_documents_are_refused_by_field(admin: Stage) -> None:
    """A document that breaks its rules is 400 with the place, and nothing changes."""
    read = await _version(admin, "/api/admin/gated/lease-rules")
    ranges = {"P": {"ATOM": {"min": 5, "max": 1}}}
    status, answer = await _ask(admin, "PUT", "/api/admin/gated/lease-rules", {"downpayment_ranges": ranges})
    assert (status, answer["error"]["field"]) == (400, "lease-rules.downpayment_ranges.P.ATOM.min")
    assert (await _ask(admin, "PUT", "/api/admin/gated/network-config/juno", {"name": "x"}))[0] == 400
    assert await _version(admin, "/api/admin/gated/lease-rules") == read


async def test_every_change_is_noted_with_who_made_it(admin: Stage) -> None:
    """The log has the newest change first, with the name of the key and never the key."""
    await _ask(admin, "POST", "/api/admin/gated/ui-settings/hidden-proposals/12")
    await _ask(admin, "DELETE", "/api/admin/gated/ui-settings/hidden-proposals/12")
    await _ask(admin, "DELETE", f"{DISPLAY}/ATOM")
    _, notes = await _ask(admin, "GET", "/api/admin/gated/audit")
    assert [one["resource"] for one in notes[:3]] == [
        "gated/currency-display/ATOM",
        "gated/ui-settings/hidden-proposals/12",
        "gated/ui-settings/hidden-proposals/12",
    ]
    assert {one["admin_user"] for one in notes} == {"ann"}
    assert KEY not in json.dumps(notes)


async def test_a_change_wakes_the_refresher(admin: Stage) -> None:
    """A change of the configuration is taken over at once, and a refresh can be asked for."""
    work = admin.app.refreshers
    work["gated_config"].wake.clear()
    await _ask(admin, "POST", "/api/admin/gated/ui-settings/hidden-proposals/9")
    assert work["gated_config"].wake.is_set()
    assert await _ask(admin, "POST", "/api/admin/cache/invalidate", {"cache_type": "prices"}) == (204, "")
    assert work["prices"].wake.is_set()
    assert not work["validators"].wake.is_set()
    assert (await _ask(admin, "POST", "/api/admin/cache/invalidate", {}))[0] == 204
    assert work["validators"].wake.is_set()
    status, answer = await _ask(admin, "POST", "/api/admin/cache/invalidate", {"cache_type": "foo"})
    assert (status, answer["error"]["field"]) == (400, "cache_type")
    _, listed = await _ask(admin, "GET", "/api/admin/snapshots")
    assert {"name": "prices", "warm": False}.items() <= next(one for one in listed if one["name"] == "prices").items()


async def test_a_translation_keeps_its_placeholders(admin: Stage) -> None:
    """A text without the source's placeholders, of an unknown language or of an unknown key is refused."""
    for path, value, expected in (
        ("de/message.hello", "Hallo", (400, "value")),
        ("de/message.nothing", "x", (400, "key")),
        ("zz/message.hello", "{name}", (404, None)),
        ("..%2Fde/message.hello", "{name}", (404, None)),
    ):
        status, answer = await _ask(admin, "PUT", f"{TEXTS}/active/{path}", {"value": value})
        assert (status, answer["error"].get("field")) == expected, answer
    assert (await _ask(admin, "PUT", f"{TEXTS}/active/de/message.hello", {"value": "Hallo {name}"}))[0] == 200
    assert (await _ask(admin, "GET", f"{TEXTS}/active?lang=de"))[1]["message"]["hello"] == "Hallo {name}"
    _, history = await _ask(admin, "GET", f"{TEXTS}/key-history/de/message.hello")
    assert [one["new_value"] for one in history] == ["Hallo {name}"]


async def test_languages_are_added_once_under_good_names(admin: Stage) -> None:
    """A new language begins empty or as a copy; its name is a language code."""
    assert (await _ask(admin, "POST", f"{TEXTS}/languages", {"key": "it", "label": "Italiano"}))[0] == 200
    _, listed = await _ask(admin, "GET", f"{TEXTS}/languages")
    assert {one["key"]: (one["key_count"], one["missing_count"]) for one in listed} == {
        "en": (2, 0),
        "de": (1, 1),
        "it": (0, 2),
    }
    for key in ("it", "../x", "toolong"):
        status, answer = await _ask(admin, "POST", f"{TEXTS}/languages", {"key": key, "label": "x"})
        assert (status, answer["error"]["field"]) == (400, "key")


async def test_machine_translation_is_proposed_not_applied(database: str) -> None:
    """Without a provider 503; with one its texts wait for somebody, and those without placeholders are kept back."""
    keys = (hashed("ann", KEY, cost=2**4).text(),)
    async with staged(database=database, admin_keys=keys) as stage:
        await stage.app.store.put_locale(Locale("en", "English", True, True, SOURCE))
        await stage.app.store.put_locale(Locale("de", "Deutsch", False, True, {}))
        assert (await _ask(stage, "POST", f"{TEXTS}/generate", {"lang": "de"}))[0] == 503
        object.__setattr__(stage.app.settings.app_api, "translation_url", str(stage.app.upstreams.lcd.transport.base))
        object.__setattr__(stage.app.settings.app_api, "translation_key", "provider secret")
        said = [{"key": "message.hello", "translation": "Hallo"}, {"key": "message.bye", "translation": "Tschüss"}]
        made = {
            "choices": [
                {"message": {"content": json.dumps({"translations": [*said, {"key": "x", "translation": "y"}]})}}
            ]
        }
        stage.world.answers["POST /chat/completions"] = (200, made)
        status, answer = await _ask(stage, "POST", f"{TEXTS}/generate", {"lang": "de"})
        assert (status, answer["total_keys"], answer["status"]) == (200, 2, "completed")
        _, waiting = await _ask(stage, "GET", f"{TEXTS}/pending?lang=de&status=pending")
        valid = {one["source_key"]: one["placeholders_valid"] for one in waiting}
        assert valid == {"message.hello": False, "message.bye": True}
        assert (await _ask(stage, "GET", f"{TEXTS}/active?lang=de"))[1] == {}
        assert (await _ask(stage, "POST", f"{TEXTS}/pending/approve-batch", {}))[1] == {"approved_count": 1}
        _, left = await _ask(stage, "GET", f"{TEXTS}/pending")
        assert [one["source_key"] for one in left] == ["message.hello"]
        edited = {"value": "Hallo {name}"}
        assert (await _ask(stage, "POST", f"{TEXTS}/pending/{left[0]['id']}/edit", edited))[0] == 200
        stage.world.answers["POST /chat/completions"] = (500, "provider secret")
        await _ask(stage, "PUT", f"{TEXTS}/active/en/message.more", {"value": "More"})
        status, answer = await _ask(stage, "POST", f"{TEXTS}/generate", {"lang": "de"})
        assert status == 502
        assert "provider secret" not in json.dumps(answer)


async def test_nothing_shows_without_a_key(admin: Stage) -> None:
    """Every admin route refuses a request without key, and none stands in the public document."""
    hidden = [route for route in admin.app.registry if route.path.startswith("/api/admin")]
    assert len(hidden) > 30
    for route in hidden:
        path = route.path.replace("{", "").replace("}", "")
        status, answer = await admin.send(path, method=route.method)
        assert (status, answer["error"]["code"]) == (401, "UNAUTHORIZED"), route.path
    assert not any("admin" in path for path in document(admin.app.registry)["paths"])
    assert (await admin.send("/api/admin/nope", method="GET"))[0] == 404


async def test_without_keys_admin_is_off(database: str) -> None:
    """Where no key is configured, even a key changes nothing."""
    async with staged(database=database) as stage:
        status, answer = await _ask(stage, "GET", "/api/admin/cache/stats")
        assert (status, answer["error"]["code"]) == (403, "FORBIDDEN")
