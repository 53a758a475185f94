"""Through the application API to the upstreams of this stack: no route that changes something ends in 502."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

import pytest
from tests.end_to_end.builder_client import IDENTITY, LIVE, PROTOCOL, Client, ask, ready, until
from tests.end_to_end.builder_lives import open_one, proposed, validators
from tests.end_to_end.conftest import Stack
from tests.end_to_end.route_samples import MINT, SVM_PROTOCOL, Facts, SvmWallet, browser, reads, writes

from leasehold.app_api.admin.keys import hashed
from leasehold.chain.svm.addresses import address_bytes, encode
from leasehold.chain.svm.programs import voucher_mint
from leasehold.core.configuration import load

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
    ready(found)
    return found


@pytest.fixture(scope="module")
def lease(alice: Client) -> str:
    """A lease of alice that is open and indexed."""
    found, _ = open_one(alice, "ATOM", alice.address, "")
    until(lambda: alice.get(f"/api/zero-interest/eligibility?lease={found}&owner={alice.address}")["eligible"])
    return found


def sent(method: str, url: str, body: Any = None) -> tuple[int, str]:
    """Status and text of an answer."""
    data = None if body is None else json.dumps(body).encode()
    try:
        with urlopen(Request(url, data, {"Content-Type": "application/json"}, method=method), timeout=30) as reply:
            return reply.status, reply.read().decode()
    except HTTPError as refusal:
        with refusal:
            return refusal.code, refusal.read().decode()


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


def _routed(client: Client, source: str, target: str, amount: str) -> dict[str, Any]:
    """The body that asks for the messages of a route on our own chain."""
    asked = {
        "source_asset_denom": source,
        "source_asset_chain_id": IDENTITY.chain_id,
        "dest_asset_denom": target,
        "dest_asset_chain_id": IDENTITY.chain_id,
    }
    route = client.build("/api/swap/route", {**asked, "amount_in": amount})
    members = {name: route[name] for name in (*asked, "amount_in", "amount_out", "operations")}
    addresses = [client.address] * len(route.get("required_chain_addresses", route["chain_ids"]))
    return {**members, "address_list": addresses}


def _balance(client: Client, denom: str) -> int:
    found = client.lcd(f"/cosmos/bank/v1beta1/balances/{client.address}/by_denom?denom={quote(denom, safe='')}")
    return int(found["balance"]["amount"])


def test_a_swap_yields_what_its_route_says(market: Stack, alice: Client) -> None:
    """A route of the stack's router becomes messages; signed, they yield its amount, and the provider sees them end."""
    app = market.url("app_api")
    usdc = alice.get(f"/api/currencies/USDC_NOBLE@{PROTOCOL}")["bank_symbol"]
    atom = alice.get(f"/api/currencies/ATOM@{PROTOCOL}")["bank_symbol"]
    swap = _routed(alice, usdc, atom, "50000000")
    before = _balance(alice, atom)
    (tx,) = alice.build("/api/swap/messages", swap)["txs"]
    result = alice.signed({"messages": [_message(one) for one in tx["cosmos_tx"]["msgs"]], "memo": ""})
    following = {"chain_id": IDENTITY.chain_id, "tx_hash": result["txhash"]}
    assert alice.build("/api/swap/track", following)["tx_hash"] == result["txhash"]
    target = f"{app}/api/swap/status/{result['txhash']}?chain_id={IDENTITY.chain_id}"
    ended = until(lambda: (found := ask(target)[1]) and "COMPLETED" in found.get("state", "") and found)
    assert ended["state"] == "STATE_COMPLETED_SUCCESS"
    assert _balance(alice, atom) - before == int(swap["amount_out"])


def _message(given: dict[str, Any]) -> dict[str, Any]:
    value = json.loads(given["msg"])
    return {"@type": given["msg_type_url"], **value}


def test_a_payment_is_announced_and_taken_back(market: Stack, alice: Client, lease: str) -> None:
    """The payments manager decides about a payment for an indexed lease; a cancel is 200 without a body."""
    app = market.url("app_api")
    terms = alice.get(f"/api/zero-interest/eligibility?lease={lease}&owner={alice.address}")
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
    cancel = {"owner_address": alice.address, "signature": "opaque"}
    target = f"{app}/api/zero-interest/payments/{made['payment']['id']}"
    assert sent("DELETE", target, cancel) == (200, "")
    assert sent("DELETE", f"{app}/api/zero-interest/payments/p-999", cancel)[0] == 404


def test_a_browser_subscribes_and_ends_it(market: Stack, alice: Client) -> None:
    """A subscription reaches the data API and is told as a text; the same again is its end."""
    target = f"{market.url('app_api')}/api/etl/subscribe"
    body = {"address": alice.address, "data": browser()}
    assert sent("POST", target, body) == (200, "subscribed")
    assert sent("POST", target, body) == (200, "unsubscribed")
    assert sent("POST", target, body) == (200, "subscribed")


def test_tokens_come_from_the_svm_chain(market: Stack, alice: Client) -> None:
    """A built send is signed, taken by the node and followed until the packet has arrived."""
    app = market.url("app_api")
    wallet = SvmWallet(market.url("upstreams"), 7)
    wallet.fund(MINT, 1_000)
    key = f"USDC@{SVM_PROTOCOL}"
    until(lambda: key in alice.get("/api/currencies")["currencies"])
    account = alice.build("/api/solana/tx/create-ata", {"owner": wallet.address, "currency": f"SOL@{SVM_PROTOCOL}"})
    assert wallet.sign_and_send(account)
    held = alice.get(f"/api/solana/balances/{wallet.address}")
    assert {one["key"]: one["amount"] for one in held["tokens"]}[key] == "1000"
    bounds = alice.get("/api/solana/transfer-params")
    height = {"revision_number": bounds["revision_number"], "revision_height": bounds["max_timeout_height"]}
    send = {"sender": wallet.address, "recipient": alice.address, "currency": key, "amount": "400"}
    built = alice.build("/api/solana/tx/send-source", {**send, "timeout": {"height": height}})
    assert wallet.sign_and_send(built)
    channel = next(
        one["transfer_channel_id"] for one in alice.get("/api/config/networks") if one["chain_type"] == "svm"
    )
    leg = {"from_chain": "solana", "to_chain": IDENTITY.prefix, "timeout_height": height}
    followed = {"direction": f"solana_to_{IDENTITY.prefix}", "channel": channel, "legs": [leg]}
    number = alice.build("/api/transfer/track", followed)["id"]
    ended = until(lambda: _ended(ask(f"{app}/api/transfer/status/{number}")[1]))
    assert ended["state"] == "STATE_COMPLETED_SUCCESS"
    assert ended["transfer_asset_release"] == {"chain": IDENTITY.prefix, "released": True}
    after = alice.get(f"/api/solana/balances/{wallet.address}")
    assert {one["key"]: one["amount"] for one in after["tokens"]}[key] == "600"


def _ended(found: dict[str, Any]) -> Any:
    return found if found.get("state") not in (None, "STATE_PENDING") else None


def test_no_documented_route_is_without_its_upstream(market: Stack, alice: Client, lease: str) -> None:
    """Every documented route, asked something sensible, answers well: nothing behind it is missing."""
    app = market.url("app_api")
    facts = _facts(market, alice, lease)
    documented = {
        (method.upper(), path)
        for path, operations in alice.get("/api/openapi.json")["paths"].items()
        for method in operations
    }
    asked: dict[tuple[str, str], tuple[str, Any]] = {
        ("GET", path): (target, None) for path, target in reads(facts).items()
    }
    given = writes(facts)
    # The payment that is there already is taken back before another is announced.
    cancel = "/api/zero-interest/payments/{payment_id}"
    asked |= {("DELETE", cancel): given.pop(cancel)}
    asked |= {("POST", path): sample for path, sample in given.items()}
    asked = {operation: sample for operation, sample in asked.items() if operation in documented}
    assert not documented - set(asked), "every documented route has a sample"
    wrong = {}
    for (method, path), (target, body) in asked.items():
        status, text = sent(method, app + target, body)
        if not 200 <= status < 300:
            wrong[f"{method} {path}"] = (status, text[:300])
    assert not wrong, "\n".join(f"{name}: {found}" for name, found in wrong.items())


def _facts(market: Stack, alice: Client, lease: str) -> Facts:
    app = market.url("app_api")
    wallet = SvmWallet(market.url("upstreams"), 9)
    wallet.fund(MINT, 1_000)
    program = address_bytes(load(profile="devnet").settings.upstreams.svm_program_id)
    wallet.fund(encode(voucher_mint(program, IDENTITY.base_denom)), 1_000)
    usdc = alice.get(f"/api/currencies/USDC_NOBLE@{PROTOCOL}")["bank_symbol"]
    stake = {"validator_address": validators()[0], "amount": "10000000", "sender": alice.address}
    staked = alice.signed(alice.build("/api/staking/delegate", stake))
    alice.build("/api/swap/track", {"chain_id": IDENTITY.chain_id, "tx_hash": staked["txhash"]})
    payment = {"lease_address": lease, "amount": "1000000", "denom": usdc, "owner_address": alice.address}
    leg = {"revision_number": 0, "revision_height": 10**9}
    track = {
        "direction": f"{IDENTITY.prefix}_to_solana",
        "channel": "channel-4200",
        "legs": [{"from_chain": IDENTITY.prefix, "to_chain": "solana", "timeout_height": leg}],
    }
    return Facts(
        client=alice,
        svm=wallet,
        lease=lease,
        proposal=proposed(Client(market, "carol")),
        usdc=usdc,
        code=ask(f"{app}/api/referral/register", {"wallet_address": alice.address})[1]["referral_code"],
        stranger=Client(market, "erin").address,
        swap=_routed(alice, usdc, IDENTITY.base_denom, "50000000"),
        tracked=staked["txhash"],
        payment=alice.build("/api/zero-interest/payments", {**payment, "signature": "opaque"})["payment"]["id"],
        transfer=alice.build("/api/transfer/track", track)["id"],
    )


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
