"""Messaging tokens: signed, short-lived, about the right wallet, and never about guesses."""

from __future__ import annotations

import base64
import hmac
import json
from fractions import Fraction
from hashlib import sha256
from typing import Any

import pytest
from tests.unit.app_api.write_stage import NOW, WALLET, staged

from leasehold.app_api import messaging
from leasehold.app_api.messaging import Portfolio, attributes, signed
from leasehold.core.addresses import encode
from leasehold.core.errors import NotReady

RICH = Portfolio(
    balance=Fraction(399128, 100),
    positions=2,
    position_value=Fraction(1, 3),
    position_debt=Fraction(5),
    position_profit=Fraction(-1, 2),
    earned=Fraction(27267, 100),
    pools=3,
    delegated=3_000_010,
    delegated_usd=Fraction(4, 100),
    vested=0,
    validators=3,
    vesting=False,
)


def _parts(token: str) -> tuple[dict[str, Any], dict[str, Any], bytes]:
    head, claims, signature = (base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)) for part in token.split("."))
    return json.loads(head), json.loads(claims), signature


def test_a_token_is_a_jwt() -> None:
    """Header, claims and an HMAC over both, base64url without padding; the published example of RFC 7515 agrees."""
    token = signed({"user_id": "x"}, "secret")
    head, claims, signature = _parts(token)
    assert (head, claims) == ({"typ": "JWT", "alg": "HS256"}, {"user_id": "x"})
    assert "=" not in token
    assert signature == hmac.new(b"secret", token.rpartition(".")[0].encode(), sha256).digest()


def test_attributes_are_texts_with_fixed_places() -> None:
    """USD has two places, the native token as many as it has decimals, and its name is in the claim's."""
    found = attributes(RICH, "lsh", 6)
    assert found["total_balance_usd"] == "3991.28"
    assert found["positions_value_usd"] == "0.33"
    assert found["positions_unrealized_pnl_usd"] == "-0.50"
    assert found["staking_delegated_lsh"] == "3.000010"
    assert (found["positions_count"], found["has_active_leases"], found["is_vesting_account"]) == (2, True, False)


@pytest.mark.parametrize("path", ["/api/messaging/hash", "/api/intercom/hash"])
async def test_a_token_is_about_the_wallet_and_expires(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The token names its wallet and ends fifteen minutes from now."""

    async def known(app: Any, wallet: str) -> Portfolio:
        return RICH

    monkeypatch.setattr(messaging, "portfolio", known)
    dashboard = "https://operator.example/{address}"
    async with staged(messaging_secret="s", messaging_dashboard=dashboard) as stage:
        status, answer = await stage.send(path, {"wallet": WALLET, "wallet_type": "keplr"})
        assert status == 200
        _, claims, _ = _parts(answer["token"])
        assert list(claims)[:2] == ["user_id", "exp"]
        assert (claims["user_id"], claims["sub"], claims["exp"]) == (WALLET, WALLET, NOW + 900)
        assert claims["positions_dashboard_url"] == f"https://operator.example/{WALLET}"
        assert claims["wallet_type"] == "keplr"


async def test_wallets_are_checked() -> None:
    """An empty, malformed or foreign wallet is 400 with the member's name."""
    async with staged(messaging_secret="s") as stage:
        for wallet, words in (
            ("", "wallet is required"),
            ("foo", "Invalid wallet format"),
            (encode("osmo", b"w" * 20), "Invalid wallet format"),
        ):
            status, answer = await stage.send("/api/messaging/hash", {"wallet": wallet, "wallet_type": "x"})
            assert (status, answer["error"]["field"], answer["error"]["message"]) == (400, "wallet", words)


async def test_no_secret_or_cold_inputs_are_503() -> None:
    """Without a secret, before its inputs are there, and while the chain does not answer there is no token."""
    body = {"wallet": WALLET, "wallet_type": "x"}
    async with staged() as stage:
        status, answer = await stage.send("/api/messaging/hash", body)
        assert (status, answer["error"]["message"]) == (503, "Messaging is not configured")
    async with staged(messaging_secret="s", filled=False) as stage:
        assert (await stage.send("/api/messaging/hash", body))[0] == NotReady.status
    async with staged(messaging_secret="a secret") as stage:
        status, answer = await stage.send("/api/messaging/hash", body)
        assert status == 503
        assert "a secret" not in json.dumps(answer)
