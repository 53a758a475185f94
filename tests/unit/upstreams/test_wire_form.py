"""Our upstreams speak as the recorded ones: the same members of the same kinds in every answer.

The recordings come from stubs behind the public backend, so values differ; members that only those stubs had are named
below with the reason.
"""

from __future__ import annotations

import base64
import json
from typing import Any

from tests.unit.upstreams.conftest import FakeChain, IndexRows, Service, differences, lease, wallet
from tests.unit.upstreams.test_svm import MINT, OWNER, _fund

from leasehold.chain.svm import programs, transactions
from leasehold.chain.svm.addresses import decode, encode

FRIEND, REFERRER = wallet("friend"), wallet("referrer")


def test_differences_are_found() -> None:
    """The comparison itself tells members and kinds apart."""
    assert differences({"a": [{"b": 1}]}, {"a": [{"b": 2}]}) == []
    assert differences({"a": [{"b": "1"}]}, {"a": [{"b": 2}]}) == ["$.a[].b is text, recorded number"]
    assert differences({}, {"a": 1}) == ["$.a is missing"]


async def test_referral_answers(service: Service, index: IndexRows, chain: FakeChain, recorded: dict[str, Any]) -> None:
    """Every referral answer has the recorded members, statuses and errors."""
    base, register = "/referral/api", {"wallet_address": REFERRER}
    status, made = await service.ask("POST", f"{base}/referrers/register", register)
    code = made["data"]["referral_code"]
    pairs = [(made, _answer(recorded, "POST /api/referrers/register"))]
    _, assigned = await service.ask(
        "POST", f"{base}/referrals/assign", {"referral_code": code, "referred_wallet": FRIEND}
    )
    pairs.append((assigned, _answer(recorded, "POST /api/referrals/assign", "GOOD1")))
    await index.opened(lease(1), FRIEND)
    for name in ("rewards", "payouts", "disbursements"):
        await service.step(name)
        service.clock.advance(seconds=5)
    chain.include_sent()
    await service.step("disbursements")
    for what in ("stats", "rewards", "payouts", "referrals"):
        pairs.append(
            (await service.get(f"{base}/referrers/{REFERRER}/{what}"), _ending(recorded, f"/{what}", status=200))
        )
    pairs.append((await service.get(f"{base}/referrals/validate/{code}"), _ending(recorded, "/validate/GOOD1")))
    pairs.append((await service.get(f"{base}/referrals/validate/x"), _ending(recorded, "/validate/NOPE")))
    for ours, theirs in pairs:
        assert differences(ours, theirs["answer"]) == []
        assert set(ours) == set(theirs["answer"])
    assert status in (200, 201)
    unknown = await service.ask("GET", f"{base}/referrers/{FRIEND}/stats")
    theirs = _ending(recorded, "/stats", status=404)
    assert unknown == (theirs["status"], theirs["answer"])
    body = {"referral_code": "UNKNOWN", "referred_wallet": FRIEND}
    theirs = _answer(recorded, "POST /api/referrals/assign", "UNKNOWN")
    assert await service.ask("POST", f"{base}/referrals/assign", body) == (theirs["status"], theirs["answer"])


async def test_payment_answers(service: Service, index: IndexRows, recorded: dict[str, Any]) -> None:
    """Every answer of the payments manager has the recorded members, statuses and errors."""
    await index.opened(lease(1), FRIEND)
    zero, owner = "/payments/zero-interest", FRIEND
    body = {"lease_address": lease(1), "amount": "5", "denom": "ibc/USDC", "owner_address": owner, "signature": "s"}
    _, made = await service.ask("POST", f"{zero}/payments", body)
    eligible = f"{zero}/eligibility?lease={lease(1)}&owner={owner}"
    for path, theirs in (
        ("/payments/api/v1/campaigns/active", _ending(recorded, "GET /api/v1/campaigns/active")),
        (f"/payments/api/v1/campaigns/check-eligibility?wallet={owner}", _ending(recorded, "currency=ALL_BTC")),
        (f"{zero}/config", _ending(recorded, "GET /zero-interest/config")),
        (eligible, _answer(recorded, "GET /zero-interest/eligibility", '"eligible": true')),
        (eligible.replace(lease(1), lease(2)), _answer(recorded, "GET /zero-interest/eligibility", "not found")),
        (f"{zero}/payments/{owner}", _answer(recorded, "GET /zero-interest/payments", "p-1")),
        (f"{zero}/lease/{lease(1)}/payments", _answer(recorded, "GET /zero-interest/lease")),
    ):  # fmt: skip
        ours = await service.get(path)
        assert differences(ours, theirs["answer"]) == [], path
        assert isinstance(ours, list) or set(ours) == set(theirs["answer"])
    theirs = _answer(recorded, "POST /zero-interest/payments")
    assert differences(made, theirs["answer"]) == []
    cancel = {"owner_address": owner, "signature": "s"}
    gone = _answer(recorded, "DELETE /zero-interest/payments/p-1")["status"]
    assert await service.ask("DELETE", f"{zero}/payments/{made['payment']['id']}", cancel) == (gone, None)
    theirs = _answer(recorded, "DELETE /zero-interest/payments/p-9")
    assert await service.ask("DELETE", f"{zero}/payments/p-9", cancel) == (theirs["status"], theirs["answer"])


async def test_svm_answers(service: Service, recorded: dict[str, Any]) -> None:
    """Every JSON-RPC answer has the recorded members; the recorded requests are understood as they are."""
    await _fund(service)
    blockhash = decode(service.upstreams.svm.cluster.blockhash_text(service.upstreams.svm.slot))
    message = transactions.compiled(OWNER, blockhash, [programs.create_associated_account(OWNER, MINT)])
    ours = {"getTokenAccountsByOwner": encode(OWNER), "getBalance": encode(OWNER)}
    ours["simulateTransaction"] = base64.b64encode(transactions.unsigned(message)).decode()
    seen = set()
    for key, theirs in recorded.items():
        if not key.startswith("POST /sol "):
            continue
        body = json.loads(key.removeprefix("POST /sol "))
        method = body["method"]
        if method in ours:
            body["params"][0] = ours[method]
        status, answer = await service.ask("POST", "/svm", body)
        assert status == theirs["status"]
        assert differences(answer, theirs["answer"]) == [], method
        seen.add(method)
    assert seen >= {"getBalance", "getTokenAccountsByOwner", "getEpochInfo", "getLatestBlockhash", "getAccountInfo"}


def _answer(recorded: dict[str, Any], start: str, part: str = "") -> Any:
    """The first recorded answer whose call starts so and which contains a text."""
    return next(
        answer for key, answer in recorded.items() if key.startswith(start) and part in key + json.dumps(answer)
    )


def _ending(recorded: dict[str, Any], end: str, status: int = 200) -> Any:
    # The chain's own LCD answers, recorded beside them, have paths that end alike.
    return next(
        answer
        for key, answer in recorded.items()
        if key.endswith(end) and answer["status"] == status and not key.startswith("GET /cosmos")
    )
