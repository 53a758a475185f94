"""Comparing an answer of ours with a recorded one: equal, order aside where it is unstable, less the listed rules.

Every rule and every exception stands in `exceptions.toml` under `[[app]]` with its reason. A row with `rule` switches a
rule of this module or of `app_read_rules` on; any other row names cases by `file` and `path` (regular expressions) and
by the recorded statuses it is about (`instead_of`), and says what we answer: a `status`, members to `ignore`, or that
ours may say more (`more`). Where ours is 200 instead of an error, it must be what was recorded while all was well.
"""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from tests.golden import app_read_rules
from tests.golden.app_read_rules import Facts

EXCEPTIONS = Path(__file__).with_name("exceptions.toml")
IGNORED = frozenset(("uptime_seconds", "latency_ms", "updated_at"))
_DECIMAL = re.compile(r"-?\d+\.\d+|-?\d+")
# What a recorded message should not have told: addresses, what an upstream sent, names of somebody's settings.
_ADDRESS = re.compile(r" for url \(.*?\)|https?://\S+?(?=: |$)|(?<=\(set )\w+")
_SENT = re.compile(
    r"((?:HTTP|API error:) \d{3}(?: [A-Z][A-Za-z-]*)+|Malformed Skip \w+ response)(?: - |: ).*$", re.DOTALL
)
_HOLE = "\0"
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
# About somebody, or true for a moment only (interface: live): not to be kept, whatever the path's letters say (D32).
_FRESH = re.compile(
    r"/api/(health.*|node/status|solana/transfer-params|governance/(accounts/.*|proposals/[^/]+/(tally|votes/.*))"
    r"|governance/proposals\?.*voter=.*|etl/(txs|batch/user-).*|etl/.*[?&](address|lease)=.*|zero-interest/lease/.*)"
)
_PRICED = re.compile(r"/api/protocols/[^/]+/currencies")
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
_CODES = {
    400: ("VALIDATION_FAILED",),
    404: ("NOT_FOUND",),
    502: ("CHAIN_ERROR", "EXTERNAL_SERVICE_ERROR"),
    503: ("SERVICE_UNAVAILABLE",),
}


@cache
def switched_on(rule: str) -> bool:
    return any(row.rule == rule for row in rows())


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
        wanted = 400 if theirs_status == 422 else theirs_status
        return [] if status == wanted and _is_envelope(body) else [f"status {status}, recorded {theirs_status}"]
    instead = _instead(case)
    if instead:
        return [] if status in instead and _is_envelope(body) else [f"status {status}, expected one of {instead}"]
    if status != theirs_status:
        return [f"status {status}, recorded {theirs_status}: {body[:200]!r}"]
    wrong = _headers(case, headers)
    if case["request"]["method"] in ("HEAD", "OPTIONS") or kind == "empty":
        return wrong
    if status >= 400:
        return wrong + _errors(recorded["body"], json.loads(body))
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


def answered_instead(expected: int, status: int, body: bytes) -> list[str]:
    """What is wrong with an answer that has another status than recorded: the status, or the code of an error."""
    if status != expected:
        return [f"status {status}, expected {expected}: {body[:200]!r}"]
    code = json.loads(body)["error"]["code"] if status >= 400 and body and _is_envelope(body) else ""
    return [] if status < 400 or code in _CODES[status] else [f"{status} with code {code!r}"]


def _answered_instead(
    case: dict[str, Any], expected: int, status: int, body: bytes, facts: Facts, fitting: list[Row]
) -> list[str]:
    """What is wrong with an answer that is to be another than the recorded one."""
    if status != expected or (status >= 400 and status != case["response"]["status"]):
        return answered_instead(expected, status, body)
    good = facts.good.get(unquote(case["request"]["path"])) if case["response"]["status"] != 200 else None
    return _bodies(good, json.loads(body), facts, fitting) if good is not None else []


def _headers(case: dict[str, Any], ours: dict[str, Any]) -> list[str]:
    """Headers that clients go by and that differ; a name on two lines has a list."""
    recorded, method = case["response"]["headers"], case["request"]["method"]
    wrong = []
    for name, value in recorded.items():
        mine = ours.get(name)
        if name == "allow" and switched_on("allowed-methods"):
            good = {*_listed(value), "OPTIONS"} == {*_listed(mine), "OPTIONS"}
        elif name == "cache-control" and switched_on("lifetimes"):
            good = mine == value or _kept_for(case) == mine
        elif name in ("cache-status", "content-type", "vary") or name.startswith("access-control-"):
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


def _errors(theirs: Any, ours: Any) -> list[str]:
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


def _is_envelope(body: bytes) -> bool:
    if not body:
        return True
    try:
        return set(json.loads(body)["error"]) >= {"code", "message"}
    except (ValueError, TypeError, KeyError):
        return False


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
