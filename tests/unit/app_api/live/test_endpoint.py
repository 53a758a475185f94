"""The WebSocket of a running service: pushes that follow blocks, caps, origins, farewells."""

from __future__ import annotations

import asyncio
import json

import aiohttp
import pytest
from tests.unit.app_api.conftest import CONTRACTS, LONG, OWNER, STRANGER, price
from tests.unit.app_api.live.session_stage import BECH32M
from tests.unit.app_api.live.stage import MovingWorld, Served, Talk, live_service

from leasehold.app_api import service
from leasehold.app_api.live import messages, pump
from leasehold.app_api.live.asyncapi import DOCUMENT, document
from leasehold.app_api.live.journal import Journal
from leasehold.app_api.live.messages import SERVER
from leasehold.app_api.live.moments import item_of, utc
from leasehold.app_api.live.sequence import last_of, place
from leasehold.app_api.live.topics import PRICES, Key
from leasehold.core.errors import UpstreamFailure


async def test_an_address_no_account_has_shows_nothing(served: Served, session: aiohttp.ClientSession) -> None:
    """What the public service takes for an address though the chain does not is followed, and empty."""
    async with session.ws_connect(f"{served.url}/ws") as socket:
        talk = Talk(socket)
        await talk.say(type="subscribe", topic="balances", addresses=[BECH32M, OWNER])
        ends = [await talk.hear_any("snapshot", "resync_required") for _ in range(2)]
        assert {one["key"]: (one["type"], one["count"]) for one in ends} == {
            BECH32M: ("snapshot", 0),
            OWNER: ("snapshot", 1),
        }


async def test_lenders_see_what_their_receipts_become_worth(
    world: MovingWorld, database: str, monkeypatch: pytest.MonkeyPatch, session: aiohttp.ClientSession
) -> None:
    """A pool that others paid into is worth more to its lenders: they are shown that though no block names them."""
    monkeypatch.setattr(service, "HEAD_SECONDS", 0.02)
    monkeypatch.setattr(pump, "EARN_SECONDS", 0.05)
    async with live_service(world, database) as (one,), session.ws_connect(f"{one.url}/ws") as socket:
        talk = Talk(socket)
        await talk.say(type="subscribe", topic="earn", address=OWNER)
        before = (await talk.hear("earn_update"))["positions"][0]
        await talk.hear("snapshot")
        pool = CONTRACTS[LONG]["lpp"]
        world.ask(pool, {"price": []}, price(3, "NLpn", 9, "USDC_NOBLE"))
        world.happen("wasm", _contract_address=pool)
        height = world.seal()
        update = await talk.hear("earn_update")
        assert (update["height"], update["seq"], update.get("snapshot")) == (height, place(height), None)
        after = update["positions"][0]
        assert (before["deposited_lpn"], after["deposited_lpn"]) == ("13", "30")
        assert after["deposited_asset"] == before["deposited_asset"] == "10"


async def test_a_replay_after_a_restart_and_one_too_old(
    world: MovingWorld, database: str, monkeypatch: pytest.MonkeyPatch, session: aiohttp.ClientSession
) -> None:
    """A process that was not there replays from the chain; what the node has pruned needs a resynchronisation."""
    monkeypatch.setattr(service, "HEAD_SECONDS", 0.02)
    lease = world.open_lease(OWNER)
    start = world.seal()
    for principal in (4, 3, 2):
        world.repay(lease, principal)
        world.seal()
    async with (
        live_service(world, database) as (one,),
        session.ws_connect(f"{one.url}/ws") as socket,
    ):
        talk = Talk(socket)
        await talk.say(type="resume", topic="leases", address=OWNER, seq=last_of(start))
        found = [await talk.hear("lease_update") for _ in range(3)]
        assert [one["lease"]["debt"]["principal"] for one in found] == ["4", "3", "2"]
        assert [one["height"] for one in found] == [start + 1, start + 2, start + 3]
        assert (await talk.hear("resumed"))["count"] == 3
        world.oldest = world.height
        await talk.say(type="resume", topic="balances", address=OWNER, seq=last_of(2))
        assert "not have those blocks" in (await talk.hear("resync_required"))["reason"]
        await talk.say(type="resume", topic="balances", address=OWNER, seq=last_of(10**9))
        assert "beyond the newest" in (await talk.hear("resync_required"))["reason"]


async def test_connections_per_client_are_capped(served: Served, session: aiohttp.ClientSession) -> None:
    """One more than allowed is refused with an envelope before the upgrade; who leaves makes room."""
    open_sockets = [await session.ws_connect(f"{served.url}/ws{slash}") for slash in ("", "/", "")]
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await session.ws_connect(f"{served.url}/ws")
    assert refused.value.status == 503
    await open_sockets[0].close()
    async with asyncio.timeout(60):
        while served.live.hub.connections == 3:  # noqa: ASYNC110 - the server notices the close in its own time
            await asyncio.sleep(0.01)
    async with session.ws_connect(f"{served.url}/ws"):
        pass
    for one in open_sockets[1:]:
        await one.close()


async def test_pages_of_other_origins_are_refused(
    world: MovingWorld, database: str, session: aiohttp.ClientSession
) -> None:
    """Where origins are listed, a page from elsewhere is refused; a program without an origin is not."""
    async with live_service(world, database, cors_origins=("https://app.example",)) as (one,):
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await session.ws_connect(f"{one.url}/ws", origin="https://evil.example")
        assert refused.value.status == 403
        for origin in ("https://app.example", None):
            async with session.ws_connect(f"{one.url}/ws", origin=origin) as socket:
                assert json.loads(await socket.receive_str())["type"] == "welcome"


async def test_who_answers_no_ping_is_closed(served: Served, session: aiohttp.ClientSession) -> None:
    """The server pings; a peer that does not answer is closed, one that does stays and is welcome."""
    quiet = await session.ws_connect(f"{served.url}/ws", autoping=False)
    lively = await session.ws_connect(f"{served.url}/ws")
    talk = Talk(lively)
    # Its library answers pings while somebody waits for messages.
    hearing = asyncio.create_task(talk.hear("pong"))
    kinds = []
    async with asyncio.timeout(60):
        while (message := await quiet.receive()).type not in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED):
            kinds.append(message.type)
    assert aiohttp.WSMsgType.PING in kinds
    assert message.data == 1011
    await talk.say(type="ping", id="x")
    assert (await hearing)["id"] == "x"
    await lively.close()


async def test_a_message_that_is_too_long_closes(served: Served, session: aiohttp.ClientSession) -> None:
    """A message above the stated size ends the connection with 1009."""
    async with session.ws_connect(f"{served.url}/ws") as socket:
        limits = (await Talk(socket).hear("welcome"))["limits"]
        await socket.send_str("x" * (limits["message_bytes"] + 1))
        while (await socket.receive()).type not in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED):
            pass
        assert socket.close_code == 1009


async def test_a_notice_comes_before_a_shutdown(
    world: MovingWorld, database: str, session: aiohttp.ClientSession
) -> None:
    """A service that stops says so and when to come back, then closes with 1012."""
    async with live_service(world, database) as (one,):
        socket = await session.ws_connect(f"{one.url}/ws")
        talk = Talk(socket)
        await talk.hear("welcome")
    assert (await talk.hear("shutdown"))["reconnect_ms"] == 1000
    assert (await socket.receive()).data == 1012


async def test_an_unknown_transfer_is_refused(served: Served, session: aiohttp.ClientSession) -> None:
    """A transfer nobody registered is an error and no subscription; nothing is acknowledged."""
    async with session.ws_connect(f"{served.url}/ws") as socket:
        talk = Talk(socket)
        await talk.hear("welcome")
        await talk.say(type="subscribe", topic="transfer", id="c0ffee00-0000-4000-8000-000000000000")
        message = json.loads(await socket.receive_str())
        assert (message["type"], message["code"], message["topic"]) == ("error", "INVALID_SUBSCRIPTION", "transfer")


async def test_a_failing_chain_is_told_not_hidden(
    served: Served, world: MovingWorld, session: aiohttp.ClientSession
) -> None:
    """A snapshot that can't be read is a `resync_required`; when the chain is back, changes are pushed."""
    async with session.ws_connect(f"{served.url}/ws") as socket:
        talk = Talk(socket)
        world.mode = "500"
        await talk.say(type="subscribe", topic="balances", address=STRANGER)
        assert (await talk.hear("resync_required"))["key"] == STRANGER
        world.mode = "good"
        world.pay(STRANGER, 9)
        height = world.seal()
        assert (await talk.hear("balance_update"))["height"] == height


async def test_prices_go_on_while_blocks_can_not_be_read(
    served: Served, world: MovingWorld, session: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Events wait for their block, prices for nobody; what was missed comes when blocks can be read again."""
    follow = Journal.follow

    async def fails(self: Journal, height: int) -> None:
        raise UpstreamFailure("the node is down", upstream="node")

    async with session.ws_connect(f"{served.url}/ws") as socket:
        talk = Talk(socket)
        for topic in ("prices", "balances"):
            await talk.say(type="subscribe", topic=topic, address=OWNER)
            await talk.hear("snapshot")
        monkeypatch.setattr(Journal, "follow", fails)
        listed = [price(1, "ATOM", 9, "USDC_NOBLE"), price(1_000_000, "LSH", 12_345, "USDC_NOBLE")]
        world.ask(CONTRACTS[LONG]["oracle"], {"prices": {}}, {"prices": listed})
        world.pay(OWNER, 66)
        height = world.seal()
        while (heard := await talk.hear_any("price_update", "balance_update"))["height"] < height:
            pass
        assert heard["type"] == "price_update"
        monkeypatch.setattr(Journal, "follow", follow)
        late = await talk.hear("balance_update")
        assert (late["height"], late["balances"][0]["amount"]) == (height, "66")


async def test_the_description_is_served(served: Served, session: aiohttp.ClientSession) -> None:
    """The AsyncAPI document is there and names every message the service sends."""
    async with session.get(served.url + DOCUMENT) as response:
        found = await response.json()
    assert found == json.loads(json.dumps(document()))
    assert found["asyncapi"] == "3.0.0"
    sent = {reference["$ref"].rpartition("/")[2] for reference in found["operations"]["push"]["messages"]}
    assert sent == {str(kind.__struct_config__.tag) for kind in SERVER}


@pytest.mark.parametrize(("announces", "look_seconds"), [(True, 60.0), (False, 0.05)], ids=["event", "timer"])
async def test_blocks_are_noticed_by_their_announcement_or_by_a_timer(
    world: MovingWorld,
    database: str,
    monkeypatch: pytest.MonkeyPatch,
    session: aiohttp.ClientSession,
    announces: bool,
    look_seconds: float,
) -> None:
    """A push follows its block's announcement without any timer; where a node announces nothing, a timer finds it."""
    monkeypatch.setattr(service, "HEAD_SECONDS", look_seconds)
    world.announces = announces
    world.pay(OWNER, 5)
    world.seal()
    async with live_service(world, database) as (one,), session.ws_connect(f"{one.url}/ws") as socket:
        talk = Talk(socket)
        await talk.say(type="subscribe", topic="balances", address=OWNER)
        await talk.hear("snapshot")
        world.pay(OWNER, 6)
        height = world.seal()
        assert (await talk.hear("balance_update"))["height"] == height


async def test_a_slow_socket_delays_nobody(world: MovingWorld, database: str, session: aiohttp.ClientSession) -> None:
    """While one client does not read, the others get everything; what waits for it is bounded, and it is told."""
    # Not the service of the other tests, whose pings come fast: who does not read answers none, and is closed.
    async with (
        live_service(world, database) as (served,),
        session.ws_connect(f"{served.url}/ws") as reader,
        session.ws_connect(f"{served.url}/ws") as sleeper,
    ):
        talks = [Talk(reader), Talk(sleeper)]
        for talk in talks:
            await talk.say(type="subscribe", topic="prices")
            await talk.hear("snapshot")
        assert served.live.desk.prices is not None
        start = served.live.desk.prices.seq
        moment = utc(0)
        count = 200

        def update(number: int) -> messages.PriceUpdate:
            prices = {"X": str(number), "padding": "x" * 100_000}
            return messages.PriceUpdate(prices=prices, timestamp=moment, seq=start + number, height=1, time=moment)

        async def publish() -> None:
            for number in range(1, count + 1):
                await served.live.hub.publish(Key(PRICES), item_of(update(number), latest_only=True))
                await asyncio.sleep(0)

        publishing = asyncio.create_task(publish())
        heard = [(await talks[0].hear("price_update"))["prices"]["X"] for _ in range(count)]
        await publishing
        assert heard == [str(number) for number in range(1, count + 1)]
        # The newest waits for it, and took the place of older ones; none at the moment in which it takes some more.
        figures = dict(
            line.split()
            for line in served.metrics.exposition().decode().splitlines()
            if "{" not in line and line[0] != "#"
        )
        assert figures["leasehold_stream_waiting"] in ("0.0", "1.0")
        assert float(figures["leasehold_stream_replaced_total"]) > 0
        # On a slow machine the sleeper's socket may take some more now and then: it lags more than once.
        shown, missed = [0], 0
        while shown[-1] < count:
            message = await talks[1].hear_any("price_update", "lagged")
            if message["type"] == "lagged":
                assert not message["replayed"]
                missed += message["missed"]
            else:
                shown.append(int(message["prices"]["X"]))
        assert shown == sorted(set(shown))
        assert missed > 0
        assert len(shown[1:]) + missed == count
