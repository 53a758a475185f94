"""Answers of the data API have the shapes of the recorded ones.

Files are found by content, so that another set (LEASEHOLD_GOLDEN) is judged the same way; results also go to
LEASEHOLD_GOLDEN_REPORT, one JSON line per file. Where ours differs on purpose a rule below says so and why.
"""

from __future__ import annotations

import asyncio
import gzip
import http.client
import json
import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote_to_bytes, urlsplit

import psycopg
import pytest
import zstandard
from tests.golden.data_shapes import differences, shape_differences
from tests.golden.data_world import NOW, PREFIXES, Vocabulary, World

from leasehold.core.addresses import InvalidAddress
from leasehold.core.clock import ManualClock
from leasehold.core.settings import Database, Identity, Limits, Settings
from leasehold.data_api.api import DataApi
from leasehold.data_api.service import application
from leasehold.serving.service import serving
from leasehold.storage import migrations
from leasehold.storage.embedded import ROLE, EmbeddedServer

ROOT = Path(os.environ.get("LEASEHOLD_GOLDEN") or Path(__file__).parents[3] / "shared" / "golden")
SHOWN = 12
EMPTY = "empty database"
Answer = tuple[int, dict[str, str], bytes]
Ask = Callable[[str, str, dict[str, str], bytes | None], Answer]


def _is_data(cases: list[dict[str, Any]]) -> bool:
    """Recordings of the data API name the three preflight headers in `vary`, whatever the answer."""
    told = [case.get("response", {}).get("headers", {}).get("vary", "") for case in cases]
    marked = "Origin, Access-Control-Request-Method, Access-Control-Request-Headers"
    return sum(marked in text for text in told) * 2 > len(cases)


def _found() -> tuple[list[Path], Path | None]:
    recordings, shapes = [], None
    for path in sorted(ROOT.rglob("*.json")) if ROOT.is_dir() else []:
        with path.open("rb") as file:
            opening = file.read(2000)
        if b'"GET /api/' in opening and b'"types"' in opening:
            shapes = path
        elif b'"cases"' in opening and b'"request"' in opening and b'"response"' in opening:
            cases = json.loads(path.read_bytes())["cases"]
            if cases and "response" in cases[0] and _is_data(cases):
                recordings.append(path)
    return recordings, shapes


RECORDINGS, SHAPES = _found()
CASES = {path: json.loads(path.read_bytes())["cases"] for path in RECORDINGS}
WORDS = Vocabulary.of([case for cases in CASES.values() for case in cases])
pytestmark = [
    pytest.mark.golden,
    pytest.mark.skipif(not RECORDINGS, reason="no recordings of the data API: set LEASEHOLD_GOLDEN"),
]


@contextmanager
def _served(postgres: EmbeddedServer, name: str, *, history: bool) -> Iterator[Ask]:
    with psycopg.connect(postgres.url(database="postgres", owner=True), autocommit=True) as owner:
        owner.execute(f"CREATE DATABASE {name} OWNER {ROLE} STRATEGY FILE_COPY")
    url = postgres.url(database=name)
    asyncio.run(migrations.apply(url, schema="indexer", migrations=migrations.of_package("leasehold.indexer")))
    with psycopg.connect(url) as connection:
        World(connection, WORDS, history=history)
    settings = Settings(
        identity=Identity(prefix="nolus", base_denom="unls", display="NLS", namespace="nolus", network="NOLUS"),
        database=Database(url=url, pool_size=4),
        limits=Limits(exempt=("127.0.0.0/8",)),
    )
    started, stop = threading.Event(), threading.Event()
    place: list[tuple[str, int]] = []

    async def run() -> None:
        clock = ManualClock(int(NOW.timestamp()) * 10**9)
        async with serving(application(replace(settings), clock)) as running:
            place.append((running.host, running.port))
            started.set()
            await asyncio.to_thread(stop.wait)

    def ask(method: str, path: str, headers: dict[str, str], body: bytes | None) -> Answer:
        connection = http.client.HTTPConnection(*place[0], timeout=20)
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            told = {key.lower(): value for key, value in response.getheaders()}
            return response.status, told, _decoded(response.read(), told.get("content-encoding"))
        finally:
            connection.close()

    thread = threading.Thread(target=lambda: asyncio.run(run()), daemon=True)
    thread.start()
    assert started.wait(60), "the data API did not start"
    try:
        yield ask
    finally:
        stop.set()
        thread.join(30)


def _decoded(body: bytes, coding: str | None) -> bytes:
    if coding == "gzip":
        return gzip.decompress(body)
    if coding == "zstd":
        return zstandard.ZstdDecompressor().decompress(body, max_output_size=1 << 24)
    return body


@pytest.fixture(scope="module")
def full(postgres: EmbeddedServer) -> Iterator[Ask]:
    """The data API over an index with everything the recordings ask for."""
    with _served(postgres, "golden_data_full", history=True) as ask:
        yield ask


@pytest.fixture(scope="module")
def empty(postgres: EmbeddedServer) -> Iterator[Ask]:
    """The data API over an index with protocols and currencies and nothing else."""
    with _served(postgres, "golden_data_empty", history=False) as ask:
        yield ask


# Routes that the interface document has and the recorded service lacks, and an alias that old clients call.
ADDED = (
    "/health", "/ready", "/openapi.json", "/llms.txt", "/api/leases", "/api/utilization-level", "/api/position-opens",
    "/api/lease-markets", "/api/subscriptions", "/api/blocks/", "/api/staking-", "/subscribe",
)  # fmt: skip
PATHS = [route.path for route in DataApi(Settings(), ManualClock(0)).registry if route.method == "GET"]


def _query(path: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(path).query, keep_blank_values=True))


def _is_address(text: str) -> bool:
    try:
        PREFIXES.account_bytes(text)
    except InvalidAddress:
        return False
    return True


def _bad_address(path: str) -> bool:
    query = _query(path)
    return "address" in query and not _is_address(query["address"])


def _bad_contracts(query: dict[str, str]) -> bool:
    """Whether `to` is given and is neither an instant nor contracts."""
    parts = [part.strip() for part in query.get("to", "").split(",") if part.strip()]
    return bool(parts) and not re.match(r"\d{4}-", parts[0]) and not all(map(_is_address, parts))


def _undecodable(path: str) -> bool:
    try:
        text = unquote_to_bytes(path.replace("+", " ")).decode()
    except UnicodeDecodeError:
        return True
    return any(character < " " for character in text)


def _is_ours(route: str) -> bool:
    """Whether the description has a GET route for a path."""
    return any(re.fullmatch(re.sub(r"\{[a-z_]+\}", "[^/]+", path), route) for path in PATHS)


def _unknown_currency(query: dict[str, str]) -> bool:
    links = {
        (link["protocol"], ticker) for ticker, told in WORDS.currencies.items() for link in told.get("protocols", ())
    }
    return (query.get("protocol", "").upper(), query.get("key", "")) not in links | WORDS.charts


def deliberate(case: dict[str, Any]) -> tuple[set[int], str] | None:
    """Statuses we give instead of the recorded one, and why; None where we do as recorded."""
    method, path = case["request"]["method"], case["request"]["path"]
    status = case["response"]["status"]
    query, route = _query(path), urlsplit(path).path
    if (
        status in (404, 405)
        and method in ("GET", "POST")
        and route.startswith(ADDED)
        and (_is_ours(route) or method == "POST")
    ):
        return {200, 400, 404, 503}, "the interface document has this route (surprise 20)"
    if route == "/api/test-push":
        return {400, 401}, "an admin key in a header instead of a secret in the query (sheet, section 9)"
    if method != "GET" and "/subscri" not in route:
        return {200, 404, 405}, "a wrong method is 405, HEAD and preflight work (surprises 16 and 24)"
    if _undecodable(path):
        return {400}, "bad input is refused (issue; the recorded service looks for U+FFFD)"
    if _bad_address(path) and status in (200, 500):
        return {400}, "an address must be lower-case bech32 (interface, surprises 7 and 15)"
    if any(name.lower() == "if-none-match" for name in case["request"].get("headers") or {}):
        return {200, 304}, "an unchanged answer is not sent again (issue)"
    if set(query.get("search", "")) & {"%", "_"}:
        return {200}, "wildcards are text (sheet, section 4.6)"
    if route == "/api/txs" and status == 200 and _bad_contracts(query):
        return {400}, "a bad value of a known parameter is 400 (issue)"
    if query.get("format", "csv") not in ("csv", "json"):
        return {400}, "a bad value of a known parameter is 400 (issue, surprise 11)"
    if "interval" in query and query["interval"].startswith("-") and status == 200:
        return {400}, "negative numbers are refused (issue, sheet 2.3)"
    if "protocol" in query and query["protocol"].upper() not in WORDS.protocols and status == 200:
        return {404}, "an unknown protocol is 404 (interface)"
    if route == "/api/prices" and "interval" not in query:
        return {200, 404}, "without interval: current prices (interface)"
    if route == "/api/prices" and status == 200 and _unknown_currency(query):
        return {404}, "an unknown currency is 404 (interface)"
    if route == "/api/prices" and query.get("protocol", "").upper() != query.get("protocol", ""):
        return {200}, "names of protocols work in any case (surprise 12), here too"
    if route == "/api/pnl-over-time" and query.get("interval") == "0":
        return {200}, "interval counts (interface, surprise 15)"
    if status == 500:
        return {200, 400}, "the caller's fault is 400, and what failed works (surprises 9, 15, 17, 29)"
    return None


def _judged(case: dict[str, Any], answer: Answer) -> list[str]:
    recorded = case["response"]
    status, headers, body = answer
    if "service-desc" not in headers.get("link", ""):
        return ["no Link header"]
    rule = deliberate(case)
    if rule is not None:
        return [] if status in rule[0] else [f"status {status}, expected one of {sorted(rule[0])}: {rule[1]}"]
    if status != recorded["status"]:
        return [f"status {status}, recorded {recorded['status']}: {body[:120]!r}"]
    media = headers.get("content-type", "").partition(";")[0]
    if status >= 400:
        # One envelope for every error, where the recorded service has five forms.
        told = json.loads(body)
        good = set(told) == {"error", "message", "status"} and told["status"] == status
        return [] if good else [f"not the error envelope: {body[:120]!r}"]
    if "body_lines" in recorded:
        return _table(recorded, headers, media, body)
    if recorded.get("body_kind") == "text":
        return [] if body.decode() == recorded["body"] else [f"{body!r}, recorded {recorded['body']!r}"]
    if recorded.get("body") is None and recorded.get("body_kind") != "json":
        return []
    if media != "application/json":
        return [f"content type {media}"]
    ours = json.loads(body)
    if "from" in _query(case["request"]["path"]) and not (recorded["body"] and ours):
        # Which rows an instant lets through depends on figures that are not copied.
        return [] if isinstance(ours, list) else [f"no list: {body[:120]!r}"]
    found = list(differences(recorded["body"], ours))
    if case["case"].startswith(EMPTY):
        found += _zeros(case, ours)
    return found


def _zeros(case: dict[str, Any], ours: Any) -> list[str]:
    """Without rows the values are known too: what the recorded service says of nothing."""
    recorded = case["response"]["body"]
    route = urlsplit(case["request"]["path"]).path
    if not isinstance(recorded, dict) or route == "/api/version" or "count" in recorded:
        return []
    # The recorded service adds a constant that is no part of the data (sheet, section 4.5).
    wanted = {"amount": "0.00"} if route == "/api/realized-pnl-stats" else recorded
    # Recorded arrays are cut to their first three items.
    said = {name: ours[name][:3] if isinstance(ours[name], list) else ours[name] for name in wanted}
    return [f"{name}: {said[name]!r}, recorded {value!r}" for name, value in wanted.items() if said[name] != value]


def _table(recorded: dict[str, Any], headers: dict[str, str], media: str, body: bytes) -> list[str]:
    lines = body.decode().split("\n")
    found = []
    if media != "text/csv":
        found.append(f"content type {media}")
    if headers.get("content-disposition") != recorded["headers"].get("content-disposition"):
        found.append(f"disposition {headers.get('content-disposition')}")
    # An empty table of ours still has its header line, so there is nothing to compare that with.
    if recorded["body_lines"][0] and lines[0] != recorded["body_lines"][0]:
        found.append(f"columns {lines[0]}")
    if lines[-1]:
        found.append("the last line has no end")
    if len(recorded["body_lines"]) > 2 and len(lines) < 3:
        found.append("no rows")
    return found


def _subscribed(ask: Ask, wish: dict[str, Any], active: bool) -> None:
    """Bring a subscription into the state a recorded toggle found it in."""
    if active:
        ask("POST", "/api/subscriptions", {"Content-Type": "application/json"}, json.dumps(wish).encode())
    else:
        auth = wish["data"]["keys"]["auth"]
        ask("DELETE", f"/api/subscriptions?address={wish['address']}&auth={auth}", {}, None)


def _report(result: dict[str, Any]) -> None:
    target = os.environ.get("LEASEHOLD_GOLDEN_REPORT")
    if target:
        with Path(target).open("a") as file:
            file.write(json.dumps(result) + "\n")


def _path_of(case: dict[str, Any]) -> str:
    return str(case["request"]["path"]).replace("<secret>", "secret").replace(" ", "%20")


@pytest.mark.parametrize("path", RECORDINGS or [Path("none.json")], ids=lambda path: path.stem)
def test_recording(path: Path, full: Ask, empty: Ask, share: Callable[[str, int, int], None]) -> None:
    """Every recorded request gets an answer of the recorded status, type and shape, or differs by a stated rule."""
    wrong: list[str] = []
    for case in CASES[path]:
        ask = empty if case["case"].startswith(EMPTY) else full
        request = case["request"]
        content = request.get("body")
        body = (
            None if content is None else content.encode() if isinstance(content, str) else json.dumps(content).encode()
        )
        if case["response"].get("body") in ("subscribed", "unsubscribed"):
            _subscribed(ask, content, case["response"]["body"] == "unsubscribed")
        answer = ask(request["method"], _path_of(case), dict(request.get("headers") or {}), body)
        found = _judged(case, answer)
        if found:
            wrong.append(f"{case['case']}: {'; '.join(found[:3])}")
    total = len(CASES[path])
    _report(
        {
            "folder": "data",
            "file": path.name,
            "agreed": total - len(wrong),
            "total": total,
            "differences": wrong[:SHOWN],
        }
    )
    share(f"data/{path.name} cases", total - len(wrong), total)
    assert not wrong, "\n".join(wrong[:SHOWN])


def _example(route: str) -> list[str]:
    """Requests of the recordings that show a route with something in it."""
    found = []
    for cases in CASES.values():
        for case in cases:
            if case["case"].startswith(EMPTY) or case["response"]["status"] != 200 or deliberate(case):
                continue
            place = urlsplit(case["request"]["path"]).path
            fits = place == route or ("{" in route and place.rsplit("/", 1)[0] == route.rsplit("/", 1)[0])
            alone = "{" not in route or not place.endswith("/active")
            if fits and alone and case["request"]["method"] == "GET" and "body_lines" not in case["response"]:
                found.append(_path_of(case))
    return found


@pytest.mark.skipif(SHAPES is None, reason="no table of shapes")
def test_shapes(full: Ask, share: Callable[[str, int, int], None]) -> None:
    """Every field of the table of shapes is there with one of its types; every CSV has its columns."""
    assert SHAPES is not None
    wrong: list[str] = []
    agreed = total = 0
    for name, shape in json.loads(SHAPES.read_bytes()).items():
        if not name.startswith("GET "):
            continue
        route, _, kind = name.removeprefix("GET ").partition(" (")
        if route == "/api/test-push":
            continue
        if kind:
            total += 1
            _, _, body = full("GET", f"{route}?format=csv", {}, None)
            columns = body.decode().split("\n", 1)[0].split(",")
            agreed += columns == shape["columns"]
            wrong += [] if columns == shape["columns"] else [f"{name}: {columns}"]
            continue
        requests = _example(route) or [WORDS.example(route)]
        bodies = [json.loads(full("GET", request, {}, None)[2]) for request in requests]
        for field, told in shape.items():
            # Several recorded requests may show different forms of a route; each field must be right in one of them.
            found = [list(shape_differences({field: told}, body)) for body in bodies]
            total += 1
            agreed += any(not problems for problems in found)
            if all(found):
                wrong.append(f"{name} {found[0][0]}")
    _report({"folder": "data", "file": "shapes", "agreed": agreed, "total": total, "differences": wrong[:SHOWN]})
    share("data/shapes.json fields", agreed, total)
    assert not wrong, "\n".join(wrong[:SHOWN])


@pytest.mark.parametrize(
    ("recorded", "ours"),
    [
        ({"a": "1"}, {"b": "1"}),
        ({"a": "1.5000"}, {"a": 1.5}),
        ({"a": "1"}, {"a": "1e-7"}),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ([{"a": True}], [{"a": "true"}]),
        ([{"a": "2026-11-14T03:00:00Z"}], [{"a": "2026-11-14T03:00:00+00:00"}]),
        ([1], []),
        ([], [1]),
    ],
)
def test_another_shape_is_noticed(recorded: Any, ours: Any) -> None:
    """A missing member, another type, another notation, another order and missing rows are differences."""
    assert list(differences(recorded, ours))


def test_additions_are_allowed() -> None:
    """Members of ours beside the recorded ones, and a number where null was recorded, are no difference."""
    assert not list(differences({"a": "1", "b": None}, {"a": "0.25", "b": "3", "c": 1}))
