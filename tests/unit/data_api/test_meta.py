"""The API about itself and about the index; protocols and currencies."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import psycopg
from tests.unit.data_api.facts import Facts, instant
from tests.unit.data_api.large_index import fill
from tests.unit.data_api.served_history import Client, History, own_database, served

from leasehold.core.clock import ManualClock
from leasehold.core.settings import Database
from leasehold.storage import migrations
from leasehold.storage.embedded import EmbeddedServer

TAGS = [
    "Protocol", "Currency", "Metrics", "Treasury", "Liquidity", "Position", "Lease", "Market", "PnL", "Wallet", "Meta",
    "Health",
]  # fmt: skip


def test_description_has_twelve_tags_and_more_than_seventy_routes(client: Client) -> None:
    """Exactly the twelve tags; at least 71 operations that are no aliases, each with a summary."""
    document = client.json("/openapi.json")
    assert document["openapi"] == "3.1.0"
    assert sorted(tag["name"] for tag in document["tags"]) == sorted(TAGS)
    operations = [operation for path in document["paths"].values() for operation in path.values()]
    assert all(operation["summary"] for operation in operations)
    assert all(len(operation["tags"]) == 1 for operation in operations)
    assert sum("Alias" not in operation["summary"] for operation in operations) >= 71


def test_every_json_answer_has_an_example_that_fits(client: Client) -> None:
    """Examples are there, and the description's own schemas accept them."""
    document = client.json("/openapi.json")
    shown = 0
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            content = operation["responses"]["200"].get("content", {}).get("application/json", {})
            for named in content.get("examples", {}).values():
                client.contract.check(named["value"], content["schema"], f"{method} {path}")
                shown += 1
    assert shown >= 60


def test_overviews_name_every_route(client: Client) -> None:
    """Page and text list all public routes; the page can search, try and copy, the text tells the conventions."""
    page, text = client.get("/"), client.get("/llms.txt")
    assert page.headers["content-type"].startswith("text/html")
    assert text.headers["content-type"].startswith("text/plain")
    for path in client.json("/openapi.json")["paths"]:
        assert path in page.body.decode()
        assert path in text.body.decode()
    for word in ("Search", "Try it", "Copy as curl"):
        assert word in page.body.decode()
    for word in ("`period`", "`from`", "`export=true`", "`limit`", "Retry-After", "If-None-Match"):
        assert word in text.body.decode()
        assert word in client.json("/openapi.json")["info"]["description"]


def test_blocks(client: Client, history: History) -> None:
    """A bare count, the newest block, one by height, and no gaps."""
    facts = Facts(history.scenario)
    height, block_hash, txs, _ = facts.truth.blocks[-1]
    assert client.json("/api/blocks") == height
    newest = {"height": height, "hash": block_hash, "time": instant(facts.times[height]), "tx_count": txs}
    assert client.json("/api/blocks/latest") == newest
    assert client.json(f"/api/blocks/{height}") == newest
    assert client.json("/api/blocks/gaps") == {"first_height": 1, "height": height, "gaps": []}
    for missing in (height + 1, 0, 10**17):
        assert client.get(f"/api/blocks/{missing}").status == 404
    for wrong in ("-1", "x", "1.5", "9" * 40):
        assert client.get(f"/api/blocks/{wrong}").status == 400


def test_missing_blocks_are_gaps(postgres: EmbeddedServer, history: History) -> None:
    """Heights that were taken out are told as ranges, also after the index has grown."""
    with own_database(postgres, "data_api_gaps") as url:
        for schema in ("indexer", "data_api"):
            found = migrations.of_package(f"leasehold.{schema}")
            asyncio.run(migrations.apply(url, schema=schema, migrations=found))
        fill(url, 600, instant(history.now_ns - 3600 * 10**9))
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("DELETE FROM indexer.blocks WHERE height IN (5, 17, 18, 19, 20)")
            connection.execute("UPDATE indexer.cursor SET blocks = blocks - 5")
            with served(replace(history.settings, database=Database(url=url)), ManualClock(history.now_ns)) as client:
                gaps = [{"first": 5, "last": 5}, {"first": 17, "last": 20}]
                assert client.json("/api/blocks/gaps") == {"first_height": 1, "height": 600, "gaps": gaps}
                connection.execute("UPDATE indexer.cursor SET blocks = blocks + 1, height = height + 1")
                assert client.json("/api/blocks/gaps") == {"first_height": 1, "height": 601, "gaps": gaps}
                assert client.json("/api/blocks") == 596


def test_answers_say_their_height(client: Client, history: History) -> None:
    """Live answers and snapshots carry the height and time they speak for."""
    facts = Facts(history.scenario)
    height = facts.truth.blocks[-1][0]
    for path in ("/api/revenue", f"/api/earnings?address={history.scenario.users[0]}", "/api/positions?export=true"):
        answer = client.get(path)
        assert answer.headers["x-block-height"] == str(height)
        assert answer.headers["x-block-time"][:19] == instant(facts.times[height])[:19]


def test_unchanged_answers_are_304(client: Client, history: History) -> None:
    """Snapshots, live answers and CSV forms are not sent twice to who has them."""
    account = history.scenario.users[0]
    for path in ("/api/pools", f"/api/txs?address={account}", "/api/liquidations?format=csv", "/api/blocks", "/"):
        first = client.get(path)
        again = client.get(path, **{"If-None-Match": first.headers["etag"]})
        assert (again.status, again.body) == (304, b""), path
    assert client.get("/api/pools", **{"If-None-Match": '"other"'}).status == 200


def test_caching_is_told(client: Client, history: History) -> None:
    """Aggregates last five minutes or an hour, accounts are always asked again."""
    assert "max-age=300" in client.get("/api/revenue").headers["cache-control"]
    assert "max-age=3600" in client.get("/api/pools").headers["cache-control"]
    account = history.scenario.users[0]
    assert client.get(f"/api/leases?address={account}").headers["cache-control"] == "no-cache"


def test_health(client: Client) -> None:
    """Alive, and ready because the newest block is seconds old."""
    assert client.json("/health")["status"] == "ok"
    ready = client.json("/ready")
    assert ready["status"] == "ready"
    assert ready["checks"] == {"database": True, "caches": True, "indexed_height": 600, "lag_seconds": 5}
    assert client.json("/api/version") == {"version": client.json("/health")["version"]}


def test_an_index_that_lags_is_not_ready_and_says_so(history: History) -> None:
    """Ten minutes after the last block: not ready, and every kind of answer says that it is stale."""
    with served(history.settings, ManualClock(history.now_ns + 600 * 10**9), ready=False) as late:
        ready = late.get("/ready")
        assert (ready.status, ready.json["error"]) == (503, "Service Unavailable")
        assert "605 seconds old" in ready.json["message"]
        account = history.scenario.users[0]
        for path in ("/api/revenue", f"/api/leases?address={account}", "/api/liquidations?export=true", "/api/pools"):
            answer = late.get(path)
            assert answer.status == 200
            assert "does not follow the chain" in answer.headers["warning"], path
        assert late.get("/api/pools").headers["cache-control"] == "no-cache"
        assert late.get("/health").status == 200


def test_protocols(client: Client, history: History) -> None:
    """All with their contracts, by name; exact names only."""
    page = client.json("/api/protocols")
    assert [protocol["name"] for protocol in page["protocols"]] == sorted(m.name for m in history.scenario.markets)
    assert (page["count"], page["active_count"], page["deprecated_count"]) == (2, 2, 0)
    assert client.json("/api/protocols/active") == page
    market = history.scenario.markets[0]
    one = client.json(f"/api/protocols/{market.name}")
    assert one in page["protocols"]
    assert one["contracts"]["lpp"] == market.address("lpp")
    assert "deprecated_at" not in one
    for unknown in (market.name.lower(), "NOBODY", "a%27b", "%E2%82%AC"):
        assert client.get(f"/api/protocols/{unknown}").status == 404


def test_currencies(client: Client) -> None:
    """All with where they are used; every link has all its members."""
    page = client.json("/api/currencies")
    assert [currency["ticker"] for currency in page["currencies"]] == ["BTC", "ETH", "LSH", "USDC"]
    assert client.json("/api/currencies/active")["count"] == 4
    bitcoin = client.json("/api/currencies/BTC")
    assert bitcoin["decimal_digits"] == 8
    assert [(link["protocol"], link["group"]) for link in bitcoin["protocols"]] == [
        ("OSMOSIS-OSMOSIS-BTC", "lpn"),
        ("OSMOSIS-OSMOSIS-USDC", "lease"),
    ]
    assert client.get("/api/currencies/btc").status == 404


def test_other_methods_are_refused(client: Client) -> None:
    """A wrong method is 405 with what is allowed, HEAD works, and the envelope is the same everywhere."""
    refused = client.ask("POST", "/api/revenue")
    assert refused.status == 405
    assert "GET" in refused.headers["allow"]
    assert refused.json == {"error": "Method Not Allowed", "message": refused.json["message"], "status": 405}
    head = client.ask("HEAD", "/api/revenue")
    assert (head.status, head.body) == (200, b"")
    unknown = client.get("/api/nothing")
    assert (unknown.status, set(unknown.json)) == (404, {"error", "message", "status"})


def test_any_origin_may_call(client: Client) -> None:
    """CORS is open."""
    assert client.get("/api/revenue", Origin="https://elsewhere.example").headers["access-control-allow-origin"] == "*"
