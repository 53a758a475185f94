"""The WebSocket: requests, subscriptions, slow and silent clients."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from leasehold.chain.comet.blocks import tx_hash
from leasehold.devnet.consensus.node import Node
from leasehold.devnet.rpc.server import RpcServer


@asynccontextmanager
async def session(client: Any, **options: Any) -> AsyncIterator[ClientConnection]:
    async with connect(client.url, compression=None, **options) as socket:
        yield socket


async def receive(socket: ClientConnection) -> Any:
    async with asyncio.timeout(60):
        return json.loads(await socket.recv())


async def ask(socket: ClientConnection, method: str, identity: Any = 1, **params: Any) -> Any:
    await socket.send(json.dumps({"jsonrpc": "2.0", "id": identity, "method": method, "params": params}))
    return await receive(socket)


async def test_every_kind_of_announcement_in_order(client: Any, node: Node) -> None:
    """One block with two transactions and a power change is announced in the original's order and forms."""
    key = node.keys.public_keys()[0].hex()
    async with session(client) as socket:
        for name in ("NewBlock", "NewBlockHeader", "NewBlockEvents", "Tx", "ValidatorSetUpdates"):
            assert (await ask(socket, "subscribe", name, query=f"tm.event = '{name}'"))["result"] == {}
        node.seal(txs=[b"x=<y>", b"fail two", f"power:{key}:7".encode()])
        frames = [await receive(socket) for _ in range(7)]
    assert [frame["id"] for frame in frames] == [
        "NewBlock", "NewBlockHeader", "NewBlockEvents", "Tx", "Tx", "Tx", "ValidatorSetUpdates",
    ]  # fmt: skip
    assert frames[0]["result"]["query"] == "tm.event = 'NewBlock'"
    value = frames[0]["result"]["data"]["value"]
    assert list(value) == ["block", "block_id", "result_finalize_block"]
    assert list(value["result_finalize_block"]) == [
        "events", "tx_results", "validator_updates", "consensus_param_updates", "app_hash",
    ]  # fmt: skip
    assert frames[0]["result"]["events"]["tm.event"] == ["NewBlock"]
    assert frames[0]["result"]["events"]["mint.denom"] == ["unls"]
    assert frames[1]["result"]["events"] == {"tm.event": ["NewBlockHeader"]}
    assert frames[2]["result"]["data"]["value"]["num_txs"] == "3"
    first, second = (frame["result"]["data"]["value"]["TxResult"] for frame in frames[3:5])
    assert list(first) == ["height", "tx", "result"]
    assert list(first["result"]) == ["data", "gas_wanted", "gas_used", "events"]
    assert (second["index"], second["result"]["code"], "data" in second["result"]) == (1, 7, False)
    assert frames[3]["result"]["events"]["tx.hash"] == [tx_hash(b"x=<y>").hex().upper()]
    assert frames[3]["result"]["events"]["tx.height"] == ["11"]
    assert frames[6]["result"]["data"]["value"]["validator_updates"][0]["voting_power"] == "7"


async def test_empty_blocks_leave_results_out(client: Any, node: Node) -> None:
    """Without transactions there is no tx_results member, and validator updates are an empty list."""
    async with session(client) as socket:
        await ask(socket, "subscribe", query="tm.event='NewBlock'")
        node.seal()
        results = (await receive(socket))["result"]["data"]["value"]["result_finalize_block"]
    assert "tx_results" not in results
    assert results["validator_updates"] == []


async def test_consensus_steps_can_be_watched(client: Any, node: Node) -> None:
    """Rounds, proposals and votes of this node's validators are announced before the block."""
    async with session(client) as socket:
        for name in ("NewRound", "CompleteProposal", "Vote", "NewBlockHeader"):
            await ask(socket, "subscribe", name, query=f"tm.event='{name}'")
        node.seal()
        frames = [await receive(socket) for _ in range(7)]
    assert [frame["id"] for frame in frames] == [
        "NewRound", "CompleteProposal", "Vote", "Vote", "Vote", "Vote", "NewBlockHeader",
    ]  # fmt: skip
    assert [frame["result"]["data"]["value"]["Vote"]["type"] for frame in frames[2:6]] == [1, 1, 2, 2]


async def test_states_of_a_round_share_one_kind_of_data(client: Any, node: Node) -> None:
    """Every step is announced when it begins, what two thirds agree on in between, the next height at the end."""
    async with session(client) as socket:
        for name in ("NewRoundStep", "ValidBlock", "Polka", "Lock", "NewBlockHeader"):
            await ask(socket, "subscribe", name, query=f"tm.event='{name}'")
        node.seal()
        frames = [await receive(socket) for _ in range(9)]
    told = [(frame["id"], frame["result"]["data"]["value"].get("step", "")) for frame in frames]
    assert told == [
        ("NewRoundStep", "RoundStepPropose"),
        ("NewRoundStep", "RoundStepPrevote"),
        ("ValidBlock", "RoundStepPrevote"),
        ("Polka", "RoundStepPrevote"),
        ("Lock", "RoundStepPrevote"),
        ("NewRoundStep", "RoundStepPrecommit"),
        ("NewRoundStep", "RoundStepCommit"),
        ("NewBlockHeader", ""),
        ("NewRoundStep", "RoundStepNewHeight"),
    ]
    states = [frame["result"]["data"] for frame in frames if frame["id"] != "NewBlockHeader"]
    assert {state["type"] for state in states} == {"tendermint/event/RoundState"}
    assert [state["value"]["height"] for state in states] == ["11"] * 7 + ["12"]


async def test_announced_transactions_can_be_found(client: Any, node: Node) -> None:
    """The moment a block is announced its transactions are in the index."""
    async with session(client) as socket:
        await ask(socket, "subscribe", query="tm.event='NewBlock'")
        node.seal(txs=[b"found=1"])
        await receive(socket)
        found = await ask(socket, "tx", hash=b64encode(tx_hash(b"found=1")).decode())
        assert found["result"]["height"] == "11"
        search = await ask(socket, "tx_search", query=f"tx.hash='{tx_hash(b'found=1').hex()}'")
        assert search["result"]["total_count"] == "1"


async def test_subscriptions_filter(client: Any, node: Node) -> None:
    """Conditions may be met by different events; hashes are upper case; block heights never match."""
    digest = tx_hash(b"k=1").hex()
    queries = {
        "across": "tm.event='Tx' AND set.key='k' AND tx.fee='1unls'",
        "upper": f"tm.event='Tx' AND tx.hash='{digest.upper()}'",
        "lower": f"tm.event='Tx' AND tx.hash='{digest}'",
        "height": "tm.event='NewBlock' AND block.height>1",
        "number": "tm.event='Tx' AND tx.fee>=1 AND tx.height>5",
    }
    async with session(client) as socket:
        for name, query in queries.items():
            await ask(socket, "subscribe", name, query=query)
        node.seal(txs=[b"k=1"])
        assert (await ask(socket, "health", "end"))["id"] == "across"
        assert [(await receive(socket))["id"] for _ in range(3)] == ["upper", "number", "end"]


async def test_subscription_errors(client: Any) -> None:
    """Duplicates however spaced, too many, unknown ones and bad queries have the original's texts."""

    async def error(socket: ClientConnection, method: str, **params: Any) -> str:
        return str((await ask(socket, method, **params))["error"]["data"])

    async with session(client) as socket:
        assert (await ask(socket, "subscribe", query="tm.event='Tx'"))["result"] == {}
        assert await error(socket, "subscribe", query=" tm.event  = 'Tx'") == "already subscribed"
        assert await error(socket, "subscribe", query="hello") == "failed to parse query: offset 5: EOF"
        assert await error(socket, "subscribe") == "failed to parse query: offset 0: EOF"
        assert await error(socket, "unsubscribe", query="a.b=1") == "subscription not found"
        assert await error(socket, "subscribe", query="a.b='" + "x" * 600) == "maximum query length exceeded"
        for number in range(4):
            assert (await ask(socket, "subscribe", query=f"a.b={number}"))["result"] == {}
        assert await error(socket, "subscribe", query="a.b=9") == "max_subscriptions_per_client 5 reached"
        assert (await ask(socket, "unsubscribe", query="tm.event  ='Tx'"))["result"] == {}
        assert (await ask(socket, "unsubscribe_all"))["result"] == {}
        assert await error(socket, "unsubscribe_all") == "subscription not found"


async def test_frames_that_are_no_requests(client: Any) -> None:
    """Parse errors keep the connection; notifications get nothing; binary frames and positional params work."""
    async with session(client) as socket:
        for sent, text in [
            ("{bad", "invalid character 'b' looking for beginning of object key string"),
            ("", "EOF"),
            ('{"id":1', "unexpected EOF"),
            ("[]", "json: cannot unmarshal array into Go value of type struct"),
        ]:
            await socket.send(sent)
            answer = await receive(socket)
            assert "id" not in answer
            assert answer["error"]["data"].startswith(f"error unmarshaling request: {text}")
        await socket.send('{"jsonrpc":"2.0","method":"subscribe","params":{"query":"tm.event=\'Tx\'"}}')
        await socket.send(b'{"jsonrpc":"2.0","method":"health","id":"b"} {"ignored":1}')
        assert await receive(socket) == {"jsonrpc": "2.0", "id": "b", "result": {}}
        await socket.send('{"jsonrpc":"2.0","method":"subscribe","id":3}')
        assert await receive(socket) == {
            "jsonrpc": "2.0",
            "id": -1,
            "error": {
                "code": -32603,
                "message": "Internal error",
                "data": "WSJSONRPC: reflect: Call with too few input arguments",
            },
        }
        await socket.send('{"jsonrpc":"2.0","method":"subscribe","id":3,"params":["tm.event=\'Tx\'"]}')
        assert (await receive(socket))["result"] == {}
        wrong = await ask(socket, "header", height=3)
        assert wrong["error"]["code"] == -32603
        assert (await ask(socket, "nosuch"))["error"]["code"] == -32601


async def test_fragmented_messages_are_joined(client: Any) -> None:
    """A request may come in several frames."""
    async with session(client) as socket:
        await socket.send(['{"jsonrpc":"2.0",', '"method":"health",', '"id":1}'])
        assert (await receive(socket))["result"] == {}


async def test_requests_wait_for_the_one_before(client: Any) -> None:
    """Answers come in the order of the requests, searches included."""
    async with session(client) as socket:
        for number in range(20):
            method, params = ("tx_search", {"query": "tx.height=1"}) if number % 3 == 0 else ("health", {})
            await socket.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}))
        assert [(await receive(socket))["id"] for _ in range(20)] == list(range(20))


async def test_a_slow_subscriber_is_told_and_closed(node: Node) -> None:
    """A client that does not read gets no endless queue: its subscription is cancelled and the connection ends."""
    async with RpcServer(node, port=0, queue_frames=5, write_buffer=10_000) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1 << 26)
        writer.write(
            b"GET /websocket HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
        assert b"101 Switching" in await reader.readuntil(b"\r\n\r\n")
        request = b'{"jsonrpc":"2.0","id":9,"method":"subscribe","params":{"query":"tm.event=\'NewBlock\'"}}'
        writer.write(bytes([0x81, 0x80 | len(request), 0, 0, 0, 0]) + request)
        assert b'"result":{}' in await reader.readuntil(b"}}")
        transport = writer.transport
        assert isinstance(transport, asyncio.ReadTransport)
        transport.pause_reading()
        padding = b"p=" + b"x" * 300_000
        for number in range(200):
            node.seal(node.time_ns + 1, [padding + str(number).encode()])
            if not server.hub.clients:
                break
            await asyncio.sleep(0)
        assert server.hub.clients == 0
        transport.resume_reading()
        async with asyncio.timeout(60):
            data = await reader.read()
        error = b'"code":-32000,"message":"Server error","data":"subscription was canceled (reason: internal'
        assert error in data
        writer.close()


async def test_shutdown_cancels_subscriptions(node: Node) -> None:
    """A stopping server tells its subscribers why."""
    server = RpcServer(node, port=0)
    await server.start()
    async with connect(f"ws://127.0.0.1:{server.port}/websocket", compression=None) as socket:
        await ask(socket, "subscribe", 4, query="tm.event='Tx'")
        stopping = asyncio.create_task(server.stop())
        assert await receive(socket) == {
            "jsonrpc": "2.0",
            "id": 4,
            "error": {
                "code": -32000,
                "message": "Server error",
                "data": "subscription was canceled (reason: CometBFT exited)",
            },
        }
        with pytest.raises(ConnectionClosed):
            await receive(socket)
        await stopping


async def test_silent_clients_are_pinged_then_dropped(node: Node) -> None:
    """A quiet connection is pinged; one that does not even pong is cut."""
    async with RpcServer(node, port=0, ping_seconds=0.1, silence_seconds=0.5) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(
            b"GET /websocket HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
        await reader.readuntil(b"\r\n\r\n")
        async with asyncio.timeout(60):
            assert await reader.readexactly(2) == b"\x89\x00"
            with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                await reader.readexactly(1000)
        writer.close()
        async with connect(f"ws://127.0.0.1:{server.port}/websocket", compression=None, ping_interval=None) as socket:
            await asyncio.sleep(0.8)
            assert (await ask(socket, "health"))["result"] == {}


async def test_oversized_frames_close_the_connection(client: Any) -> None:
    """A frame beyond a million bytes ends the connection, not the server."""
    async with session(client) as socket:
        await socket.send("x" * 1_100_000)
        with pytest.raises(ConnectionClosed):
            await receive(socket)
    assert await client.call("health") == {}


async def test_wrong_upgrades_are_refused(client: Any) -> None:
    """An upgrade without a key is a 400, one to something else is answered as if it had not been asked for."""
    headers = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    assert (await client.request("GET", "/websocket", headers=headers)).status == 400
    reply = await client.request("GET", "/health", headers={"Connection": "Upgrade", "Upgrade": "h2c"})
    assert reply.json["result"] == {}


async def test_disconnected_clients_are_forgotten(client: Any, server: RpcServer, node: Node) -> None:
    """A client that leaves takes its subscriptions along."""
    async with session(client) as socket:
        await ask(socket, "subscribe", query="tm.event='Tx'")
        assert server.hub.clients == 1
    # Another request on a new connection comes after the end of the old one was read.
    assert await client.call("health") == {}
    assert server.hub.clients == 0
    node.seal(txs=[b"z=1"])


async def test_large_frames_are_answered(client: Any) -> None:
    """Frames that are read in a thread get their answers in order, good or bad."""
    async with session(client) as socket:
        padding = "x" * 100_000
        await socket.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "health", "params": {"p": padding}}))
        await socket.send(json.dumps({"jsonrpc": "2.0", "method": "health", "params": {"p": padding}}))
        await socket.send('{"p":"' + padding)
        await socket.send('{"jsonrpc":"2.0","id":2,"method":"health"}')
        assert (await receive(socket))["id"] == 1
        assert (await receive(socket))["error"]["data"] == "error unmarshaling request: unexpected EOF"
        assert (await receive(socket))["id"] == 2
