"""Requests that change something, or build something, are answered as recorded, less the listed exceptions.

Messages that the recorded service builds and the contracts refuse are corrected in the recording before comparing:
what the contracts accept is a fact of the contracts, proven end to end elsewhere.
"""

from __future__ import annotations

import hmac
import json
import re
from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from hashlib import sha256
from io import BytesIO
from itertools import permutations
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import aiohttp
import pytest
from tests.golden import app_write_rules as rules
from tests.golden import report
from tests.golden import test_app as reads
from tests.golden.app_answers import answered_instead
from tests.golden.app_comparison import differences
from tests.golden.app_states import States
from tests.golden.app_world import RecordedWorld
from yarl import URL

from leasehold.app_api.admin.keys import hashed
from leasehold.app_api.api import assemble
from leasehold.app_api.app import App
from leasehold.app_api.upstreams import all as upstreams
from leasehold.core.clock import SystemClock
from leasehold.core.configuration import load
from leasehold.core.settings import Settings
from leasehold.serving.contracts import Contract, ContractViolation
from leasehold.serving.openapi import document

SECRET = "local-secret"
ADMIN_KEY = "the key of the recorded operator"
DASHBOARD = "https://dashboard.example/chain-data/wallet-explorer?address={address}"
_SIZE = re.compile(r"<(\d+) bytes>")
pytestmark = reads.pytestmark


class World(RecordedWorld):
    """The recorded world, in which questions that only we ask are answered from those that were recorded."""

    def _found(self, method: str, raw: str, body: str) -> tuple[int, Any] | None:
        if method == "POST" and raw == "/api/subscribe":
            raw = "/subscribe"
        found = super()._found(method, raw, body)
        if found is None and '"swap_venues"' in body:
            # The recorded service lists venues in an order of the moment.
            asked = json.loads(body)
            orders = (json.dumps({**asked, "swap_venues": order}) for order in permutations(asked["swap_venues"]))
            found = next((one for order in orders if (one := super()._found(method, raw, order)) is not None), None)
        if found is None and raw == "/sol":
            # Accounts and sends of our own program: the recorded node knows no such account, and would carry sends out.
            kind = json.loads(body)["method"]
            value = {"getAccountInfo": None, "simulateTransaction": {"err": None, "logs": []}}
            if kind in value:
                return 200, {"jsonrpc": "2.0", "id": 1, "result": {"context": {"slot": 1}, "value": value[kind]}}
        return found

    def _smart_answer(self, path: str) -> tuple[int, Any] | None:
        found = super()._smart_answer(path)
        return found if found is not None else super()._smart_answer(_without_asset(path))


def _without_asset(path: str) -> str:
    """The path of a quote as the recorded service asks for one."""
    head, _, encoded = path.rpartition("/")
    query = json.loads(b64decode(unquote(encoded)))
    query.get("quote", {}).pop("lease_asset", None)
    return f"{head}/{quote(b64encode(json.dumps(query).encode()).decode(), safe='')}"


def _settings(original: Callable[..., Settings]) -> Callable[..., Settings]:
    def made(*arguments: Any) -> Settings:
        settings = original(*arguments)
        wide = replace(settings.limits, writes_burst=100_000, writes_per_second=100_000.0)
        optional = settings.app_api.svm_url != upstreams.OFF
        messaging = {"messaging_secret": SECRET if optional else "", "messaging_dashboard": DASHBOARD}
        admin = {"admin_keys": (hashed("golden", ADMIN_KEY, cost=2**4).text(),) if optional else ()}
        settings = replace(settings, app_api=replace(settings.app_api, **messaging, **admin))
        return settings if settings.limits.trusted_proxies else replace(settings, limits=wide)

    return made


@pytest.fixture(autouse=True)
def stage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reads, "RecordedWorld", World)
    monkeypatch.setattr(reads, "_settings", _settings(reads._settings))


async def _ask(session: aiohttp.ClientSession, base: str, request: dict[str, Any]) -> tuple[int, dict[str, Any], bytes]:
    body = request["body"]
    if isinstance(body, str) and (size := _SIZE.fullmatch(body)):
        body = b'{"protocol": "' + b"x" * (int(size[1]) - 16) + b'"}'
    text = body if isinstance(body, str | bytes) or body is None else json.dumps(body)
    data = BytesIO(text) if isinstance(text, bytes) else text
    async with session.request(
        request["method"],
        URL(base + request["path"], encoded=True),
        headers=request["headers"],
        data=data,
        skip_auto_headers=("Content-Type",),
        allow_redirects=False,
    ) as response:
        return response.status, reads.told(response), await response.read()


def judged(
    scene: str,
    app: App,
    world: dict[str, Any],
    case: dict[str, Any],
    answer: tuple[int, dict[str, Any], bytes],
    *,
    exceptions: bool = True,
) -> list[str]:
    """What is wrong with an answer of ours; without `exceptions` only what holds for every case is left aside."""
    status, headers, body = answer
    fitting = [row for row in rules.rows() if exceptions and row.fits(scene, case)]
    asked = [rules.expected_status(app, case, world) if exceptions else 0, *(row.status for row in fitting)]
    expected = next((one for one in asked if one), 0)
    if expected:
        return answered_instead(expected, status, body)
    recorded = case["response"]
    if isinstance(recorded["body"], dict) and recorded["body"].get("error") == "authentication_failed":
        return _refusal(case, status, body)
    ignore = {name for row in fitting for name in row.ignore}
    if exceptions and rules.approves_all(case):
        ignore.add("approved_count")
    told = rules.corrected(case, world) if exceptions else recorded["body"]
    theirs = rules.without_moments(_less(told, ignore))
    if "jwt_decoded" in recorded and status == 200:
        theirs = _less(recorded["jwt_decoded"], {*ignore, "hs256_secret", "exp"})
        body = json.dumps(_less(_decoded(json.loads(body)["token"]), {*ignore, "exp"})).encode()
    if any(row.words for row in fitting) and status == recorded["status"]:
        theirs = {"error": {**theirs["error"], "message": json.loads(body)["error"]["message"]}}
    if any(row.unordered for row in fitting):
        case = {**case, "order_unstable": True}
    case = {**case, "response": {**recorded, "body": theirs}}
    if status < 400 and recorded["body_kind"] == "json":
        ours = rules.without_moments(_less(json.loads(body), ignore))
        if case["request"]["path"] == "/api/admin/cache/stats":
            ours = rules.listed_first(theirs, ours)
        body = json.dumps(ours).encode()
    if recorded["body_kind"] == "text" and status < 400:
        return [] if body.decode() == recorded["body"] and status == recorded["status"] else [f"{status} {body[:99]!r}"]
    return differences(f"{scene}.json", case, status, headers, body, exceptions=exceptions)


def _decoded(token: str) -> dict[str, Any]:
    """Header and claims of a token whose signature is right."""
    head, claims, signature = (b64decode(part + "=" * (-len(part) % 4), altchars=b"-_") for part in token.split("."))
    made = hmac.new(SECRET.encode(), token.rpartition(".")[0].encode(), sha256).digest()
    assert hmac.compare_digest(made, signature), "the signature is wrong"
    return {"header": json.loads(head), "claims": json.loads(claims)}


def _less(value: Any, names: set[str]) -> Any:
    if isinstance(value, list):
        return [_less(one, names) for one in value]
    if isinstance(value, dict):
        return {name: _less(one, names) for name, one in value.items() if name not in names}
    return value


def _violations(
    contract: Contract, request: dict[str, Any], status: int, headers: dict[str, Any], body: bytes
) -> list[str]:
    try:
        contract.validate(request["method"], request["path"], status, headers.get("content-type"), body)
    except ContractViolation as error:
        return [f"not as described: {error}"]
    return []


@dataclass
class Session:
    """A recorded session played against our application API, and what it found."""

    scene: str
    base: str
    app: App
    world: dict[str, Any]
    client: aiohttp.ClientSession
    wrong: list[str] = field(default_factory=list)
    good: int = 0
    plain: int = 0
    rebuilt: int = 0
    states: States | None = None

    async def play(self, case: dict[str, Any]) -> None:
        held = await self.states.held() if self.states is not None else {}
        found, plain = await self._differences(case)
        again = bool(found) and self.states is not None and await self.states.rebuild(case, held)
        if again:
            found, plain = await self._differences(case)
            self.rebuilt += not found
        elif self.states is not None and rules.approves_all(case):
            # The recorded session goes on without what we did.
            await self.states.put_back(held)
        self.good += not found
        self.plain += not found and not plain and not again
        self.wrong += [f"{case['case']}: {text}" for text in found]

    async def _differences(self, case: dict[str, Any]) -> tuple[list[str], list[str]]:
        """Ask what a case asks; what is wrong with the answer, and what would be without exceptions."""
        request = case["request"]
        status, headers, body = await _ask(self.client, self.base, request)
        for _ in range(20):
            # The recorded client had spent its budget before.
            if case["response"]["status"] != 429 or status == 429:
                break
            status, headers, body = await _ask(self.client, self.base, request)
        answer = (status, headers, body)
        found = judged(self.scene, self.app, self.world, case, answer)
        plain = judged(self.scene, self.app, self.world, case, answer, exceptions=False)
        if headers.get("cache-control") != "no-store":
            found.append(f"cache-control is {headers.get('cache-control')}")
        return found + _violations(Contract(self.app.registry), request, status, headers, body), plain


async def _played(path: Path, kind: str, cases: list[dict[str, Any]], database: str, folder: Path) -> Session:
    """Play the cases of a file in their order."""
    scene = reads.scene_name(path, _cases(path))
    async with (
        reads.staged(database, reads.SCENES.get(scene, reads.Scene()), folder) as (base, app, world),
        aiohttp.ClientSession() as client,
    ):
        session = Session(scene if scene in reads.SCENES else "usual", base, app, world.world, client)
        if kind == "admin" and scene not in reads.SCENES:
            session.states = States(app, world.world)
            await session.states.begin()
        for case in cases:
            await session.play(case)
    report.record("app", f"{path.name} {kind}", session.good, len(cases), session.wrong)
    return session


def _cases(path: Path) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = json.loads(path.read_bytes())["cases"]
    return listed


def _is_admin(case: dict[str, Any]) -> bool:
    return bool(case["request"]["path"].startswith("/api/admin"))


def _is_write(case: dict[str, Any]) -> bool:
    return case["request"]["method"] not in reads.READS and not _is_admin(case)


ADMIN = [path for path in reads.RECORDINGS if any(map(_is_admin, _cases(path)))]
WRITES = [path for path in reads.RECORDINGS if any(map(_is_write, _cases(path)))]


def _with_key(case: dict[str, Any]) -> dict[str, Any]:
    """The case with a real key where the recording names one, spelled so that it is refused where it was."""
    body = case["response"]["body"]
    refused = isinstance(body, dict) and str(body.get("message", "")).startswith("Invalid Authorization header format")
    scheme = "bearer" if refused else "Bearer"
    headers = {
        name: f"{scheme} {ADMIN_KEY}" if name == "Authorization" and value == "Bearer <key>" else value
        for name, value in case["request"]["headers"].items()
    }
    return {**case, "request": {**case["request"], "headers": headers}}


def _refusal(case: dict[str, Any], status: int, body: bytes) -> list[str]:
    """A refused key: the recorded status and words, in the envelope."""
    recorded = case["response"]
    error = json.loads(body)["error"]
    code = {401: "UNAUTHORIZED", 403: "FORBIDDEN"}[recorded["status"]]
    ours, theirs = (status, error["code"], error["message"]), (recorded["status"], code, recorded["body"]["message"])
    return [] if ours == theirs else [f"{ours}, recorded {theirs}"]


def _listed_languages(folder: Path, world: RecordedWorld) -> Path:
    """The recorded documents, with the languages that the recorded list has."""
    (folder / "locales").mkdir(parents=True)
    for name, content in world.world["gated_files"].items():
        (folder / name).write_text(json.dumps(content))
    for name, content in world.world["locale_files"].items():
        (folder / "locales" / name).write_text(json.dumps(content))
    return folder


@pytest.mark.usefixtures("short_tempers")
@pytest.mark.parametrize("path", ADMIN or [Path("none.json")], ids=lambda path: path.stem)
async def test_recorded_admin(
    path: Path,
    database: str,
    tmp_path: Path,
    share: Callable[[str, int, int], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every recorded admin request is answered as recorded, less the listed exceptions."""
    monkeypatch.setattr(reads, "_gated_folder", _listed_languages)
    cases = [_with_key(case) for case in filter(_is_admin, _cases(path))]
    played = await _played(path, "admin", cases, database, tmp_path)
    share(f"app/{path.name} admin", played.good, len(cases))
    share(f"app/{path.name} admin without exceptions", played.plain, len(cases))
    share(f"app/{path.name} admin in a rebuilt state", played.rebuilt, len(cases))
    assert not played.wrong, "\n".join(line[:1500] for line in played.wrong[:40])


@pytest.mark.usefixtures("short_tempers")
@pytest.mark.parametrize("path", ADMIN or [Path("none.json")], ids=lambda path: path.stem)
async def test_recorded_admin_backwards(
    path: Path, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No case needs another before it: in the reverse order they agree too."""
    monkeypatch.setattr(reads, "_gated_folder", _listed_languages)
    monkeypatch.delenv(report.VARIABLE, raising=False)
    cases = [_with_key(case) for case in filter(_is_admin, _cases(path))]
    played = await _played(path, "admin", cases[::-1], database, tmp_path)
    assert not played.wrong, "\n".join(line[:1500] for line in played.wrong[:40])


@pytest.mark.usefixtures("short_tempers")
@pytest.mark.parametrize("path", WRITES or [Path("none.json")], ids=lambda path: path.stem)
async def test_recorded_writes(
    path: Path, database: str, tmp_path: Path, share: Callable[[str, int, int], None]
) -> None:
    """Every recorded write is answered as recorded, less the listed exceptions."""
    cases = list(filter(_is_write, _cases(path)))
    played = await _played(path, "writes", cases, database, tmp_path)
    share(f"app/{path.name} writes", played.good, len(cases))
    share(f"app/{path.name} writes without exceptions", played.plain, len(cases))
    assert not played.wrong, "\n".join(line[:1500] for line in played.wrong[:40])


@pytest.mark.skipif(not (reads.SHARED / "app" / "openapi.json").exists(), reason="no recorded document")
def test_the_document_has_every_recorded_write() -> None:
    """Every operation of the recorded document that is no read is in ours under the same operation id, and no admin."""
    recorded = json.loads((reads.SHARED / "app" / "openapi.json").read_bytes())
    ours = document(assemble(load(profile="nolus").settings, SystemClock()).registry)
    for path, methods in recorded["paths"].items():
        for method, operation in methods.items():
            if method != "get":
                assert ours["paths"][path][method]["operationId"] == operation["operationId"]
    assert not any(path.startswith("/api/admin") for path in ours["paths"])


short_tempers = reads.short_tempers
