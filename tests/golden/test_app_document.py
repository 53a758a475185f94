"""The OpenAPI document has every operation of the recorded one and every row of the interface."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from leasehold.app_api.api import assemble
from leasehold.core.clock import SystemClock
from leasehold.core.configuration import load
from leasehold.serving.openapi import document

SHARED = Path(__file__).parents[3] / "shared"
RECORDED = Path(os.environ.get("LEASEHOLD_GOLDEN") or SHARED / "golden") / "app" / "openapi.json"
RECORDED = RECORDED if RECORDED.exists() else SHARED / "golden" / "app" / "openapi.json"
INTERFACE = SHARED / "reference" / "interface.md"
_ROW = re.compile(r"^\| (GET|POST) \| (/api/\S+) \| (.*?) \| (.*?) \| (.*?) \| (.*?) \|$", re.MULTILINE)
_PARAMETER = re.compile(r"(?:query |; )(\w+): ")
_TYPE = re.compile(r"(?:array of )?([A-Z][A-Za-z]+)")
# One name for two shapes would be one too few.
RENAMED = {"/api/protocols/gated": "ProtocolListResponse", "/api/networks/{network}/protocols": "ProtocolListResponse"}
pytestmark = pytest.mark.golden


@pytest.fixture(scope="module")
def ours() -> dict[str, Any]:
    return document(assemble(load(profile="nolus").settings, SystemClock()).registry)


def test_the_document_is_well_formed(ours: dict[str, Any]) -> None:
    """OpenAPI 3.1, description version 1.0.0, an operation id for each operation alone, no admin route."""
    operations = [one["operationId"] for methods in ours["paths"].values() for one in methods.values()]
    assert len(set(operations)) == len(operations)
    assert not any(path.startswith("/api/admin") for path in ours["paths"])
    assert (ours["openapi"][:3], ours["info"]["version"]) == ("3.1", "1.0.0")


@pytest.mark.skipif(not RECORDED.exists(), reason="no recorded document")
def test_the_document_has_every_recorded_read(ours: dict[str, Any]) -> None:
    """Every recorded GET operation is in ours with its parameters, under its tag, and under its id where that is its
    alone."""
    recorded = json.loads(RECORDED.read_bytes())
    ids = Counter(one["operationId"] for methods in recorded["paths"].values() for one in methods.values())
    wrong = []
    for path, methods in recorded["paths"].items():
        operation = ours["paths"].get(path, {}).get("get")
        if "get" not in methods:
            continue
        if operation is None:
            wrong.append(path)
            continue
        name = methods["get"]["operationId"]
        wrong += (
            [f"{path} is {operation['operationId']}"] if name != operation["operationId"] and ids[name] == 1 else []
        )
        wanted, had = ({one["name"] for one in each.get("parameters", ())} for each in (methods["get"], operation))
        wrong += [f"{path} lacks {sorted(wanted - had)}"] if wanted - had else []
        wrong += [] if operation["tags"][:1] == methods["get"]["tags"][:1] else [f"{path} has tag {operation['tags']}"]
    assert wrong == []


@pytest.mark.skipif(not INTERFACE.exists(), reason="no interface document")
def test_the_document_has_every_row_of_the_interface(ours: dict[str, Any]) -> None:
    """Method, path, parameters, statuses and the name of the answer's type, as the interface lists them."""
    rows = _ROW.findall(INTERFACE.read_text())
    assert len(rows) > 75
    wrong = []
    for method, path, parameters, _, answer, others in rows:
        operation = ours["paths"].get(path, {}).get(method.lower())
        if operation is None:
            wrong.append(f"{method} {path}")
            continue
        statuses = set(re.findall(r"\b[45]\d\d\b", others.replace("never 503", "")))
        had = {one["name"] for one in operation.get("parameters", ())}
        wrong += [f"{path} lacks {one}" for one in statuses - set(operation["responses"])]
        wrong += [f"{path} lacks {one}" for one in set(_PARAMETER.findall(parameters)) - had]
        named = _TYPE.match(answer)
        good = json.dumps([one for status, one in operation["responses"].items() if status < "300"])
        if named and f"/{RENAMED.get(path, named[1])}" not in good:
            wrong.append(f"{path} answers {good[:200]}, not {named[1]}")
    assert wrong == []
