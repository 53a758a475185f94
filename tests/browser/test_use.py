"""The application in use: a lease to its end, a swap, notifications, an agent's tools, prices, a restart."""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64encode
from urllib.request import urlopen

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from tests.browser.conftest import Drive, service_pid
from tests.end_to_end.conftest import Stack

pytestmark = pytest.mark.browser


def test_a_lease_is_opened_repaid_and_closed(drive: Drive) -> None:
    """The test wallet opens a lease, repays a part of its debt, sets a stop loss and closes it; all is shown first."""
    seen = drive("lease.mjs", PROTOCOL="OSMOSIS-OSMOSIS-USDC_NOBLE")
    assert "You borrow" in seen["quote"]
    shown = [json.loads(seen[step]) for step in ("opened", "repaid", "policy", "closed")]
    assert {message["@type"] for message in shown} == {"/cosmwasm.wasm.v1.MsgExecuteContract"}
    assert "open_lease" in shown[0]["msg"]
    assert [message["contract"] for message in shown[1:]] == [seen["address"]] * 3
    assert [next(iter(message["msg"])) for message in shown[1:]] == ["repay", "change_close_policy", "close_position"]
    before, after = (float(re.sub(r"[^\d.]", "", seen[name])) for name in ("before", "after"))
    assert 15 < before - after < 25
    assert seen["whole"], "the navigation is cut off beside the connected wallet"
    assert seen["errors"] == []


def test_a_swap_is_followed_until_it_arrived(drive: Drive) -> None:
    """A swap is quoted with its route, its one transfer is shown and signed, and the page tells when it has arrived."""
    seen = drive("swap.mjs", FROM="LSH", TO="OSMO")
    assert seen["quoted"].endswith(" OSMO")
    assert [step.split()[0] for step in seen["steps"]] == ["Transfer", "Swap", "Transfer"]
    assert json.loads(seen["shown"])["@type"] == "/ibc.applications.transfer.v1.MsgTransfer"
    assert seen["errors"] == []


def test_notifications_are_subscribed_to_and_shown(drive: Drive, stack: Stack) -> None:
    """The button subscribes with the data API's key and ends it again; the worker shows each message in words."""
    with urlopen(f"{stack.url('data_api')}/api/subscriptions/key") as answer:
        key = json.load(answer)["key"]
    point = ec.generate_private_key(ec.SECP256R1()).public_key()
    browser = {
        "endpoint": "https://push.example/send/1",
        "p256dh": _base64(point.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)),
        "auth": _base64(bytes(range(16))),
    }
    seen = drive("push.mjs", SUBSCRIPTION=json.dumps(browser))
    assert seen["options"] == {"userVisibleOnly": True, "applicationServerKey": key}
    shown = {one["title"]: one["body"] for one in seen["shown"]}
    assert set(shown) == {"Your lease is at high risk", "Liquidated", "News about your account"}
    assert "chain1qq…qqqqqqqq is at 89.3 %" in shown["Your lease is at high risk"]
    assert seen["errors"] == []


def _base64(content: bytes) -> str:
    return urlsafe_b64encode(content).rstrip(b"=").decode()


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
    seen = drive("live.mjs", CONTROL=stack.url("control"), APP_API_PID=str(service_pid(stack, "app-api")))
    assert seen["first"] != seen["moved"]
    assert seen["kept"]
    assert seen["later"] != seen["kept"]
    assert seen["resumed"], "prices were not pushed again"
    assert seen["loads"] == 1
