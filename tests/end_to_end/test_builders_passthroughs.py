"""Through the application API to the upstreams of this stack: no route that changes something ends in 502."""

from __future__ import annotations

import base64
import hmac
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from decimal import Decimal
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from tests.end_to_end.builder_client import (
    IDENTITY,
    LIVE,
    PROTOCOL,
    Client,
    ask,
    balance_of,
    message_of,
    ready,
    routed,
    sent,
    until,
)
from tests.end_to_end.builder_lives import open_one
from tests.end_to_end.conftest import PATIENCE, Stack, living
from tests.end_to_end.route_samples import MINT, SVM_PROTOCOL, SvmWallet, browser, facts_of, reads, writes

from leasehold.app_api.admin.keys import hashed
from leasehold.app_api.admin.keystore import FRESH_SECONDS
from leasehold.devnet.genesis.document import named_accounts

KEY = "an operator's key"
SECRETS = {
    "app_api.messaging_secret": "top-secret-messaging",
    "app_api.referral_token": "top-secret-referral",
    "app_api.payments_token": "top-secret-payments",
    "app_api.swap_api_key": "top-secret-swaps",
    "app_api.translation_key": "top-secret-translation",
}


@pytest.fixture(scope="module")
def market(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A stack whose keepers feed prices and relay packets, with an operator and a messaging secret."""
    operator = hashed("operator", KEY, cost=2**4).text()
    secrets = (f"{name}={value}" for name, value in SECRETS.items())
    home = tmp_path_factory.mktemp("upstreams")
    with living(home, *LIVE, f"app_api.admin_keys={operator}", *secrets) as running:
        yield running


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


def test_a_reward_is_earned_and_paid_over_a_crash(market: Stack, alice: Client) -> None:
    """A referred wallet's indexed lease earns a reward; its payout is pending, submitted, confirmed in this order, and
    paid once, though the service is killed on the way."""
    before = balance_of(alice, IDENTITY.base_denom)
    open_one(Client(market, "bob"), "ATOM", Client(market, "bob").address, "")
    rewards = f"/api/referral/rewards/{alice.address}"
    (reward,) = until(lambda: alice.get(rewards)["rewards"])
    assert reward["referred_wallet"] == Client(market, "bob").address
    payouts = f"/api/referral/payouts/{alice.address}"
    (payout,) = until(lambda: alice.get(payouts)["payouts"])
    amount = int(payout["total_amount"])
    assert amount == int(reward["reward_amount"])
    seen = [payout["status"]]
    os.kill(market.pid_of("upstreams"), signal.SIGKILL)

    def confirmed() -> bool:
        status, found = ask(market.url("app_api") + payouts)
        if status == 200 and found["payouts"][0]["status"] != seen[-1]:
            seen.append(found["payouts"][0]["status"])
        return seen[-1] == "confirmed"

    until(confirmed, pause=0.02)
    # A busy machine may look too late to see the first of them; never does it see one twice, or another order.
    assert seen == [state for state in ("pending", "submitted", "confirmed") if state in seen]
    assert alice.get(f"{payouts}?status=confirmed")["payouts"][0]["id"] == payout["id"]
    assert alice.get(f"{rewards}?status=paid")["total"] == 1
    assert balance_of(alice, IDENTITY.base_denom) - before == amount
    assert int(alice.get(f"/api/referral/stats/{alice.address}")["stats"]["total_rewards_paid"]) == amount


def test_a_swap_yields_what_its_route_says(market: Stack, alice: Client) -> None:
    """A route of the stack's router becomes messages; signed, they yield its amount, and the provider sees them end."""
    app = market.url("app_api")
    usdc = alice.get(f"/api/currencies/USDC_NOBLE@{PROTOCOL}")["bank_symbol"]
    atom = alice.get(f"/api/currencies/ATOM@{PROTOCOL}")["bank_symbol"]
    swap = routed(alice, usdc, atom, "50000000")
    before = balance_of(alice, atom)
    (tx,) = alice.build("/api/swap/messages", swap)["txs"]
    result = alice.signed({"messages": [message_of(one) for one in tx["cosmos_tx"]["msgs"]], "memo": ""})
    following = {"chain_id": IDENTITY.chain_id, "tx_hash": result["txhash"]}
    assert alice.build("/api/swap/track", following)["tx_hash"] == result["txhash"]
    target = f"{app}/api/swap/status/{result['txhash']}?chain_id={IDENTITY.chain_id}"
    ended = until(lambda: (found := ask(target)[1]) and "COMPLETED" in found.get("state", "") and found)
    assert ended["state"] == "STATE_COMPLETED_SUCCESS"
    assert balance_of(alice, atom) - before == int(swap["amount_out"])


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
    facts = facts_of(market, alice, lease)
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


def test_a_wrong_subscription_is_refused_in_the_words_of_the_data_api(market: Stack, alice: Client) -> None:
    """A subscription reaches the data API, whose refusal comes back as 400."""
    status, answer = ask(f"{market.url('app_api')}/api/etl/subscribe", {"address": alice.address, "data": {}})
    assert (status, answer["error"]["code"]) == (400, "VALIDATION_FAILED")
    assert "endpoint" in answer["error"]["message"]


def test_a_token_tells_what_alice_has(market: Stack, alice: Client, lease: str) -> None:
    """A messaging token is signed with the secret, ends within fifteen minutes, and says what the reads say."""
    body = {"wallet": alice.address, "wallet_type": "keplr"}
    token = alice.build("/api/messaging/hash", body)["token"]
    head, claims, signature = (base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)) for part in token.split("."))
    secret = SECRETS["app_api.messaging_secret"].encode()
    assert hmac.new(secret, token.rpartition(".")[0].encode(), "sha256").digest() == signature
    assert json.loads(head) == {"typ": "JWT", "alg": "HS256"}
    said = json.loads(claims)
    assert (said["sub"], said["user_id"], said["wallet_type"]) == (alice.address, alice.address, "keplr")
    assert 0 < said["exp"] - time.time() <= 900
    leases = alice.get(f"/api/leases?address={alice.address}")
    open_ones = [one for one in leases["leases"] if one["status"] == "opened"]
    assert lease in [one["address"] for one in open_ones]
    assert (said["positions_count"], said["has_active_leases"]) == (len(open_ones), True)
    staked = alice.get(f"/api/staking/positions?address={alice.address}")
    amount = Decimal(staked["total_staked"]).scaleb(-IDENTITY.exponent)
    assert Decimal(said[f"staking_delegated_{IDENTITY.display.lower()}"]) == amount
    assert said["staking_validators_count"] == len(staked["delegations"])
    # Prices move between two requests.
    for name, expected in (
        ("total_balance_usd", alice.get(f"/api/balances?address={alice.address}")["total_value_usd"]),
        ("positions_value_usd", sum(Decimal(one["amount"]["amount_usd"]) for one in open_ones)),
        ("positions_debt_usd", sum(Decimal(one["debt"]["total_usd"]) for one in open_ones)),
    ):
        assert abs(Decimal(said[name]) - Decimal(expected)) <= Decimal(expected) * Decimal("0.03"), name


def test_an_operator_changes_what_is_shown(market: Stack, alice: Client) -> None:
    """A currency taken out of the configuration disappears within seconds, and the log says who did it."""
    app = market.url("app_api")

    def admin(method: str, path: str) -> Any:
        request = Request(f"{app}/api/admin{path}", headers={"Authorization": f"Bearer {KEY}"}, method=method)
        with urlopen(request, timeout=PATIENCE) as reply:
            return json.loads(reply.read())

    until(lambda: any(asset["ticker"] == "WETH" for asset in alice.get("/api/assets")["assets"]))
    assert admin("DELETE", "/gated/currency-display/WETH")["deleted"] == "WETH"
    until(lambda: all(asset["ticker"] != "WETH" for asset in alice.get("/api/assets")["assets"]))
    assert admin("GET", "/gated/audit")[0]["admin_user"] == "operator"


def test_a_key_of_the_command_line_opens_and_closes(market: Stack) -> None:
    """A running stack takes a key made beside it, and refuses it once it is revoked."""

    def command(*arguments: str) -> str:
        given = [sys.executable, "-m", "leasehold", "--home", str(market.home), "admin", "key", *arguments]
        return subprocess.run(given, capture_output=True, text=True, check=True).stdout

    def status(key: str) -> int:
        target = f"{market.url('app_api')}/api/admin/snapshots"
        try:
            with urlopen(Request(target, headers={"Authorization": f"Bearer {key}"}), timeout=PATIENCE) as reply:
                return int(reply.status)
        except HTTPError as refusal:
            refusal.close()
            return refusal.code

    key = command("create", "erin").strip().rpartition(" ")[2]
    # A wrong key counts against the client, so the service is given the time for which it may keep what it knows.
    time.sleep(1.25 * FRESH_SECONDS)
    assert status(key) == 200
    command("revoke", "erin")
    until(lambda: status(key) == 401)


def test_no_log_has_a_secret(market: Stack) -> None:
    """Neither the operator's key nor any secret of the settings is in a log or an announcement of the stack."""
    logs = "".join(path.read_text(errors="replace") for path in (market.home / "logs").glob("*.log"))
    assert logs
    for secret in (KEY, "top-secret", named_accounts()["payer"].mnemonic):
        assert secret not in logs
        assert secret not in "".join(market.lines)


def test_the_settings_shown_have_no_secret() -> None:
    """`config show` names every secret setting and masks its value, in both forms."""
    flags = [part for name, value in SECRETS.items() for part in ("--set", f"{name}={value}")]
    for form in ((), ("--json",)):
        command = [sys.executable, "-m", "leasehold", *flags, "config", "show", *form]
        shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert all(name in shown for name in SECRETS)
        assert "top-secret" not in shown
