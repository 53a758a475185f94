"""Why an answer to a recorded request that changes something may differ: by the rows of app_writes.toml and by rules.

Rules depend on what a request holds, so that other recordings are judged the same way:

- amounts that are no positive base-unit integers, addresses that are none of ours and bodies that are arrays are 400
  (issue, D16), where the public service copies them unchecked; so are a stake in another denom and a move to the same
  validator, which the chain refuses, and a network's key in lower case, which nobody would find;
- an opening names the asset to lease, where the public service names the one paid with (fact sheet 3.4);
- a quote's rate is the percent of its permille, ten thousand times what the public service makes of it (D13);
- paths that only the interface has answer, and paths that nobody has are 404 (D31);
- a batch without ids is a batch of all (D37), and a text of an unknown language is none (D38).
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from leasehold.app_api.app import App
from leasehold.core.addresses import Bech32Prefixes, InvalidAddress
from leasehold.serving.matching import Matcher

EXCEPTIONS = Path(__file__).with_name("app_writes.toml")
# What the recordings' README says to leave out of every comparison.
MOMENTS = frozenset(("synced_at", "reviewed_at", "timestamp", "exp"))
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_AMOUNTS = ("amount", "amount_in", "amount_out", "downpayment_amount")
_AMOUNT = re.compile(r"[1-9][0-9]{0,38}")
_CONTRACTS = ("lease_address",)
_WALLETS = ("wallet", "wallet_address", "referred_wallet", "owner_address")
_VALIDATORS = ("validator_address", "src_validator_address", "dst_validator_address")
_LANGUAGE = re.compile(r"/api/admin/translations/active/([^/]+)/.*")
PREFIXES = Bech32Prefixes("nolus")


@dataclass(frozen=True)
class Row:
    """One exception."""

    reason: str
    scene: str = ".*"
    path: str = ".*"
    method: str = ".*"
    says: str = ""
    recorded: int = 0
    status: int = 0
    ignore: tuple[str, ...] = ()
    unordered: bool = False
    words: bool = False

    def fits(self, scene: str, case: dict[str, Any]) -> bool:
        request, response = case["request"], case["response"]
        asked = ((self.scene, scene), (self.path, request["path"]), (self.method, request["method"]))
        return (
            all(re.fullmatch(pattern, text) is not None for pattern, text in asked)
            and self.recorded in (0, response["status"])
            and re.search(self.says, str(response["body"])) is not None
        )


@cache
def rows() -> tuple[Row, ...]:
    listed = tomllib.loads(EXCEPTIONS.read_text())["row"]
    return tuple(Row(**{k: tuple(v) if isinstance(v, list) else v for k, v in row.items()}) for row in listed)


def expected_status(app: App, case: dict[str, Any], world: dict[str, Any]) -> int:
    """The status that a rule asks for instead of the recorded one, 0 where none does."""
    request, recorded = case["request"], case["response"]["status"]
    path, method, body = request["path"].partition("?")[0], request["method"], request["body"]
    if recorded == 405:
        found = Matcher(app.registry).match(path.encode())
        if found is None:
            return 404
        return 200 if found.route(method) is not None else 0
    if (
        path.startswith("/api/admin/gated/network-config/")
        and recorded == 200
        and _network(path) != _network(path).upper()
    ):
        return 404 if method == "DELETE" else 400
    if path.startswith("/api/admin"):
        unknown = _LANGUAGE.fullmatch(path)
        known = {one["key"] for one in world["locale_files"]["languages.json"]["languages"]}
        return 404 if unknown and method == "PUT" and unknown[1] not in known and recorded == 200 else 0
    if recorded not in (200, 201, 502):
        return 0
    if isinstance(body, list):
        return 400
    if not isinstance(body, dict) or path == "/api/etl/subscribe":
        return 0
    if path == "/api/leases/open" and recorded == 200 and leased(body, world) is None:
        return 400
    source, target = body.get("src_validator_address"), body.get("dst_validator_address")
    foreign = path.startswith("/api/staking/") and body.get("denom") not in (None, "unls")
    if foreign or (source is not None and source == target):
        return 400
    return 400 if wrong_amount(body) or wrong_address(body) else 0


def _network(path: str) -> str:
    return path.rpartition("/")[2]


def wrong_amount(body: dict[str, Any]) -> bool:
    """Whether a body has an amount that is none."""
    given = [body[name] for name in _AMOUNTS if body.get(name) is not None]
    return any(not _AMOUNT.fullmatch(str(text)) or int(text) >= 2**128 for text in given)


def wrong_address(body: dict[str, Any]) -> bool:
    """Whether a body has an address that is none of our chain's."""
    checks = (
        [(PREFIXES.contract_bytes, body[name]) for name in _CONTRACTS if name in body]
        + [(PREFIXES.account_bytes, body[name]) for name in _WALLETS if name in body]
        + [(PREFIXES.operator_bytes, body[name]) for name in _VALIDATORS if name in body]
        + [(PREFIXES.operator_bytes, one) for one in body.get("validator_addresses", ())]
    )
    for check, text in checks:
        try:
            check(str(text))
        except InvalidAddress:
            return True
    return False


def leased(body: dict[str, Any], world: dict[str, Any]) -> str | None:
    """What an opening without a named asset leases: the only asset there is, or the one paid with; None for neither."""
    listed = [
        currency["ticker"]
        for currency in world["etl_currencies"]["currencies"]
        for mapping in currency["protocols"]
        if mapping["protocol"] == body["protocol"] and mapping["group"] == "lease"
    ]
    if len(listed) == 1:
        return str(listed[0])
    paid = body["downpayment_ticker"]
    return paid if paid in listed else None


def corrected(case: dict[str, Any], world: dict[str, Any]) -> Any:
    """A recorded answer with the contract messages that the contracts accept."""
    request = case["request"]
    opening = request["path"] == "/api/leases/open" and isinstance(request["body"], dict)
    asset = leased(request["body"], world) if opening and case["response"]["status"] == 200 else None
    if request["path"] == "/api/leases/quote" and case["response"]["status"] == 200:
        body: dict[str, Any] = case["response"]["body"]
        return {**body, "annual_interest_rate": round(body["annual_interest_rate"] * 10_000, 6)}
    return _corrected(case["response"]["body"], asset)


def _corrected(value: Any, asset: str | None) -> Any:
    if isinstance(value, list):
        return [_corrected(one, asset) for one in value]
    if not isinstance(value, dict):
        return value
    if value in ({"deposit": {}}, {"repay": {}}):
        return {next(iter(value)): []}
    if value == {"close_position": {"partial_close": {"amount": None}}}:
        return {"close_position": {"full_close": {}}}
    if set(value) == {"burn_deposit"}:
        return {"burn": {"amount": value["burn_deposit"]}}
    if set(value) == {"open_lease"} and asset is not None:
        return {"open_lease": {**value["open_lease"], "currency": asset}}
    return {name: _corrected(one, asset) for name, one in value.items()}


def approves_all(case: dict[str, Any]) -> bool:
    """Whether a request is a batch without ids, which the recorded service takes for one of nothing (D37)."""
    request = case["request"]
    batch = request["path"].endswith("/pending/approve-batch") and case["response"]["status"] == 200
    return batch and not (request["body"] or {}).get("ids")


def without_moments(value: Any) -> Any:
    """A body without moments, and without ids that are drawn at random."""
    if isinstance(value, list):
        return [without_moments(one) for one in value]
    if isinstance(value, dict):
        return {
            name: without_moments(one)
            for name, one in value.items()
            if name not in MOMENTS and not (name == "id" and isinstance(one, str) and _UUID.fullmatch(one))
        }
    return value


def listed_first(theirs: Any, ours: Any) -> Any:
    """Our list of snapshots cut to the recorded names, which must come first and in their order."""
    names = [one["name"] for one in theirs["fields"]]
    return {**ours, "fields": [one for one in ours["fields"] if one["name"] in names]}
