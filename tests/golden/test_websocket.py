"""Recorded sessions of the application WebSocket, frame by frame: replies in their order, pushes per stream.

A session's client frames are sent to ours while the recorded upstream events happen in the recorded world. Replies are
equal, in order. The pushes of each stream (prices, one lease, one address, one transaction) are the recorded ones in
their order, less the rules of app_websocket.toml.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
import tomllib
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from tests.golden.app_comparison import Comparison
from tests.golden.app_stage import MovingWorld, event
from tests.golden.app_world import replayed
from tests.golden.test_app import ROOT, SHARED, Scene, _gated_folder, _settings

from leasehold.app_api import service
from leasehold.app_api.api import assemble
from leasehold.app_api.live.endpoint import Live
from leasehold.core.clock import SystemClock
from leasehold.core.metrics import Metrics
from leasehold.serving import sockets
from leasehold.serving.application import Application
from leasehold.serving.service import serving

REPLIES = frozenset(("subscribed", "unsubscribed", "error", "pong"))
OUR_OWN = frozenset(("welcome", "snapshot"))
MORE = frozenset(("seq", "height", "time", "timestamp", "params", "topic", "owner", "snapshot"))
QUIET_SECONDS = 0.05
PING_TOLERANCE_MS = 250
RULES = tomllib.loads(Path(__file__).with_name("app_websocket.toml").read_text())


def _sessions() -> list[tuple[Path, dict[str, Any]]]:
    """Every recorded session below the folder, wherever it stands."""
    found = []
    for path in sorted(ROOT.rglob("*.json")) if ROOT.is_dir() else []:
        with path.open("rb") as file:
            opening = file.read(400)
        if b'"sessions"' in opening and b'"session"' in opening:
            listed = json.loads(path.read_bytes())["sessions"]
            found += [(path, one) for one in listed if any("frame" in frame for frame in one.get("frames", []))]
    return [(path, one) for path, one in found if "handshake_response_headers" in one]


SESSIONS = _sessions()
pytestmark = [
    pytest.mark.golden,
    pytest.mark.skipif(not SESSIONS, reason="no recordings of the WebSocket: set LEASEHOLD_GOLDEN"),
]


@asynccontextmanager
async def staged(database: str, folder: Path) -> AsyncIterator[tuple[str, Live, MovingWorld]]:
    """Our application API with its WebSocket in front of a recorded world that moves."""
    world = MovingWorld(ROOT / "app", ROOT, SHARED / "app")
    async with replayed(world) as base:
        settings = _settings(base, database, world, Scene(), _gated_folder(folder / "gated", world))
        app = assemble(settings, SystemClock())
        metrics = Metrics()
        live = Live(app, metrics)
        graphs = []

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
            websockets=live.endpoints,
            lifespan=lifespan,
        )
        async with serving(application, grace_seconds=1) as running:
            async with asyncio.timeout(20):
                await graphs[0].settled()
            yield running.url, live, world


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
            if frame.get("data", {}).get("type") == "subscribe":
                self.subscribed.append(frame["data"])
            await self.socket.send_str(frame["raw"] if "raw" in frame else json.dumps(frame["data"]))
        await self.listen()

    async def happen(self, note: str, coming: list[dict[str, Any]]) -> None:
        """Let the upstream do what a note says; `coming` are the frames recorded until the next step."""
        count = int(found[1]) if (found := re.search(r"(\d+) new block", note)) else 1
        events = self._events(note, coming)
        for number in range(count):
            height = self.world.seal(*(events if number == 0 else ()))
            async with asyncio.timeout(10):
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
            if lease["status"] != known[lease["address"]]["status"]
            or (lease["debt"] and lease["debt"]["total"] != known[lease["address"]]["debt"]["total"])
        ]
        target = moved[0]["address"] if moved else next(iter(self.world.states))
        state = json.loads(json.dumps(self.world.state(target, height - 1)))
        if "closed" in note:
            state = {"closed": []}
        else:
            principal = moved[0]["debt"]["principal"] if moved else "90000000"
            state["opened"]["principal_due"]["amount"] = principal
            if moved and not moved[0]["in_progress"]:
                state["opened"]["status"] = "idle"
        self.world.put_state(target, state, height=height)
        return event(kind, _contract_address=target)

    def _wallet(self) -> str:
        return next(one["address"] for one in self.subscribed if "address" in one)

    def _contracts(self, protocol: str) -> dict[str, str]:
        listed = self.world.world["etl_protocols"]["protocols"]
        return next(one["contracts"] for one in listed if one["name"] == protocol)


def _set_scene(world: MovingWorld, frames: list[dict[str, Any]]) -> None:
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


def _stream(frame: dict[str, Any]) -> tuple[str, str]:
    """Which stream a push belongs to."""
    name = frame.get("lease", {}).get("address") or frame.get("address") or frame.get("tx_hash") or ""
    return frame["type"], name


def _content(frame: dict[str, Any]) -> str:
    return json.dumps({k: v for k, v in frame.items() if k not in MORE and k != "prices"} | _sorted(frame))


def _sorted(frame: dict[str, Any]) -> dict[str, Any]:
    return {"prices": sorted(frame["prices"].items())} if "prices" in frame else {}


def _moves(frames: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A stream without repeats of what was just said."""
    found: list[dict[str, Any]] = []
    for frame in frames:
        if not found or _content(found[-1]) != _content(frame):
            found.append(frame)
    return found


def _compare(theirs: Any, ours: Any) -> list[str]:
    """What of a recorded frame is not in ours; ours may say more, and say what theirs leaves null."""
    comparison = Comparison(unstable=True, more=True, ignore=MORE)
    comparison.compare(_filled(theirs, ours), ours)
    return comparison.found


def _filled(theirs: Any, ours: Any) -> Any:
    """Theirs with nulls replaced by what ours says there."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        return {
            key: ours[key] if value is None and key in ours else _filled(value, ours.get(key))
            for key, value in theirs.items()
        }
    return theirs


def _replies(steps: list[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """Recorded replies, each with the message it answers, corrected by the exceptions."""
    found = []
    sent = ""
    message: Any = None
    for step in steps:
        if step["dir"] == "client":
            sent = step["raw"] if "raw" in step else json.dumps(step["data"])
            message = step["data"] if "data" in step else _parsed(sent)
        elif step["dir"] == "server" and step["frame"] == "pong":
            found.append((sent, {"type": "pong-frame", "raw": step["raw"]}))
        elif step["dir"] == "server" and step.get("data", {}).get("type") in REPLIES:
            reply = step["data"]
            row = next(
                (row for row in RULES["answer"] if _has(message, row["sent"]) and _has(reply, row["recorded"])), None
            )
            found.append((sent, row["ours"] if row else reply))
    return found


def _has(whole: Any, part: dict[str, Any]) -> bool:
    return isinstance(whole, dict) and all(whole.get(key) == value for key, value in part.items())


def _parsed(raw: str) -> Any:
    try:
        return json.loads(raw)
    except ValueError:
        return None


def _restricted(world: MovingWorld) -> set[str]:
    """Leases that HTTP does not show because their asset is restricted for their kind of position."""
    rules = world.world["gated_files"]["lease-rules.json"]["asset_restrictions"]
    kinds = {one["name"]: str(one["position_type"]).lower() for one in world.world["etl_protocols"]["protocols"]}
    found = set()
    for address, lease in world.world["leases"].items():
        state = (lease["contract_answer"] or {}).get("opened")
        if state and state["amount"]["ticker"] in rules[f"ignore_{kinds[lease['protocol']]}"]:
            found.add(address)
    return found


def _judge(session: dict[str, Any], got: list[dict[str, Any]], restricted: set[str]) -> tuple[int, int, list[str]]:
    """Agreed and all recorded frames of the server, and what is wrong."""
    steps = session["frames"]
    wrong: list[str] = []
    agreed = 0
    expected = _replies(steps)
    ours = [frame for frame in got if frame["type"] in REPLIES or frame["type"] == "pong-frame"]
    for number, (sent, reply) in enumerate(expected):
        answer = ours[number] if number < len(ours) else {}
        bad = [
            f"{sent}: {key} is {answer.get(key)!r}, not {value!r}"
            for key, value in reply.items()
            if answer.get(key) != value
        ]
        agreed += not bad
        wrong += bad
    if len(ours) != len(expected):
        wrong.append(f"{len(ours)} replies, recorded {len(expected)}")
    recorded: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    pushed: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for step in steps:
        if step["dir"] == "server" and "data" in step and step["data"]["type"] not in REPLIES:
            recorded[_stream(step["data"])].append(step["data"])
    for frame in got:
        if frame["type"] not in REPLIES | OUR_OWN | {"pong-frame"}:
            pushed[_stream(frame)].append(frame)
    for stream, frames in recorded.items():
        theirs, mine = _moves(frames), _moves(pushed.get(stream, []))
        if stream[0] == "skip_tx_update":
            theirs = [
                {**one, "steps_completed": one["total_steps"]} if one["status"] == "success" else one for one in theirs
            ]
        if stream[1] in restricted:
            bad = ["a restricted lease was pushed"] if mine else []
        else:
            bad = _match(theirs, mine)
        agreed += 0 if bad else len(frames)
        wrong += [f"{stream}: {text}" for text in bad]
    wrong += _late(got)
    total = len(expected) + sum(map(len, recorded.values()))
    return agreed, total, wrong


def _late(got: list[dict[str, Any]]) -> list[str]:
    """Prices that came although they were unsubscribed; of other topics a client may follow several streams."""
    follows = False
    for frame in got:
        if frame["type"] in ("subscribed", "unsubscribed") and frame["topic"] == "prices":
            follows = frame["type"] == "subscribed"
        elif frame["type"] == "price_update" and not follows:
            return ["prices were pushed after unsubscribing"]
    return []


def _match(theirs: list[dict[str, Any]], mine: list[dict[str, Any]]) -> list[str]:
    """Whether every recorded move is among ours, in order."""
    position = 0
    for frame in theirs:
        nearest: list[str] = ["nothing was pushed"]
        for index in range(position, len(mine)):
            nearest = _compare(frame, mine[index])
            if not nearest:
                position = index + 1
                break
        else:
            return nearest
    return []


def _unlike(session: dict[str, Any], socket: aiohttp.ClientWebSocketResponse) -> list[str]:
    """How the answer to the handshake differs from the recorded one."""
    ours = socket._response.headers
    return [
        f"handshake: {name} is {ours.get(name)!r}, not {value!r}"
        for name, value in session["handshake_response_headers"].items()
        # Nothing caches the answer to an upgrade.
        if name != "vary" and str(ours.get(name, "")).lower() != str(value).lower()
    ]


def _told(
    path: Path, session: dict[str, Any], agreed: int, total: int, wrong: list[str], unanswered: list[str]
) -> None:
    target = os.environ.get("LEASEHOLD_GOLDEN_REPORT")
    if target:
        result = {
            "folder": "app",
            "file": f"{path.name} {session['session']}",
            "agreed": agreed,
            "total": total,
            "differences": wrong[:40],
            "unanswered": unanswered,
        }
        with Path(target).open("a") as file:
            file.write(json.dumps(result) + "\n")


@pytest.fixture
def quick_head(monkeypatch: pytest.MonkeyPatch) -> None:
    """The recorded node announces nothing, so it is asked often."""
    monkeypatch.setattr(service, "HEAD_SECONDS", 0.02)


@pytest.mark.usefixtures("quick_head")
@pytest.mark.parametrize(
    ("path", "session"),
    [one for one in SESSIONS if any(frame.get("frame") == "text" for frame in one[1]["frames"])]
    or [(Path("none"), {"session": "none", "frames": []})],
    ids=lambda value: value["session"] if isinstance(value, dict) else "",
)
async def test_session(
    path: Path, session: dict[str, Any], database: str, tmp_path: Path, share: Callable[[str, int, int], None]
) -> None:
    """A recorded session goes the same way with us."""
    steps = session["frames"]
    async with staged(database, tmp_path) as (url, live, world), aiohttp.ClientSession() as client:
        _set_scene(world, steps)
        world.seal()
        async with asyncio.timeout(10):
            while live.pump._published < world.height:  # noqa: ASYNC110 - as above
                await asyncio.sleep(0.01)
        async with client.ws_connect(f"{url}/ws", autoping=False) as socket:
            unlike = _unlike(session, socket)
            talk = Conversation(socket, live, world)
            await talk.listen()
            for number, step in enumerate(steps):
                if step["dir"] == "client":
                    await talk.send(step)
                elif step["dir"] == "upstream event":
                    rest = steps[number + 1 :]
                    until = next((i for i, one in enumerate(rest) if one["dir"] == "upstream event"), len(rest))
                    await talk.happen(step["note"], [one for one in rest[:until] if "data" in one])
        unanswered = sorted(set(world.unanswered))
    agreed, total, wrong = _judge(session, talk.got, _restricted(world))
    wrong += unlike
    _told(path, session, agreed, total, wrong, unanswered)
    share(f"app/{path.name} {session['session']}", agreed, total)
    assert not wrong, "\n".join(line[:600] for line in wrong[:40])
    assert talk.got[0]["type"] == "welcome"
    for frame in talk.got:
        if frame["type"] not in REPLIES | OUR_OWN | {"pong-frame"}:
            assert frame["seq"] // 1_000_000 <= frame["height"]


@pytest.mark.parametrize(
    ("path", "session"),
    [one for one in SESSIONS if not any(frame.get("frame") == "text" for frame in one[1]["frames"])]
    or [(Path("none"), {"session": "none", "frames": []})],
    ids=lambda value: value["session"] if isinstance(value, dict) else "",
)
async def test_silent_session(
    path: Path,
    session: dict[str, Any],
    database: str,
    tmp_path: Path,
    share: Callable[[str, int, int], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without a subscription nothing comes but pings, at the recorded times, a hundred times as fast."""
    recorded = [step["t_ms"] for step in session["frames"] if step["dir"] == "server" and step["frame"] == "ping"]
    wrong = [
        f"ping {number} after {moment} ms"
        for number, moment in enumerate(recorded, 1)
        if abs(moment - number * sockets.PING_SECONDS * 1000) > PING_TOLERANCE_MS
    ]
    monkeypatch.setattr(sockets, "PING_SECONDS", sockets.PING_SECONDS / 100)
    async with staged(database, tmp_path) as (url, _, _), aiohttp.ClientSession() as client:
        begun = time.monotonic()
        async with client.ws_connect(f"{url}/ws", autoping=False) as socket, asyncio.timeout(20):
            wrong += _unlike(session, socket)
            pings = 0
            while pings < len(recorded):
                message = await socket.receive()
                if message.type is aiohttp.WSMsgType.PING:
                    pings += 1
                    if time.monotonic() - begun < pings * sockets.PING_SECONDS * 0.9:
                        wrong.append(f"ping {pings} came early")
                    await socket.pong(message.data)
                elif message.type is not aiohttp.WSMsgType.TEXT or json.loads(message.data)["type"] != "welcome":
                    wrong.append(f"unexpected {message}")
                    break
    agreed = len(recorded) if not wrong else 0
    _told(path, session, agreed, len(recorded), wrong, [])
    share(f"app/{path.name} {session['session']}", agreed, len(recorded))
    assert not wrong, wrong
