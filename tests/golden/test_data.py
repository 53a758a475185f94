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
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
import zstandard
from tests.golden.data_judgement import Answer, Judge
from tests.golden.data_rules import EMPTY, deliberate
from tests.golden.data_shapes import cell_differences, differences, shape_differences
from tests.golden.data_world import NOW, Vocabulary, World

from leasehold.core.clock import ManualClock
from leasehold.core.settings import Database, Identity, Limits, Settings
from leasehold.data_api.service import application
from leasehold.serving.service import serving
from leasehold.storage import migrations
from leasehold.storage.embedded import ROLE, EmbeddedServer

ROOT = Path(os.environ.get("LEASEHOLD_GOLDEN") or Path(__file__).parents[3] / "shared" / "golden")
SHOWN = 12
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
JUDGE = Judge(WORDS)
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
        connection = http.client.HTTPConnection(*place[0], timeout=120)
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
    # Every answer that is kept is there before the first request, however busy the machine.
    while history and ask("GET", "/ready", {}, None)[0] != 200:
        time.sleep(0.05)
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
        found = JUDGE.problems(case, answer)
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
            if case["case"].startswith(EMPTY) or case["response"]["status"] != 200 or deliberate(case, WORDS):
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
        ({"a": "1"}, {"a": None}),
        ({"a": 0.0}, {"a": 0}),
        ({"a": 1}, {"a": 1.0}),
        ([{"a": True}], [{"a": "true"}]),
        ([{"a": "2026-11-14T03:00:00Z"}], [{"a": "2026-11-14T03:00:00+00:00"}]),
        ([[1, 0.5]], [[1, "0.5"]]),
        ([1], []),
        ([], [1]),
    ],
)
def test_another_shape_is_noticed(recorded: Any, ours: Any) -> None:
    """A missing member, another type, another notation, another order, null and missing rows are differences."""
    assert list(differences(recorded, ours))


def test_additions_are_allowed() -> None:
    """Members of ours beside the recorded ones, and a number where null was recorded, are no difference."""
    assert not list(differences({"a": "1", "b": None}, {"a": "0.25", "b": "3", "c": 1}))
    assert not list(differences({"price": "1"}, {"price": None}))


def test_another_cell_is_noticed() -> None:
    """A cell of a form that no recorded row has there is a difference, an empty one is not."""
    recorded = [["2026-11-14T03:00:00Z", "1.5000"], ["2026-11-15T03:00:00Z", ""]]
    assert not list(cell_differences(["time", "amount"], recorded, ["2026-11-14T03:00:00.123Z", "2"]))
    assert not list(cell_differences(["time", "amount"], recorded, ["2026-11-14T03:00:00Z", ""]))
    assert list(cell_differences(["time", "amount"], recorded, ["2026-11-14", "2"]))
    assert list(cell_differences(["time", "amount"], recorded, ["2026-11-14T03:00:00Z", "true"]))
    assert list(cell_differences(["time", "amount"], recorded, ["2026-11-14T03:00:00Z"]))
