"""Every documented route answers: as described, kept as long as it should be, in every form it has."""

from __future__ import annotations

import http.client
import json
import re
import socket
from dataclasses import replace

import pytest
from tests.unit.data_api.raw_history import RawHistory
from tests.unit.data_api.served_history import ADMIN_KEY, Client, History, served

from leasehold.core.clock import ManualClock
from leasehold.core.settings import Limits
from leasehold.data_api.shelf import ROOM
from leasehold.serving.routes import Route

# Seconds an answer is kept (0: always read live), and whether it has a CSV form and an export: the fact sheet's table,
# with the total value locked on the hour as the interface document says, and our additions below.
LIVE, FIVE, HOUR, CHART = 0, 300, 3600, 15
TABLE: dict[str, tuple[int, str]] = {
    "/api/protocols": (LIVE, ""), "/api/protocols/active": (LIVE, ""), "/api/protocols/{name}": (LIVE, ""),
    "/api/currencies": (LIVE, ""), "/api/currencies/active": (LIVE, ""), "/api/currencies/{ticker}": (LIVE, ""),
    "/api/total-value-locked": (HOUR, ""), "/api/total-tx-value": (FIVE, ""), "/api/supplied-funds": (HOUR, ""),
    "/api/borrowed": (HOUR, ""), "/api/open-interest": (HOUR, ""), "/api/open-position-value": (HOUR, ""),
    "/api/supplied-borrowed-history": (HOUR, "f"), "/api/monthly-active-wallets": (FIVE, "f"),
    "/api/revenue": (FIVE, ""), "/api/revenue-series": (FIVE, "f"), "/api/distributed": (FIVE, ""),
    "/api/buyback": (FIVE, "f"), "/api/buyback-total": (FIVE, ""), "/api/incentives-pool": (FIVE, ""),
    "/api/earnings": (LIVE, ""), "/api/pools": (HOUR, ""), "/api/utilization-level": (HOUR, "f"),
    "/api/current-lenders": (HOUR, "f"), "/api/historical-lenders": (FIVE, "fe"), "/api/lp-withdraw": (LIVE, ""),
    "/api/realized-pnl": (LIVE, ""), "/api/realized-pnl-data": (LIVE, ""), "/api/realized-pnl-stats": (FIVE, ""),
    "/api/realized-pnl-wallet": (FIVE, "fe"), "/api/unrealized-pnl": (HOUR, ""),
    "/api/unrealized-pnl-by-address": (LIVE, ""), "/api/pnl-over-time": (LIVE, ""), "/api/leases": (LIVE, ""),
    "/api/leases-search": (LIVE, ""), "/api/leases-monthly": (FIVE, "f"), "/api/leased-assets": (FIVE, ""),
    "/api/lease-value-stats": (HOUR, "f"), "/api/loans-by-token": (HOUR, "f"), "/api/loans-granted": (FIVE, "f"),
    "/api/ls-opening": (LIVE, ""), "/api/ls-loan-closing": (LIVE, ""), "/api/liquidations": (FIVE, "fe"),
    "/api/interest-repayments": (FIVE, "fe"), "/api/historically-opened": (FIVE, "fe"),
    "/api/historically-repaid": (FIVE, "fe"), "/api/historically-liquidated": (FIVE, "fe"),
    "/api/positions": (HOUR, "fe"), "/api/position-buckets": (HOUR, ""), "/api/daily-positions": (HOUR, "f"),
    "/api/open-positions-by-token": (HOUR, ""), "/api/position-debt-value": (LIVE, ""),
    "/api/position-opens": (LIVE, "f"), "/api/lease-markets": (FIVE, "f"), "/api/prices": (CHART, ""),
    "/api/txs": (LIVE, ""), "/api/history-stats": (LIVE, ""), "/api/blocks": (LIVE, ""),
    "/api/blocks/latest": (LIVE, ""), "/api/blocks/gaps": (LIVE, ""), "/api/blocks/{height}": (LIVE, ""),
    "/api/version": (LIVE, ""),
    # Ours beside them.
    "/api/staking-activity": (LIVE, "f"), "/api/staking-earnings": (LIVE, ""), "/api/lease-signals": (LIVE, "f"),
    "/api/reserve-covers": (FIVE, "fe"), "/api/pool-rates": (HOUR, "f"), "/api/total-value-locked-series": (HOUR, "f"),
}  # fmt: skip
# A decimal string that is not in plain notation.
EXPONENT = re.compile(rb'"-?\d+(\.\d+)?[eE][+-]?\d+"')
# Routes that speak for no block.
TIMELESS = {"/api/version", "/health", "/ready", "/openapi.json", "/llms.txt", "/"}


@pytest.fixture(scope="module")
def values(history: History, raw: RawHistory) -> dict[str, str]:
    """A good value of every required parameter."""
    withdrawal = next(key for key, row in history.scenario.truth.pool_flows.items() if row[0] == "withdraw")
    return {
        "address": history.scenario.users[0], "protocol": "OSMOSIS-OSMOSIS-USDC", "name": "OSMOSIS-OSMOSIS-USDC",
        "ticker": "BTC", "interval": "7", "tx": raw.hashes[withdrawal[:2]], "height": "1", "auth": "a" * 22,
        "active": "true", "type": "Funding",
    }  # fmt: skip


def _target(route: Route, values: dict[str, str]) -> str:
    path, query = route.path, []
    for parameter in route.parameters:
        if parameter.place == "path":
            path = path.replace(f"{{{parameter.name}}}", values[parameter.name])
        elif parameter.required:
            query.append(f"{parameter.name}={values[parameter.name]}")
    return path + "?" + "&".join(query) if query else path


def test_every_route_answers(client: Client, values: dict[str, str]) -> None:
    """Every GET of the description is a success that fits its schema, and says which block it speaks for."""
    for route in client.application.registry:
        if route.method != "GET":
            continue
        answer = client.get(_target(route, values), Authorization=f"Bearer {ADMIN_KEY}")
        assert answer.status == 200, (route.path, answer.body[:200])
        assert answer.body
        assert not EXPONENT.search(answer.body), route.path
        live = route.path.startswith("/api/subscri") or route.path == "/api/test-push"
        if not live and route.path not in TIMELESS:
            assert answer.headers.get("x-block-height") == "600", route.path
            assert answer.headers["x-block-time"].startswith("2025-"), route.path


def test_every_named_route_is_there(client: Client) -> None:
    """All routes of the interface document and the fact sheet, and nothing without a place in the table."""
    known = {route.path for route in client.application.registry if route.method == "GET"}
    assert set(TABLE) <= known
    elsewhere = {"/api/subscriptions", "/api/subscriptions/key", "/api/subscribe", "/api/test-push", "/api/ls-openings"}
    assert {path for path in known if path not in TABLE and not path.endswith("/export")} == elsewhere | TIMELESS - {
        "/api/version"
    }
    writes = {(route.method, route.path) for route in client.application.registry if route.method != "GET"}
    assert writes == {
        ("POST", "/api/subscriptions"), ("DELETE", "/api/subscriptions"), ("POST", "/api/subscribe"),
        ("POST", "/subscribe"),
    }  # fmt: skip


@pytest.mark.parametrize("path", TABLE)
def test_kept_as_long_as_it_should_be(client: Client, values: dict[str, str], path: str) -> None:
    """Aggregates say how long they last, accounts are always asked again; an unchanged answer is a 304."""
    seconds, _ = TABLE[path]
    target = _target(client.application.registry.find("GET", path), values)
    answer = client.get(target)
    kept = answer.headers["cache-control"]
    assert f"max-age={seconds}" in kept if seconds else kept == "no-cache"
    again = client.get(target, **{"If-None-Match": answer.headers["etag"]})
    assert (again.status, again.body) == (304, b"")


@pytest.mark.parametrize("path", [path for path, (_, forms) in TABLE.items() if forms])
def test_tables(client: Client, values: dict[str, str], path: str) -> None:
    """CSV has the members of the JSON rows as columns, one line a row, under the route's name; exports are the same."""
    _, forms = TABLE[path]
    target = _target(client.application.registry.find("GET", path), values)
    joined = target + ("&" if "?" in target else "?")
    everything = "period=all&" if "period" in _names(client, path) else ""
    table = client.get(f"{joined}{everything}format=csv")
    name = path.removeprefix("/api/")
    assert table.headers["content-type"] == "text/csv"
    assert table.headers["content-disposition"] == f'attachment; filename="{name}.csv"'
    rows = client.json(f"{joined}{everything}format=json")
    assert len(table.lines) == len(rows) + 1
    assert table.body.endswith(b"\n")
    if rows and isinstance(rows[0], dict):
        assert table.lines[0].split(",") == list(rows[0])
    if "e" in forms:
        export = client.get(f"{joined}export=true")
        assert export.body == table.body
        assert client.get(f"{path}/export").body == table.body if path != "/api/reserve-covers" else True
    else:
        # `export` is no parameter of this route, so it is ignored.
        assert client.get(f"{joined}export=true").status == 200


def _names(client: Client, path: str) -> set[str]:
    return {parameter.name for parameter in client.application.registry.find("GET", path).parameters}


@pytest.mark.parametrize("path", TABLE)
def test_windows_and_pages(client: Client, values: dict[str, str], path: str) -> None:
    """Every period is a window inside the next; a page is the same rows as a longer one."""
    names = _names(client, path)
    target = _target(client.application.registry.find("GET", path), values)
    joined = target + ("&" if "?" in target else "?")
    if "period" in names:
        lengths = [len(client.json(f"{joined}period={period}")) for period in ("3m", "6m", "12m", "all")]
        assert lengths == sorted(lengths)
        assert client.json(f"{joined}from=2000-01-01T00:00:00Z") == client.json(f"{joined}period=all")
        assert client.json(f"{joined}from=2099-01-01T00:00:00%2B02:00") == []
        assert client.get(f"{joined}period=3M").status == client.get(f"{joined}period=").status == 400
        assert client.get(f"{joined}period=3m&period=3m").status == 400
    if "skip" in names:
        whole = client.json(f"{joined}limit=100")
        assert client.json(f"{joined}skip=1&limit=2") == whole[1:3]
        assert client.json(f"{joined}limit=0") == []
        assert client.json(f"{joined}skip=999999999999999999") == []
        assert client.get(f"{joined}skip=-1").status == client.get(f"{joined}limit=-1").status == 400
        assert client.get(f"{joined}limit=").status == client.get(f"{joined}limit=ten").status == 400
        assert client.json(f"{joined}limit=999999999999999999") == whole
        assert client.get(f"{joined}limit=99999999999999999999").status == 400


@pytest.mark.parametrize(
    ("method", "target", "status"),
    [
        ("GET", "/api/nothing", 404), ("GET", "/nothing", 404), ("GET", "/api/pools/", 404), ("GET", "/API/pools", 404),
        ("PUT", "/api/pools", 405), ("PATCH", "/api/subscriptions", 405), ("DELETE", "/api/pools", 405),
        ("OPTIONS", "/api/pools", 200), ("OPTIONS", "/api/subscriptions", 200), ("HEAD", "/api/positions", 200),
        ("HEAD", "/api/liquidations?export=true", 200), ("HEAD", "/api/earnings", 400), ("HEAD", "/api/nothing", 404),
        ("GET", "/api/pools?%FF=%FF", 400), ("GET", "/%FF", 400), ("GET", "/api/protocols/%2e%2e", 404),
        ("GET", "/api/liquidations?export=true&export=true", 400), ("GET", "/?x=" + "y" * 9000, 414),
    ],
)  # fmt: skip
def test_every_answer_links_to_the_description(client: Client, method: str, target: str, status: int) -> None:
    """Errors, other methods, heads and CSV too: `Link` names the description and the overview."""
    connection = http.client.HTTPConnection(client.host, client.port, timeout=60)
    connection.request(method, target)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    assert answer.status == status
    assert answer.headers["link"] == (
        '</openapi.json>; rel="service-desc"; type="application/json", '
        '</llms.txt>; rel="describedby"; type="text/plain"'
    )
    assert answer.headers.get("access-control-allow-origin", "*") == "*"
    if method == "HEAD":
        assert body == b""
    elif status >= 400:
        assert set(json.loads(body)) == {"error", "message", "status"}


def test_requests_that_are_none_get_a_link_too(client: Client) -> None:
    """What can't be parsed at all is told 400 with the envelope and the link."""
    with socket.create_connection((client.host, client.port), timeout=60) as connection:
        connection.sendall(b"NONSENSE\r\n\r\n")
        answer = b""
        while chunk := connection.recv(65536):
            answer += chunk
    assert answer.startswith(b"HTTP/1.1 400")
    assert b"service-desc" in answer
    assert b'"status":400' in answer


def test_too_many_requests_are_told_when_to_come_back(history: History) -> None:
    """Above the limit 429 with `Retry-After` and the envelope, for kept answers as for live ones."""
    settings = replace(history.settings, limits=Limits(reads_per_second=1, reads_burst=5))
    with served(settings, ManualClock(history.now_ns)) as limited:
        for path in ("/api/revenue", f"/api/earnings?address={history.scenario.users[0]}"):
            answers = [limited.get(path) for _ in range(8)]
            refused = [answer for answer in answers if answer.status == 429]
            assert refused, path
            assert int(refused[0].headers["retry-after"]) >= 1
            assert set(refused[0].json) == {"error", "message", "status"}
        assert limited.get("/health").status == 200


def test_many_different_questions_do_not_fill_the_memory(client: Client) -> None:
    """Whatever is asked for, only so many answers are kept, and unknown parameters make no new ones."""
    always = len(client.application.snapshots)
    for interval in range(1, 101):
        for key in ("BTC", "ETH", "USDC"):
            client.json(f"/api/prices?interval={interval}&protocol=OSMOSIS-OSMOSIS-USDC&key={key}")
    assert len(client.application.snapshots) <= always + ROOM
    before = len(client.application.snapshots)
    for number in range(20):
        client.json(f"/api/revenue?nobody={number}")
        client.json(f"/api/liquidations?from=2025-01-01T00:00:{number:02d}Z")
    assert len(client.application.snapshots) <= before


def test_a_half_read_export_leaves_nothing_behind(client: Client) -> None:
    """Clients that go away in the middle give their slots back: later exports run at once."""
    for _ in range(6):
        connection = http.client.HTTPConnection(client.host, client.port, timeout=60)
        connection.request("GET", "/api/interest-repayments?export=true")
        response = connection.getresponse()
        assert response.status == 200
        response.read(10)
        connection.close()
    assert client.get("/api/positions?export=true").status == 200
