"""Every admin route that takes a body against every way it can be wrong, and every document against wrong parts."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.unit.app_api.write_stage import Stage, staged

from leasehold.app_api.admin.keys import hashed
from leasehold.app_api.gating.first import first_documents
from leasehold.app_api.gating.store import Locale

KEY = "the operator's key"
TEXTS = "/api/admin/translations"
GATED = "/api/admin/gated"
NETWORK = {
    "name": "Juno",
    "chain_id": "juno-1",
    "prefix": "juno",
    "rpc": "https://r",
    "lcd": "https://l",
    "gas_price": "0.1ujuno",
    "gas_multiplier": 1.5,
}
# Method and path, a good body, and the members that must be there.
BODIES: list[tuple[str, str, dict[str, Any], tuple[str, ...]]] = [
    ("POST", "/api/admin/cache/invalidate", {"cache_type": "prices"}, ()),
    ("POST", f"{TEXTS}/generate", {"lang": "de", "keys": ["message.hello"]}, ("lang",)),
    ("POST", f"{TEXTS}/languages", {"key": "it", "label": "Italiano", "copy_from": "en"}, ("key", "label")),
    ("PUT", f"{TEXTS}/active/de/message.hello", {"value": "Hallo {name}"}, ("value",)),
    ("POST", f"{TEXTS}/pending/p/reject", {"reason": "bad"}, ("reason",)),
    ("POST", f"{TEXTS}/pending/p/edit", {"value": "Hallo {name}"}, ("value",)),
    ("POST", f"{TEXTS}/pending/approve-batch", {"ids": ["p"]}, ()),
]
DOCUMENTS: list[tuple[str, Any]] = [
    (f"{GATED}/currency-display", {"X": {"icon": "/i"}}),
    (f"{GATED}/currency-display", {"X": {"icon": 5, "displayName": "X"}}),
    (f"{GATED}/currency-display/X", {"displayName": "X"}),
    (f"{GATED}/currency-display/X", {"icon": None, "displayName": "X"}),
    (f"{GATED}/network-config", {"X": {"name": "x"}}),
    (f"{GATED}/network-config", {"X": {**NETWORK, "chain_type": "evm"}}),
    (f"{GATED}/network-config/JUNO", {**NETWORK, "gas_multiplier": "much"}),
    (f"{GATED}/network-config/JUNO", {**NETWORK, "gas_multiplier": -1}),
    (f"{GATED}/network-config/JUNO", {key: value for key, value in NETWORK.items() if key != "rpc"}),
    (f"{GATED}/lease-rules", {"downpayment_ranges": []}),
    (f"{GATED}/lease-rules", {"downpayment_ranges": {"P": {"ATOM": {"min": 1}}}}),
    (f"{GATED}/lease-rules", {"downpayment_ranges": {}, "due_projection_secs": -1}),
    (f"{GATED}/lease-rules", {"downpayment_ranges": {}, "asset_restrictions": {"ignore_all": "AKT"}}),
    (f"{GATED}/lease-rules/downpayment/P", {"ATOM": {"min": 5, "max": 1}}),
    (f"{GATED}/lease-rules/downpayment/P", {"ATOM": {"min": -5, "max": 1}}),
    (f"{GATED}/lease-rules/downpayment/P", {"ATOM": 5}),
    (f"{GATED}/swap-settings", {}),
    (f"{GATED}/swap-settings", {"api_url": "https://s", "fee": "much"}),
    (f"{GATED}/swap-settings", {"api_url": "https://s", "blacklist": {"A": 1}}),
    (f"{GATED}/ui-settings", {"hidden_proposals": "7"}),
    (f"{GATED}/ui-settings", {"hidden_proposals": [7]}),
    (f"{GATED}/ui-settings", {"feature_flags": {"a": "yes"}}),
    (f"{GATED}/ui-settings", {"maintenance": {"message": "m"}}),
]


@pytest.fixture
async def admin(database: str) -> AsyncIterator[Stage]:
    """An application API with an operator, the first configuration and two languages."""
    keys = (hashed("ann", KEY, cost=2**4).text(),)
    async with staged(database=database, admin_keys=keys) as stage:
        await stage.app.store.import_documents(first_documents(stage.app.settings))
        await stage.app.store.put_locale(Locale("en", "English", True, True, {"message": {"hello": "Hello {name}"}}))
        await stage.app.store.put_locale(Locale("de", "Deutsch", False, True, {"message": {}}))
        yield stage


async def _ask(stage: Stage, method: str, path: str, body: Any, media: str = "application/json") -> tuple[int, Any]:
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": media}
    return await stage.send(path, body, method=method, headers=headers)


async def test_bodies_are_checked_before_anything_is_done(admin: Stage) -> None:
    """Missing, null, doubled and mistyped members are 400 by name; other media 415; too much 413."""
    for method, path, good, required in BODIES:
        for name in good:
            rest = {key: value for key, value in good.items() if key != name}
            wrong: list[Any] = [{**rest, name: True}, {**rest, name: {"a": 1}}]
            wrong += [rest, {**rest, name: None}] if name in required else []
            first = json.dumps(good[name])
            wrong.append(json.dumps({**rest, name: "@"}).replace('"@"', f'{first}, "{name}": {first}'))
            for body in wrong:
                status, answer = await _ask(admin, method, path, body)
                assert (status, answer["error"]["code"]) == (400, "VALIDATION_FAILED"), (path, body, answer)
                assert answer["error"]["field"] == name, (path, body, answer)
        for body in (list(good.values()), "", "null", "{", json.dumps(good) + "x"):
            assert (await _ask(admin, method, path, body))[0] == 400, (path, body)
        for media in ("text/plain", ""):
            assert (await _ask(admin, method, path, good, media))[0] == 415, (path, media)
        assert (await _ask(admin, method, path, " " * (2 * 1024 * 1024 + 1)))[0] == 413, path


async def test_wrong_documents_change_nothing(admin: Stage) -> None:
    """A document or an entry with a wrong part is 400 with its place, and what is stored stays as it is."""
    before = [dict(row) for row in await admin.app.storage.fetch("SELECT * FROM app_api.documents ORDER BY name")]
    for path, body in DOCUMENTS:
        status, answer = await _ask(admin, "PUT", path, body)
        assert (status, answer["error"]["code"]) == (400, "VALIDATION_FAILED"), (path, body, answer)
        assert answer["error"]["field"], (path, body, answer)
        assert (await _ask(admin, "PUT", path, [body]))[0] == 400, path
    after = [dict(row) for row in await admin.app.storage.fetch("SELECT * FROM app_api.documents ORDER BY name")]
    assert after == before
