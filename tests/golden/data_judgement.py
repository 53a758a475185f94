"""Judging an answer of the data API by the recorded one: status, headers, form of the body."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from tests.golden.data_rules import EMPTY, deliberate, query_of
from tests.golden.data_shapes import cell_differences, differences
from tests.golden.data_world import NOW, Vocabulary

Answer = tuple[int, dict[str, str], bytes]
VARIES = ("origin", "access-control-request-method", "access-control-request-headers")


def _in_future(path: str) -> bool:
    return "from" in query_of(path) and datetime.fromisoformat(query_of(path)["from"]) > NOW


@dataclass(frozen=True)
class Judge:
    """Knows the names that recordings use."""

    words: Vocabulary

    def problems(self, case: dict[str, Any], answer: Answer) -> list[str]:
        """How an answer differs from the recorded one, without what differs by a stated rule."""
        recorded, (status, headers, body) = case["response"], answer
        rule = deliberate(case, self.words)
        wanted = recorded["status"] if rule is None else rule.status
        found = list(_headers(headers))
        if status != wanted:
            why = "as recorded" if rule is None else rule.reason
            return [*found, f"status {status}, expected {wanted} {why}: {body[:120]!r}"]
        if case["request"]["method"] in ("HEAD", "OPTIONS") or status == 304:
            return found + ([f"a body: {body[:60]!r}"] if body else [])
        if status >= 400:
            return found + list(_envelope(status, headers, body))
        if rule is not None and rule.rows is not None:
            rows = json.loads(body)
            right = isinstance(rows, list) and bool(rows) == rule.rows
            return found if right else [*found, f"{body[:120]!r}: {rule.reason}"]
        if recorded["status"] != status:
            # Nothing is recorded of what works here, but for what the tables of shapes say.
            return found
        return found + list(self._body(case, headers, body))

    def _body(self, case: dict[str, Any], headers: dict[str, str], body: bytes) -> Iterator[str]:
        recorded = case["response"]
        if "body_lines" in recorded:
            yield from self._table(recorded, headers, body)
            return
        if recorded.get("body_kind") == "text":
            if body.decode() != recorded["body"]:
                yield f"{body!r}, recorded {recorded['body']!r}"
            return
        # The recorded service writes JSON without a charset (surprise 21).
        if headers.get("content-type") != "application/json":
            yield f"content type {headers.get('content-type')}"
            return
        ours = json.loads(body)
        if recorded.get("body") is None and recorded.get("body_kind") != "json":
            # A coding whose bytes are not recorded; what is inside is another case.
            return
        if _in_future(case["request"]["path"]) and ours:
            yield f"rows that changed later than now: {body[:120]!r}"
        yield from differences(recorded["body"], ours)
        if case["case"].startswith(EMPTY):
            yield from _zeros(case, ours)

    @staticmethod
    def _table(recorded: dict[str, Any], headers: dict[str, str], body: bytes) -> Iterator[str]:
        if headers.get("content-type") != "text/csv":
            yield f"content type {headers.get('content-type')}"
        if headers.get("content-disposition") != recorded["headers"].get("content-disposition"):
            yield f"disposition {headers.get('content-disposition')}"
        if not body.endswith(b"\n"):
            yield "the last line has no end"
        ours = list(csv.reader(body.decode().splitlines()))
        theirs = list(csv.reader(line for line in recorded["body_lines"] if line))
        if not theirs:
            # Without rows the recorded service leaves out the header too (surprise 25); ours is always there.
            if len(ours) != 1:
                yield f"{len(ours) - 1} rows, recorded none"
            return
        if ours[0] != theirs[0]:
            yield f"columns {ours[0]}"
            return
        if len(theirs) > 1 and len(ours) < 2:
            yield "no rows"
        for row in ours[1:4] if len(theirs) > 1 else ():
            yield from cell_differences(theirs[0], theirs[1:], row)


def _headers(headers: dict[str, str]) -> Iterator[str]:
    """What every answer says."""
    if "service-desc" not in headers.get("link", ""):
        yield "no Link header"
    # Open to any origin (interface), where the recorded service has a list (surprise 24).
    if headers.get("access-control-allow-origin") != "*":
        yield "not open to any origin"
    told = {name.strip().lower() for name in headers.get("vary", "").split(",")}
    if not told.issuperset(VARIES):
        yield f"vary {headers.get('vary')} (surprise 23)"


def _envelope(status: int, headers: dict[str, str], body: bytes) -> Iterator[str]:
    """One envelope for every error, where the recorded service has five forms (surprise 18)."""
    told = json.loads(body)
    if list(told) != ["error", "message", "status"] or told["status"] != status or not told["message"]:
        yield f"not the error envelope: {body[:120]!r}"
    if headers.get("content-type") != "application/json":
        yield f"content type {headers.get('content-type')}"


def _zeros(case: dict[str, Any], ours: Any) -> Iterator[str]:
    """Without rows the values are known too: what the recorded service says of nothing."""
    recorded = case["response"]["body"]
    route = urlsplit(case["request"]["path"]).path
    if not isinstance(recorded, dict) or route == "/api/version" or "count" in recorded:
        return
    # The recorded service adds a constant that is no part of the data (sheet, section 4.5).
    wanted = {"amount": "0.00"} if route == "/api/realized-pnl-stats" else recorded
    for name, value in wanted.items():
        # Recorded arrays are cut to their first three items.
        said = ours[name][:3] if isinstance(ours[name], list) else ours[name]
        if said != value:
            yield f"{name}: {said!r}, recorded {value!r}"
