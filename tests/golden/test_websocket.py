"""Recorded sessions of the application WebSocket, frame by frame: replies in their order, pushes per stream.

A session's client frames are sent to ours while the recorded upstream events happen in the recorded world. Replies are
equal, in order. The pushes of each stream (prices, one lease, one address, one transaction) are the recorded ones in
their order, less the rules of app_websocket.toml.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from tests.golden.app_conversation import Conversation, set_scene, staged
from tests.golden.app_frames import OUR_OWN, REPLIES, judged, restricted
from tests.golden.test_app import ROOT

from leasehold.app_api import service
from leasehold.serving import sockets

PING_TOLERANCE_MS = 250


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
    if "handshake_response_headers" not in session:
        pytest.skip("no session with frames among these")
    steps = session["frames"]
    async with staged(database, tmp_path) as (url, live, world), aiohttp.ClientSession() as client:
        set_scene(world, steps)
        world.seal()
        async with asyncio.timeout(60):
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
    agreed, total, wrong = judged(session, talk.got, restricted(world))
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
    if "handshake_response_headers" not in session:
        pytest.skip("no silent session among these")
    recorded = [step["t_ms"] for step in session["frames"] if step["dir"] == "server" and step["frame"] == "ping"]
    wrong = [
        f"ping {number} after {moment} ms"
        for number, moment in enumerate(recorded, 1)
        if abs(moment - number * sockets.PING_SECONDS * 1000) > PING_TOLERANCE_MS
    ]
    monkeypatch.setattr(sockets, "PING_SECONDS", sockets.PING_SECONDS / 100)
    async with staged(database, tmp_path) as (url, _, _), aiohttp.ClientSession() as client:
        begun = time.monotonic()
        async with client.ws_connect(f"{url}/ws", autoping=False) as socket, asyncio.timeout(60):
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
