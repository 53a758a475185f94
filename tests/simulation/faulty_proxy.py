"""A proxy before a node that loses, delays, garbles and doubles what goes through it, RPC and WebSocket alike."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
from aiohttp import WSMsgType, web

FAULTS = ("drop before", "drop after", "slow", "garbage", "error", "refused", "cut")


class FaultyProxy:
    """Passes requests on to `target`; `trouble` is the share of them that goes wrong."""

    def __init__(self, chance: random.Random, *, trouble: float, doubled: float) -> None:
        self.target = ""
        self.url = ""
        self.trouble = trouble
        self.doubled = doubled
        self.seen: Counter[str] = Counter()
        self._chance = chance
        self._sockets: set[web.WebSocketResponse] = set()
        self._session: aiohttp.ClientSession | None = None

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[FaultyProxy]:
        """Run on an ephemeral port until the context ends."""
        app = web.Application(client_max_size=8 * 1024 * 1024)
        app.add_routes([web.post("/", self._post), web.get("/websocket", self._websocket)])
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        async with aiohttp.ClientSession() as self._session:
            try:
                yield self
            finally:
                await self.drop_sockets()
                await runner.cleanup()

    async def drop_sockets(self) -> None:
        """Close every WebSocket that goes through here."""
        for socket in list(self._sockets):
            self.seen["socket dropped"] += 1
            with contextlib.suppress(ConnectionError):
                await socket.close()

    def _fault(self) -> str | None:
        if self._chance.random() >= self.trouble:
            return None
        fault = self._chance.choice(FAULTS)
        self.seen[fault] += 1
        return fault

    async def _post(self, request: web.Request) -> web.StreamResponse:
        assert self._session is not None
        fault, body = self._fault(), await request.read()
        if fault == "drop before":
            return self._hang_up(request)
        if fault == "slow":
            await asyncio.sleep(self._chance.uniform(0, 0.1))
        if fault == "refused":
            return web.Response(status=self._chance.choice([429, 500, 502, 503]), text="not now")
        if fault == "error":
            return web.json_response(
                {"jsonrpc": "2.0", "id": 0, "error": {"code": -32603, "message": "Internal error"}}
            )
        if fault == "garbage":
            return web.Response(body=bytes(self._chance.randrange(256) for _ in range(40)))
        try:
            async with self._session.post(self.target, data=body, headers={"content-type": "application/json"}) as got:
                answer, status = await got.read(), got.status
        except (aiohttp.ClientError, ConnectionError):
            return web.Response(status=502, text="nobody there")
        if fault == "drop after":
            return self._hang_up(request)
        if fault == "cut":
            answer = answer[: len(answer) // 2]
        return web.Response(body=answer, status=status, content_type="application/json")

    def _hang_up(self, request: web.Request) -> web.Response:
        if request.transport is not None:
            request.transport.abort()
        return web.Response()

    async def _websocket(self, request: web.Request) -> web.WebSocketResponse:
        assert self._session is not None
        ours = web.WebSocketResponse(timeout=0.1)
        await ours.prepare(request)
        self._sockets.add(ours)
        try:
            async with self._session.ws_connect(f"{self.target.replace('http', 'ws')}/websocket") as theirs:
                down = asyncio.create_task(self._down(theirs, ours))
                try:
                    async for message in ours:
                        if message.type is WSMsgType.TEXT:
                            await theirs.send_str(message.data)
                finally:
                    down.cancel()
                    await asyncio.gather(down, return_exceptions=True)
        except (aiohttp.ClientError, ConnectionError):
            pass
        finally:
            self._sockets.discard(ours)
        return ours

    async def _down(self, theirs: aiohttp.ClientWebSocketResponse, ours: web.WebSocketResponse) -> None:
        """Frames from the node: some twice, some never, some late."""
        async for message in theirs:
            if message.type is not WSMsgType.TEXT or ours.closed:
                break
            if self._chance.random() < self.trouble:
                self.seen["frame lost"] += 1
                continue
            await ours.send_str(message.data)
            if self._chance.random() < self.doubled:
                self.seen["frame doubled"] += 1
                await ours.send_str(message.data)
        await ours.close()
