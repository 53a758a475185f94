"""The referral service: codes, referred wallets, rewards from indexed events, payouts."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.unit.upstreams.conftest import FakeChain, IndexRows, Service, lease, running, wallet

from leasehold.chain.transactions import decode_transaction
from leasehold.core.clock import ManualClock
from leasehold.core.errors import NotReady
from leasehold.core.settings import AppApi, Upstreams

REFERRER, FRIEND, STRANGER = wallet("referrer"), wallet("friend"), wallet("stranger")


async def _register(service: Service, who: str = REFERRER) -> str:
    status, answer = await service.ask("POST", "/referral/api/referrers/register", {"wallet_address": who})
    assert status == 201
    code: str = answer["data"]["referral_code"]
    return code


async def _assign(service: Service, code: str, who: str = FRIEND) -> tuple[int, Any]:
    body = {"referral_code": code, "referred_wallet": who}
    return await service.ask("POST", "/referral/api/referrals/assign", body)


async def _list(service: Service, what: str, query: str = "") -> Any:
    return (await service.get(f"/referral/api/referrers/{REFERRER}/{what}{query}"))["data"]


async def test_registering_twice_is_registering_once(service: Service) -> None:
    """A new wallet gets a code with 201, a known one the same code with 200."""
    code = await _register(service)
    status, again = await service.ask("POST", "/referral/api/referrers/register", {"wallet_address": REFERRER})
    assert status == 200
    assert again["data"] == {
        "wallet_address": REFERRER,
        "referral_code": code,
        "tier": "general",
        "created_at": "2027-01-15T08:00:00Z",
        "already_registered": True,
    }
    found = await service.get(f"/referral/api/referrals/validate/{code}")
    assert found["data"] == {"valid": True, "referral_code": code, "referrer_wallet": REFERRER}
    assert (await service.get("/referral/api/referrals/validate/NOPE"))["data"] == {"valid": False}


async def test_codes_are_unique_even_if_chance_repeats(service: Service) -> None:
    """A code that is taken is drawn again, however many register at once."""
    drawn = iter(["SAME", "SAME", "SAME", "OTHER", "THIRD", *(f"CODE{n}" for n in range(20))])
    ledger = service.upstreams.steps["rewards"].__self__.ledger  # type: ignore[attr-defined]
    ledger.new_code = lambda: next(drawn)
    codes = await asyncio.gather(*(_register(service, wallet(f"w{n}")) for n in range(5)))
    assert len(set(codes)) == 5


async def test_a_wallet_has_one_referrer_that_is_someone_else(service: Service) -> None:
    """Unknown codes are 404; self-referral, referrers and assigned wallets 409 in words clients know."""
    code = await _register(service)
    other = await _register(service, STRANGER)
    assert (await _assign(service, "NOPE"))[0] == 404
    status, made = await _assign(service, code)
    assert status == 201
    assert made["data"] | {"id": 0} == {
        "id": 0,
        "referrer_wallet": REFERRER,
        "referred_wallet": FRIEND,
        "referral_code": code,
        "assigned_at": "2027-01-15T08:00:00Z",
    }
    for tried, who, words in (
        (code, FRIEND, "wallet already assigned"),
        (other, FRIEND, "wallet already assigned"),
        (code, REFERRER, "Self-referral not allowed"),
        (code, STRANGER, "already referrer"),
    ):
        assert await _assign(service, tried, who) == (409, {"success": False, "data": None, "error": words})


async def test_a_disabled_referrer_refers_nobody(service: Service) -> None:
    """The operator switches a referrer off: its code is no longer valid."""
    code = await _register(service)
    path = f"/referral/api/referrers/{REFERRER}"
    assert (await service.ask("PATCH", path, {"status": "disabled"}))[1]["data"]["status"] == "disabled"
    assert (await service.get(f"/referral/api/referrals/validate/{code}"))["data"] == {"valid": False}
    assert (await _assign(service, code))[0] == 404
    assert (await service.ask("PATCH", path, {"tier": "gold"}))[0] == 400
    assert (await service.ask("PATCH", f"/referral/api/referrers/{STRANGER}", {}))[0] == 404


BAD_WALLETS: list[tuple[Any, int]] = [
    ({"wallet_address": "chain1nope"}, 400),
    ({"wallet_address": FRIEND.upper()}, 400),
    ({"wallet_address": lease(1)}, 400),
    ({}, 400),
    ([FRIEND], 400),
    (None, 415),
]


async def test_bad_wallets_are_refused(service: Service) -> None:
    """Foreign, malformed, missing and positional wallets are 4xx in the service's envelope."""
    for body, wanted in BAD_WALLETS:
        status, answer = await service.ask("POST", "/referral/api/referrers/register", body)
        assert status == wanted, body
        assert answer["success"] is False
        assert answer["data"] is None
        assert isinstance(answer["error"], str)


async def test_lists_are_paged_and_filtered(service: Service) -> None:
    """Pages echo limit and offset with the total; unknown referrers are 404, odd filters 400."""
    code = await _register(service)
    friends = [wallet(f"friend {n}") for n in range(3)]
    for friend in friends:
        assert (await _assign(service, code, friend))[0] == 201
    path = f"/referral/api/referrers/{REFERRER}/referrals/{friends[1]}"
    assert (await service.ask("PATCH", path, {"status": "inactive"}))[0] == 200
    page = await _list(service, "referrals", "?limit=1&offset=1")
    assert [one["referred_wallet"] for one in page["referrals"]] == [friends[1]]
    assert (page["total"], page["limit"], page["offset"]) == (3, 1, 1)
    inactive = await _list(service, "referrals", "?status=inactive")
    assert [one["referred_wallet"] for one in inactive["referrals"]] == [friends[1]]
    assert inactive["total"] == 1
    assert (await _list(service, "referrals", "?limit=0"))["referrals"] == []
    for what in ("referrals", "rewards", "payouts"):
        base = f"/referral/api/referrers/{REFERRER}/{what}"
        for query in ("?limit=-1", "?offset=-1", "?status=odd", "?limit=x", "?limit=1&limit=2"):
            assert (await service.ask("GET", base + query))[0] == 400
        missing = await service.ask("GET", f"/referral/api/referrers/{STRANGER}/{what}")
        assert missing == (404, {"success": False, "data": None, "error": "referrer not found"})
    assert (await service.ask("GET", f"/referral/api/referrers/{STRANGER}/stats"))[0] == 404


async def test_enough_referrals_make_premium(service: Service) -> None:
    """The tenth referred wallet makes its referrer premium."""
    code = await _register(service)
    for number in range(10):
        assert (await _list(service, "stats"))["referrer"]["tier"] == "general"
        await _assign(service, code, wallet(f"friend {number}"))
    assert (await _list(service, "stats"))["referrer"]["tier"] == "premium"


async def test_a_reward_appears_after_an_indexed_lease(service: Service, index: IndexRows) -> None:
    """Opening earns once, interest earns its share, in native tokens at the indexed price; strangers earn nothing."""
    code = await _register(service)
    await index.opened(lease(1), FRIEND)
    await _assign(service, code)
    await index.opened(lease(2), FRIEND, loan=1_000_000_000)
    await index.opened(lease(3), STRANGER)
    await index.repaid(lease(2), FRIEND, 50_000_000, interest=20_000_000)
    await service.step("rewards")
    await service.step("rewards")
    found = await _list(service, "rewards")
    # 1000 USD of loan at 1 permille and 20 USD of interest at 10 percent, at 0.002 USD a token.
    amounts = [(one["lease_id"], one["reward_amount"], one["interest_collected"]) for one in found["rewards"]]
    assert amounts == [(lease(2), "500000000", "0"), (lease(2), "1000000000", "20000000")]
    assert {one["reward_denom"] for one in found["rewards"]} == {"ulsh"}
    assert {one["interest_denom"] for one in found["rewards"]} == {"USDC"}
    stats = (await _list(service, "stats"))["stats"]
    assert stats["total_rewards_earned"] == stats["pending_rewards"] == "1500000000"
    assert (stats["bonus_rewards_earned"], stats["total_bonus_amount_earned"]) == (1, "500000000")


async def test_rewards_need_a_price(service: Service, index: IndexRows) -> None:
    """Without a price of the native token events wait and are rewarded later."""
    code = await _register(service)
    await _assign(service, code)
    await index._execute("DELETE FROM indexer.prices_current WHERE ticker = 'LSH'")
    await index.opened(lease(1), FRIEND)
    await service.step("rewards")
    assert (await _list(service, "rewards"))["total"] == 0
    await index._execute("INSERT INTO indexer.prices_current VALUES ('OSMOSIS', 'LSH', 0.002, 1, now())")
    await service.step("rewards")
    assert (await _list(service, "rewards"))["total"] == 1


async def test_two_earners_reward_once(database: str, clock: ManualClock, index: IndexRows) -> None:
    """Two processes over one database account for every event once."""
    async with running(database, clock, FakeChain()) as one, running(database, clock, FakeChain()) as two:
        await _assign(one, await _register(one))
        for number in range(5):
            await index.opened(lease(number), FRIEND)
        await asyncio.gather(*(side.step("rewards") for side in (one, two, one, two)))
        assert (await _list(two, "rewards"))["total"] == 5


async def _earned(service: Service, index: IndexRows) -> None:
    await _assign(service, await _register(service))
    await index.opened(lease(1), FRIEND)
    await service.step("rewards")


async def test_a_payout_passes_to_confirmed(service: Service, index: IndexRows, chain: FakeChain) -> None:
    """Pending rewards become a payout, sent to the referrer in a transaction, confirmed when a block has it."""
    await _earned(service, index)
    await service.step("payouts")
    (payout,) = (await _list(service, "payouts"))["payouts"]
    assert payout["status"] == "pending"
    assert payout["tx_hash"] is None
    assert (await _list(service, "rewards", "?status=included"))["total"] == 1
    await service.step("disbursements")
    assert chain.sent == []
    service.clock.advance(seconds=5)
    await service.step("disbursements")
    (payout,) = (await _list(service, "payouts", "?status=submitted"))["payouts"]
    message = service.upstreams.chain.types.unpack(
        decode_transaction(service.upstreams.chain.types, chain.sent[-1]).body.messages[0]
    )
    assert (message.to_address, message.amount[0].denom) == (REFERRER, "ulsh")
    assert message.amount[0].amount == payout["total_amount"] == "50000000"
    chain.include_sent()
    service.clock.advance(seconds=9)
    await service.step("disbursements")
    (payout,) = (await _list(service, "payouts", "?status=confirmed"))["payouts"]
    assert payout["executed_at"] == "2027-01-15T08:00:14Z"
    assert (await _list(service, "rewards", "?status=paid"))["total"] == 1
    stats = (await _list(service, "stats"))["stats"]
    assert (stats["pending_rewards"], stats["total_rewards_paid"], stats["bonus_rewards_paid"]) == ("0", "50000000", 1)
    await service.step("payouts")
    assert (await _list(service, "payouts"))["total"] == 1


async def test_a_crash_never_pays_twice(database: str, clock: ManualClock, index: IndexRows) -> None:
    """A process that dies between noting and seeing a payment leaves one that sends the same bytes again."""
    chain = FakeChain()
    async with running(database, clock, chain) as service:
        await _earned(service, index)
        await service.step("payouts")
        clock.advance(seconds=5)
        await service.step("disbursements")
    async with running(database, clock, chain) as service:
        await service.step("disbursements")
        await service.step("disbursements")
        assert len(set(chain.sent)) == 1
        assert len(chain.sent) == 3
        chain.include_sent()
        await service.step("disbursements")
        assert (await _list(service, "payouts", "?status=confirmed"))["total"] == 1


@pytest.mark.parametrize("how", ["refused", "late"])
async def test_a_failed_payout_gives_its_rewards_back(
    service: Service, index: IndexRows, chain: FakeChain, how: str
) -> None:
    """A payment the chain refuses, or does not take in time, fails; its rewards are paid by a later payout."""
    await _earned(service, index)
    await service.step("payouts")
    service.clock.advance(seconds=5)
    await service.step("disbursements")
    if how == "refused":
        chain.include_sent(code=5)
    else:
        chain.height += 40
    await service.step("disbursements")
    assert (await _list(service, "payouts", "?status=failed"))["total"] == 1
    assert (await _list(service, "rewards", "?status=pending"))["total"] == 1
    await service.step("payouts")
    assert (await _list(service, "payouts"))["total"] == 1
    service.clock.advance(seconds=3601)
    await service.step("payouts")
    assert (await _list(service, "payouts", "?status=pending"))["total"] == 1


async def test_a_payer_that_does_not_exist_holds_payouts(
    service: Service, index: IndexRows, chain: FakeChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the paying account on the chain a payout stays pending and the step says why."""
    await _earned(service, index)
    await service.step("payouts")
    service.clock.advance(seconds=5)

    async def nobody(address: str) -> None:
        return None

    monkeypatch.setattr(chain, "account", nobody)
    with pytest.raises(NotReady, match="does not exist"):
        await service.step("disbursements")
    assert (await _list(service, "payouts", "?status=pending"))["total"] == 1


async def test_an_operator_can_pay(database: str, clock: ManualClock, index: IndexRows) -> None:
    """Without a paying account an operator names the transaction; it must pay that amount to that wallet."""
    chain = FakeChain()
    good, bad = "AB" * 32, "CD" * 32
    async with running(database, clock, chain, upstreams=Upstreams()) as service:
        await _earned(service, index)
        status, made = await service.ask("POST", f"/referral/api/referrers/{REFERRER}/payouts")
        assert (status, made["data"]["status"]) == (201, "pending")
        number = made["data"]["id"]
        assert (await service.ask("POST", f"/referral/api/referrers/{REFERRER}/payouts"))[0] == 409
        await service.step("disbursements")
        assert chain.sent == []
        path = f"/referral/api/payouts/{number}"
        assert (await service.ask("POST", f"{path}/submit", {"tx_hash": "zz"}))[0] == 400
        assert (await service.ask("POST", "/referral/api/payouts/999/submit", {"tx_hash": good}))[0] == 404
        assert (await service.ask("POST", f"{path}/submit", {"tx_hash": bad}))[0] == 200
        assert (await service.ask("POST", f"{path}/fail", {"reason": "x"}))[0] == 409
        chain.include(bad, transfers=((STRANGER, "50000000ulsh"),))
        await service.step("disbursements")
        assert (await _list(service, "payouts", "?status=failed"))["total"] == 1
        _, again = await service.ask("POST", f"/referral/api/referrers/{REFERRER}/payouts")
        chain.include(good, transfers=((REFERRER, "50000000ulsh"),))
        await service.ask("POST", f"/referral/api/payouts/{again['data']['id']}/submit", {"tx_hash": good.lower()})
        await service.step("disbursements")
        (paid,) = (await _list(service, "payouts", "?status=confirmed"))["payouts"]
        assert paid["tx_hash"] == good


async def test_a_token_keeps_others_out(database: str, clock: ManualClock) -> None:
    """With a token set, callers without it get 401 in the service's envelope."""
    secret = AppApi(referral_token="secret")
    async with running(database, clock, FakeChain(), app_api=secret) as service:
        path = "/referral/api/referrals/validate/X"
        refused = (401, {"success": False, "data": None, "error": "missing or wrong token"})
        assert await service.ask("GET", path) == refused
        assert await service.ask("GET", path, authorization="secret") == refused
        assert (await service.ask("GET", path, authorization="Bearer secret"))[0] == 200
