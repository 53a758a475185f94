"""Subscribing, asking and stopping, as new clients and as old ones do it."""

from __future__ import annotations

import json
from typing import Any

from tests.unit.data_api.raw_history import RawHistory
from tests.unit.data_api.served_history import ADMIN_KEY, Client, History

from leasehold.data_api.subscriptions import MOST_BROWSERS

JSON = {"Content-Type": "application/json"}


def _wish(address: str, auth: str = "a" * 22) -> dict[str, Any]:
    keys = {"p256dh": "B" + "A" * 86, "auth": auth}
    return {"address": address, "data": {"endpoint": "https://push.example/x", "expirationTime": None, "keys": keys}}


def _post(client: Client, path: str, body: Any, headers: dict[str, str] | None = None) -> tuple[int, bytes]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    answer = client.ask("POST", path, data, JSON if headers is None else headers)
    return answer.status, answer.body


def test_subscribing_twice_is_subscribing(client: Client, history: History) -> None:
    """POST and DELETE may be repeated; GET tells which it is."""
    address, auth = history.scenario.users[0], "b" * 22
    state = f"/api/subscriptions?address={address}&auth={auth}"
    assert client.json(state) == {"subscribed": False}
    for _ in range(2):
        assert _post(client, "/api/subscriptions", _wish(address, auth)) == (200, b'{"subscribed":true}')
    assert client.json(state) == {"subscribed": True}
    for _ in range(2):
        assert client.ask("DELETE", state).json == {"subscribed": False}
    assert client.json(state) == {"subscribed": False}


def test_old_clients_toggle(client: Client, history: History) -> None:
    """The alias answers in plain text and turns around each time; the state says whether it is known at all."""
    address, auth = history.scenario.users[1], "c" * 22
    known = f"/api/subscribe?address={address}&auth={auth}&active=true"
    assert client.json(known) == {"result": False}
    for path, expected in (
        ("/api/subscribe", b"subscribed"),
        ("/subscribe", b"unsubscribed"),
        ("/api/subscribe", b"subscribed"),
    ):
        assert _post(client, path, _wish(address, auth)) == (200, expected)
        assert client.json(known) == {"result": True}
    assert client.get(f"/api/subscribe?address={address}&auth={auth}").status == 400


def test_both_spellings_of_the_expiry(client: Client, history: History) -> None:
    """Browsers say `expirationTime`, older clients `expiration_time`; both are kept, and counted in milliseconds."""
    address = history.scenario.users[5]
    for number, spelling in enumerate(("expirationTime", "expiration_time")):
        wish = _wish(address, f"{number}" * 22)
        wish["data"].pop("expirationTime")
        wish["data"][spelling] = 1_900_000_000_500
        assert _post(client, "/api/subscriptions", wish)[0] == 200
        ((ends,),) = history.rows(
            "SELECT extract(epoch FROM expires_at)::text FROM data_api.subscriptions WHERE auth = %s", f"{number}" * 22
        )
        assert float(ends) == 1_900_000_000.5


def test_few_browsers_follow_an_account(client: Client, history: History) -> None:
    """Nobody proves to own an account, so there is a bound; those who are there stay, and leaving makes room."""
    address = history.scenario.users[6]
    secrets = [f"{number:022d}" for number in range(MOST_BROWSERS + 1)]
    statuses = [_post(client, "/api/subscriptions", _wish(address, secret))[0] for secret in secrets]
    assert statuses == [200] * MOST_BROWSERS + [429]
    assert _post(client, "/api/subscriptions", _wish(address, secrets[0]))[0] == 200
    client.ask("DELETE", f"/api/subscriptions?address={address}&auth={secrets[0]}")
    assert _post(client, "/api/subscriptions", _wish(address, secrets[-1]))[0] == 200


def test_a_browser_follows_one_account(client: Client, history: History) -> None:
    """The same browser on another account leaves the first one."""
    first, second, auth = history.scenario.users[2], history.scenario.users[3], "d" * 22
    _post(client, "/api/subscriptions", _wish(first, auth))
    _post(client, "/api/subscriptions", _wish(second, auth))
    assert client.json(f"/api/subscriptions?address={first}&auth={auth}") == {"subscribed": False}
    assert client.json(f"/api/subscriptions?address={second}&auth={auth}") == {"subscribed": True}


def test_bad_wishes(client: Client, history: History) -> None:
    """Wrong addresses, keys, endpoints, bodies, types and sizes are refused with the envelope."""
    good = _wish(history.scenario.users[0])
    cases: list[tuple[Any, int]] = [
        ({**good, "address": "foo"}, 400),
        ({**good, "address": good["address"].upper()}, 400),
        ({**good, "data": {}}, 400),
        ({**good, "data": {**good["data"], "endpoint": "ftp://push.example/"}}, 400),
        ({**good, "data": {**good["data"], "expirationTime": 1e300}}, 400),
        ({**good, "data": {**good["data"], "keys": {"p256dh": "x", "auth": "y"}}}, 400),
        (b"{", 400),
        (b"", 400),
        (b"[1]", 400),
        ({**good, "padding": "x" * 5000}, 413),
    ]
    for path in ("/api/subscriptions", "/api/subscribe"):
        for body, expected in cases:
            status, answer = _post(client, path, body)
            assert status == expected, body
            assert set(json.loads(answer)) == {"error", "message", "status"}
    assert _post(client, "/api/subscribe", good, {"Content-Type": "text/plain"})[0] == 400
    assert _post(client, "/api/subscriptions", good, {"Content-Type": "text/plain"})[0] == 415


def test_the_public_key_is_told(client: Client) -> None:
    """Browsers need it to subscribe; it is the same each time."""
    key = client.json("/api/subscriptions/key")["key"]
    assert len(key) == 87
    assert client.json("/api/subscriptions/key")["key"] == key


def test_test_messages_need_an_admin_key(client: Client, history: History) -> None:
    """Without the key 401; with it a sample message is queued for the account."""
    path = f"/api/test-push?address={history.scenario.users[4]}&type=FundNow"
    assert client.get(path).status == 401
    assert client.get(path, Authorization="Bearer wrong").status == 401
    assert client.get(path, Authorization=f"Bearer {ADMIN_KEY}").json == {"data": True}
    rows = history.rows(
        "SELECT payload ->> 'type' FROM outbox WHERE owner = %s AND height = 0", history.scenario.users[4]
    )
    assert rows == [("FundNow",)]


def test_what_owners_are_told(history: History, raw: RawHistory) -> None:
    """Every warning, liquidation and closing waits in the outbox for the lease's owner, once."""
    expected = []
    for place, kind, said in raw.signals:
        if kind == "warning":
            name = {1: "Funding", 2: "FundingRecommended", 3: "FundNow"}[int(said["level"])]
            expected.append((said["lease"], name, place[0]))
    for payment in raw.payments("repay", "market-close", "liquidation"):
        if payment.kind == "liquidation":
            name = "FullyLiquidated" if payment.closes else "PartiallyLiquidated"
            expected.append((payment.lease, name, payment.place[0]))
        elif payment.closes:
            expected.append((payment.lease, "Closed", payment.place[0]))
    rows = history.rows("SELECT lease, kind, height, owner, payload FROM outbox WHERE height > 0")
    assert sorted((lease, kind, height) for lease, kind, height, _, _ in rows) == sorted(set(expected))
    for lease, kind, _, owner, payload in rows:
        assert owner == raw.leases[lease].owner
        assert (payload["type"], payload["data"]["position"]) == (kind, lease)
