"""A small chain that moves under a running application API: every answer is as of a height, blocks have events."""

from __future__ import annotations

import asyncio
import contextlib
import json
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote

import aiohttp
import jsonschema_rs
from aiohttp import web
from tests.unit.app_api.conftest import CONTRACTS, LONG, World, contract, opened, served, settings_for

from leasehold.app_api import service
from leasehold.app_api.api import assemble
from leasehold.app_api.app import App
from leasehold.app_api.gating.first import first_documents
from leasehold.app_api.live.asyncapi import document
from leasehold.app_api.live.endpoint import Live
from leasehold.app_api.refresh import Graph
from leasehold.chain.client.contracts import field, members
from leasehold.core.clock import SystemClock
from leasehold.core.configuration import load
from leasehold.core.metrics import Metrics
from leasehold.core.settings import Settings
from leasehold.serving.application import Application
from leasehold.serving.service import Running, serving

# Calls a batch may have, as with the development chain; and with a node that is troubled.
LARGEST_BATCH, SMALL_BATCH = 20, 3
LEASER = CONTRACTS[LONG]["leaser"]


def description(operation: str) -> Any:
    """Validates what goes one way by the AsyncAPI document: `push` to clients, `ask` from them."""
    whole = document()
    names = [one["$ref"].rpartition("/")[2] for one in whole["operations"][operation]["messages"]]
    payloads = [whole["components"]["messages"][name]["payload"] for name in names]
    return jsonschema_rs.Draft202012Validator({"anyOf": payloads, "components": whole["components"]})


SAID = description("push")


def event(kind: str, **attributes: str) -> dict[str, Any]:
    """An event of a block."""
    return {"type": kind, "attributes": [{"key": key, "value": value} for key, value in attributes.items()]}


class MovingWorld(World):
    """A world whose leases and balances change from block to block."""

    def __init__(self) -> None:
        super().__init__()
        self.oldest = 1
        self.announces = True
        self.outcome: dict[str, Any] = {"code": 0}
        self.events: dict[int, list[dict[str, Any]]] = {}
        # Questions that were asked in batches, and how the node fails to answer them.
        self.queries = 0
        self.trouble = ""
        self.values: dict[Any, list[tuple[int, Any]]] = {}
        self._pending: list[dict[str, Any]] = []
        self._leases = 100
        self._sealed: set[asyncio.Event] = set()

    @property
    def listeners(self) -> int:
        """How many hear of new blocks."""
        return len(self._sealed)

    # Changes take effect with the next block.

    def put(self, key: Any, value: Any) -> None:
        self.values.setdefault(key, []).append((self.height + 1, value))

    def get(self, key: Any, height: int) -> Any:
        """A value as of a height, None where there is none yet."""
        found = None
        for since, value in self.values.get(key, ()):
            found = value if since <= height else found
        return found

    def happen(self, kind: str, **attributes: str) -> None:
        self._pending.append(event(kind, **attributes))

    def open_lease(self, owner: str) -> str:
        """A new lease of an owner."""
        self._leases += 1
        lease = contract(self._leases)
        self.put(("leases", owner), [*(self.get(("leases", owner), self.height + 1) or []), lease])
        self.put(("state", lease), opened(principal=5_000_000))
        self.happen("wasm-ls-open", _contract_address=LEASER, customer=owner, id=lease)
        self.happen("wasm", _contract_address=lease)
        return lease

    def repay(self, lease: str, principal: int) -> None:
        self.put(("state", lease), opened(principal=principal))
        self.happen("wasm-ls-repay", _contract_address=lease)

    def close(self, lease: str, owner: str) -> None:
        self.put(("state", lease), {"closed": []})
        kept = [one for one in self.get(("leases", owner), self.height + 1) if one != lease]
        self.put(("leases", owner), kept)
        self.happen("wasm-ls-close", _contract_address=lease)

    def pay(self, address: str, amount: int) -> None:
        """Set an address's balance."""
        self.put(("bank", address), [{"denom": "ulsh", "amount": str(amount)}])
        self.happen("coin_received", receiver=address, amount=f"{amount}ulsh")

    def seal(self) -> int:
        self.events[self.height + 1], self._pending = self._pending, []
        self.height += 1
        for sealed in self._sealed if self.announces else ():
            sealed.set()
        return self.height

    async def _announce(self, request: web.Request) -> web.StreamResponse:
        """The node's WebSocket: every new height."""
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        sealed = asyncio.Event()
        self._sealed.add(sealed)
        try:
            while not socket.closed:
                await sealed.wait()
                sealed.clear()
                header = {"height": str(self.height)}
                await socket.send_json({"result": {"data": {"value": {"header": header}}}})
        except ConnectionError:
            pass
        finally:
            self._sealed.discard(sealed)
        return socket

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if request.path == "/websocket":
            return await self._announce(request)
        if self.mode == "good":
            if request.method == "POST" and request.path == "/":
                return self._batch(await request.json())
            found = self._moved(request.raw_path, int(request.headers.get("x-cosmos-block-height") or self.height))
            if found is not None:
                return web.json_response(found)
        return await super().answer(request)

    def _batch(self, calls: Any) -> web.Response:
        listed = calls if isinstance(calls, list) else [calls]
        queries = sum(call["method"] == "abci_query" for call in listed)
        self.queries += queries
        if queries and self.trouble == "nothing":
            return web.Response(status=502, text="")
        limit = SMALL_BATCH if self.trouble == "small batches" else LARGEST_BATCH
        if len(listed) > limit:
            text = f"batch request exceeds maximum ({limit}) allowed number of requests"
            return web.json_response({"id": -1, "error": {"code": -32600, "message": "Invalid Request", "data": text}})
        answers = [self._call(call) for call in listed]
        return web.json_response(answers if isinstance(calls, list) else answers[0])

    def _moved(self, raw: str, height: int) -> Any:
        path = unquote(raw.partition("?")[0])
        if path.startswith("/cosmos/bank/v1beta1/balances/"):
            address = path.rpartition("/")[2]
            return {"balances": self._coins(address, height)} if ("bank", address) in self.values else None
        if "/smart/" not in raw:
            return None
        address, _, encoded = raw.split("/contract/")[1].partition("/smart/")
        data = self._told(address, json.loads(b64decode(unquote(encoded))), height)
        return None if data is None else {"data": data}

    def _coins(self, address: str, height: int) -> list[dict[str, str]]:
        return self.get(("bank", address), height) or []

    def _told(self, address: str, query: dict[str, Any], height: int) -> Any:
        """What a contract that moves says, None for one that does not."""
        if "state" in query:
            return self.get(("state", address), height)
        if "leases" in query and address == LEASER:
            return self.get(("leases", query["leases"]["owner"]), height)
        if "balance" in query:
            return self.get(("receipts", address, query["balance"]["address"]), height)
        return None

    def _call(self, call: dict[str, Any]) -> dict[str, Any]:
        height = int(call["params"]["height"])
        if call["method"] == "abci_query":
            return {"id": call["id"], "result": {"response": self._state(call["params"], height)}}
        if height < self.oldest:
            text = f"height {height} is not available, lowest height is {self.oldest}"
            return {"id": call["id"], "error": {"code": -32603, "message": "Internal error", "data": text}}
        events = self.events.get(height) or [None]
        if call["method"] == "block":
            time = f"2026-01-01T{height // 3600 % 24:02d}:{height // 60 % 60:02d}:{height % 60:02d}Z"
            header = {"chain_id": "leasehold-1", "height": str(height), "time": time, "last_block_id": {"hash": ""}}
            txs = [b64encode(number.to_bytes(2, "big")[number < 256 :]).decode() for number in range(len(events))]
            return {
                "id": call["id"],
                "result": {"block_id": {"hash": ""}, "block": {"header": header, "data": {"txs": txs}}},
            }
        # Every event has a transaction of its own.
        results = [{**self.outcome, "events": [one] if one else []} for one in events]
        return {"id": call["id"], "result": {"height": str(height), "txs_results": results}}

    def _state(self, params: dict[str, Any], height: int) -> dict[str, Any]:
        """A state query, as the node answers it."""
        asked = members(bytes.fromhex(params["data"]))
        address = asked[1][0].decode()
        if self.trouble == "refuses":
            return {"code": 18, "log": "unknown query path: unknown request", "height": "0"}
        if self.trouble == "garbage":
            return {"code": 0, "value": b64encode(b"\x0a\x05<html").decode(), "height": str(height)}
        if params["path"].endswith("/AllBalances"):
            found: Any = self._coins(address, height)
            value = b"".join(
                field(1, field(1, coin["denom"].encode()) + field(2, coin["amount"].encode())) for coin in found
            )
        else:
            query = json.loads(asked[2][0])
            found = self._told(address, query, height)
            if found is None:
                with contextlib.suppress(LookupError):
                    found = self.contract_answer(address, json.dumps(query, sort_keys=True))
            value = field(1, json.dumps(found).encode())
        if found is None:
            return {"code": 22, "log": f"no such contract: address {address}", "height": str(height)}
        return {"code": 0, "value": b64encode(value).decode(), "height": str(height)}


@dataclass(frozen=True)
class Served:
    """An application API with its WebSocket."""

    url: str
    app: App
    live: Live
    graph: Graph
    running: Running
    metrics: Metrics

    async def warm(self) -> None:
        """Wait until everything was refreshed once."""
        async with asyncio.timeout(60):
            await self.graph.settled()

    async def published(self, height: int) -> None:
        """Wait until a block's pushes are out."""
        async with asyncio.timeout(60):
            while self.live.pump._published < height:  # noqa: ASYNC110 - the pump hears of blocks over HTTP
                await asyncio.sleep(0.002)


@asynccontextmanager
async def replica(settings: Settings) -> AsyncIterator[Served]:
    """An application API with these settings, as it runs; not warm yet."""
    app = assemble(settings, SystemClock())
    metrics = Metrics()
    live = Live(app, metrics)
    graphs: list[Graph] = []

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        async with service.running(app, metrics, live) as graph:
            graphs.append(graph)
            yield

    application = Application(
        app.registry,
        limits=settings.limits,
        snapshots=app.snapshots,
        metrics=metrics,
        cors_origins=settings.app_api.cors_origins,
        websockets=live.endpoints,
        lifespan=lifespan,
    )
    async with serving(application, grace_seconds=1) as running:
        yield Served(running.url, app, live, graphs[0], running, metrics)


@asynccontextmanager
async def live_service(world: World, database: str, *, count: int = 1, **app_api: Any) -> AsyncIterator[list[Served]]:
    """Replicas of an application API in front of one world, warm."""
    async with AsyncExitStack() as stack:
        base = await stack.enter_async_context(served(world))
        found: list[Served] = []
        for _ in range(count):
            settings = settings_for(base, database)
            settings = replace(
                settings,
                app_api=replace(settings.app_api, **app_api),
                limits=replace(settings.limits, reads_burst=100_000),
            )
            one = await stack.enter_async_context(replica(settings))
            if not found:
                await one.app.store.import_documents(first_documents(replace(settings, chain=load().settings.chain)))
            one.graph.poke("gated_config")
            await one.warm()
            found.append(one)
        yield found


class Talk:
    """A client that takes messages one by one."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket

    async def say(self, **message: Any) -> None:
        await self.socket.send_str(json.dumps(message))

    async def hear(self, kind: str) -> dict[str, Any]:
        """The next message of a type; what comes before it is passed over."""
        return await self.hear_any(kind)

    async def hear_any(self, *kinds: str) -> dict[str, Any]:
        """The next message of one of some types."""
        async with asyncio.timeout(60):
            while True:
                message: dict[str, Any] = json.loads(await self.socket.receive_str())
                SAID.validate(message)
                if message["type"] in kinds:
                    return message
