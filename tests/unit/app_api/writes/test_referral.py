"""Referral as the interface has it: every status, every filter, every bound."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.app_api.write_stage import WALLET, Stage, staged

from leasehold.app_api.upstreams import all as upstreams

FILTERS = {
    "payouts": ("pending", "submitted", "confirmed", "failed"),
    "rewards": ("pending", "included", "paid"),
    "referrals": ("active", "inactive"),
}
EVERY = {status for listed in FILTERS.values() for status in listed}
LARGEST = 2**63 - 1


def _list(kind: str, limit: int = 50, offset: int = 0) -> tuple[int, Any]:
    return 200, {"success": True, "data": {kind: [], "total": 0, "limit": limit, "offset": offset}, "error": None}


@pytest.mark.parametrize("kind", FILTERS)
async def test_each_list_has_its_own_states(stage: Stage, kind: str) -> None:
    """A state of the list is passed on as it is; any other value, of another list too, is 400 and nobody is asked."""
    stage.world.answers[f"GET /api/referrers/{WALLET}/{kind}"] = _list(kind)
    for status in FILTERS[kind]:
        code, found = await stage.send(f"/api/referral/{kind}/{WALLET}?status={status}", method="GET")
        assert (code, found[kind]) == (200, [])
    stage.world.calls.clear()
    for status in (EVERY - set(FILTERS[kind])) | {"", "nope", "pending,paid", "%20pending"}:
        code, found = await stage.send(f"/api/referral/{kind}/{WALLET}?status={status}", method="GET")
        assert (code, found["error"]["field"]) == (400, "status"), status
    assert stage.world.calls == []


@pytest.mark.parametrize("kind", FILTERS)
@pytest.mark.parametrize("name", ["limit", "offset"])
async def test_pages_are_int64_from_zero(stage: Stage, kind: str, name: str) -> None:
    """Zero and the largest int64 are taken; less, more, fractions and words are 400 with the parameter's name."""
    stage.world.answers[f"GET /api/referrers/{WALLET}/{kind}"] = _list(kind)
    for value in (0, 1, LARGEST):
        assert (await stage.send(f"/api/referral/{kind}/{WALLET}?{name}={value}", method="GET"))[0] == 200
    stage.world.calls.clear()
    for bad in (-1, LARGEST + 1, "1.5", "1e3", "x", "", "0x1"):
        code, found = await stage.send(f"/api/referral/{kind}/{WALLET}?{name}={bad}", method="GET")
        assert (code, found["error"]["field"]) == (400, name), bad
    assert stage.world.calls == []


async def test_an_unknown_referrer_is_404_and_a_failing_service_502(stage: Stage) -> None:
    """Totals of nobody are 404; the lists have no such status, so there it is the service's refusal."""
    path = f"/api/referrers/{WALLET}/stats"
    stage.world.answers[f"GET {path}"] = (404, {"error": "referrer not found"})
    code, found = await stage.send(f"/api/referral/stats/{WALLET}", method="GET")
    assert (code, found["error"]["code"]) == (404, "NOT_FOUND")
    stage.world.answers[f"GET {path}"] = (500, {"error": "the secret of the universe"})
    code, found = await stage.send(f"/api/referral/stats/{WALLET}", method="GET")
    assert (code, found["error"]["code"]) == (502, "EXTERNAL_SERVICE_ERROR")
    assert "universe" not in found["error"]["message"]


async def test_without_a_service_every_route_is_502() -> None:
    """Not configured is 502, for reads and for changes."""
    reads = [f"stats/{WALLET}", "validate/ABC", *(f"{kind}/{WALLET}" for kind in FILTERS)]
    changes: dict[str, dict[str, str]] = {
        "register": {"wallet_address": WALLET},
        "assign": {"referral_code": "ABC", "referred_wallet": WALLET},
    }
    async with staged(referral_url=upstreams.OFF) as stage:
        for path in reads:
            code, found = await stage.send(f"/api/referral/{path}", method="GET")
            assert (code, found["error"]["code"]) == (502, "EXTERNAL_SERVICE_ERROR"), path
        for path, body in changes.items():
            code, found = await stage.send(f"/api/referral/{path}", body)
            assert (code, found["error"]["code"]) == (502, "EXTERNAL_SERVICE_ERROR"), path
