"""Bad input is 400 (or 404 for a name nobody has), never 500, on every route and parameter."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest
from tests.unit.data_api.served_history import Client, History

from leasehold.serving.parameters import Parameter
from leasehold.serving.routes import Route

NASTY = [
    "'", "';DROP TABLE indexer.cursor;--", '"', "\\", "%", "_", "--", "$1", "{}", "NULL", "\u0000", "\u202e\u0430dmin",
    "-1", "-0", "1e9", "9" * 19, "9" * 400, "0x10", "\u0661", "true", "TRUE", " ", "", "a" * 5000, "nan", "Infinity",
    "../../etc/passwd", "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"),
]  # fmt: skip


def _values(history: History) -> dict[str, str]:
    lease = next(iter(history.scenario.truth.leases))
    return {
        "address": history.scenario.users[0], "protocol": "OSMOSIS-OSMOSIS-USDC", "name": "OSMOSIS-OSMOSIS-USDC",
        "ticker": "BTC", "key": "BTC", "interval": "7", "tx": "AB" * 32, "height": "1", "lease": lease,
        "auth": "a" * 22, "active": "true", "type": "Funding",
    }  # fmt: skip


def _target(route: Route, values: dict[str, str], parameter: Parameter, text: str) -> str:
    path, query = route.path, []
    for known in route.parameters:
        value = text if known is parameter else values.get(known.name) if known.required else None
        if value is None:
            continue
        if known.place == "path":
            path = path.replace(f"{{{known.name}}}", quote(value, safe=""))
        else:
            query.append(f"{known.name}={quote(value, safe='')}")
    return path + ("?" + "&".join(query) if query else "")


@pytest.mark.parametrize("nasty", NASTY, ids=range(len(NASTY)))
def test_no_value_of_any_parameter_breaks_a_route(client: Client, history: History, nasty: str) -> None:
    """Metacharacters, giants, other scripts and control characters end in an answer that the description allows."""
    values = _values(history)
    for route in client.application.registry:
        if route.method != "GET":
            continue
        for parameter in route.parameters:
            target = _target(route, values, parameter, nasty)
            status = client.get(target).status
            assert status in (200, 400, 401, 404, 414), f"{target[:200]} -> {status}"
            if parameter.name == "address" and status != 401:
                assert status == 400, target


def test_the_index_survived(client: Client) -> None:
    """Nothing that was sent above changed anything."""
    assert client.json("/api/blocks") == 600


@pytest.mark.parametrize(
    "target",
    [
        "/api/txs?address=ADDRESS&address=ADDRESS",
        "/api/liquidations?period=1w",
        "/api/liquidations?period=",
        "/api/liquidations?from=2026-10-20",
        "/api/liquidations?format=CSV",
        "/api/liquidations?format=xml",
        "/api/liquidations?export=1",
        "/api/txs?address=ADDRESS&skip=-1",
        "/api/txs?address=ADDRESS&limit=-1",
        "/api/txs?address=ADDRESS&limit=1.5",
        "/api/txs?address=ADDRESS&filter=bogus",
        "/api/txs?address=ADDRESS&filter=positions_ids",
        "/api/txs?address=ADDRESS&to=somewhere",
        "/api/earnings",
        "/api/earnings?address=foo",
        "/api/earnings?address=nolus1rverdfazdxwd3ffzz6qlv0zjy0fztc4c2g9x4h",
        "/api/earnings?address=%FF",
        "/api/revenue?x=%G1",
    ],
)
def test_refused(client: Client, history: History, target: str) -> None:
    """A bad value of a known parameter is 400 with the envelope, and says which parameter."""
    answer = client.get(target.replace("ADDRESS", history.scenario.users[0]))
    assert answer.status == 400
    assert set(answer.json) == {"error", "message", "status"}
    assert (answer.json["error"], answer.json["status"]) == ("Bad Request", 400)
    last = target.partition("?")[2].rpartition("&")[2].partition("=")[0] or "address"
    # What is missing there is the other parameter.
    meant = "to" if target.endswith("positions_ids") else last
    assert re.search(rf"\b{meant}\b", answer.json["message"])


def test_upper_case_addresses_are_refused(client: Client, history: History) -> None:
    """An address must be lower case, though bech32 itself allows both."""
    assert client.get(f"/api/earnings?address={history.scenario.users[0].upper()}").status == 400


def test_unknown_parameters_are_ignored(client: Client) -> None:
    """As the public service does."""
    assert client.json("/api/revenue?x=1&y=%27") == client.json("/api/revenue")


def test_clamps(client: Client, history: History) -> None:
    """Larger values are lowered to the maximum."""
    account = history.scenario.users[0]
    assert client.json(f"/api/txs?address={account}&limit=101") == client.json(f"/api/txs?address={account}&limit=100")
    assert len(client.json(f"/api/ls-loan-closing?address={account}&limit=100")) <= 10
