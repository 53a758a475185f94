"""Clients of the services we pass through to: what they take over, and what they refuse to believe."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import msgspec
import pytest
from tests.unit.app_api.test_lcd import Scripted

from leasehold.app_api.upstreams.failures import ServiceFailure
from leasehold.app_api.upstreams.payments import PaymentsManager
from leasehold.app_api.upstreams.referral import ReferralService
from leasehold.app_api.upstreams.svm import SvmNode, is_svm_address
from leasehold.app_api.upstreams.swap import CHAIN_MEMBERS, SwapProvider


@pytest.fixture
async def transport() -> AsyncIterator[Scripted]:
    async with aiohttp.ClientSession() as session:
        yield Scripted(session)


async def test_campaigns_get_what_was_left_out(transport: Scripted) -> None:
    """Omitted lists are empty, and instants come with 0, 3, 6 or 9 digits of a second."""
    campaign = {"id": 1, "name": "A", "active": True, "start_date": "2026-01-01T00:00:00.5Z"}
    transport.script((200, {"success": True, "data": {"campaigns": [campaign]}}))
    found = await PaymentsManager(transport).active_campaigns()
    assert found.has_universal_campaign is False
    assert (found.campaigns[0].start_date, found.campaigns[0].end_date) == ("2026-01-01T00:00:00.500Z", None)
    assert found.campaigns[0].eligible_wallets == []


async def test_a_campaign_with_a_wrong_date_is_the_services_failure(transport: Scripted) -> None:
    """What is no instant is not passed on."""
    campaign = {"id": 1, "name": "A", "active": True, "start_date": "yesterday"}
    transport.script((200, {"success": True, "data": {"campaigns": [campaign]}}))
    with pytest.raises(ServiceFailure, match="Failed to parse"):
        await PaymentsManager(transport).active_campaigns()


async def test_an_svm_answer_that_is_no_json_names_the_method(transport: Scripted) -> None:
    """The call is told, what was sent is not."""
    transport.script((200, "secret"))
    with pytest.raises(ServiceFailure) as failure:
        await SvmNode(transport).epoch()
    assert failure.value.message.endswith("getEpochInfo: failed to parse response: error decoding response body")


async def test_an_answer_without_data_says_the_services_words(transport: Scripted) -> None:
    """A wrapped refusal is 502 with its own text; without one it is unknown."""
    service = ReferralService(transport)
    transport.script((200, {"success": False, "data": None, "error": "code expired"}), (200, {"success": False}))
    for text in ("code expired", "Unknown error"):
        with pytest.raises(ServiceFailure, match=text):
            await service.validate("X")


async def test_filters_of_referral_lists_are_passed_on_when_given(transport: Scripted) -> None:
    """Only what was asked for reaches the service; whose referral it is stays there."""
    referral = {"id": 1, "referrer_id": 9, "referred_wallet": "w", "assigned_at": "t", "status": "active"}
    page = {"referrals": [referral], "total": 1, "limit": 5, "offset": 0}
    transport.script((200, {"success": True, "data": page}), (200, {"success": True, "data": page}))
    service = ReferralService(transport)
    found = await service.referrals("a/b", status="active", limit=5, offset=None)
    await service.referrals("a")
    assert [target for target, _ in transport.asked] == [
        "/api/referrers/a%2Fb/referrals?status=active&limit=5",
        "/api/referrers/a/referrals",
    ]
    assert msgspec.to_builtins(found)["referrals"] == [{k: v for k, v in referral.items() if k != "referrer_id"}]


async def test_an_unknown_referrer_is_told_apart(transport: Scripted) -> None:
    """404 means there is none; anything else that is not good is a failure."""
    transport.script((404, {}), (500, {}))
    service = ReferralService(transport)
    assert await service.stats("a") is None
    with pytest.raises(ServiceFailure):
        await service.stats("a")


async def test_chains_arrive_as_they_were_sent(transport: Scripted) -> None:
    """Every member is kept, numbers of any length included; those clients look for are null where there are none."""
    chain = {"chain_name": "n", "chain_id": "1", "chain_type": "evm", "extra": 123456789012345678}
    transport.script((200, {"chains": [chain]}))
    (found,) = await SwapProvider(transport).chains(include_evm=True, include_svm=False)
    decoded: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(found))
    assert decoded == {**dict.fromkeys(CHAIN_MEMBERS), **chain}
    assert transport.asked[0][0] == "/v2/info/chains?include_evm=true&include_svm=false"


async def test_a_status_without_a_state_is_a_failure(transport: Scripted) -> None:
    """The one member everybody relies on must be there."""
    transport.script((200, {"status": "SUBMITTED"}))
    with pytest.raises(ServiceFailure, match="Failed to parse status"):
        await SwapProvider(transport).status("h", "c")


async def test_token_accounts_of_a_mint_are_added_up(transport: Scripted) -> None:
    """Several accounts of one mint are one balance; none is none, not zero."""

    def held(*amounts: str) -> dict[str, Any]:
        info = [{"account": {"data": {"parsed": {"info": {"tokenAmount": {"amount": one}}}}}} for one in amounts]
        return {"jsonrpc": "2.0", "id": 1, "result": {"value": info}}

    transport.script((200, held("5", "7")), (200, held()), (200, {"error": {"code": -32602}}))
    node = SvmNode(transport)
    assert await node.tokens("a", "m") == 12
    assert await node.tokens("a", "m") is None
    with pytest.raises(ServiceFailure, match="getTokenAccountsByOwner: refused"):
        await node.tokens("a", "m")


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("11111111111111111111111111111111", True),
        ("So11111111111111111111111111111111111111112", True),
        ("1111111111111111111111111111111", False),
        ("0" * 32, False),
        ("z" * 44, False),
        ("", False),
    ],
)
def test_an_svm_address_is_base58_of_32_bytes(text: str, good: bool) -> None:
    """Neither shorter, nor longer, nor in another alphabet."""
    assert is_svm_address(text) is good
