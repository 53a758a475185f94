"""Every recorded request to RPC, WebSocket, LCD and gRPC is answered by the rebuilt chain as it was by the original."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from tests.golden import report
from tests.golden.surface_cases import SURFACES, Case, services
from tests.golden.surface_run import Outcome, Verdict, outcome

from leasehold.chain.registry import registry

pytestmark = pytest.mark.golden

HERE = Path(__file__).parent
FLOORS: dict[str, float] = tomllib.loads((HERE / "floors.toml").read_text())["chain"]
EXCEPTIONS: list[dict[str, str]] = tomllib.loads((HERE / "exceptions.toml").read_text())["chain"]
# The part of a folder that may be excepted.
EXCEPTED = 0.05
_SHOWN = 20


@pytest.fixture(scope="module")
def judged(golden: Path) -> Outcome:
    """The verdicts on all cases; the chain is rebuilt once for all tests here."""
    return outcome(golden)


def _is_excepted(case: Case) -> bool:
    return any(
        row["surface"] == case.surface and row["group"] == case.group and fnmatchcase(case.name, row["case"])
        for row in EXCEPTIONS
    )


def _line(verdict: Verdict) -> str:
    return f"{verdict.case.file} | {verdict.case.name[:120]} | {verdict.lines[0]}"


def _by_file(verdicts: list[Verdict]) -> dict[str, list[Verdict]]:
    files: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        files.setdefault(verdict.case.file, []).append(verdict)
    return files


@pytest.mark.parametrize("surface", SURFACES)
def test_answers_are_those_recorded(judged: Outcome, surface: str, share: Callable[[str, int, int], None]) -> None:
    """Status, headers, layout, keys, values, errors and frames of a surface agree, less the listed exceptions."""
    verdicts = [verdict for verdict in judged.verdicts if verdict.case.surface == surface]
    if not verdicts:
        pytest.skip(f"nothing recorded of {surface}")
    excepted = {id(verdict) for verdict in verdicts if not verdict.agrees and _is_excepted(verdict.case)}
    for file, listed in _by_file(verdicts).items():
        wrong = [_line(verdict) for verdict in listed if not verdict.agrees and id(verdict) not in excepted]
        agreed = sum(verdict.agrees for verdict in listed)
        left = sum(id(verdict) in excepted for verdict in listed)
        report.record(f"chain/{surface}", file, agreed, len(listed), wrong, excepted=left)
        print("\n".join(wrong[:_SHOWN]))
    agreed, total = sum(verdict.agrees for verdict in verdicts), len(verdicts)
    share(f"chain {surface}", agreed, total)
    assert len(excepted) <= max(1, EXCEPTED * total), f"{len(excepted)} of {total} {surface} cases are excepted"
    reached = report.share(agreed, total, len(excepted))
    assert reached >= FLOORS[surface], f"{agreed} of {total} {surface} cases agree"


def test_services_methods_and_routes_are_those_listed(golden: Path, share: Callable[[str, int, int], None]) -> None:
    """Every service that the original lists has its methods here, with the same types and REST bindings."""
    types = registry("nolus")
    for file, listed in services(golden).items():
        wrong = []
        for service in listed:
            for method in service["methods"]:
                path = f"/{service['service']}/{method['method']}"
                ours = types.method_by_path.get(path)
                if ours is None:
                    wrong.append(f"{path}: no such method here")
                    continue
                bindings = [{"verb": rule.verb.upper(), "path": rule.template} for rule in ours.http]
                theirs = [{"verb": rule["verb"], "path": rule["path"]} for rule in method.get("http") or []]
                names = (ours.request_type.DESCRIPTOR.full_name, ours.response_type.DESCRIPTOR.full_name)
                if bindings != theirs or names != (method["request"], method["response"]):
                    wrong.append(f"{path}: {theirs} recorded, {bindings} here")
        total = sum(len(service["methods"]) for service in listed)
        report.record("chain/grpc methods", file, total - len(wrong), total, wrong)
        share("chain grpc methods", total - len(wrong), total)
        assert not wrong


def test_every_recording_was_understood(judged: Outcome) -> None:
    """No file of the four folders is left unread, and no case unasked."""
    assert not judged.unknown
    assert not [_line(verdict) for verdict in judged.verdicts if verdict.lines == ["never asked"]]


def test_every_exception_has_a_reason() -> None:
    """A deliberate difference says why."""
    assert all(row["reason"].strip() for row in EXCEPTIONS)
