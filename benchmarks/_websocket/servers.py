"""The servers: ours, and the straightforward one that it is compared with."""

from __future__ import annotations

import asyncio
import gc
import json
import os
from dataclasses import replace
from typing import Any

import uvicorn
from benchmarks._websocket.processes import obey, prices_of
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from leasehold.app_api.api import assemble
from leasehold.app_api.live import messages
from leasehold.app_api.live.endpoint import Live
from leasehold.app_api.live.moments import item_of
from leasehold.app_api.live.topics import PRICES, Key
from leasehold.core.clock import SystemClock
from leasehold.core.configuration import load
from leasehold.core.metrics import Metrics
from leasehold.serving.application import Application
from leasehold.serving.frames import Item
from leasehold.serving.service import serving

MOMENT = "2026-01-01T00:00:00.000000000+00:00"
QUEUE = 100


async def ours(kilobytes: float) -> None:
    """The real endpoint; `ours` publishes as the service does, `bare` only writes the frame to every socket."""
    settings = load(profile="devnet").settings
    settings = replace(settings, limits=replace(settings.limits, exempt=("127.0.0.0/8",)))
    app = assemble(settings, SystemClock())
    live = Live(app, Metrics())
    application = Application(app.registry, limits=settings.limits, snapshots=app.snapshots, websockets=live.endpoints)
    await app.publish("/api/prices", {"prices": prices_of(kilobytes, 0)}, height=1, time_ns=10**18)

    def update(turn: int) -> Item:
        prices = prices_of(kilobytes, turn)
        message = messages.PriceUpdate(prices=prices, timestamp=MOMENT, seq=turn, height=turn, time=MOMENT)
        return item_of(message, latest_only=True)

    async def publish(turn: int) -> None:
        live.desk.prices = update(turn)
        await live.hub.publish(Key(PRICES), live.desk.prices)

    async def bare(turn: int) -> None:
        frame = update(turn).frame
        for stream in list(live.hub._topics[Key(PRICES)]):
            os.write(stream.wire.descriptor, frame)  # type: ignore[attr-defined]

    live.desk.prices = update(0)
    async with serving(application) as running:
        print(running.port, flush=True)
        gc.collect()
        gc.freeze()
        await obey({"ours": publish, "bare": bare}, lambda: live.hub.connections)


async def naive(kilobytes: float) -> None:
    """What a service does that does not think of it: a queue and a task per client, so that none waits for another;
    each turns the update into JSON, and the library (Starlette on uvicorn, as they come) makes a frame of it. `loop` is
    the same without queue and task: one client after the other, where a slow one makes all others wait."""
    queues: dict[WebSocket, asyncio.Queue[dict[str, Any]]] = {}

    async def endpoint(socket: WebSocket) -> None:
        await socket.accept()
        queue: asyncio.Queue[dict[str, Any]] = asyncio.Queue(QUEUE)

        async def send() -> None:
            while True:
                update = await queue.get()
                await socket.send_text(json.dumps(update))

        sender = asyncio.create_task(send())
        try:
            while True:
                await socket.receive_json()
                queues[socket] = queue
                await socket.send_text(json.dumps({"type": "snapshot"}))
        except WebSocketDisconnect:
            pass
        finally:
            queues.pop(socket, None)
            sender.cancel()

    def update(turn: int) -> dict[str, Any]:
        prices = prices_of(kilobytes, turn)
        return {"type": "price_update", "prices": prices, "timestamp": MOMENT, "seq": turn, "height": turn}

    async def publish(turn: int) -> None:
        found = update(turn)
        for queue in queues.values():
            queue.put_nowait(found)
        while not all(queue.empty() for queue in queues.values()):  # noqa: ASYNC110 - tasks empty them
            await asyncio.sleep(0.05)

    async def loop(turn: int) -> None:
        found = update(turn)
        for socket in list(queues):
            await socket.send_text(json.dumps(found))

    config = uvicorn.Config(
        Starlette(routes=[WebSocketRoute("/ws", endpoint)]), port=0, log_level="error", ws="websockets-sansio"
    )
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110 - uvicorn says it with a flag
        await asyncio.sleep(0.01)
    print(server.servers[0].sockets[0].getsockname()[1], flush=True)
    gc.collect()
    gc.freeze()
    await obey({"naive": publish, "loop": loop}, lambda: len(queues))
    server.should_exit = True
    await task
