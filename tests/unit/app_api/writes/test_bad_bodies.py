"""Every write route against every way a body can be wrong: the envelope, the member's name, and nobody is asked."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any, get_args, get_type_hints

import msgspec
import pytest
from tests.unit.app_api.write_stage import LEASE, LONG, OTHER_VALIDATOR, VALIDATOR, WALLET, Stage, staged

from leasehold.core.addresses import encode
from leasehold.serving.routes import Route

SVM = "4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T"
ASSETS = {
    "source_asset_denom": "ulsh",
    "source_asset_chain_id": "leasehold-1",
    "dest_asset_denom": "uosmo",
    "dest_asset_chain_id": "osmosis-1",
}
LEASED = {"protocol": LONG, "downpayment_ticker": "USDC_NOBLE", "downpayment_amount": "100", "max_ltd": 1500}
STAKED = {"validator_address": VALIDATOR, "amount": "7", "denom": "ulsh"}
SEND = {"sender": SVM, "recipient": WALLET, "currency": "SOL@SOLANA-X", "amount": "5", "timeout": {"timestamp": 1}}
LEG = {"from_chain": "chain", "to_chain": "solana", "timeout_height": {"revision_number": 1, "revision_height": 2}}
TOKEN = {"wallet": WALLET, "wallet_type": "keplr"}
GOOD: dict[str, dict[str, Any]] = {
    "POST /api/earn/deposit": {"protocol": LONG, "amount": "7"},
    "POST /api/earn/withdraw": {"protocol": LONG, "amount": "7"},
    "POST /api/earn/claim-rewards": {"protocol": LONG, "recipient": WALLET},
    "POST /api/leases/quote": LEASED,
    "POST /api/leases/open": {**LEASED, "lease_ticker": "ATOM"},
    "POST /api/leases/repay": {"lease_address": LEASE, "amount": "7", "denom": "ibc/USDC", "ticker": "USDC_NOBLE"},
    "POST /api/leases/close": {"lease_address": LEASE},
    "POST /api/leases/market-close": {"lease_address": LEASE},
    "POST /api/leases/partial-close": {"lease_address": LEASE, "amount": "7", "ticker": "ATOM"},
    "POST /api/leases/close-policy": {"lease_address": LEASE, "stop_loss": 850, "take_profit": 300},
    "POST /api/staking/delegate": STAKED,
    "POST /api/staking/stake": STAKED,
    "POST /api/staking/undelegate": STAKED,
    "POST /api/staking/redelegate": {
        "src_validator_address": VALIDATOR,
        "dst_validator_address": OTHER_VALIDATOR,
        "amount": "7",
        "denom": "ulsh",
    },
    "POST /api/staking/claim-rewards": {"validator_addresses": [VALIDATOR]},
    "POST /api/governance/vote": {"proposal_id": "3", "option": "yes"},
    "POST /api/swap/route": {**ASSETS, "amount_in": "5", "network": "osmosis"},
    "POST /api/swap/messages": {
        **ASSETS,
        "amount_in": "5",
        "amount_out": "4",
        "operations": [{"x": 1}],
        "address_list": [WALLET],
    },
    "POST /api/swap/track": {"chain_id": "leasehold-1", "tx_hash": "AB"},
    "POST /api/referral/register": {"wallet_address": WALLET},
    "POST /api/referral/assign": {"referral_code": "ABC", "referred_wallet": WALLET},
    "POST /api/zero-interest/payments": {
        "lease_address": LEASE,
        "amount": "5",
        "denom": "ulsh",
        "owner_address": WALLET,
        "signature": "s",
    },
    "DELETE /api/zero-interest/payments/p-1": {"owner_address": WALLET, "signature": "s"},
    "POST /api/etl/subscribe": {"address": WALLET},
    "POST /api/messaging/hash": TOKEN,
    "POST /api/intercom/hash": TOKEN,
    "POST /api/solana/tx/create-ata": {"owner": SVM, "currency": "SOL@SOLANA-X"},
    "POST /api/solana/tx/send-source": SEND,
    "POST /api/solana/tx/send-sink": SEND,
    "POST /api/transfer/track": {"direction": "chain_to_solana", "channel": "channel-1", "legs": [LEG]},
}
AMOUNTS = ("amount", "amount_in", "amount_out", "downpayment_amount")
BAD_AMOUNTS = ("0", "-1", "+1", "1.5", "1e3", "", " 1", "1 ", "007", "x", "٣", "0x1", str(2**128), "9" * 60)
ADDRESSES = {
    "lease_address": (LEASE, 32),
    "sender": (WALLET, 20),
    "recipient": (WALLET, 20),
    "wallet": (WALLET, 20),
    "wallet_address": (WALLET, 20),
    "referred_wallet": (WALLET, 20),
    "owner_address": (WALLET, 20),
}
# No member takes any of these, but for a list of anything, and an object whose members may all be left out.
OTHER_KINDS: tuple[Any, ...] = (True, 1.5, {"a": 1}, [["a"]])
TAKEN: dict[str, Any] = {"operations": [["a"]], "timeout": {"a": 1}}


@dataclass(frozen=True)
class Write:
    """A write route with a good body for it."""

    method: str
    path: str
    body: dict[str, Any]
    route: Route

    def members(self) -> Iterator[tuple[str, bool]]:
        """Names of the members a body may have, and whether each must be there."""
        kind = get_args(get_type_hints(self.route.handler)["request"])[1]
        if not hasattr(kind, "__struct_fields__"):
            return
        for field in msgspec.structs.fields(kind):
            yield field.encode_name, field.required


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    """An application API that has a messaging secret, and whose upstreams know nothing."""
    async with staged(messaging_secret="s") as found:
        yield found


@pytest.fixture
async def stored(database: str) -> AsyncIterator[Stage]:
    """The same with a database, for requests that get that far."""
    async with staged(messaging_secret="s", database=database) as found:
        yield found


def _writes(stage: Stage) -> list[Write]:
    public = [route for route in stage.app.registry if route.method != "GET" and "/admin/" not in route.path]
    found = []
    for name, body in GOOD.items():
        method, _, path = name.partition(" ")
        route = next(one for one in public if one.method == method and _shape(one.path) == _shape(path))
        found.append(Write(method, path, body, route))
    assert {one.route.path for one in found} == {one.path for one in public}, "every write route is tried here"
    return found


def _shape(path: str) -> str:
    return "/".join("*" if part.startswith("{") or part == "p-1" else part for part in path.split("/"))


async def _refused(stage: Stage, write: Write, body: Any, status: int, **more: Any) -> dict[str, Any]:
    """The error of an answer that must be a refusal, in the envelope, before anybody is asked."""
    stage.world.calls.clear()
    found, answer = await stage.send(write.path, body, method=write.method, **more)
    assert found == status, (write, str(body)[:300], answer)
    assert stage.world.calls == [], (write, str(body)[:300])
    error: dict[str, Any] = answer["error"]
    assert error["code"], answer
    assert error["message"], answer
    return error


async def test_members_must_be_there_once_and_of_their_kind(stage: Stage) -> None:
    """A member that is missing, null, twice there or of another kind is 400 with its name."""
    for write in _writes(stage):
        for name, required in write.members():
            rest = {key: value for key, value in write.body.items() if key != name}
            if required:
                error = await _refused(stage, write, rest, 400)
                assert (error["code"], error["field"]) == ("VALIDATION_FAILED", name)
                error = await _refused(stage, write, {**rest, name: None}, 400)
                assert error["field"] == name
            first = json.dumps(write.body.get(name))
            twice = json.dumps({**rest, name: "@"}).replace('"@"', f'{first}, "{name}": {first}')
            error = await _refused(stage, write, twice, 400)
            assert error["field"] == name, (write, error)
            for other in (kind for kind in OTHER_KINDS if kind != TAKEN.get(name)):
                error = await _refused(stage, write, {**write.body, name: other}, 400)
                assert error["field"].split(".")[0].split("[")[0] == name, (write, other, error)


async def test_bodies_must_be_objects(stage: Stage) -> None:
    """Arrays by position, bare values, nothing, half of something and something more are 400."""
    for write in _writes(stage):
        text = json.dumps(write.body)
        for body in ([], list(write.body.values()), "null", '"x"', "5", "", " ", text[:-1], f"{text} x", text + text):
            error = await _refused(stage, write, body, 400)
            assert error["code"] == "VALIDATION_FAILED"
        error = await _refused(stage, write, b'{"\xff": 1}', 400)
        assert error["code"] == "VALIDATION_FAILED"


async def test_other_media_sizes_and_methods(stage: Stage) -> None:
    """What does not say it is JSON is 415, more than 2 MiB is 413, another method is 405 with those allowed."""
    for write in _writes(stage):
        for media in ("text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin-1", ""):
            await _refused(stage, write, write.body, 415, headers={"Content-Type": media})
        await _refused(stage, write, " " * (2 * 1024 * 1024 + 1), 413)
        stage.world.calls.clear()
        status, answer = await stage.send(write.path, {}, method="PATCH")
        assert (status, answer["error"]["code"]) == (405, "METHOD_NOT_ALLOWED"), write


async def test_unknown_members_are_ignored(stored: Stage) -> None:
    """A member nobody knows changes nothing; vendor JSON and a charset are JSON too."""
    for write in _writes(stored):
        expected, answer = await stored.send(write.path, write.body, method=write.method)
        assert expected < 500 or expected in (502, 503), (write, answer)
        for body, media in (
            ({**write.body, "x": [1, {"y": None}]}, "application/json"),
            (write.body, "application/json; charset=UTF-8"),
            (write.body, "application/vnd.api+json"),
        ):
            found, answer = await stored.send(write.path, body, method=write.method, headers={"Content-Type": media})
            assert found == expected, (write, media, answer)


async def test_optional_members_may_be_null(stored: Stage) -> None:
    """A member that may be left out may be null, to the same effect."""
    for write in _writes(stored):
        for name, required in write.members():
            # Null clears a trigger of a close policy, and absence leaves it.
            if required or write.path.endswith("/close-policy"):
                continue
            left = {key: value for key, value in write.body.items() if key != name}
            without = await stored.send(write.path, left, method=write.method)
            assert await stored.send(write.path, {**left, name: None}, method=write.method) == without, (write, name)


async def test_amounts_and_addresses_are_checked_first(stage: Stage) -> None:
    """Whatever is no positive base-unit integer, and whoever is not of our chain, is 400 by name."""
    for write in _writes(stage):
        solana = write.path.startswith("/api/solana/")
        for name in write.body:
            # Of a currency that is not there nothing else is looked at.
            if name in AMOUNTS and not solana:
                for text in BAD_AMOUNTS:
                    error = await _refused(stage, write, {**write.body, name: text}, 400)
                    assert error["field"] == name
            if name in ADDRESSES and not solana:
                good, size = ADDRESSES[name]
                wrong = [good[:-1] + "q", good + "q", encode("osmo", b"w" * size), encode("osmo", b"w" * size).upper()]
                # A token is about the wallet, however its address is spelled.
                wrong += ["foo", "", f" {good}"] + ([good.upper()] if name != "wallet" else [])
                for text in wrong:
                    error = await _refused(stage, write, {**write.body, name: text}, 400)
                    assert error["field"] == name, (write, text)
