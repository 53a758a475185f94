"""The application API agrees with recorded answers of the public service, given the same upstream answers.

Files are found by content, so that another set (LEASEHOLD_GOLDEN) is judged the same way; results also go to
LEASEHOLD_GOLDEN_REPORT, one JSON line per file. Requests that change something, and those of admins, are played and
counted by test_app_writes.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import aiohttp
import pytest
from tests.golden.app_comparison import differences
from tests.golden.app_read_rules import Facts, good_answers
from tests.golden.app_world import RecordedWorld, replayed
from yarl import URL

from leasehold.app_api import service
from leasehold.app_api.api import DOCUMENT, assemble
from leasehold.app_api.app import App
from leasehold.app_api.live.endpoint import Live
from leasehold.app_api.refresh import Graph, Refresher
from leasehold.app_api.tracking import tracker
from leasehold.app_api.tracking.phases import Leg, TimeoutHeight
from leasehold.app_api.upstreams import all as upstreams
from leasehold.app_api.upstreams.transport import Manners
from leasehold.core.clock import SystemClock, to_datetime
from leasehold.core.configuration import load
from leasehold.core.errors import InvalidInput
from leasehold.core.metrics import Metrics
from leasehold.core.settings import Settings
from leasehold.serving.application import Application
from leasehold.serving.contracts import Contract, ContractViolation
from leasehold.serving.service import serving
from leasehold.storage import migrations

SHARED = Path(__file__).parents[3] / "shared" / "golden"
ROOT = Path(os.environ.get("LEASEHOLD_GOLDEN") or SHARED)
READS = frozenset(("GET", "HEAD", "OPTIONS"))
ADMIN = "/api/admin"
SHOWN = 40


@dataclass(frozen=True)
class Scene:
    """What the world is like while a file's requests are made."""

    gated: bool = True
    refused: bool = False
    then: str = "good"
    optional: bool = True
    limited: bool = False


SCENES = {
    "cold_upstream_refused": Scene(refused=True),
    "cold_no_gated_files": Scene(gated=False),
    "services_not_configured": Scene(optional=False),
    "upstream_500": Scene(then="500"),
    "upstream_garbage": Scene(then="garbage"),
    "upstream_hang": Scene(then="hang"),
    "rate_limit_cors": Scene(limited=True),
}


# How the cases of each scene begin, so that a file is judged by what it holds rather than by its name.
OPENINGS = {
    "cold, upstreams refuse connections": "cold_upstream_refused",
    "no gated files": "cold_no_gated_files",
    "not configured": "services_not_configured",
    "every upstream answers 500": "upstream_500",
    "every upstream answers 200 with HTML": "upstream_garbage",
    "upstreams hang": "upstream_hang",
    "429 on": "rate_limit_cors",
}


def scene_name(path: Path, cases: list[dict[str, Any]]) -> str:
    """Name of the scene a file was recorded in; its own where nothing special was going on."""
    if path.stem in SCENES:
        return path.stem
    found = (name for opening, name in OPENINGS.items() if any(case["case"].startswith(opening) for case in cases))
    return next(found, path.stem)


def _recordings() -> list[Path]:
    """Files of cases that are HTTP exchanges with the application API."""
    found = []
    for path in sorted(ROOT.rglob("*.json")) if ROOT.is_dir() else []:
        with path.open("rb") as file:
            opening = file.read(600)
        if b'"cases"' in opening and b'"request"' in opening:
            cases = json.loads(path.read_bytes())["cases"]
            if scene_name(path, cases) in SCENES or any("upstream" in case and "response" in case for case in cases):
                found.append(path)
    return found


RECORDINGS = _recordings()
pytestmark = [
    pytest.mark.golden,
    pytest.mark.skipif(not RECORDINGS, reason="no recordings of the application API: set LEASEHOLD_GOLDEN"),
]


def _settings(base: str, database: str, world: RecordedWorld, scene: Scene, gated: Path) -> Settings:
    settings = load(profile="nolus").settings
    contracts = world.world["contracts"]
    optional = base if scene.optional else upstreams.OFF
    wide = replace(settings.limits, reads_burst=100_000, reads_per_second=100_000.0)
    limited = replace(settings.limits, trusted_proxies=("127.0.0.0/8",))
    return replace(
        settings,
        chain=replace(settings.chain, rpc_urls=(base,), lcd_url=base, admin_contract=contracts["admin"]),
        database=replace(settings.database, url=database),
        limits=limited if scene.limited else wide,
        app_api=replace(
            settings.app_api,
            data_api_url=base,
            swap_url=base,
            swap_api_key="swapkey",
            referral_url=optional,
            referral_token="reftoken",
            payments_url=optional,
            payments_token="zitoken",
            svm_url=f"{base}/sol" if scene.optional else upstreams.OFF,
            dispatcher_contract=contracts["dispatcher"],
            gated_folder=str(gated),
            cors_origins=("https://app.example",) if scene.limited else ("*",),
            websocket_connections=1 if scene.limited else settings.app_api.websocket_connections,
        ),
    )


def _gated_folder(folder: Path, world: RecordedWorld) -> Path:
    """The recorded documents and locales as files."""
    (folder / "locales").mkdir(parents=True)
    for name, content in world.world["gated_files"].items():
        (folder / name).write_text(json.dumps(content))
    files = dict(world.world["locale_files"])
    listed = files["languages.json"]["languages"]
    known = {one["key"] for one in listed}
    # The recorded service serves any file of the folder; ours only languages that are listed.
    extra = [name[:-5] for name in files if name[:-5] not in known | {"languages", "audit", "pending"}]
    listed = [*listed, *({"key": key, "label": key, "is_source": False, "is_active": True} for key in extra)]
    files["languages.json"] = {"languages": listed}
    for name, content in files.items():
        (folder / "locales" / name).write_text(json.dumps(content))
    return folder


def _possible(graph: Graph, scene: Scene) -> list[Refresher]:
    """The refreshers that can succeed in a scene: those that need nothing it lacks, directly or through others."""
    lacking = {"gated_config"} if not scene.gated else set()
    if scene.refused:
        lacking |= {name for name, one in graph.refreshers.items() if one.source not in ("memory", "PostgreSQL")}
    for name in graph.order:
        if not lacking.isdisjoint(graph.refreshers[name].needs):
            lacking.add(name)
    return [one for name, one in graph.refreshers.items() if name not in lacking]


@asynccontextmanager
async def staged(database: str, scene: Scene, folder: Path) -> AsyncIterator[tuple[str, App, RecordedWorld]]:
    """Our application API in front of the recorded world."""
    world = RecordedWorld(ROOT / "app", ROOT, SHARED / "app")
    async with replayed(world) as base:
        if scene.refused:
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                base = f"http://127.0.0.1:{free.getsockname()[1]}"
        gated = _gated_folder(folder / "gated", world) if scene.gated else folder / "none"
        settings = _settings(base, database, world, scene, gated)
        app = assemble(settings, SystemClock())
        metrics = Metrics()
        graphs = []

        @asynccontextmanager
        async def lifespan() -> AsyncIterator[None]:
            async with service.running(app, metrics) as graph:
                graphs.append(graph)
                yield

        application = Application(
            app.registry,
            limits=settings.limits,
            snapshots=app.snapshots,
            metrics=metrics,
            cors_origins=settings.app_api.cors_origins,
            websockets=Live(app, metrics).endpoints,
            lifespan=lifespan,
        )
        async with serving(application, grace_seconds=1) as running:
            async with asyncio.timeout(120):
                for refresher in _possible(graphs[0], scene):
                    await refresher.warm.wait()
            world.mode = scene.then
            yield running.url, app, world


@asynccontextmanager
async def _crowded(session: aiohttp.ClientSession, base: str, case: dict[str, Any]) -> AsyncIterator[None]:
    """As many WebSockets as are allowed, while a case is asked that was refused for being one more."""
    if case["response"]["status"] == 503 and case["request"]["path"] == "/ws":
        async with session.ws_connect(f"{base}/ws"):
            yield
    else:
        yield


def told(response: aiohttp.ClientResponse) -> dict[str, Any]:
    """Headers as recordings have them: names in lower case, a list where a name was sent on more than one line."""
    names = {name.lower(): response.headers.getall(name) for name in response.headers}
    return {name: values[0] if len(values) == 1 else list(values) for name, values in names.items()}


async def _ask(session: aiohttp.ClientSession, base: str, request: dict[str, Any]) -> tuple[int, dict[str, Any], bytes]:
    async with session.request(
        request["method"],
        URL(base + request["path"], encoded=True),
        headers=request["headers"],
        allow_redirects=False,
    ) as response:
        body = await response.read()
        return response.status, told(response), body


def _cases(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_bytes())["cases"]
    return found


def _violations(
    contract: Contract, request: dict[str, Any], status: int, headers: dict[str, Any], body: bytes
) -> list[str]:
    """What our own document does not allow about an answer of ours."""
    described = urlsplit(request["path"]).path
    if request["method"] != "GET" or status == 304 or not described.startswith("/api/") or described == DOCUMENT:
        return []
    try:
        contract.validate("GET", request["path"], status, headers.get("content-type"), body)
    except (ContractViolation, InvalidInput) as error:
        return [] if status == 400 and isinstance(error, InvalidInput) else [f"not as described: {error}"]
    return []


def settings_burst(scene: Scene) -> int:
    """Most requests that fit into a client's budget."""
    return 2 * load(profile="nolus").settings.limits.reads_burst if scene.limited else 0


async def _follow_recorded(app: App, case: dict[str, Any]) -> None:
    """Follow the transfer a case asks about, as the recorded session did before: far from its timeout, no news yet."""
    key = case["request"]["path"].removeprefix("/api/transfer/status/")
    if key == case["request"]["path"] or case["response"]["status"] != 200:
        return
    legs = [
        Leg(leg["from_chain"], leg["to_chain"], TimeoutHeight(2**31, 2**31))
        for leg in case["response"]["body"]["transfers"]
    ]
    now = to_datetime(app.clock.now_ns())
    await tracker.follow(app, tracker.Transfer(UUID(key), "nolus_to_solana", "channel-9", None, legs, now))


def _report(result: dict[str, Any]) -> None:
    target = os.environ.get("LEASEHOLD_GOLDEN_REPORT")
    if target:
        with Path(target).open("a") as file:
            file.write(json.dumps(result) + "\n")


@pytest.fixture
def short_tempers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Upstreams that hang are given up soon; those that answer have the usual time, however slow the machine is."""
    path = request.node.callspec.params["path"]
    if SCENES.get(scene_name(path, _cases(path)), Scene()).then != "hang":
        return
    monkeypatch.setattr("leasehold.app_api.writes.swap.SECONDS", 1.0)
    monkeypatch.setattr(upstreams, "CHAIN", Manners(seconds=1.0, at_once=256))
    monkeypatch.setattr(upstreams, "SERVICE", Manners(seconds=1.0, at_once=64))
    monkeypatch.setattr("leasehold.app_api.resources.health.PROBE_SECONDS", 0.8)


@pytest.mark.usefixtures("short_tempers")
@pytest.mark.parametrize("path", RECORDINGS or [Path("none.json")], ids=lambda path: path.stem)
async def test_recording(path: Path, database: str, tmp_path: Path, share: Callable[[str, int, int], None]) -> None:
    """Every recorded read is answered as recorded, less the listed exceptions."""
    cases = _cases(path)
    name = scene_name(path, cases)
    scene = SCENES.get(name, Scene())
    label = f"{name}.json"
    reads = [
        case for case in cases if case["request"]["method"] in READS and not case["request"]["path"].startswith(ADMIN)
    ]
    if not reads:
        pytest.skip("only requests that change something")
    wrong: list[str] = []
    good = plain = 0
    async with (
        staged(database, scene, tmp_path) as (base, app, world),
        aiohttp.ClientSession(auto_decompress=True) as session,
    ):
        contract = Contract(app.registry)
        facts = Facts(
            world.world, world.upstream, good_answers([ROOT / "app", ROOT, SHARED / "app"], frozenset(SCENES))
        )
        for case in reads:
            await _follow_recorded(app, case)
            async with _crowded(session, base, case):
                status, headers, body = await _ask(session, base, case["request"])
            if case["response"]["status"] == 429:
                # The recorded client had spent its budget before.
                for _ in range(settings_burst(scene)):
                    if status == 429:
                        break
                    status, headers, body = await _ask(session, base, case["request"])
            found = differences(label, case, status, headers, body, facts=facts)
            found += _violations(contract, case["request"], status, headers, body)
            good += not found
            plain += not differences(label, case, status, headers, body, exceptions=False, facts=facts)
            wrong += [f"{case['case']}: {text}" for text in found]
        unanswered = sorted(set(world.unanswered))
    _report(
        {
            "folder": "app",
            "file": path.name,
            "agreed": plain,
            "total": len(reads),
            "excepted": good - plain,
            "differences": wrong[:SHOWN],
            "unanswered": unanswered,
        }
    )
    share(f"app/{path.name} reads", good, len(reads))
    share(f"app/{path.name} without exceptions", plain, len(reads))
    assert not wrong, "\n".join(line[:1500] for line in wrong[:SHOWN])


async def test_migrations_apply_once(database: str) -> None:
    """The schema of the application API is made by its migrations, and a second start changes nothing."""
    files = migrations.of_package("leasehold.app_api")
    assert await migrations.apply(database, schema=service.SCHEMA, migrations=files) == files
    assert await migrations.apply(database, schema=service.SCHEMA, migrations=files) == []
