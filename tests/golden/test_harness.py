"""The harness itself, on folders made up here: what it finds by content, and how a case says it is judged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.golden.replay_world import HELD_OUT, load
from tests.golden.surface_cases import find, unknown
from tests.golden.surface_judgement import differences, judged_by

HASH = "AB" * 32
OTHER = "CD" * 32


def result(code: int) -> dict[str, Any]:
    return {"code": code, "codespace": "", "log": "", "gas_wanted": "1", "gas_used": "1", "data": ""}


def block(height: int, results: Any) -> dict[str, Any]:
    return {"height": str(height), "results": results, "last_commit_flags": [], "txs": [""], "tx_hashes": [HASH]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A set of recordings with three blocks, the results of two of them held out."""
    blocks = [block(1, [result(0)]), block(2, HELD_OUT), block(3, HELD_OUT)]
    documents = {
        "anything.json": {"app_state": {}, "chain_id": "x-1"},
        "who.json": {"accounts": {"ann": {"address": "a", "valoper": "v"}}, "module_accounts": {"gov": "g"}},
        "deep/er/blocks.json": {"group": "replay", "blocks": blocks},
    }
    for name, document in documents.items():
        put(tmp_path, name, document)
    return tmp_path


def put(folder: Path, name: str, document: Any) -> None:
    target = folder / "chain" / name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(document))


@pytest.mark.parametrize(
    "document",
    [
        {"about": "x", "blocks": [{"height": "2", "results": [result(5)]}, {"height": 3, "results": [result(6)]}]},
        {"results": {"2": [result(5)], "3": [result(6)]}},
        {"2": [result(5)], "3": [result(6)]},
        {"blocks": {"2": {"results": [result(5)]}, "3": {"txs_results": [result(6)]}}},
        [{"height": "2", "index": 0, **result(5)}, {"height": "3", "index": 0, **result(6)}],
        {"results": [{"height": 2, "result": result(5)}, {"height": 3, "result": result(6)}]},
    ],
    ids=["blocks", "by height", "bare", "wrapped", "flat", "one each"],
)
def test_results_held_out_are_supplied_by_another_file(folder: Path, document: Any) -> None:
    """Whatever the file's layout, each block gets its results by its height, and those that had theirs keep them."""
    assert [block["results"] for block in load(folder).blocks][1:] == [HELD_OUT, HELD_OUT]
    put(folder, "blocks/replay_results.json", document)
    found = [[item["code"] for item in block["results"]] for block in load(folder).blocks]
    assert found == [[0], [5], [6]]


@pytest.mark.parametrize(
    "document",
    [
        {HASH: result(5), OTHER: result(6)},
        {"results": {HASH.lower(): {"tx_result": result(5)}, OTHER: {"result": result(6)}}},
        {"results": [{"tx_hash": HASH, "result": result(5)}, {"hash": OTHER, **result(6)}]},
    ],
    ids=["by hash", "wrapped", "listed"],
)
def test_results_held_out_may_be_named_by_hash(folder: Path, document: Any) -> None:
    """Then they are those of the transactions."""
    put(folder, "blocks/replay_results.json", document)
    found = load(folder).transactions
    assert (found[HASH]["code"], found[OTHER]["code"]) == (5, 6)


def test_cases_are_found_by_content_and_strange_files_are_told(folder: Path) -> None:
    """A file of cases may have any name and folder; in a surface's folder, what nobody can read is listed."""
    request = {"surface": "lcd", "method": "GET", "path": "/x"}
    response = {"status": 200, "headers": {}, "body": {}}
    case = {"case": "one", "request": request, "response": response, "compare": "status"}
    put(folder, "some/where.json", {"group": "g", "about": "", "cases": [case]})
    put(folder, "lcd/strange.json", {"nothing": "known"})
    put(folder, "rpc/broken.json", {"group": "g", "cases": [{"case": "x", "request": {}, "response": {}}]})
    assert [(found.name, found.surface, found.compare) for found in find(folder)] == [("one", "lcd", "status")]
    assert unknown(folder) == ["lcd/strange.json", "rpc/broken.json"]


def test_a_case_says_how_it_is_judged() -> None:
    """By status alone, by shape alone, without certain members, or by everything."""
    recorded, ours = {"a": 1, "b": {"c": "x"}}, {"a": 2, "b": {"c": 1}}
    lines = ["status 200 recorded, 500 here", *differences(recorded, ours)]
    assert len(judged_by(None, lines)) == 3
    assert judged_by("status", lines) == lines[:1]
    assert judged_by("shape", lines) == [lines[0], lines[2]]
    assert judged_by(["b.c"], lines) == lines[:2]
    assert judged_by({"mode": "shape", "ignore": ["b.c"]}, lines) == lines[:1]


def test_errors_agree_with_numbers_masked_and_values_by_form() -> None:
    """Heights in a text and hashes of the original's state may differ; words, keys and their order may not."""
    assert differences({"message": "height 5 of 9"}, {"message": "height 6 of 10"}) == []
    assert differences({"message": "height 5"}, {"message": "depth 5"}) != []
    assert differences({"app_hash": "AB" * 32}, {"app_hash": "CD" * 32}) == []
    assert differences({"a": 1, "b": 2}, {"b": 2, "a": 1}) != []
