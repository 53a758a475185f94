"""Comparing an answer of ours with a recorded one: equal, order aside where it is unstable, less the listed rules.

Every rule and every exception stands in `exceptions.toml` with its reason. Where ours is 200 instead of an error, it
must be what was recorded while all was well.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from urllib.parse import unquote

from tests.golden import app_read_rules
from tests.golden.app_answers import (
    answered_instead,
    error_differences,
    header_differences,
    is_envelope,
    refused_in_text,
)
from tests.golden.app_exceptions import Row, rows, switched_on
from tests.golden.app_read_rules import Facts

IGNORED = frozenset(("uptime_seconds", "latency_ms", "updated_at"))
_DECIMAL = re.compile(r"-?\d+\.\d+|-?\d+")
_UNSTABLE = re.compile(
    r"/api/(config|prices|currencies|fees/gas-config|networks/gated|assets|protocols|earn/pools|earn/positions|leases\?)"
)
# Typed answers keep the declared order of their members, free JSON comes in alphabetical order (F1). What the swap
# provider sent is not put in order (D3), and in maps order carries no meaning (F4).
_AS_SENT = re.compile(r"/api/swap/(chains|status|route|messages)")
_BARE_MAP = re.compile(r"/api/(config/protocols|protocols/active|admin/gated/(currency-display|network-config))")
_MAP_OF_MAPS = ".downpayment_ranges"
MAPS = frozenset(
    (
        *("downpayment_ranges", "protocols", "currencies", "prices", "gas_prices", "transfers", "map", "pools"),
        *("claims", "feature_flags", "swap_currencies"),
    )
)
FILLED = frozenset(
    (
        "amount_usd",
        "total_usd",
        "liquidation_price",
        "deposited_usd",
        "total_deposited_usd",
        "total_collateral_usd",
        "total_debt_usd",
        "estimated_liquidation_price",
    )
)


@dataclass
class Comparison:
    """Collects differences."""

    unstable: bool
    more: bool
    ignore: frozenset[str]
    ordered: bool = False
    maps: frozenset[str] = MAPS
    found: list[str] = field(default_factory=list)

    def compare(self, theirs: Any, ours: Any, place: str = "$") -> None:
        name = place.rpartition(".")[2]
        if name in IGNORED or name in self.ignore:
            return
        if self._filled(name, theirs, ours) or self._equal_text(name, theirs, ours):
            return
        if isinstance(theirs, dict) and isinstance(ours, dict):
            for key in theirs.keys() - ours.keys():
                self.found.append(f"{place}.{key} is missing, recorded {_short(theirs[key])}")
            for key in () if self.more else ours.keys() - theirs.keys():
                if key not in self.ignore:
                    self.found.append(f"{place}.{key} is extra: {_short(ours[key])}")
            both = [key for key in theirs if key in ours]
            is_map = name in self.maps or place.rpartition(".")[0].endswith(_MAP_OF_MAPS)
            if self.ordered and not is_map and both != [key for key in ours if key in theirs]:
                self.found.append(f"{place}: order of members {list(ours)}, recorded {list(theirs)}")
            for key in both:
                self.compare(theirs[key], ours[key], f"{place}.{key}")
        elif isinstance(theirs, list) and isinstance(ours, list):
            self._lists(theirs, ours, place)
        elif type(theirs) is bool or type(ours) is bool or theirs is None or ours is None:
            if theirs is not ours:
                self.found.append(f"{place}: recorded {_short(theirs)}, ours {_short(ours)}")
        elif theirs != ours:
            self.found.append(f"{place}: recorded {_short(theirs)}, ours {_short(ours)}")

    def _lists(self, theirs: list[Any], ours: list[Any], place: str) -> None:
        if len(theirs) != len(ours):
            self.found.append(f"{place}: recorded {len(theirs)} elements, ours {len(ours)}")
            return
        if self.unstable:
            theirs, ours = sorted(theirs, key=_order), sorted(ours, key=_order)
        for index, (one, other) in enumerate(zip(theirs, ours, strict=True)):
            self.compare(one, other, f"{place}[{index}]")

    def _filled(self, name: str, theirs: Any, ours: Any) -> bool:
        empty = theirs is None or theirs in ("0", "0.00")
        return switched_on("filled") and name in FILLED and empty and isinstance(ours, str)

    def _equal_text(self, name: str, theirs: Any, ours: Any) -> bool:
        if not isinstance(theirs, str) or not isinstance(ours, str) or theirs == ours:
            return False
        if switched_on("picks") and self.unstable and name == "key":
            return theirs.partition("@")[0] == ours.partition("@")[0]
        if switched_on("exact-decimals") and _DECIMAL.fullmatch(theirs) and _DECIMAL.fullmatch(ours):
            one, other = Decimal(theirs), Decimal(ours)
            return "." in theirs + ours and abs(one - other) <= abs(one) * Decimal("1e-12")
        return False


def differences(
    file: str,
    case: dict[str, Any],
    status: int,
    headers: dict[str, Any],
    body: bytes,
    *,
    exceptions: bool = True,
    facts: Facts | None = None,
) -> list[str]:
    """What is wrong with an answer of ours, given the recorded one; without `exceptions` only the rules apply."""
    recorded, known = case["response"], facts or Facts()
    fitting = [row for row in rows() if exceptions and row.fits(file, case)]
    expected = _expected(case, known) or next((row.status for row in fitting if row.status), 0)
    theirs_status, kind = recorded["status"], recorded["body_kind"]
    if expected:
        return _answered_instead(case, expected, status, body, known, fitting)
    if kind == "text" and theirs_status == 200 and "<!doctype html>" in recorded["body"] and switched_on("no-html"):
        # The page itself is there once the web application was built.
        good = status == 404 or (status == 200 and case["request"]["path"] == "/")
        return [] if good else [f"status {status} for a path nobody declared"]
    if kind in ("text", "empty") and theirs_status >= 400 and switched_on("envelopes"):
        return refused_in_text(recorded, status, body)
    instead = _instead(case)
    if instead:
        return [] if status in instead and is_envelope(body) else [f"status {status}, expected one of {instead}"]
    if status != theirs_status:
        return [f"status {status}, recorded {theirs_status}: {body[:200]!r}"]
    wrong = header_differences(case, headers)
    if case["request"]["method"] in ("HEAD", "OPTIONS") or kind == "empty":
        return wrong
    if status >= 400:
        return wrong + error_differences(recorded["body"], json.loads(body))
    return wrong + _bodies(case, json.loads(body), known, fitting)


def _bodies(case: dict[str, Any], ours: Any, facts: Facts, fitting: list[Row]) -> list[str]:
    """Where the bodies of two good answers differ."""
    path, theirs = case["request"]["path"], case["response"]["body"]
    for name, (pattern, rule) in app_read_rules.CORRECTIONS.items():
        if facts.world and re.fullmatch(pattern, path) and switched_on(name):
            theirs = rule(case, theirs, facts)
    if facts.world and path.startswith("/api/leases?") and switched_on("hidden-leases"):
        theirs, ours = app_read_rules.listed_leases(facts, theirs, ours)
    if re.fullmatch(r"/api/currencies/[^@%]+", path) and switched_on("picks"):
        ours = app_read_rules.picked(theirs, ours)
    comparison = Comparison(
        unstable=bool(case.get("order_unstable"))
        or (switched_on("unstable-routes") and _UNSTABLE.match(path) is not None),
        more=any(row.more for row in fitting),
        ignore=frozenset(name for row in fitting for name in row.ignore),
        ordered=_AS_SENT.match(path) is None,
        maps=MAPS | {"$"} if _BARE_MAP.match(path) else MAPS,
    )
    comparison.compare(theirs, ours)
    return comparison.found


def _expected(case: dict[str, Any], facts: Facts) -> int:
    """The status that a rule about the recorded world asks for, 0 where the recording stands."""
    found = (rule(case, facts) for name, rule in app_read_rules.STATUSES.items() if switched_on(name))
    return next((status for status in found if status), 0)


def _answered_instead(
    case: dict[str, Any], expected: int, status: int, body: bytes, facts: Facts, fitting: list[Row]
) -> list[str]:
    """What is wrong with an answer that is to be another than the recorded one."""
    if status != expected or (status >= 400 and status != case["response"]["status"]):
        return answered_instead(expected, status, body)
    good = facts.good.get(unquote(case["request"]["path"])) if case["response"]["status"] != 200 else None
    return _bodies(good, json.loads(body), facts, fitting) if good is not None else []


def _instead(case: dict[str, Any]) -> tuple[int, ...]:
    """Statuses that the rules give to a case instead of the recorded one; none where it stands."""
    path, status, body = case["request"]["path"], case["response"]["status"], case["response"]["body"]
    if not isinstance(body, dict) or "error" not in body:
        return ()
    if path.startswith("/api/etl/") and status == 200 and switched_on("etl-refusals"):
        return (int(body.get("status", 404)),)
    message = str(body["error"].get("message", "")) if isinstance(body["error"], dict) else ""
    if status == 502 and switched_on("unknown-things"):
        if "no such contract" in message:
            return (400, 404)
        if path.startswith("/api/referral/stats/") and "HTTP 404" in message:
            return (404,)
    return ()


def _order(value: Any) -> str:
    """A key that sorts equal content the same, whatever the members that may differ say."""
    if isinstance(value, dict):
        named = [str(value[key]) for key in ("address", "protocol", "denom", "ticker", "network", "id") if key in value]
        if named:
            return "|".join(named)
    return json.dumps(value, sort_keys=True)


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) < 160 else text[:160] + "…"
