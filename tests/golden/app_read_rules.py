"""Rules about recorded reads that need to know the recorded world: which answer is right instead of the recorded one.

Each rule is named in `exceptions.toml`, where its reason stands. It looks at what a request asks and at what the world
holds, never at a case's name, so that other recordings of the same world are judged the same way.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, unquote_to_bytes, urlsplit

_LEASE = re.compile(r"/api/leases/([^/]+)")
_VOTE = "/votes/"
_ABSENT = re.compile(r'"code":\s*3\b.*not found for proposal', re.DOTALL)


@dataclass(frozen=True)
class Facts:
    """What is known besides a case: the world, its upstream answers by call, and good answers by path."""

    world: dict[str, Any] = field(default_factory=dict)
    upstream: dict[str, Any] = field(default_factory=dict)
    good: dict[str, Any] = field(default_factory=dict)

    @property
    def protocols(self) -> dict[str, Any]:
        return {one["name"]: one for one in self.world.get("etl_protocols", {}).get("protocols", ())}

    @property
    def native(self) -> str:
        """Denom of the native token."""
        home = self.world["gated_files"]["network-config.json"]["NOLUS"]
        return str(home["gas_price"]).lstrip("0123456789.")

    def lease(self, address: str) -> dict[str, Any]:
        found: dict[str, Any] = self.world.get("leases", {}).get(address, {})
        return found

    def hides(self, lease: dict[str, Any]) -> bool:
        """Whether the rules on leases hide a position of this ticker and kind."""
        ticker = lease["amount"]["ticker"]
        rules = self.world["gated_files"]["lease-rules.json"]["asset_restrictions"]
        kind = self.protocols[lease["protocol"]]["position_type"].lower()
        listed = (*rules["ignore_all"], *rules[f"ignore_{kind}"])
        return ticker in listed or f"{ticker}@{lease['protocol']}" in listed


def _query(case: dict[str, Any]) -> dict[str, str]:
    asked = parse_qs(urlsplit(case["request"]["path"]).query, keep_blank_values=True)
    return {name: values[-1] for name, values in asked.items()}


def _calls(case: dict[str, Any]) -> list[str]:
    """The upstream calls a case was answered from; a sentence stands for none."""
    found = case.get("upstream")
    return found if isinstance(found, list) else []


def lease_protocols(case: dict[str, Any], facts: Facts) -> int:
    """A single lease under no protocol, one nobody knows, or another than its own."""
    match = _LEASE.fullmatch(urlsplit(case["request"]["path"]).path)
    asked = _query(case).get("protocol")
    if match is None or asked is None or case["response"]["status"] != 200:
        return 0
    own = facts.lease(match[1]).get("protocol", asked)
    return 0 if asked in facts.protocols and asked == own else 400


def closing_leases(case: dict[str, Any], facts: Facts) -> int:
    """A single lease whose contract answers `closing` the way current contracts do."""
    match = _LEASE.fullmatch(urlsplit(case["request"]["path"]).path)
    return 200 if match and case["response"]["status"] == 502 and _is_closing(facts, match[1]) else 0


def _is_closing(facts: Facts, address: str) -> bool:
    state = (facts.lease(address).get("contract_answer") or {}).get("closing")
    return state is not None and "principal_due" not in state


def vote_lookups(case: dict[str, Any], facts: Facts) -> int:
    """A list of proposals for whose voter a lookup failed: refused for another reason than that there is no vote."""
    path, calls = case["request"]["path"], _calls(case)
    if not path.startswith("/api/governance/proposals?") or case["response"]["status"] != 200:
        return 0
    return 502 if any(_VOTE in call and _failed(call, facts) for call in calls) else 0


def _failed(call: str, facts: Facts) -> bool:
    if call.startswith("["):
        return True
    found = facts.upstream.get(call, {"status": 200, "answer": None})
    absent = found["status"] == 404 or (found["status"] == 400 and _ABSENT.search(json.dumps(found["answer"])))
    return found["status"] >= 400 and not absent


def conditional(case: dict[str, Any], facts: Facts) -> int:
    """A request that says that it has an answer, whichever it is."""
    given = {name.lower(): value for name, value in case["request"]["headers"].items()}
    return 304 if given.get("if-none-match") == "*" and case["response"]["status"] == 200 else 0


def bad_text(case: dict[str, Any], facts: Facts) -> int:
    """A query that is not UTF-8."""
    try:
        unquote_to_bytes(urlsplit(case["request"]["path"]).query).decode()
    except UnicodeDecodeError:
        return 400
    return 0


STATUSES: dict[str, Callable[[dict[str, Any], Facts], int]] = {
    "lease-protocols": lease_protocols,
    "closing-leases": closing_leases,
    "vote-lookups": vote_lookups,
    "conditional": conditional,
    "bad-text": bad_text,
}


def listed_leases(facts: Facts, theirs: Any, ours: Any) -> tuple[Any, Any]:
    """Two lists of leases without what only we list (current `closing` ones) and what only they do (hidden ones)."""
    known = {one["address"] for one in theirs["leases"]}
    shown = [one for one in theirs["leases"] if not one["amount"]["ticker"] or not facts.hides(one)]
    found = [one for one in ours["leases"] if one["address"] in known or not _is_closing(facts, one["address"])]
    return {**theirs, "leases": shown}, {**ours, "leases": found}


def own_rewards(case: dict[str, Any], theirs: Any, facts: Facts) -> Any:
    """Positions whose total counts rewards in the native token only."""
    answer = next((facts.upstream.get(call) for call in _calls(case) if call.endswith("/rewards")), None)
    if answer is None or answer["status"] != 200:
        return theirs
    native = [coin["amount"] for coin in answer["answer"]["total"] if coin["denom"] == facts.native]
    return {**theirs, "total_rewards": str(sum(int(amount.partition(".")[0]) for amount in native))}


def network_pools(case: dict[str, Any], theirs: Any, facts: Facts) -> Any:
    """Pools of a network whatever the case of its name in the index."""
    figures = {one["protocol"]: one for one in facts.upstream["GET /api/pools"]["answer"]["protocols"]}
    if theirs["pools"] or not facts.world:
        return theirs
    files = facts.world["gated_files"]
    pools = []
    for name, one in facts.protocols.items():
        shown = files["currency-display.json"].get(one["lpn_symbol"])
        lpp = (one.get("contracts") or {}).get("lpp")
        if (one["network"] or "").upper() != theirs["network"] or not one["is_active"] or not shown or not lpp:
            continue
        figure, icons = figures.get(name, {}), files["network-config.json"][theirs["network"]].get("pools", {})
        display = {"ticker": one["lpn_symbol"], "icon": "", "displayName": "", "shortName": one["lpn_symbol"], **shown}
        display.pop("coingeckoId", None)
        pool = {"protocol": name, "network": theirs["network"], "lpp_address": lpp}
        pool |= {ours: figure.get(its) for ours, its in _FIGURES.items()}
        pool |= {"lpn": one["lpn_symbol"], "lpn_display": display, "icon": icons.get(name, {}).get("icon")}
        pools.append({member: value for member, value in pool.items() if value is not None})
    return {**theirs, "pools": pools, "count": len(pools)}


_FIGURES = {
    "apr": "earn_apr",
    "utilization": "utilization",
    "total_supplied": "supplied",
    "total_borrowed": "borrowed",
    "borrow_apr": "borrow_apr",
}


def kept_prices(case: dict[str, Any], theirs: Any, facts: Facts) -> Any:
    """The last good prices in place of none."""
    good = facts.good.get("/api/prices")
    return theirs if theirs["prices"] or good is None else {**theirs, "prices": good["response"]["body"]["prices"]}


def garbage_is_unhealthy(case: dict[str, Any], theirs: Any, facts: Facts) -> Any:
    """Upstreams that answer something else than JSON are not healthy."""
    if not any(call.startswith("[garbage]") for call in _calls(case)):
        return theirs
    said = "Failed to parse response: error decoding response body"
    wrong = {"status": "unhealthy", "configured": True, "error": said}
    return {**theirs, "status": "unhealthy", "services": dict.fromkeys(theirs["services"], wrong)}


CORRECTIONS: dict[str, tuple[str, Callable[[dict[str, Any], Any, Facts], Any]]] = {
    "own-rewards": (r"/api/staking/positions\?.*", own_rewards),
    "network-pools": (r"/api/networks/[^/]+/pools", network_pools),
    "kept-prices": (r"/api/prices", kept_prices),
    "garbage-is-unhealthy": (r"/api/health/detailed", garbage_is_unhealthy),
}


def picked(theirs: Any, ours: Any) -> Any:
    """Ours with the members that follow from another choice among a ticker's protocols, where theirs chose another."""
    if theirs.get("ticker") != ours.get("ticker") or theirs.get("key") == ours.get("key"):
        return ours
    chosen = ("key", "protocol", "group", "symbol", "bank_symbol", "dex_symbol")
    return {name: theirs.get(name) if name in chosen else value for name, value in ours.items()}


def good_answers(folders: list[Path], scenes: frozenset[str]) -> dict[str, Any]:
    """Bodies that the recorded service gave while everything was well, by path."""
    found: dict[str, Any] = {}
    for path in (one for folder in folders for one in sorted(folder.glob("*.json")) if one.stem not in scenes):
        content = json.loads(path.read_bytes())
        for case in content.get("cases", ()) if isinstance(content, dict) else ():
            response = case.get("response", {})
            if response.get("status") == 200 and response.get("body_kind") == "json":
                found.setdefault(unquote(case["request"]["path"]), case)
    return found
