"""Hostile input: always an answer or a closed connection, never a crash, never a change of state."""

from __future__ import annotations

import asyncio
import json
import random
from contextlib import suppress
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from leasehold.devnet.consensus.node import Node
from leasehold.devnet.rpc.server import RpcServer

NASTY: list[Any] = [
    None, True, False, 0, -1, 1.5, 1e308, 10**400, "", "0", "-1", "999999999999999999999999", "abc", "\ud800",
    "é" * 300, "0x", "0xzz", "'", '"', "null", [], [[]], {}, {"a": 1}, ["1"] * 3, "9" * 5000,
    "tx.height>" + "9" * 400, "a" * 600, "AAAA", "====", "\x00",
    {"type": "tendermint/DuplicateVoteEvidence", "value": {}},
]  # fmt: skip


@pytest.fixture
def chance(seed: int) -> random.Random:
    return random.Random(seed)


def hostile_request(chance: random.Random, names: list[str], arguments: list[str]) -> Any:
    method = chance.choice([*names, *names, "nosuch", "", 5, None])
    params: Any = {name: chance.choice(NASTY) for name in chance.sample(arguments, chance.randint(0, 4))}
    if chance.random() < 0.3:
        params = [chance.choice(NASTY) for _ in range(chance.randint(0, 5))]
    request = {"jsonrpc": "2.0", "id": chance.choice([1, "a", 1, 2, 3, *NASTY]), "method": method, "params": params}
    return [request] * chance.randint(0, 3) if chance.random() < 0.1 else request


def surface(server: RpcServer) -> tuple[list[str], list[str]]:
    # A broadcast of a valid transaction would change the mempool: those are left to other tests.
    names = [name for name in server.table if not name.startswith("broadcast_tx")]
    return names, sorted({argument.name for method in server.table.values() for argument in method.arguments})


async def test_hostile_json_rpc(client: Any, server: RpcServer, node: Node, chance: random.Random) -> None:
    """Any mixture of methods and argument values gets a JSON answer or none, as the id wants."""
    names, arguments = surface(server)
    before = node.head.id
    for _ in range(400):
        request = hostile_request(chance, names, arguments)
        reply = await client.post(json.dumps(request).encode())
        assert reply.status in (200, 500), request
        if reply.body:
            assert reply.json, request
            assert b"failed unexpectedly" not in reply.body, request
    assert node.head.id == before
    assert await client.call("health") == {}


async def test_hostile_uris(client: Any, server: RpcServer, chance: random.Random) -> None:
    """Any parameters by URI get a JSON answer."""
    names, arguments = surface(server)
    for _ in range(300):
        pairs = []
        for name in chance.sample(arguments, chance.randint(0, 4)):
            raw = str(chance.choice(NASTY)).encode("utf-8", "surrogatepass")[:1000]
            pairs.append(name + "=" + "".join(f"%{byte:02X}" for byte in raw))
        reply = await client.get(f"/{chance.choice(names)}?{'&'.join(pairs)}")
        assert reply.status in (200, 404, 500)
        assert reply.json
        assert b"failed unexpectedly" not in reply.body, pairs


async def test_random_bytes(client: Any, server: RpcServer, chance: random.Random) -> None:
    """Random bytes as a body, and mutilated requests, are answered; as a whole stream they may be cut off."""
    whole = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "block", "params": {"height": "1"}}).encode()
    for _ in range(200):
        body = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            body[chance.randrange(len(body))] = chance.randrange(256)
        assert (await client.post(bytes(body[: chance.randint(1, len(body))]))).status in (200, 500)
        assert (await client.post(chance.randbytes(chance.randint(1, 60)))).status in (200, 500)
    for _ in range(30):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(chance.randbytes(200) + b"\r\n\r\n")
        writer.write_eof()
        async with asyncio.timeout(60):
            with suppress(ConnectionError):
                await reader.read()
        writer.close()
    assert await client.call("health") == {}


async def test_hostile_frames(client: Any, server: RpcServer, node: Node, chance: random.Random) -> None:
    """A WebSocket answers hostile requests and survives hostile bytes."""
    names, arguments = surface(server)
    async with connect(client.url, compression=None) as socket:
        for number in range(200):
            request = hostile_request(chance, names, arguments)
            await socket.send(json.dumps(request))
            if number % 50 == 0:
                node.seal(node.time_ns + 1)
        await socket.send('{"jsonrpc":"2.0","id":"the end","method":"health"}')
        async with asyncio.timeout(60):
            while True:
                answer = json.loads(await socket.recv())
                assert "failed unexpectedly" not in json.dumps(answer)
                if answer.get("id") == "the end":
                    break
    for _ in range(20):
        async with connect(client.url, compression=None) as socket:
            socket.transport.write(chance.randbytes(chance.randint(1, 100)))
            socket.transport.write(b"\xff" * 20)
            # The bytes may be the start of a frame whose rest never comes: then there is nothing to hear.
            with suppress(ConnectionClosed, TimeoutError):
                async with asyncio.timeout(0.05):
                    await socket.recv()
            socket.transport.abort()
    assert await client.call("health") == {}
