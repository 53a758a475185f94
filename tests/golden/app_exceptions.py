"""Why an answer of ours may differ from a recorded one: rows of `exceptions.toml` under `[[app]]`, each with a reason.

A row with `rule` switches a rule of `app_comparison`, `app_answers` or `app_read_rules` on; any other row names cases
by `file` and `path` (regular expressions) and by the recorded statuses it is about (`instead_of`), and says what we
answer: a `status`, members to `ignore`, or that ours may say more (`more`).
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.golden import app_read_rules

EXCEPTIONS = Path(__file__).with_name("exceptions.toml")
RULES = frozenset(
    (
        "etl-refusals",
        "unknown-things",
        "unstable-routes",
        "envelopes",
        "no-leaks",
        "exact-decimals",
        "filled",
        "picks",
        "no-html",
        "hidden-leases",
        "lifetimes",
        "allowed-methods",
        *app_read_rules.STATUSES,
        *app_read_rules.CORRECTIONS,
    )
)


@dataclass(frozen=True)
class Row:
    """One exception."""

    reason: str
    rule: str = ""
    file: str = ".*"
    path: str = ".*"
    instead_of: tuple[int, ...] = ()
    status: int = 0
    ignore: tuple[str, ...] = ()
    more: bool = False

    def fits(self, file: str, case: dict[str, Any]) -> bool:
        return (
            not self.rule
            and re.fullmatch(self.file, file) is not None
            and re.fullmatch(self.path, case["request"]["path"]) is not None
            and (not self.instead_of or case["response"]["status"] in self.instead_of)
        )


@cache
def rows() -> tuple[Row, ...]:
    listed = tomllib.loads(EXCEPTIONS.read_text()).get("app", []) if EXCEPTIONS.exists() else []
    found = []
    for entry in listed:
        entry = {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
        if not entry.get("reason"):
            raise ValueError(f"an exception needs a reason: {entry}")
        found.append(Row(**entry))
    unknown = {row.rule for row in found if row.rule} - RULES
    if unknown:
        raise ValueError(f"no such rules: {sorted(unknown)}")
    return tuple(found)


@cache
def switched_on(rule: str) -> bool:
    return any(row.rule == rule for row in rows())
