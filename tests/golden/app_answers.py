"""What an answer is besides a good body: its headers, and errors in the envelope, compared with what was recorded."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.golden.app_exceptions import switched_on

# What a recorded message should not have told: addresses, what an upstream sent, names of somebody's settings.
_ADDRESS = re.compile(r" for url \(.*?\)|https?://\S+?(?=: |$)|(?<=\(set )\w+")
_SENT = re.compile(
    r"((?:HTTP|API error:) \d{3}(?: [A-Z][A-Za-z-]*)+|Malformed Skip \w+ response)(?: - |: ).*$", re.DOTALL
)
_HOLE = "\0"
_COMPARED = frozenset(("allow", "cache-control", "cache-status", "content-type", "vary"))
# The member that a recorded refusal in plain text is about.
_NAMED = re.compile(r"Failed to deserialize [^:]*: (?:(\w+): |(?:missing|duplicate) field `(\w+)`)")
# About somebody, or true for a moment only (interface: live): not to be kept, whatever the path's letters say (D32).
_FRESH = re.compile(
    r"/api/(health.*|node/status|solana/transfer-params|governance/(accounts/.*|proposals/[^/]+/(tally|votes/.*))"
    r"|governance/proposals\?.*voter=.*|etl/(txs|batch/user-).*|etl/.*[?&](address|lease)=.*|zero-interest/lease/.*)"
)
_PRICED = re.compile(r"/api/protocols/[^/]+/currencies")
_CODES = {
    400: ("VALIDATION_FAILED",),
    404: ("NOT_FOUND",),
    405: ("METHOD_NOT_ALLOWED",),
    413: ("PAYLOAD_TOO_LARGE",),
    415: ("UNSUPPORTED_MEDIA_TYPE",),
    502: ("CHAIN_ERROR", "EXTERNAL_SERVICE_ERROR"),
    503: ("SERVICE_UNAVAILABLE",),
}


def header_differences(case: dict[str, Any], ours: dict[str, Any]) -> list[str]:
    """Headers that clients go by and that differ; a name on two lines has a list."""
    recorded, method = case["response"]["headers"], case["request"]["method"]
    wrong = []
    for name, value in recorded.items():
        mine = ours.get(name)
        if name == "allow" and switched_on("allowed-methods"):
            good = {*_listed(value), "OPTIONS"} == {*_listed(mine), "OPTIONS"}
        elif name == "cache-control" and switched_on("lifetimes"):
            good = mine == value or _kept_for(case) == mine
        elif name in _COMPARED or name.startswith("access-control-"):
            good = mine == value
        elif name == "content-length" and method == "HEAD":
            good = mine is not None and int(mine) > 0
        else:
            continue
        if not good:
            wrong.append(f"header {name}: recorded {value}, ours {mine}")
    return wrong


def _listed(value: str | None) -> set[str]:
    return {one.strip() for one in (value or "").split(",")}


def _kept_for(case: dict[str, Any]) -> str:
    """How long an answer is kept that is true for less than its path's letters say, empty for any other."""
    path = case["request"]["path"]
    if case["request"]["method"] not in ("GET", "HEAD") or path.startswith("/api/admin") or _FRESH.fullmatch(path):
        return "no-store"
    if path == "/":
        return "no-cache"
    return "public, max-age=10, stale-while-revalidate=5" if _PRICED.fullmatch(path) else ""


def answered_instead(expected: int, status: int, body: bytes) -> list[str]:
    """What is wrong with an answer that has another status than recorded: the status, or the code of an error."""
    if status != expected:
        return [f"status {status}, expected {expected}: {body[:200]!r}"]
    code = json.loads(body)["error"]["code"] if status >= 400 and body and is_envelope(body) else ""
    return [] if status < 400 or code in _CODES[status] else [f"{status} with code {code!r}"]


def refused_in_text(recorded: dict[str, Any], status: int, body: bytes) -> list[str]:
    """What is wrong with an envelope of ours where plain text was recorded: it names the member that the text names."""
    wanted = 400 if recorded["status"] == 422 else recorded["status"]
    if status != wanted or not body or wanted not in _CODES:
        return [] if status == wanted and is_envelope(body) else [f"status {status}, recorded {recorded['status']}"]
    wrong = answered_instead(wanted, status, body)
    named = _NAMED.match(recorded["body"] or "")
    if named is None or wrong:
        return wrong
    field = str(json.loads(body)["error"].get("field", ""))
    told = named[1] or named[2]
    return [] if field.rpartition(".")[2] == told else [f"error.field: recorded {told}, ours {field}"]


def error_differences(theirs: Any, ours: Any) -> list[str]:
    """Where two errors differ."""
    one, other = theirs["error"], ours["error"]
    wrong = [
        f"error.{name}: recorded {one.get(name)!r}, ours {other.get(name)!r}"
        for name in ("code", "field", "retry_after")
        if one.get(name) != other.get(name)
    ]
    if not _says(one["message"], other["message"]):
        wrong.append(f"error.message: recorded {one['message']!r}, ours {other['message']!r}")
    return wrong


def _says(theirs: str, ours: str) -> bool:
    """Whether our message is the recorded one, less what that should not have told."""
    if not switched_on("no-leaks"):
        return theirs == ours
    told = theirs.replace("External API error: Skip - ", "Skip: ").replace("builder error", "not configured")
    told = _ADDRESS.sub(_HOLE, _SENT.sub(rf"\1{_HOLE}", told))
    around = ".*".join(re.escape(part) for part in told.split(_HOLE))
    leaked = told != theirs and re.search(r"https?://|\{", ours)
    return not leaked and re.fullmatch(around, ours, re.DOTALL) is not None


def is_envelope(body: bytes) -> bool:
    """Whether a body is the envelope of an error, or there is none."""
    if not body:
        return True
    try:
        return set(json.loads(body)["error"]) >= {"code", "message"}
    except (ValueError, TypeError, KeyError):
        return False
