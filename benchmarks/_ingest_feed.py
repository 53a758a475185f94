"""A node made of static bytes, as a process of its own: any number of blocks, told to grow, to be away, and to end.

Blocks have 3.4 transactions and 14 events on average. A cycle of them is made once; higher blocks have the bytes of one
of the cycle with their own height, time and hashes put in, so that a million of them need no more memory than those.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import json
import multiprocessing
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import httptools
import uvloop

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "simulation"))

from simulated_chain import CHAIN_ID, NATIVE, SECOND, START_NS, TYPES, Scenario, account
from static_feed import Content, event, sealed, tx_result

from leasehold.core.clock import rfc3339

CYCLE = 5_000
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


def block_hash(height: int) -> bytes:
    """The hash of a block, upper-case hexadecimal."""
    return hashlib.sha256(b"block %d" % height).hexdigest().upper().encode()


def block_time(height: int) -> int:
    return START_NS + height * SECOND


class Blocks:
    """Blocks of any height from a cycle of prepared ones."""

    def __init__(self) -> None:
        self.scenario = Scenario(1)
        density = Density(self.scenario)
        self._blocks: list[list[bytes]] = []
        self._results: list[list[bytes]] = []
        for number in range(CYCLE):
            height = number or CYCLE
            made = sealed(height, block_time(height), density.block(height, block_time(height)), "PREVIOUS")
            stamp = rfc3339(block_time(height)).encode()
            marked = (
                made.block.replace(b'"height":"%d","time":"%b"' % (height, stamp), b"@place@")
                .replace(made.hash.encode(), b"@hash@")
                .replace(b"PREVIOUS", b"@previous@")
            )
            self._blocks.append(_split(marked))
            self._results.append(made.results.split(b'"height":"%d","txs_results"' % height))
        self.size = sum(len(part) for parts in self._blocks + self._results for part in parts) // CYCLE

    def block(self, height: int) -> bytes:
        stamp = rfc3339(block_time(height)).encode()
        values = {
            b"@hash@": block_hash(height),
            b"@previous@": block_hash(height - 1) if height > 1 else b"",
            b"@place@": b'"height":"%d","time":"%b"' % (height, stamp),
        }
        return b"".join(values.get(part, part) for part in self._blocks[height % CYCLE])

    def results(self, height: int) -> bytes:
        return (b'"height":"%d","txs_results"' % height).join(self._results[height % CYCLE])


def _split(marked: bytes) -> list[bytes]:
    parts = [marked]
    for mark in (b"@hash@", b"@previous@", b"@place@"):
        parts = [
            piece
            for part in parts
            for index, rest in enumerate(part.split(mark))
            for piece in ([mark, rest] if index else [rest])
        ]
    return parts


class Feed:
    """What the feed shows at present."""

    def __init__(self, blocks: Blocks, latest: int) -> None:
        self.blocks = blocks
        self.latest = latest
        self.is_away = False


class FeedProtocol(asyncio.Protocol):
    """Answers JSON-RPC batches from prepared bytes with as little work as Python allows."""

    def __init__(self, feed: Feed) -> None:
        self.feed = feed
        self.parser = httptools.HttpRequestParser(self)
        self.body: list[bytes] = []

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        if self.feed.is_away:
            self.transport.abort()
            return
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
        feed = self.feed
        if method == "block":
            return feed.blocks.block(int(params["height"]))
        if method == "block_results":
            return feed.blocks.results(int(params["height"]))
        if method == "status":
            sync = {"latest_block_height": str(feed.latest), "earliest_block_height": "1"}
            return json.dumps({"node_info": {"network": CHAIN_ID}, "sync_info": sync}).encode()
        value = feed.blocks.scenario.query(params["path"], bytes.fromhex(params["data"]), int(params["height"]))
        response = {"code": 18, "log": "unknown"} if value is None else {"value": base64.b64encode(value).decode()}
        return json.dumps({"response": response}).encode()


def _serve(pipe: Connection, latest: int) -> None:
    """The process: says its port, takes `latest`, `away` and `back` from the pipe, ends with it."""
    feed = Feed(Blocks(), latest)

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: FeedProtocol(feed), "127.0.0.1", 0)
        pipe.send((server.sockets[0].getsockname()[1], feed.blocks.scenario.admin, feed.blocks.size))

        def told() -> None:
            name, value = pipe.recv()
            setattr(feed, name, value)
            pipe.send("done")

        loop.add_reader(pipe.fileno(), told)
        await server.serve_forever()

    uvloop.run(serve())


class FeedProcess:
    """A running feed as its owner sees it."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        port, self.admin, self.block_bytes = pipe.recv()
        self.url = f"http://127.0.0.1:{port}"

    def tell(self, name: str, value: Any) -> None:
        """Set `latest` or `is_away` and wait until it is so."""
        self._pipe.send((name, value))
        self._pipe.recv()


@contextmanager
def feeding(latest: int) -> Iterator[FeedProcess]:
    """A feed that has blocks up to a height, for as long as the context lasts."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(theirs, latest), daemon=True)
    process.start()
    try:
        yield FeedProcess(ours)
    finally:
        process.terminate()
        process.join()
