"""How a recorded answer and ours are compared.

Whole values, keys and their order, except for what can't be the same here: figures of gas, hashes that depend on the
original's state tree, signatures, proofs, and versions of software. Those agree in form.
"""

from __future__ import annotations

import json
import re
from typing import Any

_NUMBERS = re.compile(r"\d+")
_OUT_OF_GAS = re.compile(r"out of gas in location: [^;]*;")
_VOTE = re.compile(r"\b[0-9A-F]{12}\b|\d{4}-\d\d-\d\dT[0-9:.]+Z")
_HASHES = {
    "app_hash", "last_app_hash", "last_results_hash", "last_commit_hash", "latest_block_hash", "latest_app_hash",
    "earliest_block_hash", "earliest_app_hash", "last_block_app_hash", "last_block_hash", "signature",
}  # fmt: skip
_GAS = {"gas_used", "gas_wanted_by_contract"}
_OF_BLOCKS = {"block_id", "last_block_id", "parts", "part_set_header"}
_SOFTWARE = {"git_commit", "go_version", "cosmos_sdk_version", "build_tags"}
_TEXTS = {"log", "raw_log", "message"}
# Lists that come in the order of a map, which is random.
_SETS = {"interface_names", "implementation_message_names", "extension_number"}
# Moments and votes of a consensus that had other machines under it.
_ROUNDS = {"start_time", "commit_time", "height/round/step", "last_commit", "votes"}
_FORMS = (
    ("empty", re.compile(r"")),
    ("digits", re.compile(r"\d+")),
    ("upper-case hex", re.compile(r"(?:[0-9A-F]{2})+")),
    ("lower-case hex", re.compile(r"(?:[0-9a-f]{2})+")),
    ("time", re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")),
    ("base64", re.compile(r"[A-Za-z0-9+/]+={0,2}")),
)

Path = tuple[str | int, ...]


class OfValues(str):
    """A difference between two values of the same kind, or in how many there are; keys, order and types agree."""

    __slots__ = ()


def judged_by(compare: Any, lines: list[str]) -> list[str]:
    """What is left of the differences when a case itself says how it is judged.

    `status` leaves the status or code alone, `shape` (or `keys`, `types`) everything but values; a list of members to
    leave aside, alone or as `ignore`, drops differences at those places. Anything else is the rule for all.
    """
    if isinstance(compare, dict):
        lines = judged_by(compare.get("mode") or compare.get("by"), lines)
        return judged_by(compare.get("ignore"), lines)
    if isinstance(compare, list):
        return [line for line in lines if not any(str(name) in line.partition(":")[0] for name in compare)]
    if compare in ("status", "code"):
        return [line for line in lines if line.startswith(("status ", "code"))]
    if compare in ("shape", "keys", "types", "format", "formats"):
        return [line for line in lines if not isinstance(line, OfValues)]
    return lines


def form(value: Any) -> str:
    """What kind of thing a value is, beyond its content."""
    if not isinstance(value, str):
        return type(value).__name__
    for name, pattern in _FORMS:
        if pattern.fullmatch(value):
            return name
    return "text"


def masked(text: str) -> str:
    """A text with its numbers masked, and the place where gas ran out."""
    return _NUMBERS.sub("#", _OUT_OF_GAS.sub("out of gas in location;", text))


def differences(recorded: Any, ours: Any, path: Path = (), *, any_order: frozenset[str] = frozenset()) -> list[str]:
    """Where two answers differ, each as a line with its place."""
    if path and path[-1] == "proofOps":
        return []
    if type(recorded) is not type(ours):
        return [_line(path, recorded, ours)]
    if isinstance(recorded, dict):
        return _of_members(recorded, ours, path, any_order)
    if isinstance(recorded, list):
        return _of_items(recorded, ours, path, any_order)
    if recorded == ours or _agrees_in_form(recorded, ours, path):
        return []
    return [OfValues(_line(path, recorded, ours))]


def _of_members(recorded: dict[str, Any], ours: dict[str, Any], path: Path, any_order: frozenset[str]) -> list[str]:
    if "note" in recorded and "left out" in str(recorded["note"]):
        return []
    loose = bool(path) and path[-1] in any_order
    mine, theirs = (sorted(ours), sorted(recorded)) if loose else (list(ours), list(recorded))
    if mine != theirs:
        return [f"{_place(path)}: keys {_short(theirs)} recorded, {_short(mine)} here"]
    return [
        line for key in recorded for line in differences(recorded[key], ours[key], (*path, key), any_order=any_order)
    ]


def _of_items(recorded: list[Any], ours: list[Any], path: Path, any_order: frozenset[str]) -> list[str]:
    if path and path[-1] == "build_deps":
        return []
    if path and path[-1] in _SETS and all(isinstance(item, str | int) for item in (*recorded, *ours)):
        missing, extra = sorted(set(recorded) - set(ours)), sorted(set(ours) - set(recorded))
        return [f"{_place(path)}: {missing} recorded alone, {extra} here alone"] if missing or extra else []
    if len(recorded) != len(ours):
        return [OfValues(f"{_place(path)}: {len(recorded)} items recorded, {len(ours)} here")]
    lines: list[str] = []
    for index, (theirs, mine) in enumerate(zip(recorded, ours, strict=True)):
        lines += differences(theirs, mine, (*path, index), any_order=any_order)
    return lines


def _agrees_in_form(recorded: Any, ours: Any, path: Path) -> bool:
    if not path or not isinstance(recorded, str):
        return False
    key, parent = path[-1], _parent(path)
    if key in _TEXTS or (key == "data" and parent == "error"):
        return masked(recorded) == masked(ours)
    if key in _SOFTWARE or (key == "version" and parent in ("application_version", "response")):
        return True
    if key in _ROUNDS or parent in _ROUNDS:
        return _VOTE.sub("#", recorded) == _VOTE.sub("#", ours)
    if key in _HASHES or key in _GAS or (key == "hash" and parent in _OF_BLOCKS) or _is_vote_time(path):
        return form(recorded) == form(ours) or {form(recorded), form(ours)} <= {"base64", "upper-case hex", "digits"}
    return False


def _is_vote_time(path: Path) -> bool:
    return path[-1] == "timestamp" and ("signatures" in path or "Vote" in path)


def _parent(path: Path) -> str:
    return next((str(part) for part in reversed(path[:-1]) if isinstance(part, str)), "")


def _line(path: Path, recorded: Any, ours: Any) -> str:
    return f"{_place(path)}: {_short(recorded)} recorded, {_short(ours)} here"


def _place(path: Path) -> str:
    return ".".join(str(part) for part in path) or "body"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 240 else f"{text[:200]}…{text[-30:]}"


def layout(raw: str) -> str:
    """How a JSON text is written: compact, compact with `<>&` escaped, or otherwise."""
    try:
        parsed = json.loads(raw)
    except ValueError:
        return "no JSON"
    plain = json.dumps(parsed, ensure_ascii=False, separators=(",", ":"))
    if raw == plain:
        return "compact"
    escaped = plain
    for character in "<>&":
        escaped = escaped.replace(character, f"\\u{ord(character):04x}")
    return "compact, <>& escaped" if raw == escaped else "other"
