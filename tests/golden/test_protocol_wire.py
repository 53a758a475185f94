"""Recorded messages, stored states and events go through the wire types and come out as they were."""

from __future__ import annotations

import importlib
import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.golden.contract_programs import build_for

from leasehold.protocol import events
from leasehold.protocol.messages.lease_state import Holding
from leasehold.protocol.serde import Codec, SerdeError, encode

ROOT = Path(os.environ.get("LEASEHOLD_GOLDEN") or Path(__file__).parents[3] / "shared" / "golden")
CONTRACTS = ("lease", "leaser", "lpp", "reserve", "timealarms", "treasury", "profit", "oracle", "admin")
MODULES = {name: importlib.import_module(f"leasehold.protocol.messages.{name}") for name in CONTRACTS}
ENTRIES = {"execute": "Execute", "instantiate": "Instantiate"}


def _transcripts() -> list[tuple[str, dict[str, Any]]]:
    found = []
    for path in sorted((ROOT / "contracts").glob("*.json")):
        document = json.loads(path.read_bytes())
        if "cases" in document:
            found.append((path.stem, document))
    return found


TRANSCRIPTS = _transcripts()
pytestmark = [
    pytest.mark.golden,
    pytest.mark.skipif(not TRANSCRIPTS, reason="no transcripts: set LEASEHOLD_GOLDEN"),
    pytest.mark.parametrize("document", [d for _, d in TRANSCRIPTS] or [{}], ids=[name for name, _ in TRANSCRIPTS]),
]


def _compact(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def test_messages(document: dict[str, Any]) -> None:
    """Both parsers give the same message, and what was written canonically is written so again."""
    for case in document["cases"]:
        codec = Codec(build_for(case["params"]["lpn"]).protocol.currencies)
        for step in case["steps"]:
            for call in step.get("calls", ()):
                if call["kind"] not in MODULES or call["entry"] not in ENTRIES:
                    continue
                kind, raw = getattr(MODULES[call["kind"]], ENTRIES[call["entry"]]), _compact(call["msg"])
                if "Serialization" in call.get("error", ""):
                    with pytest.raises(SerdeError):
                        codec.decode(kind, raw)
                else:
                    message = codec.decode(kind, raw)
                    assert codec.parse(kind, raw) == message
                    assert codec.decode(kind, encode(message)) == message


def test_events(document: dict[str, Any]) -> None:
    """An event of the protocol, read and written, has the recorded attributes in the recorded order."""
    for case in document["cases"]:
        for step in case["steps"]:
            for event in step.get("events", ()):
                attributes = [(key, value) for key, value in event["attributes"]]
                parsed = events.parse(event["type"], attributes)
                if parsed is not None:
                    assert parsed[1].attributes() == attributes[1:], event["type"]
                    assert parsed[0] == attributes[0][1]


def test_stored_leases(document: dict[str, Any]) -> None:
    """A stored lease is read into its record and written back byte by byte."""
    for case in document["cases"]:
        for step in case["steps"]:
            value = step.get("value") if step["op"] == "raw" and step.get("key") == "state" else None
            for variant in ("OpenedActive", "SlippageAnomaly"):
                if isinstance(value, dict) and variant in value:
                    raw = _compact(value[variant])
                    assert encode(msgspec.json.decode(raw, type=Holding)) == raw
