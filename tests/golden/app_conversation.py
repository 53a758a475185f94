"""A recorded session put to our application API while the recorded world moves as it did then."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
from tests.golden.app_stage import MovingWorld, event
from tests.golden.app_world import replayed
from tests.golden.test_app import ROOT, SHARED, Scene, _gated_folder, _settings
from tests.unit.app_api.live.stage import replica

from leasehold.app_api.live.endpoint import Live

QUIET_SECONDS = 0.05


@asynccontextmanager
async def staged(database: str, folder: Path) -> AsyncIterator[tuple[str, Live, MovingWorld]]:
    """Our application API with its WebSocket in front of a recorded world that moves."""
    world = MovingWorld(ROOT / "app", ROOT, SHARED / "app")
    async with replayed(world) as base:
        settings = _settings(base, database, world, Scene(), _gated_folder(folder / "gated", world))
        async with replica(settings) as one:
            await one.warm()
            yield one.url, one.live, world


class Conversation:
    """A session as it goes on: what is sent, what happens, what comes."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, live: Live, world: MovingWorld) -> None:
        self.socket = socket
        self.live = live
        self.world = world
        self.got: list[dict[str, Any]] = []
        self.subscribed: list[dict[str, Any]] = []

    async def listen(self) -> None:
        """Take what comes until nothing does."""
        while True:
            try:
                message = await asyncio.wait_for(self.socket.receive(), QUIET_SECONDS)
            except TimeoutError:
                if self._settled():
                    return
                continue
            if message.type is aiohttp.WSMsgType.TEXT:
                self.got.append(json.loads(message.data))
            elif message.type is aiohttp.WSMsgType.PONG:
                self.got.append({"type": "pong-frame", "raw": message.data.decode()})
            else:
                raise AssertionError(f"unexpected frame {message}")

    def _settled(self) -> bool:
        """Whether nothing is on its way to a subscriber."""
        streams: Any = [stream for listeners in self.live.hub._topics.values() for stream in listeners]
        return all(stream.task is None for stream in streams)

    async def send(self, frame: dict[str, Any]) -> None:
        if frame["frame"] == "binary":
            await self.socket.send_bytes(bytes.fromhex(frame["raw"]))
        elif frame["frame"] == "ping":
            await self.socket.ping(frame["raw"].encode())
        elif frame["frame"] == "pong":
            await self.socket.pong(frame["raw"].encode())
        elif frame["frame"] == "close":
            await self.socket.close(code=frame.get("code") or 1000)
            return
        elif frame["frame"] == "text":
            said = frame.get("data")
            if isinstance(said, dict) and said.get("type") == "subscribe":
                self.subscribed.append(said)
            await self.socket.send_str(frame["raw"] if "raw" in frame else json.dumps(frame["data"]))
        await self.listen()

    async def happen(self, note: str, coming: list[dict[str, Any]]) -> None:
        """Let the upstream do what a note says; `coming` are the frames recorded until the next step."""
        count = int(found[1]) if (found := re.search(r"(\d+) new block", note)) else 1
        events = self._events(note, coming)
        for number in range(count):
            height = self.world.seal(*(events if number == 0 else ()))
            async with asyncio.timeout(60):
                while self.live.pump._published < height:  # noqa: ASYNC110 - the pump is told of blocks over HTTP
                    await asyncio.sleep(0.01)
        await self.listen()

    def _events(self, note: str, coming: list[dict[str, Any]]) -> list[dict[str, Any]]:
        height = self.world.height + 1
        if "price change" in note:
            self.world.raised_at = height
        if found := re.search(r"(\w+) balance \+(\d+)", note):
            address = self._wallet()
            denom = next(
                coin["denom"]
                for frame in self.got
                if frame["type"] == "balance_update" and frame["address"] == address
                for coin in frame["balances"]
                if coin["key"].startswith(f"{found[1]}@")
            )
            self.world.credits.append((height, address, denom, int(found[2])))
        if "transfer event" in note:
            return [event("transfer", recipient=self._wallet(), sender=self._wallet(), amount="1unls")]
        if found := re.search(r"pool of (\S+)", note):
            return [event("wasm", _contract_address=self._contracts(found[1])["lpp"])]
        if note.startswith("lease "):
            return [self._lease_event(note, coming, height)]
        return []

    def _lease_event(self, note: str, coming: list[dict[str, Any]], height: int) -> dict[str, Any]:
        kind = (re.search(r"type (wasm[\w-]*)", note) or ["", "wasm"])[1]
        known = {frame["lease"]["address"]: frame["lease"] for frame in self.got if frame["type"] == "lease_update"}
        moved = [
            lease
            for lease in (frame["data"]["lease"] for frame in coming if frame["data"]["type"] == "lease_update")
            if _moved(known.get(lease["address"]), lease)
        ]
        target = moved[0]["address"] if moved else next(iter(self.world.states))
        state = json.loads(json.dumps(self.world.state(target, height - 1)))
        ended = next((word for word in ("closed", "liquidated") if word in note), None)
        if ended is not None:
            state = {ended: []}
        elif "opened" in state:
            principal = moved[0]["debt"]["principal"] if moved else "90000000"
            state["opened"]["principal_due"]["amount"] = principal
            if moved and not moved[0]["in_progress"]:
                state["opened"]["status"] = "idle"
        self.world.put_state(target, state, height=height)
        return event(kind, _contract_address=target)

    def _wallet(self) -> str:
        named = [name for one in self.subscribed for name in (one.get("address"), *(one.get("addresses") or ()))]
        return next(name for name in named if isinstance(name, str))

    def _contracts(self, protocol: str) -> dict[str, str]:
        listed = self.world.world["etl_protocols"]["protocols"]
        return next(one["contracts"] for one in listed if one["name"] == protocol)


def set_scene(world: MovingWorld, frames: list[dict[str, Any]]) -> None:
    """Put the world where it was when a session began: sessions shared one that had moved."""
    first = next((f["data"] for f in frames if f.get("data", {}).get("type") == "price_update"), None)
    before = first and first["prices"].get("OSMO@OSMOSIS-OSMOSIS-USDC_NOBLE") == "0.4021"
    world.raised_at = None if before else 0
    seen = set()
    for frame in frames:
        if frame.get("data", {}).get("type") != "lease_update":
            continue
        lease = frame["data"]["lease"]
        name = lease["address"]
        if name not in seen and lease["status"] == "closed" and "closed" not in world.state(name, 0):
            world.put_state(name, {"closed": []}, height=0)
        seen.add(name)


def _moved(before: dict[str, Any] | None, lease: dict[str, Any]) -> bool:
    """Whether a recorded lease is not what it was when last seen."""
    if before is None or lease["status"] != before["status"]:
        return True
    return bool(lease["debt"]) and lease["debt"]["total"] != (before["debt"] or {}).get("total")
