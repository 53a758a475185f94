"""Through the application API to the upstreams of this stack: no route that changes something ends in 502."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.request import Request, urlopen

import pytest
from tests.end_to_end.builder_client import IDENTITY, LIVE, PROTOCOL, Client, ask, until
from tests.end_to_end.conftest import Stack

from leasehold.app_api.admin.keys import hashed

KEY = "an operator's key"


@pytest.fixture(scope="module")
def market(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A stack whose keepers feed prices and relay packets, with an operator and a messaging secret."""
    operator = hashed("operator", KEY, cost=2**4).text()
    running = Stack(
        tmp_path_factory.mktemp("upstreams"),
        *LIVE,
        f"app_api.admin_keys={operator}",
        "app_api.messaging_secret=top-secret-messaging",
    )
    try:
        running.wait_for("all ready")
        yield running
    finally:
        if running.process.poll() is None:
            running.stop()


@pytest.fixture(scope="module")
def alice(market: Stack) -> Client:
    found = Client(market, "alice")
    for path in ("/api/currencies", "/api/fees/gas-config", "/api/prices", "/api/swap/config", "/api/earn/pools"):
        until(lambda path=path: ask(market.url("app_api") + path)[0] == 200)
    quote = {"protocol": PROTOCOL, "downpayment_ticker": "USDC_NOBLE", "downpayment_amount": "500000000"}
    until(lambda: ask(market.url("app_api") + "/api/leases/quote", {**quote, "lease_ticker": "ATOM"})[0] == 200)
    return found


def test_a_wallet_registers_and_refers(market: Stack, alice: Client) -> None:
    """A new referrer is 201, then 200; another wallet is assigned to it once; an unknown code is 404."""
    app = market.url("app_api")
    status, first = ask(f"{app}/api/referral/register", {"wallet_address": alice.address})
    assert (status, first["already_registered"]) == (201, False)
    assert ask(f"{app}/api/referral/register", {"wallet_address": alice.address})[0] == 200
    bob = Client(market, "bob").address
    assigned = {"referral_code": first["referral_code"], "referred_wallet": bob}
    assert ask(f"{app}/api/referral/assign", assigned)[0] == 201
    status, again = ask(f"{app}/api/referral/assign", assigned)
    assert (status, again["error"]["message"]) == (502, "Referral: Wallet already has a referrer")
    assert ask(f"{app}/api/referral/assign", {**assigned, "referred_wallet": alice.address})[0] == 502
    assert ask(f"{app}/api/referral/assign", {**assigned, "referral_code": "NOSUCH"})[0] == 404


def test_a_swap_is_routed_executed_and_tracked(market: Stack, alice: Client) -> None:
    """A route of the stack's router becomes messages that alice signs; the provider follows them to their end."""
    app = market.url("app_api")
    native = IDENTITY.base_denom
    usdc = alice.get(f"/api/currencies/USDC_NOBLE@{PROTOCOL}")["bank_symbol"]
    asked = {
        "source_asset_denom": usdc,
        "source_asset_chain_id": IDENTITY.chain_id,
        "dest_asset_denom": native,
        "dest_asset_chain_id": IDENTITY.chain_id,
    }
    status, route = ask(f"{app}/api/swap/route", {**asked, "amount_in": "50000000"})
    assert status == 200, route
    members = {name: route[name] for name in (*asked, "amount_in", "amount_out", "operations")}
    addresses = [alice.address] * len(route.get("required_chain_addresses", route["chain_ids"]))
    status, made = ask(f"{app}/api/swap/messages", {**members, "address_list": addresses})
    assert status == 200, made
    for tx in made["txs"]:
        messages = [_message(one) for one in tx["cosmos_tx"]["msgs"]]
        sent = alice.signed({"messages": messages, "memo": ""})
        following = {"chain_id": IDENTITY.chain_id, "tx_hash": sent["txhash"]}
        status, tracked = ask(f"{app}/api/swap/track", following)
        assert status == 200, tracked
        target = f"{app}/api/swap/status/{sent['txhash']}?chain_id={IDENTITY.chain_id}"
        ended = until(
            lambda target=target: (found := ask(target)[1]) and "COMPLETED" in found.get("state", "") and found
        )
        assert ended["state"] == "STATE_COMPLETED_SUCCESS"


def _message(given: dict[str, Any]) -> dict[str, Any]:
    value = json.loads(given["msg"])
    return {"@type": given["msg_type_url"], **value}


def test_a_payment_is_announced_and_taken_back(market: Stack, alice: Client) -> None:
    """The payments manager decides about a payment for an indexed lease; a cancel is 200 without a body."""
    app = market.url("app_api")
    down = {"protocol": PROTOCOL, "downpayment_ticker": "USDC_NOBLE", "downpayment_amount": "500000000"}
    alice.signed(alice.build("/api/leases/open", {**down, "lease_ticker": "ATOM", "sender": alice.address}))
    leaser = alice.get("/api/protocols")["protocols"][PROTOCOL]["contracts"]["leaser"]
    lease = until(lambda: alice.smart(leaser, {"leases": {"owner": alice.address}}))[-1]
    terms = until(
        lambda: (
            (found := alice.get(f"/api/zero-interest/eligibility?lease={lease}&owner={alice.address}"))["eligible"]
            and found
        )
    )
    usdc = alice.get(f"/api/currencies/USDC_NOBLE@{PROTOCOL}")["bank_symbol"]
    assert usdc in alice.get("/api/zero-interest/config")["supported_denoms"]
    amount = min(1_000_000, int(terms["max_amount"] or 1_000_000))
    body = {
        "lease_address": lease,
        "amount": str(amount),
        "denom": usdc,
        "owner_address": alice.address,
        "signature": "opaque",
    }
    status, made = ask(f"{app}/api/zero-interest/payments", body)
    assert status == 200, made
    cancel = json.dumps({"owner_address": alice.address, "signature": "opaque"}).encode()
    target = f"{app}/api/zero-interest/payments/{made['payment']['id']}"
    with urlopen(Request(target, cancel, {"Content-Type": "application/json"}, method="DELETE"), timeout=20) as reply:
        assert (reply.status, reply.read()) == (200, b"")


def test_a_wrong_subscription_is_refused_in_the_words_of_the_data_api(market: Stack, alice: Client) -> None:
    """A subscription reaches the data API, whose refusal comes back as 400."""
    status, answer = ask(f"{market.url('app_api')}/api/etl/subscribe", {"address": alice.address, "data": {}})
    assert (status, answer["error"]["code"]) == (400, "VALIDATION_FAILED")
    assert "endpoint" in answer["error"]["message"]


def test_a_token_tells_what_alice_has(market: Stack, alice: Client) -> None:
    """A messaging token is signed once the portfolio can be read."""
    body = {"wallet": alice.address, "wallet_type": "keplr"}
    status, answer = ask(f"{market.url('app_api')}/api/messaging/hash", body)
    assert status == 200, answer
    assert answer["token"].count(".") == 2


def test_an_operator_changes_what_is_shown(market: Stack, alice: Client) -> None:
    """A currency taken out of the configuration disappears within seconds, and the log says who did it."""
    app = market.url("app_api")

    def admin(method: str, path: str) -> Any:
        request = Request(f"{app}/api/admin{path}", headers={"Authorization": f"Bearer {KEY}"}, method=method)
        with urlopen(request, timeout=20) as reply:
            return json.loads(reply.read())

    assert any(asset["ticker"] == "WETH" for asset in alice.get("/api/assets")["assets"])
    assert admin("DELETE", "/gated/currency-display/WETH")["deleted"] == "WETH"
    until(lambda: all(asset["ticker"] != "WETH" for asset in alice.get("/api/assets")["assets"]))
    assert admin("GET", "/gated/audit")[0]["admin_user"] == "operator"


def test_no_log_has_a_secret(market: Stack) -> None:
    """Neither the operator's key nor the messaging secret is in any log of the stack."""
    logs = "".join(path.read_text(errors="replace") for path in (market.home / "logs").glob("*.log"))
    assert logs
    assert KEY not in logs
    assert "top-secret-messaging" not in logs
    assert "".join(market.lines).count("top-secret-messaging") == 0
