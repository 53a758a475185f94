"""Builders: what they build is what the contracts parse; bad input is refused by its member's name."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.unit.app_api.write_stage import (
    LEASE,
    LONG,
    OTHER_VALIDATOR,
    SHORT,
    VALIDATOR,
    WALLET,
    Stage,
    contracts,
    staged,
)

from leasehold.chain.json_codec import json_codec
from leasehold.core.addresses import encode
from leasehold.protocol.messages import lease, leaser, lpp
from leasehold.protocol.serde import Codec

OPEN = {"protocol": LONG, "downpayment_ticker": "USDC_NOBLE", "downpayment_amount": "100", "lease_ticker": "ATOM"}
ROUTES: list[tuple[str, dict[str, Any], Any, dict[str, Any]]] = [
    ("/api/earn/deposit", {"protocol": LONG, "amount": "7"}, lpp.Execute, {"deposit": []}),
    ("/api/earn/withdraw", {"protocol": LONG, "amount": "7"}, lpp.Execute, {"burn": {"amount": {"amount": "7"}}}),
    ("/api/earn/claim-rewards", {"protocol": LONG}, lpp.Execute, {"claim_rewards": {"other_recipient": None}}),
    ("/api/leases/open", OPEN, leaser.Execute, {"open_lease": {"currency": "ATOM", "max_ltd": None}}),
    ("/api/leases/repay", {"lease_address": LEASE, "amount": "7"}, lease.Execute, {"repay": []}),
    ("/api/leases/close", {"lease_address": LEASE}, lease.Execute, {"close_position": {"full_close": {}}}),
    ("/api/leases/market-close", {"lease_address": LEASE}, lease.Execute, {"close_position": {"full_close": {}}}),
    (
        "/api/leases/partial-close",
        {"lease_address": LEASE, "amount": "7", "ticker": "ATOM"},
        lease.Execute,
        {"close_position": {"partial_close": {"amount": {"amount": "7", "ticker": "ATOM"}}}},
    ),
    (
        "/api/leases/close-policy",
        {"lease_address": LEASE, "stop_loss": 800, "take_profit": None},
        lease.Execute,
        {"change_close_policy": {"stop_loss": {"set": 800}, "take_profit": "reset"}},
    ),
]

STAKING = [
    ("/api/staking/delegate", {"validator_address": VALIDATOR, "amount": "7", "denom": "ulsh"}),
    ("/api/staking/stake", {"validator_address": VALIDATOR, "amount": "7", "denom": "ulsh"}),
    ("/api/staking/undelegate", {"validator_address": VALIDATOR, "amount": "7", "denom": "ulsh"}),
    (
        "/api/staking/redelegate",
        {"src_validator_address": VALIDATOR, "dst_validator_address": OTHER_VALIDATOR, "amount": "7", "denom": "ulsh"},
    ),
    ("/api/staking/claim-rewards", {"validator_addresses": [VALIDATOR, OTHER_VALIDATOR]}),
    ("/api/governance/vote", {"proposal_id": "3", "option": "no_with_veto"}),
]
WITH_AMOUNT = [
    ("/api/earn/deposit", {"protocol": LONG}, "amount"),
    ("/api/earn/withdraw", {"protocol": LONG}, "amount"),
    ("/api/leases/repay", {"lease_address": LEASE}, "amount"),
    ("/api/leases/partial-close", {"lease_address": LEASE, "ticker": "ATOM"}, "amount"),
    ("/api/leases/open", {k: v for k, v in OPEN.items() if k != "downpayment_amount"}, "downpayment_amount"),
    ("/api/leases/quote", {k: v for k, v in OPEN.items() if k != "downpayment_amount"}, "downpayment_amount"),
    ("/api/staking/delegate", {"validator_address": VALIDATOR}, "amount"),
    ("/api/staking/undelegate", {"validator_address": VALIDATOR}, "amount"),
]


async def test_contracts_parse_what_is_built(stage: Stage) -> None:
    """A built message parses as strictly as the contract does, with blanks where the client signs."""
    for path, body, kind, expected in ROUTES:
        status, answer = await stage.send(path, body)
        assert status == 200, answer
        (message,) = answer["messages"]
        assert list(message) == ["@type", "contract", "funds", "msg", "sender"]
        assert message["sender"] == ""
        assert [coin["denom"] for coin in message["funds"]] in ([], [""])
        assert message["msg"] == expected
        Codec().decode(kind, msgspec.json.encode(message["msg"]))
        assert answer["memo"]


async def test_staking_messages_are_known_to_the_chain(stage: Stage) -> None:
    """Staking messages are proto-JSON that the chain's own codec reads, every member of it."""
    codec = json_codec()
    for path, body in STAKING:
        status, answer = await stage.send(path, body)
        assert status == 200, answer
        for message in answer["messages"]:
            transaction = codec.decode("cosmos.tx.v1beta1.TxBody", msgspec.json.encode({"messages": [message]}))
            again = msgspec.json.decode(codec.encode(transaction))["messages"][0]
            assert again == message


async def test_claims_come_one_per_validator_in_order(stage: Stage) -> None:
    """Claims keep the order and the repetitions of the request; none gives none."""
    _, answer = await stage.send(
        "/api/staking/claim-rewards", {"validator_addresses": [OTHER_VALIDATOR, VALIDATOR, OTHER_VALIDATOR]}
    )
    assert [one["validator_address"] for one in answer["messages"]] == [OTHER_VALIDATOR, VALIDATOR, OTHER_VALIDATOR]
    assert (await stage.send("/api/staking/claim-rewards", {"validator_addresses": []}))[1]["messages"] == []


async def test_bad_amounts_are_refused_by_name(stage: Stage) -> None:
    """Zero, negative, fractional, overflowing and non-numeric amounts are 400 with the member's name."""
    for path, body, field in WITH_AMOUNT:
        for amount in ("0", "-1", "1.5", "1e3", "", " 1", "007", "x", "9" * 40, str(2**128), 5, None):
            status, answer = await stage.send(path, {**body, field: amount})
            assert status == 400, (path, amount)
            assert (answer["error"]["code"], answer["error"]["field"]) == ("VALIDATION_FAILED", field)


BAD_MEMBERS: list[tuple[str, dict[str, Any], str]] = [
    ("/api/leases/close", {"lease_address": "foo"}, "lease_address"),
    ("/api/leases/close", {"lease_address": WALLET}, "lease_address"),
    ("/api/leases/close", {"lease_address": encode("osmo", b"l" * 32)}, "lease_address"),
    ("/api/leases/close", {"lease_address": LEASE.upper()}, "lease_address"),
    ("/api/leases/close", {"lease_address": LEASE, "sender": "foo"}, "sender"),
    ("/api/staking/delegate", {"validator_address": WALLET, "amount": "1"}, "validator_address"),
    ("/api/staking/delegate", {"validator_address": VALIDATOR, "amount": "1", "denom": "x"}, "denom"),
    ("/api/staking/delegate", {"validator_address": VALIDATOR, "amount": "1"}, "denom"),
    ("/api/staking/undelegate", {"validator_address": VALIDATOR, "amount": "1", "denom": None}, "denom"),
    ("/api/staking/claim-rewards", {"validator_addresses": [VALIDATOR, "x"]}, "validator_addresses"),
    (
        "/api/staking/redelegate",
        {"src_validator_address": VALIDATOR, "dst_validator_address": VALIDATOR, "amount": "1"},
        "dst_validator_address",
    ),
    ("/api/leases/open", {**OPEN, "downpayment_ticker": "FOO"}, "downpayment_ticker"),
    ("/api/leases/open", {**OPEN, "lease_ticker": "USDC_NOBLE"}, "lease_ticker"),
    ("/api/leases/open", {**OPEN, "lease_ticker": None}, "lease_ticker"),
    ("/api/leases/open", {**OPEN, "max_ltd": 2**32}, "max_ltd"),
    ("/api/leases/quote", {**OPEN, "max_ltd": -1}, "max_ltd"),
    ("/api/leases/close-policy", {"lease_address": LEASE}, "stop_loss"),
    ("/api/leases/close-policy", {"lease_address": LEASE, "take_profit": 1001}, "take_profit"),
    ("/api/governance/vote", {"proposal_id": "0", "option": "yes"}, "proposal_id"),
    ("/api/governance/vote", {"proposal_id": "1", "option": "maybe"}, "option"),
]


async def test_bad_members_are_refused_by_name(stage: Stage) -> None:
    """Foreign and malformed addresses, unknown tickers and values out of bounds are 400 with the member's name."""
    for path, body, field in BAD_MEMBERS:
        status, answer = await stage.send(path, body)
        assert (status, answer["error"]["field"]) == (400, field), (body, answer)


async def test_unknown_protocols_are_not_found(stage: Stage) -> None:
    """A protocol that the chain's registry does not have is 404."""
    for path, body in (
        ("/api/earn/deposit", {"protocol": "FOO", "amount": "1"}),
        ("/api/leases/open", {**OPEN, "protocol": "FOO"}),
        ("/api/leases/quote", {**OPEN, "protocol": "FOO"}),
    ):
        assert await stage.send(path, body) == (
            404,
            {"error": {"code": "NOT_FOUND", "message": "Protocol FOO not found"}},
        )


async def test_bodies_are_objects_with_each_member_once(stage: Stage) -> None:
    """Unknown members are ignored; missing, repeated and positional ones are 400, other content 415, too much 413."""
    path, good = "/api/earn/deposit", {"protocol": LONG, "amount": "1"}
    assert (await stage.send(path, {**good, "x": [1]}))[0] == 200
    assert (await stage.send(path, {"protocol": LONG}))[1]["error"]["field"] == "amount"
    twice = f'{{"protocol":"{LONG}","amount":"1","amount":"2"}}'
    status, answer = await stage.send(path, twice)
    assert (status, answer["error"]["field"]) == (400, "amount")
    for body in ([LONG, "1"], "", "{", "null", '{"protocol":"\\ud800"}'):
        assert (await stage.send(path, body))[0] == 400, body
    assert (await stage.send(path, good, headers={"Content-Type": "text/plain"}))[0] == 415
    assert (await stage.send(path, " " * (2 * 1024 * 1024 + 1)))[0] == 413


async def test_cold_service_says_so() -> None:
    """Before the contracts are known, builders that need them are 503; pure ones work."""
    async with staged(filled=False) as stage:
        status, answer = await stage.send("/api/earn/deposit", {"protocol": LONG, "amount": "1"})
        assert (status, answer["error"]["message"]) == (503, "Protocol contracts not yet available")
        assert (await stage.send("/api/leases/close", {"lease_address": LEASE}))[0] == 200


@pytest.mark.parametrize(
    ("protocol", "paid", "asked", "leased"),
    [(LONG, "USDC_NOBLE", "ATOM", "ATOM"), (LONG, "OSMO", None, "OSMO"), (SHORT, "OSMO", None, "USDC_NOBLE")],
)
async def test_the_asset_to_lease(stage: Stage, protocol: str, paid: str, asked: str | None, leased: str) -> None:
    """The leased asset is the one asked for; else the only one there is, or the one paid with."""
    body = {"protocol": protocol, "downpayment_ticker": paid, "downpayment_amount": "1", "currency": asked}
    _, answer = await stage.send("/api/leases/open", body)
    assert answer["messages"][0]["msg"]["open_lease"]["currency"] == leased
    assert answer["messages"][0]["contract"] == contracts(protocol).leaser
