"""The application in use: a lease from its opening to its end, live prices, a restart, an agent's tools."""

from __future__ import annotations

import json
import re

import pytest
from tests.browser.conftest import Drive, service_pid
from tests.end_to_end.conftest import Stack

pytestmark = pytest.mark.browser


def test_a_lease_is_opened_repaid_and_closed(drive: Drive) -> None:
    """The test wallet opens a lease, repays a part of its debt and closes it; each message is shown before signing."""
    seen = drive("lease.mjs", PROTOCOL="OSMOSIS-OSMOSIS-USDC_NOBLE")
    assert "You borrow" in seen["quote"]
    shown = [json.loads(seen[step]) for step in ("opened", "repaid", "closed")]
    assert {message["@type"] for message in shown} == {"/cosmwasm.wasm.v1.MsgExecuteContract"}
    assert "open_lease" in shown[0]["msg"]
    assert [message["contract"] for message in shown[1:]] == [seen["address"]] * 2
    before, after = (float(re.sub(r"[^\d.]", "", seen[name])) for name in ("before", "after"))
    assert 15 < before - after < 25
    assert seen["errors"] == []


def test_tools_read_and_navigate_and_nothing_else(drive: Drive) -> None:
    """An agent reads the wallet and shows a page; while its tools run, the page sends nothing that changes anything."""
    seen = drive("agent.mjs")
    assert len(seen["tools"]) == 8
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]{1,128}", tool["name"]) for tool in seen["tools"])
    assert seen["alone"] == {"connected": False, "address": None}
    assert seen["balancesAlone"]["balances"] == []
    assert seen["dialog"]
    calls = seen["calls"]
    address = calls["get_connected_wallet"]["address"]
    assert calls["get_balances"]["address"] == calls["get_open_leases"]["owner"] == address
    assert calls["get_balances"]["balances"]
    assert calls["get_earn_positions"]["pools"]
    assert calls["get_prices"]["prices"]
    assert seen["navigated"] == {"navigated_to": "stake"}
    assert seen["path"] == "/stake"
    assert "no page" in seen["astray"]["refused"]
    assert seen["written"] == []
    assert seen["errors"] == []


def test_prices_move_and_the_page_survives_a_restart(drive: Drive, stack: Stack) -> None:
    """Prices change without a reload; when the service dies the last ones stay, and they move again when it is back."""
    seen = drive("live.mjs", APP_API_PID=str(service_pid(stack, "app-api")))
    assert seen["first"] != seen["moved"]
    assert seen["kept"]
    assert seen["later"] != seen["kept"]
    assert seen["loads"] == 1
