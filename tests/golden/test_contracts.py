"""The contracts agree with transcripts of the real ones, step by step.

Files are found by content, so that another set (LEASEHOLD_GOLDEN) is judged the same way; results also go to
LEASEHOLD_GOLDEN_REPORT, one JSON line per file.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.golden.contract_replay import replay

ROOT = Path(os.environ.get("LEASEHOLD_GOLDEN") or Path(__file__).parents[3] / "shared" / "golden")
EXCEPTIONS = Path(__file__).with_name("exceptions.toml")
SHOWN = 8


def _transcripts() -> list[Path]:
    found = []
    for path in sorted(ROOT.rglob("*.json")) if ROOT.is_dir() else []:
        with path.open("rb") as file:
            opening = file.read(400)
        if b'"topic"' in opening and b'"cases"' in opening:
            cases = json.loads(path.read_bytes())["cases"]
            if cases and "steps" in cases[0] and "addresses" in cases[0]:
                found.append(path)
    return found


TRANSCRIPTS = _transcripts()

pytestmark = [
    pytest.mark.golden,
    pytest.mark.skipif(not TRANSCRIPTS, reason="no transcripts: set LEASEHOLD_GOLDEN"),
]


def _excepted(file: str, case: str, step: int) -> bool:
    if not EXCEPTIONS.exists():
        return False
    for row in tomllib.loads(EXCEPTIONS.read_text()).get("exception", []):
        if (row.get("folder"), row.get("file"), row.get("case")) == ("contracts", file, case):
            return "step" not in row or row["step"] == step
    return False


def _report(result: dict[str, Any]) -> None:
    target = os.environ.get("LEASEHOLD_GOLDEN_REPORT")
    if target:
        with Path(target).open("a") as file:
            file.write(json.dumps(result) + "\n")


@pytest.mark.parametrize("path", TRANSCRIPTS or [Path("none.json")], ids=lambda path: path.stem)
def test_transcript(path: Path, share: Callable[[str, int, int], None]) -> None:
    """Every step of every case of a transcript agrees, less the listed exceptions."""
    agreed = total = good_cases = 0
    differences: list[str] = []
    cases = json.loads(path.read_bytes())["cases"]
    for case in cases:
        result = replay(case)
        wrong = [found for found in result.differences if not _excepted(path.name, case["name"], found[0])]
        total += result.total
        agreed += result.total - len(wrong)
        good_cases += not wrong
        differences += [f"{case['name']}[{number}] {text}" for number, text in wrong]
    _report(
        {"folder": "contracts", "file": path.name, "agreed": agreed, "total": total, "differences": differences[:SHOWN]}
    )
    share(f"contracts/{path.name} steps", agreed, total)
    share(f"contracts/{path.name} cases", good_cases, len(cases))
    assert not differences, "\n".join(line[:1500] for line in differences[:SHOWN])


def _first(steps: list[dict[str, Any]], wanted: str) -> dict[str, Any]:
    return next(step for step in steps if step.get(wanted))


def _other_event(steps: list[dict[str, Any]]) -> None:
    _first(steps, "events")["events"][-1]["attributes"][0][1] = "@nobody"


def _other_order(steps: list[dict[str, Any]]) -> None:
    step = next(step for step in steps if isinstance(step.get("answer"), dict) and len(step["answer"]) > 1)
    step["answer"] = dict(reversed(step["answer"].items()))


def _other_error(steps: list[dict[str, Any]]) -> None:
    _first(steps, "error")["error"] += "?"


def _other_balance(steps: list[dict[str, Any]]) -> None:
    _first(steps, "balance_changes")["balance_changes"][0]["delta"] += "0"


def _other_message(steps: list[dict[str, Any]]) -> None:
    step = next(step for step in steps if len(step.get("calls", [])) > 1 and "trap" not in step)
    step["calls"][1]["msg"] = {"nothing": {}}


def _other_interchain(steps: list[dict[str, Any]]) -> None:
    _first(steps, "interchain")["interchain"].pop()


def _other_data(steps: list[dict[str, Any]]) -> None:
    _first(steps, "data")["data"] = "nothing"


def _other_raw(steps: list[dict[str, Any]]) -> None:
    # Not an opened lease: from those the replay learns how it was opened.
    step = next(step for step in steps if step["op"] == "raw" and "OpenedActive" not in (step["value"] or {}))
    step["value"] = {"Nothing": {}}


def _success(steps: list[dict[str, Any]]) -> None:
    step = next(step for step in steps if step.get("ok") is False)
    step.update(ok=True, events=[], balance_changes=[])


@pytest.mark.parametrize(
    "change",
    [
        _other_event,
        _other_order,
        _other_error,
        _other_balance,
        _other_message,
        _other_interchain,
        _other_data,
        _other_raw,
        _success,
    ],
)
def test_a_changed_recording_is_noticed(change: Callable[[list[dict[str, Any]]], None]) -> None:
    """The replay compares what it says: a recording with one thing changed no longer agrees, in exactly one step."""
    for path in TRANSCRIPTS:
        for case in json.loads(path.read_bytes())["cases"]:
            try:
                change(case["steps"])
            except StopIteration:
                continue
            assert len(replay(case).differences) == 1
            return
    pytest.skip("no recording has such a step")
