"""Where the data API answers with another status than the recorded one, on purpose: each rule gives one status."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote_to_bytes, urlsplit

from tests.golden.data_world import HEIGHT, PREFIXES, Vocabulary

from leasehold.core.addresses import InvalidAddress
from leasehold.core.clock import ManualClock
from leasehold.core.settings import Settings
from leasehold.data_api.api import DataApi

# Routes that the interface document has and the recorded service lacks, and what they can't be asked without.
ADDED: dict[str, tuple[str, ...]] = {
    "/health": (),
    "/ready": (),
    "/openapi.json": (),
    "/llms.txt": (),
    "/api/lease-markets": (),
    "/api/blocks/latest": (),
    "/api/blocks/gaps": (),
    "/api/utilization-level": ("protocol",),
    "/api/leases": ("address",),
    "/api/position-opens": ("address",),
    "/api/staking-activity": ("address",),
    "/api/staking-earnings": ("address",),
    "/api/subscriptions": ("address", "auth"),
}
FILTERS = {"transfers", "earn", "staking", "positions", "positions_ids"}
PUSHES = {"Funding", "FundingRecommended", "FundNow", "PartiallyLiquidated", "FullyLiquidated", "Closed", "Unsupported"}
EMPTY = "empty database"
PATHS = {route.path: route for route in DataApi(Settings(), ManualClock(0)).registry if route.method == "GET"}


@dataclass(frozen=True)
class Rule:
    """The status we give instead of the recorded one, and why; `rows` is whether ours has any, where that differs."""

    status: int
    reason: str
    rows: bool | None = None


def query_of(path: str) -> dict[str, str]:
    """Parameters of a recorded request."""
    return dict(parse_qsl(urlsplit(path).query, keep_blank_values=True))


def _is_address(text: str) -> bool:
    try:
        PREFIXES.account_bytes(text)
    except InvalidAddress:
        return False
    return True


def _bad_contracts(query: dict[str, str]) -> bool:
    """Whether `to` is given and is neither an instant nor contracts."""
    parts = [part.strip() for part in query.get("to", "").split(",") if part.strip()]
    return bool(parts) and not re.match(r"\d{4}-", parts[0]) and not all(map(_is_address, parts))


def _undecodable(path: str) -> bool:
    try:
        text = unquote_to_bytes(path.replace("+", " ")).decode()
    except UnicodeDecodeError:
        return True
    return any(character < " " for character in text)


def _is_ours(route: str) -> bool:
    """Whether the description has a GET route for a path."""
    return any(re.fullmatch(re.sub(r"\{[a-z_]+\}", "[^/]+", path), route) for path in PATHS)


def _unknown_currency(words: Vocabulary, query: dict[str, str]) -> bool:
    links = {
        (link["protocol"], ticker) for ticker, told in words.currencies.items() for link in told.get("protocols", ())
    }
    return (query.get("protocol", "").upper(), query.get("key", "")) not in links | words.charts


def _at_fault(query: dict[str, str]) -> bool:
    """Whether a failure of the recorded service was the caller's doing."""
    filters = {name.strip() for name in query.get("filter", "").split(",") if name.strip()}
    negative = any(query.get(name, "").startswith("-") for name in ("skip", "limit", "interval"))
    return negative or bool(filters - FILTERS) or ("positions_ids" in filters and not query.get("to"))


def _added(route: str, query: dict[str, str], words: Vocabulary, highest: int) -> Rule | None:
    """What a route of the interface document answers that the recorded service does not have."""
    reason = "the interface document has this route (surprise 20)"
    if route in ADDED:
        missing = any(name not in query for name in ADDED[route])
        bad = "address" in query and not _is_address(query["address"])
        if "protocol" in query and query["protocol"].upper() not in words.protocols:
            return Rule(404, reason)
        if not highest and route == "/ready":
            return Rule(503, reason)
        if not highest and route == "/api/blocks/latest":
            return Rule(404, reason)
        return Rule(400 if missing or bad else 200, reason)
    if match := re.fullmatch(r"/api/blocks/([^/]+)", route):
        if not match[1].isdigit():
            return Rule(400, reason)
        return Rule(200 if 0 < int(match[1]) <= highest else 404, reason)
    return None


def _method(method: str, route: str) -> Rule:
    reason = "a wrong method is 405, HEAD and preflight work (surprises 16 and 24)"
    if method == "OPTIONS":
        return Rule(200, reason)
    if not _is_ours(route):
        return Rule(404, reason)
    return Rule(200 if method == "HEAD" else 405, reason)


def _push(query: dict[str, str]) -> Rule:
    understood = query.get("type") in PUSHES and "address" in query
    return Rule(401 if understood else 400, "an admin key in a header instead of a secret in the query (sheet, 9)")


def deliberate(case: dict[str, Any], words: Vocabulary) -> Rule | None:
    """The status we give instead of the recorded one; None where we do as recorded."""
    method, path, status = case["request"]["method"], case["request"]["path"], case["response"]["status"]
    query, route = query_of(path), urlsplit(path).path
    highest = 0 if case["case"].startswith(EMPTY) else HEIGHT
    if status == 404 and method == "GET" and (rule := _added(route, query, words, highest)):
        return rule
    if (method, route, status) == ("POST", "/subscribe", 405):
        return Rule(200, "old clients leave out /api")
    if route == "/api/test-push":
        return _push(query)
    if method != "GET" and "/subscri" not in route:
        return _method(method, route)
    if _undecodable(path):
        return Rule(400, "bad input is refused (issue; the recorded service looks for U+FFFD)")
    if "address" in query and not _is_address(query["address"]) and status in (200, 500):
        return Rule(400, "an address must be lower-case bech32 (interface, surprises 7 and 15)")
    told = {name.lower(): value for name, value in (case["request"].get("headers") or {}).items()}
    if told.get("if-none-match") == "*" and status == 200:
        return Rule(304, "an unchanged answer is not sent again (issue)")
    return _asked(route, query, status, words)


def _asked(route: str, query: dict[str, str], status: int, words: Vocabulary) -> Rule | None:
    """What the parameters of a GET of the recorded service mean to us."""
    if route == "/api/txs" and status == 200 and _bad_contracts(query):
        return Rule(400, "a bad value of a known parameter is 400 (issue)")
    if query.get("format", "csv") not in ("csv", "json"):
        return Rule(400, "a bad value of a known parameter is 400 (issue, surprise 11)")
    if query.get("interval", "").startswith("-") and status == 200:
        return Rule(400, "negative numbers are refused (issue, sheet 2.3)")
    if "protocol" in query and query["protocol"].upper() not in words.protocols and status == 200:
        return Rule(404, "an unknown protocol is 404 (interface)")
    if route == "/api/prices" and "interval" not in query:
        unknown = "protocol" in query and query["protocol"].upper() not in words.protocols
        return Rule(404 if unknown else 200, "without interval: current prices (interface)")
    if route == "/api/prices" and status == 200 and _unknown_currency(words, query):
        return Rule(404, "an unknown currency is 404 (interface)")
    if route == "/api/prices" and status == 200 and query["protocol"].upper() != query["protocol"]:
        return Rule(200, "names of protocols work in any case (surprise 12), here too", rows=True)
    if route == "/api/pnl-over-time" and query.get("interval") == "0":
        return Rule(200, "interval counts (interface, surprise 15)", rows=False)
    if status == 200 and set(query.get("search", "")) & {"%", "_"}:
        return Rule(200, "wildcards are text, and no address has them (sheet, 4.6)", rows=False)
    if status == 500:
        reason = "the caller's fault is 400, and what failed works (surprises 9, 17, 29)"
        return Rule(400 if _at_fault(query) else 200, reason)
    return None
