"""Streams about single transactions, end to end: each step is pushed once, the end is the end, every process agrees."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import Any
from uuid import uuid4

import aiohttp
import msgspec
import pytest
from tests.unit.app_api.live.stage import MovingWorld, Served, Talk, live_service

from leasehold.app_api import service
from leasehold.app_api.live import trackers
from leasehold.app_api.live.progress import included, place_of
from leasehold.app_api.live.sequence import place
from leasehold.app_api.tracking import tracker
from leasehold.app_api.tracking.phases import Leg, TimeoutHeight
from leasehold.core.clock import to_datetime

# The transaction in every block of this world.
INCLUDED = sha256(b"\x00").hexdigest().upper()
CHAIN = "leasehold-1"


@pytest.fixture
def world() -> MovingWorld:
    return MovingWorld()


@pytest.fixture
async def replicas(
    world: MovingWorld, database: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> AsyncIterator[list[Served]]:
    """One replica, or as many as the test asks for."""
    monkeypatch.setattr(service, "HEAD_SECONDS", 0.02)
    monkeypatch.setattr(trackers, "POLL_SECONDS", 0.05)
    async with live_service(world, database, count=getattr(request, "param", 1)) as found:
        yield found


@asynccontextmanager
async def talking(replica: Served) -> AsyncIterator[Talk]:
    async with aiohttp.ClientSession() as session, session.ws_connect(f"{replica.url}/ws") as socket:
        talk = Talk(socket)
        await talk.hear("welcome")
        yield talk


def provider(world: MovingWorld, tx_hash: str, state: str, *hops: str, error: str = "") -> None:
    """Let the swap provider say where a transaction is."""
    sequence = [{"ibc_transfer": {"state": one, "src_chain_id": "a", "dst_chain_id": "b"}} for one in hops]
    world.paths[f"/v2/tx/status?tx_hash={tx_hash}"] = {
        "state": state,
        "transfer_sequence": sequence,
        "error": {"message": error} if error else None,
    }


async def quiet(talk: Talk) -> None:
    """Nothing comes while trackers look several times."""
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(talk.socket.receive(), 0.3)


def steps(message: dict[str, Any]) -> tuple[Any, ...]:
    return message["status"], message["steps_completed"], message["total_steps"], message.get("error")


@pytest.mark.parametrize("replicas", [2], indirect=True)
async def test_a_transaction_between_chains_is_followed_to_its_end(replicas: list[Served], world: MovingWorld) -> None:
    """The snapshot, each step and the end come once, in both processes with the same places; then there is silence.
    From a place one process gave, another one replays what happened since, and nothing when nothing did."""
    for topic, push in (("skip_tx", "skip_tx_update"), ("transfer", "transfer_update")):
        await _followed(replicas, world, topic, push)
    await _resumed_elsewhere(replicas, world)


async def _followed(replicas: list[Served], world: MovingWorld, topic: str, push: str) -> None:
    provider(world, "AB", "STATE_PENDING", "TRANSFER_PENDING", "TRANSFER_UNKNOWN")
    async with talking(replicas[0]) as one, talking(replicas[1]) as two:
        heard: list[list[dict[str, Any]]] = [[], []]
        for talk in (one, two):
            await talk.say(type="subscribe", topic=topic, tx_hash="AB", source_chain=CHAIN)
            assert (await talk.hear("subscribed"))["topic"] == topic
        for number, talk in enumerate((one, two)):
            heard[number].append(await talk.hear(push))
            assert (await talk.hear("snapshot"))["seq"] == heard[number][0]["seq"]
        provider(world, "AB", "STATE_PENDING", "TRANSFER_SUCCESS", "TRANSFER_PENDING")
        for number, talk in enumerate((one, two)):
            heard[number].append(await talk.hear(push))
        provider(world, "AB", "STATE_COMPLETED_SUCCESS", "TRANSFER_SUCCESS", "TRANSFER_PENDING")
        for number, talk in enumerate((one, two)):
            heard[number].append(await talk.hear(push))
        assert [steps(message) for message in heard[0]] == [
            ("pending", 0, 2, None),
            ("pending", 1, 2, None),
            ("success", 2, 2, None),
        ]
        seqs = [[message["seq"] for message in each] for each in heard]
        assert seqs[0] == seqs[1] == sorted(set(seqs[0]))
        if topic == "transfer":
            assert [leg["state"] for leg in heard[0][1]["transfers"]] == ["TRANSFER_SUCCESS", "TRANSFER_PENDING"]
        await quiet(one)


async def _resumed_elsewhere(replicas: list[Served], world: MovingWorld) -> None:
    provider(world, "CD", "STATE_PENDING", "TRANSFER_PENDING")
    async with talking(replicas[0]) as talk:
        await talk.say(type="subscribe", topic="skip_tx", tx_hash="CD", source_chain=CHAIN)
        seq = (await talk.hear("snapshot"))["seq"]
    async with talking(replicas[1]) as talk:
        await talk.say(type="resume", topic="skip_tx", tx_hash="CD", source_chain=CHAIN, seq=seq)
        assert (await talk.hear("resumed"))["count"] == 0
    provider(world, "CD", "STATE_COMPLETED_ERROR", "TRANSFER_FAILURE", error="execution failed")
    async with talking(replicas[1]) as talk:
        await talk.say(type="resume", topic="skip_tx", tx_hash="CD", source_chain=CHAIN, seq=seq)
        assert steps(await talk.hear("skip_tx_update")) == ("failed", 0, 1, "execution failed")
        assert (await talk.hear("resumed"))["count"] == 1
        await quiet(talk)


async def test_a_hash_nobody_knows_is_pushed_once_it_is_known(replicas: list[Served], world: MovingWorld) -> None:
    """Unknown to the provider: an empty snapshot at a place that can be resumed from; known later: pushed. One on
    another chain is acknowledged and stays silent, though our blocks have one like it."""
    async with talking(replicas[0]) as talk:
        await talk.say(type="subscribe", topic="skip_tx", tx_hash="EF", source_chain=CHAIN)
        empty = await talk.hear("snapshot")
        assert (empty["count"], empty["seq"]) == (0, 0)
        provider(world, "EF", "STATE_SUBMITTED")
        assert steps(await talk.hear("skip_tx_update")) == ("pending", 0, 1, None)
        await talk.say(type="subscribe", topic="tx_status", hash=INCLUDED, chain_id="elsewhere-1")
        assert (await talk.hear("snapshot"))["count"] == 0
        await replicas[0].published(world.seal())
        await quiet(talk)


async def test_a_transfer_of_ours_is_followed_by_its_id(replicas: list[Served]) -> None:
    """A registered transfer is shown at once and at each change, as HTTP shows it; after its end nothing comes."""
    app = replicas[0].app
    legs = [Leg("chain", "solana", TimeoutHeight(0, 100)), Leg("solana", "chain", TimeoutHeight(0, 200))]
    now = to_datetime(app.clock.now_ns())
    transfer = tracker.Transfer(uuid4(), "chain_to_solana", "channel-1", 7, legs, now)
    await tracker.follow(app, transfer)
    name = str(transfer.id)

    async def advance(*phases: str) -> None:
        moved = [Leg(leg.from_chain, leg.to_chain, leg.timeout_height, p) for leg, p in zip(legs, phases, strict=True)]
        assert await tracker._note(app, transfer, moved)

    async with talking(replicas[0]) as talk, aiohttp.ClientSession() as session:
        await talk.say(type="subscribe", topic="transfer", id=name)
        seen = [await talk.hear("transfer_update")]
        await talk.hear("snapshot")
        for phases in (("CompletedSuccess", "Committed"), ("CompletedSuccess", "TimedOutRefunded")):
            await advance(*phases)
            seen.append(await talk.hear("transfer_update"))
            async with session.get(f"{replicas[0].url}/api/transfer/status/{name}") as response:
                told = await response.json()
            assert {key: seen[-1].get(key) for key in told} == told
        assert [message["status"] for message in seen] == ["pending", "pending", "failed"]
        assert [message["steps_completed"] for message in seen] == [0, 1, 1]
        assert seen[0]["id"] == name
        assert [message["seq"] for message in seen] == sorted({message["seq"] for message in seen})
        await quiet(talk)


@pytest.mark.parametrize("replicas", [2], indirect=True)
async def test_a_transaction_is_told_by_the_block_that_includes_it(replicas: list[Served], world: MovingWorld) -> None:
    """Its block tells, once, with its height as the place; a process that did not see the block says the same."""
    world.outcome = {"code": 5, "log": "out of gas"}
    async with talking(replicas[0]) as talk:
        await talk.say(type="subscribe", topic="tx", hash=INCLUDED, chain_id=CHAIN)
        assert (await talk.hear("subscribed"))["topic"] == "tx_status"
        assert (await talk.hear("snapshot"))["count"] == 0
        height = world.seal()
        told = await talk.hear("tx_status")
        assert (told["tx_hash"], told["status"], told["height"], told["seq"]) == (
            INCLUDED,
            "failed",
            height,
            place(height),
        )
        assert told["error"] == "out of gas"
        await replicas[0].published(world.seal())
        await quiet(talk)
    world.paths[f"/cosmos/tx/v1beta1/txs/{INCLUDED}"] = {
        "tx_response": {"height": str(height), "code": 5, "raw_log": "out of gas", "timestamp": told["time"]}
    }
    async with talking(replicas[1]) as talk:
        await talk.say(type="subscribe", topic="tx_status", hash=INCLUDED, chain_id=CHAIN)
        again = await talk.hear("tx_status")
        assert again == told


def test_places_follow_progress() -> None:
    """Whatever moves is further on, and nothing is further than an end."""
    path = [
        place_of("pending", "STATE_SUBMITTED", ()),
        place_of("pending", "STATE_PENDING", ("TRANSFER_PENDING", "")),
        place_of("pending", "STATE_PENDING", ("TRANSFER_RECEIVED", "")),
        place_of("pending", "STATE_PENDING", ("TRANSFER_SUCCESS", "")),
        place_of("pending", "STATE_PENDING", ("TRANSFER_SUCCESS", "TRANSFER_PENDING")),
        place_of("success", "STATE_COMPLETED_SUCCESS", ("TRANSFER_SUCCESS", "TRANSFER_SUCCESS")),
    ]
    assert path == sorted(set(path))
    assert path[0] > 0


def test_a_success_has_no_error() -> None:
    """A transaction that went well is told without the member."""
    found = included("AB", 12, None)
    assert (found.seq, found.ended) == (place(12), True)
    assert msgspec.to_builtins(found.message) == {
        "type": "tx_status",
        "tx_hash": "AB",
        "status": "success",
        "seq": 0,
        "height": 12,
        "time": "",
    }
