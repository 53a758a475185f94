"""How fast blocks become durable rows: a feed of static bytes, the indexer, and PostgreSQL on one machine.

    python benchmarks/ingest.py [--blocks 20000] [--batch 200]

Blocks have 3.4 transactions and 14 events on average; the public indexer writes 4.5 rows for such a block. Prints
blocks/s, events/s, rows/s and the CPU time per block of the indexer and of PostgreSQL, with fsync on.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import contextlib
import hashlib
import json
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import aiohttp
import httptools
import uvloop

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "simulation"))

from simulated_chain import CHAIN_ID, NATIVE, SECOND, START_NS, TYPES, Scenario, account
from static_feed import Content, event, sealed, tx_result

from leasehold.chain.client.nodes import Nodes
from leasehold.chain.client.rpc import RpcNode
from leasehold.core.clock import SystemClock
from leasehold.core.settings import ChainNodes, Database, Settings
from leasehold.indexer.follow import Pace
from leasehold.indexer.ingest import Ingest
from leasehold.storage import migrations
from leasehold.storage.embedded import EmbeddedServer

FULL = 2 / 5


def raw_tx(message: Any, number: int) -> bytes:
    """A signed transaction with one message."""
    body = TYPES.new("cosmos.tx.v1beta1.TxBody", messages=[TYPES.pack(message)], memo=f"m{number}")
    fee = TYPES.new("cosmos.tx.v1beta1.Fee", gas_limit=200000)
    fee.amount.add(denom=NATIVE, amount="500")
    auth = TYPES.new("cosmos.tx.v1beta1.AuthInfo", fee=fee)
    parts = {"body_bytes": body.SerializeToString(), "auth_info_bytes": auth.SerializeToString()}
    signature = hashlib.sha512(str(number).encode()).digest()
    return bytes(TYPES.new("cosmos.tx.v1beta1.TxRaw", **parts, signatures=[signature]).SerializeToString())


class Density:
    """Blocks of 3.4 transactions and 14 events: sends, a deposit, a keeper's call."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.users = [account(f"user{number}") for number in range(2000)]

    def moved(self, sender: str, receiver: str, amount: int, denom: str) -> list[dict[str, Any]]:
        text = f"{amount}{denom}"
        return [
            event("coin_spent", ("spender", sender), ("amount", text), ("msg_index", "0")),
            event("coin_received", ("receiver", receiver), ("amount", text), ("msg_index", "0")),
        ]

    def send(self, content: Content, number: int) -> None:
        sender, receiver = self.users[number % 2000], self.users[(number * 7 + 1) % 2000]
        message = TYPES.new("cosmos.bank.v1beta1.MsgSend", from_address=sender, to_address=receiver)
        message.amount.add(denom=NATIVE, amount=str(number + 1))
        text = f"{number + 1}{NATIVE}"
        sent = event("transfer", ("recipient", receiver), ("sender", sender), ("amount", text), ("msg_index", "0"))
        note = event("message", ("action", "/cosmos.bank.v1beta1.MsgSend"), ("sender", sender), ("msg_index", "0"))
        content.txs.append(raw_tx(message, number))
        content.results.append(tx_result([note, *self.moved(sender, receiver, number + 1, NATIVE), sent]))

    def deposit(self, content: Content, number: int, height: int, now: int) -> None:
        market = self.scenario.markets[number % 2]
        lender, pool, amount = self.users[number % 500], market.address("lpp"), 10**6 + number
        denom = market.coins[market.lpn].denom
        message = self.scenario._execute(lender, pool, {"deposit": []}, [(amount, denom)])
        attributes = [
            ("_contract_address", pool),
            ("height", str(height)),
            ("at", str(now)),
            ("idx", "1"),
            ("from", lender),
            ("to", pool),
            ("deposit-amount", str(amount)),
            ("deposit-symbol", market.lpn),
            ("receipts", str(amount)),
            ("msg_index", "0"),
        ]
        events = [
            event("execute", ("_contract_address", pool), ("msg_index", "0")),
            *self.moved(lender, pool, amount, denom),
            event("wasm-lp-deposit", *attributes),
        ]
        content.txs.append(raw_tx(message, number))
        content.results.append(tx_result(events))

    def keeper(self, content: Content, number: int) -> None:
        alarms = account("timealarms")
        message = self.scenario._execute(self.scenario.keeper, alarms, {"dispatch_alarms": {"max_count": 32}})
        events = [
            event("message", ("action", "/cosmwasm.wasm.v1.MsgExecuteContract"), ("msg_index", "0")),
            event("execute", ("_contract_address", alarms), ("msg_index", "0")),
            event("wasm-timealarm", ("_contract_address", alarms), ("msg_index", "0")),
        ]
        content.txs.append(raw_tx(message, number))
        content.results.append(tx_result(events))

    def block(self, height: int, now: int) -> Content:
        content = Content()
        self.send(content, 3 * height)
        self.deposit(content, 3 * height + 1, height, now)
        self.keeper(content, 3 * height + 2)
        if height % 5 < FULL * 5:
            self.send(content, 3 * height + 5)
        content.events = [
            event("mint", ("denom", NATIVE), ("amount", "951000"), ("mode", "BeginBlock")),
            event("commission", ("amount", "15669.8ulsh"), ("validator", "v"), ("mode", "BeginBlock")),
        ]
        return content


class FeedProtocol(asyncio.Protocol):
    """Answers JSON-RPC batches from prepared bytes with as little work as Python allows."""

    def __init__(self, blocks: list[tuple[bytes, bytes]], query: Any) -> None:
        self.blocks = blocks
        self.query = query
        self.parser = httptools.HttpRequestParser(self)
        self.body: list[bytes] = []

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        with contextlib.suppress(httptools.HttpParserUpgrade):
            self.parser.feed_data(data)

    def on_body(self, data: bytes) -> None:
        self.body.append(data)

    def on_message_complete(self) -> None:
        calls = json.loads(b"".join(self.body) or b"null")
        self.body.clear()
        many = isinstance(calls, list)
        answers = b",".join(self.answer(call) for call in (calls if many else [calls]) if call)
        body = b"[" + answers + b"]" if many else answers
        head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        self.transport.write(head.encode() + body)

    def answer(self, call: dict[str, Any]) -> bytes:
        return b'{"jsonrpc":"2.0","id":%d,"result":%b}' % (call["id"], self.result(call["method"], call["params"]))

    def result(self, method: str, params: dict[str, Any]) -> bytes:
        if method == "block":
            return self.blocks[int(params["height"]) - 1][0]
        if method == "block_results":
            return self.blocks[int(params["height"]) - 1][1]
        if method == "status":
            sync = {"latest_block_height": str(len(self.blocks)), "earliest_block_height": "1"}
            return json.dumps({"node_info": {"network": CHAIN_ID}, "sync_info": sync}).encode()
        value = self.query(params["path"], bytes.fromhex(params["data"]), int(params["height"]))
        response = {"code": 18, "log": "unknown"} if value is None else {"value": base64.b64encode(value).decode()}
        return json.dumps({"response": response}).encode()


def feed(pipe: Connection, count: int) -> None:
    """The feed as a process of its own: builds its blocks, says its port, serves until ended."""
    scenario = Scenario(1)
    density = Density(scenario)
    blocks: list[tuple[bytes, bytes]] = []
    previous, now = "", START_NS
    for height in range(1, count + 1):
        now += SECOND
        block = sealed(height, now, density.block(height, now), previous, chain_id=CHAIN_ID)
        previous = block.hash
        blocks.append((block.block, block.results))

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: FeedProtocol(blocks, scenario.query), "127.0.0.1", 0)
        size = sum(len(block) + len(results) for block, results in blocks) // count
        pipe.send((server.sockets[0].getsockname()[1], scenario.admin, size))
        await server.serve_forever()

    uvloop.run(serve())


def cpu_of_tree(root: int) -> float:
    """CPU seconds of a process and all below it, ended children included."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                parents[int(entry.name)] = int(fields[1])
                ticks[int(entry.name)] = sum(int(field) for field in fields[11:15])
    total = 0
    for process, used in ticks.items():
        above = process
        while above not in (root, 0):
            above = parents.get(above, 0)
        total += used if above == root else 0
    return total / os.sysconf("SC_CLK_TCK")


async def ingest(url: str, port: int, admin: str, count: int, batch: int, leader: int) -> dict[str, float]:
    """Index everything and measure."""
    await migrations.apply(url, schema="indexer", migrations=migrations.of_package("leasehold.indexer"))
    settings = Settings(database=Database(url=url), chain=ChainNodes(admin_contract=admin))
    clock = SystemClock()
    async with aiohttp.ClientSession() as session:
        nodes = Nodes([RpcNode(f"http://127.0.0.1:{port}", session)], clock)
        indexer = Ingest(settings, nodes, clock, pace=Pace(batch_blocks=batch))
        own, server, wall = time.process_time(), cpu_of_tree(leader), time.perf_counter()
        await indexer.run(until=count)
        wall = time.perf_counter() - wall
        own, server = time.process_time() - own, cpu_of_tree(leader) - server
    progress = indexer.progress
    return {
        "blocks/s": count / wall,
        "events/s": progress.events / wall,
        "rows/s": progress.rows / wall,
        "rows/block": progress.rows / count,
        "indexer CPU ms/block": own / count * 1000,
        "PostgreSQL CPU ms/block": server / count * 1000,
        "indexer memory MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=int, default=20_000)
    parser.add_argument("--batch", type=int, default=200)
    options = parser.parse_args()
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=feed, args=(theirs, options.blocks), daemon=True)
    process.start()
    port, admin, size = ours.recv()
    with tempfile.TemporaryDirectory(prefix="leasehold-bench-") as folder:
        Path(folder).chmod(0o755)
        server = EmbeddedServer(Path(folder), durable=True)
        server.start()
        try:
            assert server._process is not None
            print(f"{options.blocks} blocks of {size} bytes, batches of {options.batch}, fsync on")
            task = ingest(server.url(), port, admin, options.blocks, options.batch, server._process.pid)
            for name, value in uvloop.run(task).items():
                print(f"{name:>26}: {value:,.2f}")
        finally:
            server.stop()
            process.terminate()
            process.join()


if __name__ == "__main__":
    main()
