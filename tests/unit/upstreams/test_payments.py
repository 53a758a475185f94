"""The payments manager: campaigns, eligibility, payments and their ends."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.unit.upstreams.conftest import FakeChain, IndexRows, Service, lease, running, wallet

from leasehold.core.clock import ManualClock

OWNER, STRANGER = wallet("owner"), wallet("stranger")
CAMPAIGNS = "/payments/api/v1/campaigns"
ZERO = "/payments/zero-interest"


def _payment(**changes: Any) -> dict[str, Any]:
    body = {"lease_address": lease(1), "amount": "5000000", "denom": "ibc/USDC", "owner_address": OWNER}
    return {**body, "signature": "sig", **changes}


async def _campaign(service: Service, **members: Any) -> int:
    status, answer = await service.ask("POST", CAMPAIGNS, {"name": "Launch", **members})
    assert status == 201, answer
    number: int = answer["data"]["id"]
    return number


async def _close_development(service: Service) -> None:
    """End the campaign that an embedded stack begins with."""
    (first,) = (await service.get(CAMPAIGNS))["data"]
    await service.ask("PUT", f"{CAMPAIGNS}/{first['id']}", {"name": "Development", "active": False})


async def test_the_embedded_stack_begins_with_a_campaign_for_all(database: str, clock: ManualClock) -> None:
    """One universal campaign runs from the start; a restart adds no second."""
    for _ in range(2):
        async with running(database, clock, FakeChain()) as service:
            data = (await service.get(f"{CAMPAIGNS}/active"))["data"]
            assert [one["name"] for one in data["campaigns"]] == ["Development"]
            assert data["has_universal_campaign"] is True


async def test_only_running_campaigns_are_active(service: Service) -> None:
    """Switched-off, coming and past campaigns are left out; unions are sorted."""
    await _close_development(service)
    await _campaign(service, active=False)
    await _campaign(service, start_date="2027-01-15T08:00:01Z")
    await _campaign(service, end_date="2027-01-15T08:00:00Z")
    running_now = await _campaign(
        service, eligible_protocols=["B", "A"], eligible_currencies=["ATOM"], start_date="2027-01-15T08:00:00.5+00:30"
    )
    data = (await service.get(f"{CAMPAIGNS}/active"))["data"]
    assert [one["id"] for one in data["campaigns"]] == [running_now]
    assert data["campaigns"][0]["start_date"] == "2027-01-15T07:30:00.500Z"
    assert data["all_eligible_protocols"] == ["A", "B"]
    assert data["all_eligible_currencies"] == ["ATOM"]
    assert data["has_universal_campaign"] is False


async def test_eligibility_looks_at_what_is_asked(service: Service, index: IndexRows) -> None:
    """A restriction excludes only what is named and different; protocols go by name or leaser."""
    await _close_development(service)
    number = await _campaign(service, eligible_protocols=["leaser"], eligible_currencies=["ATOM"])
    mine = await _campaign(service, eligible_wallets=[OWNER])

    async def matching(query: str) -> list[int]:
        data = (await service.get(f"{CAMPAIGNS}/check-eligibility?{query}"))["data"]
        assert data["eligible"] is bool(data["matching_campaigns"])
        assert ("reason" in data) is not data["eligible"]
        return [one["id"] for one in data["matching_campaigns"]]

    assert await matching(f"wallet={OWNER}") == [number, mine]
    assert await matching(f"wallet={STRANGER}") == [number]
    assert await matching(f"wallet={STRANGER}&protocol=OSMOSIS&currency=ATOM") == [number]
    assert await matching(f"wallet={STRANGER}&protocol=leaser") == [number]
    assert await matching(f"wallet={STRANGER}&protocol=OTHER") == []
    assert await matching(f"wallet={STRANGER}&currency=OSMO") == []
    status, answer = await service.ask("GET", f"{CAMPAIGNS}/check-eligibility")
    assert (status, answer["success"]) == (400, False)


BAD_CAMPAIGNS: list[dict[str, Any]] = [
    {},
    {"name": ""},
    {"name": "x", "start_date": "yesterday"},
    {"name": "x", "start_date": "2027-01-02T00:00:00Z", "end_date": "2027-01-01T00:00:00Z"},
    {"name": "x", "eligible_wallets": "all"},
]


async def test_bad_campaigns_are_refused(service: Service) -> None:
    """A campaign needs a name, dates in order and lists."""
    for body in BAD_CAMPAIGNS:
        assert (await service.ask("POST", CAMPAIGNS, body))[0] == 400, body
    assert (await service.ask("PUT", f"{CAMPAIGNS}/999", {"name": "x"}))[0] == 404


async def test_the_terms_can_be_changed(service: Service, index: IndexRows) -> None:
    """Terms start with every lent denom; the operator's replace them, odd ones are refused."""
    terms = await service.get(f"{ZERO}/config")
    assert terms == {
        "enabled": True,
        "max_payment_amount": "1000000000",
        "min_lease_value": "50",
        "max_active_payments": 3,
        "supported_denoms": ["ibc/USDC"],
    }
    changed = {**terms, "max_payment_amount": "7", "min_lease_value": "0.5", "supported_denoms": ["x"]}
    assert await service.ask("PUT", f"{ZERO}/config", changed) == (200, changed)
    assert await service.get(f"{ZERO}/config") == changed
    for odd in ({"max_payment_amount": "-1"}, {"min_lease_value": "1e9"}, {"max_active_payments": -1}):
        assert (await service.ask("PUT", f"{ZERO}/config", {**terms, **odd}))[0] == 400


async def test_eligibility_has_reasons(service: Service, index: IndexRows) -> None:
    """Unknown, foreign, small and closed leases are refused with a reason; a good one has its maximum and slots."""
    await index.opened(lease(1), OWNER, loan=90_000_000)
    await index.opened(lease(2), OWNER, amount=1_000_000)
    await index.opened(lease(3), OWNER)
    await index._execute("UPDATE indexer.positions SET status = 'closed' WHERE lease = $1", lease(3))

    async def asked(number: int, owner: str = OWNER) -> Any:
        return await service.get(f"{ZERO}/eligibility?lease={lease(number)}&owner={owner}")

    good = {"eligible": True, "reason": None, "max_amount": "90000000", "available_slots": 3}
    assert await asked(1) == good
    assert await asked(9) == {"eligible": False, "reason": "lease not found"}
    assert (await asked(1, STRANGER))["reason"] == "lease belongs to another owner"
    assert (await asked(2))["reason"] == "lease value too small"
    assert (await asked(3))["reason"] == "lease is closed"
    await _close_development(service)
    assert (await asked(1))["reason"] == "no campaign"
    terms = await service.get(f"{ZERO}/config")
    await service.ask("PUT", f"{ZERO}/config", {**terms, "enabled": False})
    assert (await asked(1))["reason"] == "zero interest is disabled"


async def test_without_an_index_no_lease_is_known(service: Service) -> None:
    """Before the indexer has run, leases are unknown and nothing fails."""
    await service.upstreams.database.writing(lambda session: session.execute("DROP SCHEMA indexer CASCADE"))
    answer = await service.get(f"{ZERO}/eligibility?lease={lease(1)}&owner={OWNER}")
    assert answer == {"eligible": False, "reason": "lease not found"}
    await service.step("payments")
    await service.step("rewards")
    assert (await service.ask("POST", f"{ZERO}/payments", _payment()))[0] == 409


async def test_a_repayment_completes_a_payment_and_refunds_its_interest(
    service: Service, index: IndexRows, chain: FakeChain
) -> None:
    """Smaller repayments don't count; the first large enough does, and its interest goes back to the owner."""
    await index.opened(lease(1), OWNER)
    await index.repaid(lease(1), OWNER, 9_000_000, interest=1)
    status, made = await service.ask("POST", f"{ZERO}/payments", _payment())
    assert status == 200
    expected = {"id": made["payment"]["id"], "lease_address": lease(1), "amount": "5000000", "denom": "ibc/USDC"}
    assert made == {"payment": {**expected, "payment_date": "2027-01-20", "status": "pending"}, "tx_hash": None}
    assert await service.get(f"{ZERO}/payments/{OWNER}") == [made["payment"]]
    await index.repaid(lease(1), OWNER, 4_999_999, interest=5)
    await service.step("payments")
    assert (await service.get(f"{ZERO}/lease/{lease(1)}/payments"))[0]["status"] == "pending"
    await index.repaid(lease(1), OWNER, 5_000_000, interest=300_000)
    await service.step("payments")
    await service.step("payments")
    assert (await service.get(f"{ZERO}/lease/{lease(1)}/payments"))[0]["status"] == "completed"
    rows = await service.upstreams.database.fetch("SELECT * FROM upstreams.disbursements")
    assert [(row["purpose"], row["recipient"], int(row["amount"]), row["denom"]) for row in rows] == [
        ("refund", OWNER, 300_000, "ibc/USDC")
    ]
    service.clock.advance(seconds=5)
    await service.step("disbursements")
    assert len(chain.sent) == 1


async def test_time_fails_a_payment(service: Service, index: IndexRows) -> None:
    """A payment nobody made by its day fails, and its slot is free again."""
    await index.opened(lease(1), OWNER)
    await service.ask("POST", f"{ZERO}/payments", _payment())
    service.clock.advance(seconds=5 * 86_400)
    await service.step("payments")
    assert (await service.get(f"{ZERO}/payments/{OWNER}"))[0]["status"] == "pending"
    service.clock.advance(seconds=86_400)
    await service.step("payments")
    assert (await service.get(f"{ZERO}/payments/{OWNER}"))[0]["status"] == "failed"
    assert (await service.ask("POST", f"{ZERO}/payments", _payment()))[0] == 200


async def test_only_the_owner_cancels(service: Service, index: IndexRows) -> None:
    """Cancelling answers 204 with nothing, again the second time; others and unknown payments are 404."""
    await index.opened(lease(1), OWNER)
    _, made = await service.ask("POST", f"{ZERO}/payments", _payment())
    path = f"{ZERO}/payments/{made['payment']['id']}"
    body = {"owner_address": OWNER, "signature": "sig"}
    unknown = (404, {"error": "payment not found"})
    assert await service.ask("DELETE", path, {**body, "owner_address": STRANGER}) == unknown
    for odd in ("p-999", "999", "p-", "p-x", "p-99999999999999999999"):
        assert await service.ask("DELETE", f"{ZERO}/payments/{odd}", body) == unknown
    assert await service.ask("DELETE", path, body) == (204, None)
    assert await service.ask("DELETE", path, body) == (204, None)
    assert (await service.get(f"{ZERO}/payments/{OWNER}"))[0]["status"] == "cancelled"


async def test_a_completed_payment_is_not_cancelled(service: Service, index: IndexRows) -> None:
    """What has ended stays as it ended."""
    await index.opened(lease(1), OWNER)
    _, made = await service.ask("POST", f"{ZERO}/payments", _payment())
    await index.repaid(lease(1), OWNER, 5_000_000, interest=0)
    await service.step("payments")
    body = {"owner_address": OWNER, "signature": "sig"}
    status, answer = await service.ask("DELETE", f"{ZERO}/payments/{made['payment']['id']}", body)
    assert (status, answer) == (409, {"error": "payment is completed"})


BAD_PAYMENTS: list[tuple[dict[str, Any], int]] = [
    ({"amount": "0"}, 400),
    ({"amount": "-1"}, 400),
    ({"amount": "1.5"}, 400),
    ({"amount": "9" * 40}, 400),
    ({"amount": "\u0661"}, 400),
    ({"amount": "100000001"}, 400),
    ({"amount": 5}, 400),
    ({"denom": "ulsh"}, 400),
    ({"signature": ""}, 400),
    ({"lease_address": OWNER}, 400),
    ({"owner_address": "cosmos1x"}, 400),
    ({"lease_address": lease(2)}, 409),
    ({"owner_address": STRANGER}, 409),
]


async def test_bad_payments_are_refused(service: Service, index: IndexRows) -> None:
    """Odd amounts, denoms, addresses and leases are refused and leave nothing behind."""
    await index.opened(lease(1), OWNER)
    for changes, status in BAD_PAYMENTS:
        found, answer = await service.ask("POST", f"{ZERO}/payments", _payment(**changes))
        assert (found, list(answer)) == (status, ["error"]), changes
    assert await service.get(f"{ZERO}/payments/{OWNER}") == []


async def test_slots_hold_when_asked_at_once(service: Service, index: IndexRows) -> None:
    """However many ask at once, an owner gets no more than the allowed payments, one a lease."""
    for number in range(1, 7):
        await index.opened(lease(number), OWNER)
    asked = [_payment(lease_address=lease(number)) for number in (1, 1, 2, 3, 4, 5, 6)]
    answers = await asyncio.gather(*(service.ask("POST", f"{ZERO}/payments", body) for body in asked))
    assert sorted(status for status, _ in answers) == [200] * 3 + [409] * 4
