"""Transfers are followed to their end over a real ledger, a restart and a dead node."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.unit.app_api.write_stage import WALLET, Stage, staged
from tests.unit.upstreams.conftest import FakeChain, Service, running

from leasehold.app_api.resources.currencies import Catalogue, build
from leasehold.app_api.tracking import routes, tracker
from leasehold.app_api.tracking.phases import LONGEST_SECONDS
from leasehold.app_api.upstreams import all as upstreams
from leasehold.app_api.upstreams.data import Currency, Mapping
from leasehold.chain.svm import transactions
from leasehold.chain.svm.addresses import encode
from leasehold.core.clock import ManualClock
from leasehold.core.errors import RateLimited

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
OWNER = encode(KEY.public_key().public_bytes_raw())
MINT = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
PROTOCOL = "SOLANA-RAYDIUM-USDC"
KNOWN = (
    Currency("USDC", 6, True, (Mapping(PROTOCOL, "lpn", "ibc/USDC", MINT),)),
    Currency("LSH", 6, True, (Mapping(PROTOCOL, "native", "ulsh", ""),)),
)


class Both:
    """The application API in front of the svm stand-in."""

    def __init__(self, stage: Stage, svm: Service) -> None:
        self.stage, self.svm = stage, svm

    async def rpc(self, method: str, *params: Any) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}
        _, answer = await self.svm.ask("POST", "/svm", body)
        assert "error" not in answer, answer
        return answer["result"]

    async def build(self, kind: str, **changes: Any) -> tuple[int, Any]:
        slot = self.svm.upstreams.svm.slot
        body = {
            "sender": OWNER,
            "recipient": WALLET,
            "currency": f"USDC@{PROTOCOL}",
            "amount": "400",
            "timeout": {"height": {"revision_number": 0, "revision_height": slot + 1000}},
            **changes,
        }
        return await self.stage.send(f"/api/solana/tx/{kind}", body)

    async def signed(self, answer: dict[str, Any]) -> str:
        raw = base64.b64decode(answer["transaction"])
        message = transactions.parse(raw).message.raw
        sent = base64.b64encode(b"\x01" + KEY.sign(message) + message).decode()
        return str(await self.rpc("sendTransaction", sent, {"encoding": "base64"}))

    async def track(self, direction: str = "solana_to_chain", **changes: Any) -> tuple[int, Any]:
        source, target = direction.split("_to_")
        slot = self.svm.upstreams.svm.slot
        leg = {
            "from_chain": source,
            "to_chain": target,
            "timeout_height": {"revision_number": 0, "revision_height": slot + 1000},
        }
        return await self.stage.send(
            "/api/transfer/track", {"direction": direction, "channel": "channel-0", "legs": [leg], **changes}
        )

    async def state(self, key: str) -> dict[str, Any]:
        status, answer = await self.stage.send(f"/api/transfer/status/{key}", method="GET")
        assert status == 200, answer
        found: dict[str, Any] = answer
        return found


@asynccontextmanager
async def both(database: str) -> AsyncIterator[Both]:
    clock = ManualClock(1_800_000_000 * 10**9)
    async with running(database, clock, FakeChain()) as svm:
        url = str(svm.client._base_url).rstrip("/")
        async with staged(database=database, svm_url=f"{url}/svm") as stage:
            gated = stage.app.cells.gated.value
            stage.app.cells.currencies.put(Catalogue.of(build(gated, KNOWN, "ulsh")))
            stage.app.clock = clock
            yield Both(stage, svm)


@pytest.fixture
async def pair(database: str) -> AsyncIterator[Both]:
    async with both(database) as found:
        await found.rpc("requestAirdrop", OWNER, 10**10)
        await found.rpc("standinMintTo", OWNER, MINT, 1000, 6)
        yield found


async def test_a_built_send_is_carried_out_and_followed_to_its_end(pair: Both) -> None:
    """The stand-in accepts what is built; the transfer is pending until the packet arrives, then a success."""
    status, account = await pair.stage.send(
        "/api/solana/tx/create-ata", {"owner": OWNER, "currency": f"USDC@{PROTOCOL}"}
    )
    assert status == 200, account
    assert account["summary"]["operation"] == "CreateAta"
    await pair.signed(account)
    status, built = await pair.build("send-source")
    assert status == 200, built
    assert built["summary"] == {
        "operation": "SendSource",
        "asset": "USDC",
        "amount": "400",
        "destination": WALLET,
        "fees": {"compute_unit_limit": 200_000, "compute_unit_price_micro_lamports": 1000},
    }
    assert (await pair.track())[0] == 400, "there is no packet yet"
    await pair.signed(built)
    status, tracked = await pair.track()
    assert status == 200, tracked
    await tracker.sweep(pair.stage.app)
    before = await pair.state(tracked["id"])
    assert (before["state"], before["next_blocking_transfer"]) == ("STATE_PENDING", 0)
    pair.svm.clock.advance(seconds=10)
    await pair.svm.step("packets")
    assert await tracker.sweep(pair.stage.app) == 1
    after = await pair.state(tracked["id"])
    assert after["state"] == "STATE_COMPLETED_SUCCESS"
    assert after["transfer_asset_release"] == {"chain": "chain", "released": True}
    assert await tracker.active(pair.stage.app) == 0


async def test_the_same_blockhash_gives_the_same_bytes(pair: Both) -> None:
    """A build is a function of its input and the blockhash."""
    assert await pair.build("send-source") == await pair.build("send-source")


async def test_a_transaction_that_would_fail_is_not_handed_out(pair: Both) -> None:
    """A send of more than there is fails in the node's simulation and is 502."""
    status, answer = await pair.build("send-source", amount="5000")
    assert (status, answer["error"]["code"]) == (502, "CHAIN_ERROR")


async def test_bad_sends_are_refused_by_name(pair: Both) -> None:
    """Every member of a send is checked before the node is asked."""
    for changes, field in (
        ({"sender": "x"}, "sender"),
        ({"recipient": "osmo1x"}, "recipient"),
        ({"amount": "0"}, "amount"),
        ({"amount": str(2**64)}, "amount"),
        ({"timeout": {}}, "timeout"),
        ({"currency": f"LSH@{PROTOCOL}"}, "currency"),
        ({"currency": "FOO"}, "currency"),
    ):
        status, answer = await pair.build("send-source", **changes)
        assert (status, answer["error"]["field"]) == (400, field), answer


async def test_a_restart_forgets_nothing(database: str) -> None:
    """A transfer is followed on by the next process."""
    async with both(database) as first:
        await first.rpc("requestAirdrop", OWNER, 10**10)
        await first.rpc("standinMintTo", OWNER, MINT, 1000, 6)
        await first.signed((await first.build("send-source"))[1])
        key = (await first.track())[1]["id"]
    async with both(database) as second:
        assert (await second.state(key))["state"] == "STATE_PENDING"
        second.svm.clock.advance(seconds=60)
        await second.svm.step("packets")
        await tracker.sweep(second.stage.app)
        assert (await second.state(key))["state"] == "STATE_COMPLETED_SUCCESS"


async def test_a_refund_is_an_error_with_the_asset_at_home(pair: Both) -> None:
    """A packet that timed out is an error, and the asset is back where it came from."""
    slot = pair.svm.upstreams.svm.slot
    short = {"height": {"revision_number": 0, "revision_height": slot + 2}}
    await pair.signed((await pair.build("send-source", timeout=short))[1])
    key = (await pair.track())[1]["id"]
    pair.svm.clock.advance(seconds=60)
    await pair.svm.step("packets")
    await tracker.sweep(pair.stage.app)
    found = await pair.state(key)
    assert found["state"] == "STATE_COMPLETED_ERROR"
    assert found["error"]["code"] == "TIMED_OUT_REFUNDED"
    assert found["transfer_asset_release"]["chain"] == "solana"


async def test_a_transfer_nobody_can_tell_about_is_abandoned(pair: Both) -> None:
    """Without evidence on our chain a transfer ends by its timeout, and by its age where no node answers."""
    first = (await pair.track("chain_to_solana"))[1]["id"]
    second = (await pair.track("chain_to_solana"))[1]["id"]
    await tracker.sweep(pair.stage.app)
    assert (await pair.state(first))["state"] == "STATE_PENDING"
    pair.stage.app.upstreams.svm.transport.base = "http://127.0.0.1:9"
    pair.svm.clock.advance(seconds=LONGEST_SECONDS)
    assert await tracker.sweep(pair.stage.app) == 2
    assert (await pair.state(second))["state"] == "STATE_ABANDONED"


async def test_ended_transfers_are_forgotten_after_a_day(pair: Both) -> None:
    """What has ended is kept for a day."""
    key = (await pair.track("chain_to_solana"))[1]["id"]
    for _ in range(2):
        pair.svm.clock.advance(seconds=LONGEST_SECONDS + 1)
        await tracker.sweep(pair.stage.app)
    assert (await pair.stage.send(f"/api/transfer/status/{key}", method="GET"))[0] == 404


async def test_requests_are_checked_before_anything_is_asked(pair: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    """Direction, channel and legs are 400 by name; a full table is 429; all before a node is asked."""
    asked = pair.stage.app.upstreams.svm.transport
    asked.base = "http://127.0.0.1:9"
    leg = {"from_chain": "chain", "to_chain": "solana", "timeout_height": {"revision_number": 0, "revision_height": 1}}
    for changes, field in (
        ({"direction": "x"}, "direction"),
        ({"channel": "channel-x"}, "channel"),
        ({"channel": "channel-70000"}, "channel"),
        ({"legs": []}, "legs"),
        ({"legs": [leg] * 9}, "legs"),
        ({"legs": [{**leg, "to_chain": "moon"}]}, "legs"),
    ):
        body = {"direction": "chain_to_solana", "channel": "channel-0", "legs": [leg], **changes}
        status, answer = await pair.stage.send("/api/transfer/track", body)
        assert (status, answer["error"]["field"]) == (400, field), answer
    monkeypatch.setattr(routes, "MOST_ACTIVE", 0)
    status, answer = await pair.track("chain_to_solana")
    assert (status, answer["error"]["code"]) == (RateLimited.status, RateLimited.code)
    assert "retry_after" not in answer["error"]


async def test_without_a_node_there_is_no_tracking(database: str) -> None:
    """An SVM chain that is not configured is 503, for builders too."""
    async with staged(database=database, svm_url=upstreams.OFF) as stage:
        gated = stage.app.cells.gated.value
        stage.app.cells.currencies.put(Catalogue.of(build(gated, KNOWN, "ulsh")))
        leg = {"from_chain": "chain", "to_chain": "solana"}
        height = {"revision_number": 0, "revision_height": 1}
        body = {"direction": "chain_to_solana", "channel": "channel-0", "legs": [{**leg, "timeout_height": height}]}
        assert (await stage.send("/api/transfer/track", body))[0] == 503
        owner = {"owner": OWNER, "currency": f"USDC@{PROTOCOL}"}
        assert (await stage.send("/api/solana/tx/create-ata", owner))[0] == 503
        stage.app.cells.currencies = type(stage.app.cells)(stage.app.clock).currencies
        assert (await stage.send("/api/solana/tx/create-ata", owner))[1]["error"]["message"].startswith("Currencies")
