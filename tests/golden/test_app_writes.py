"""Requests that change something, or build something, are answered as recorded, less the listed exceptions.

Messages that the recorded service builds and the contracts refuse are corrected in the recording before comparing:
what the contracts accept is a fact of the contracts, proven end to end elsewhere.
"""

from __future__ import annotations

import hmac
import json
import re
import tomllib
from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import aiohttp
import msgspec
import pytest
from tests.golden import test_app as reads
from tests.golden.app_comparison import differences
from tests.golden.app_world import RecordedWorld
from yarl import URL

from leasehold.app_api.admin.audit import STATEMENTS, AuditLog
from leasehold.app_api.admin.keys import hashed
from leasehold.app_api.admin.translations import PendingTranslation, Translations
from leasehold.app_api.app import App
from leasehold.app_api.upstreams import all as upstreams
from leasehold.core.clock import parse_rfc3339, to_datetime
from leasehold.core.settings import Settings
from leasehold.serving.contracts import Contract, ContractViolation

EXCEPTIONS = Path(__file__).with_name("app_writes.toml")
SECRET = "local-secret"
ADMIN_KEY = "the key of the recorded operator"
DASHBOARD = "https://dashboard.example/chain-data/wallet-explorer?address={address}"
_SIZE = re.compile(r"<(\d+) bytes>")
pytestmark = reads.pytestmark
RECORDINGS = [
    path
    for path in reads.RECORDINGS
    if any(case["request"]["method"] not in reads.READS for case in json.loads(path.read_bytes())["cases"])
]


@dataclass(frozen=True)
class Row:
    """One exception."""

    reason: str
    file: str = ".*"
    case: str = ".*"
    path: str = ".*"
    method: str = ".*"
    status: int = 0
    ignore: tuple[str, ...] = ()
    unordered: bool = False

    def fits(self, file: str, case: dict[str, Any]) -> bool:
        request = case["request"]
        asked = (
            (self.file, file),
            (self.case, case["case"]),
            (self.path, request["path"]),
            (self.method, request["method"]),
        )
        return all(re.fullmatch(pattern, text) is not None for pattern, text in asked)


@cache
def rows() -> tuple[Row, ...]:
    listed = tomllib.loads(EXCEPTIONS.read_text())["row"]
    return tuple(Row(**{k: tuple(v) if isinstance(v, list) else v for k, v in row.items()}) for row in listed)


class World(RecordedWorld):
    """The recorded world, in which questions that only we ask are answered from those that were recorded."""

    def _found(self, method: str, raw: str, body: str) -> tuple[int, Any] | None:
        if method == "POST" and raw == "/api/subscribe":
            raw = "/subscribe"
        found = super()._found(method, raw, body)
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


def corrected(value: Any) -> Any:
    """A recorded answer with the contract messages that the contracts accept."""
    if isinstance(value, list):
        return [corrected(one) for one in value]
    if not isinstance(value, dict):
        return value
    if value in ({"deposit": {}}, {"repay": {}}):
        return {next(iter(value)): []}
    if value == {"close_position": {"partial_close": {"amount": None}}}:
        return {"close_position": {"full_close": {}}}
    if set(value) == {"burn_deposit"}:
        return {"burn": {"amount": value["burn_deposit"]}}
    return {name: corrected(one) for name, one in value.items()}


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


async def _ask(session: aiohttp.ClientSession, base: str, request: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
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
        return response.status, {name.lower(): value for name, value in response.headers.items()}, await response.read()


def judged(file: str, case: dict[str, Any], status: int, headers: dict[str, str], body: bytes) -> list[str]:
    """What is wrong with an answer of ours."""
    fitting = [row for row in rows() if row.fits(file, case)]
    expected = next((row.status for row in fitting if row.status), 0)
    if expected:
        return [] if status == expected else [f"status {status}, expected {expected}: {body[:200]!r}"]
    recorded = case["response"]
    if isinstance(recorded["body"], dict) and recorded["body"].get("error") == "authentication_failed":
        return _refusal(case, status, body)
    ignore = {name for row in fitting for name in row.ignore}
    theirs = _less(corrected(recorded["body"]), ignore)
    if "jwt_decoded" in recorded and status == 200:
        theirs = _less(recorded["jwt_decoded"], {*ignore, "hs256_secret", "exp"})
        body = json.dumps(_less(_decoded(json.loads(body)["token"]), {*ignore, "exp"})).encode()
    if any(row.unordered for row in fitting):
        case = {**case, "order_unstable": True}
    case = {**case, "response": {**recorded, "body": theirs}}
    if status < 400 and recorded["body_kind"] == "json":
        body = json.dumps(_less(json.loads(body), ignore)).encode()
    if recorded["body_kind"] == "text" and status < 400:
        return (
            [] if body.decode() == recorded["body"] and status == recorded["status"] else [f"{status} {body[:100]!r}"]
        )
    return differences(file, case, status, headers, body)


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
    contract: Contract, request: dict[str, Any], status: int, headers: dict[str, str], body: bytes
) -> list[str]:
    try:
        contract.validate(request["method"], request["path"], status, headers.get("content-type"), body)
    except ContractViolation as error:
        return [f"not as described: {error}"]
    return []


async def _exchange(session: aiohttp.ClientSession, base: str, app: App, file: str, case: dict[str, Any]) -> list[str]:
    request = case["request"]
    status, headers, body = await _ask(session, base, request)
    for _ in range(20):
        # The recorded client had spent its budget before.
        if case["response"]["status"] != 429 or status == 429:
            break
        status, headers, body = await _ask(session, base, request)
    found = judged(file, case, status, headers, body)
    if headers.get("cache-control") != "no-store":
        found.append(f"cache-control is {headers.get('cache-control')}")
    return found + _violations(Contract(app.registry), request, status, headers, body)


def _writes(path: Path) -> list[dict[str, Any]]:
    """The cases of a file that change or build something, admin routes aside."""
    return [
        case
        for case in json.loads(path.read_bytes())["cases"]
        if case["request"]["method"] not in reads.READS and not case["request"]["path"].startswith("/api/admin")
    ]


ADMIN = [
    path
    for path in reads.RECORDINGS
    if any(case["request"]["path"].startswith("/api/admin") for case in json.loads(path.read_bytes())["cases"])
]


def _admin_cases(path: Path) -> list[dict[str, Any]]:
    return [case for case in json.loads(path.read_bytes())["cases"] if case["request"]["path"].startswith("/api/admin")]


def _with_key(case: dict[str, Any]) -> dict[str, Any]:
    """The case with a real key where the recording names one."""
    scheme = "bearer" if case["case"] == "lower-case bearer" else "Bearer"
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


async def _proposals(app: App, world: RecordedWorld) -> None:
    """The recorded proposals and the recorded note, which our import does not take over."""
    files = world.world["locale_files"]
    held = Translations(app, AuditLog(app.clock))
    await held.propose(msgspec.convert(files["pending.json"]["translations"], list[PendingTranslation]))
    for one in files["audit.json"]["entries"]:
        at = to_datetime(parse_rfc3339(one["timestamp"]))
        details = {"new_value": one["new_value"]}
        note = (one["id"], at, "translations", one["action"], "", one["lang"], one["key"], details)
        await app.storage.writing(lambda session, note=note: session.execute(STATEMENTS.note, *note))


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
    wrong: list[str] = []
    good = 0
    cases = _admin_cases(path)
    async with (
        reads.staged(database, reads.SCENES.get(path.stem, reads.Scene()), tmp_path) as (base, app, world),
        aiohttp.ClientSession() as session,
    ):
        await _proposals(app, world)
        for case in map(_with_key, cases):
            found = await _exchange(session, base, app, path.name, case)
            good += not found
            wrong += [f"{case['case']}: {text}" for text in found]
    share(f"app/{path.name} admin", good, len(cases))
    assert not wrong, "\n".join(line[:1500] for line in wrong[:40])


@pytest.mark.usefixtures("short_tempers")
@pytest.mark.parametrize("path", RECORDINGS or [Path("none.json")], ids=lambda path: path.stem)
async def test_recorded_writes(
    path: Path, database: str, tmp_path: Path, share: Callable[[str, int, int], None]
) -> None:
    """Every recorded write is answered as recorded, less the listed exceptions."""
    cases = _writes(path)
    if not cases:
        pytest.skip("only admin requests")
    wrong: list[str] = []
    good = 0
    async with (
        reads.staged(database, reads.SCENES.get(path.stem, reads.Scene()), tmp_path) as (base, app, _),
        aiohttp.ClientSession() as session,
    ):
        for case in cases:
            found = await _exchange(session, base, app, path.name, case)
            good += not found
            wrong += [f"{case['case']}: {text}" for text in found]
    share(f"app/{path.name} writes", good, len(cases))
    assert not wrong, "\n".join(line[:1500] for line in wrong[:40])


short_tempers = reads.short_tempers
