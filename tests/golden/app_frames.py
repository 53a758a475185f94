"""How frames of ours are judged by recorded ones: replies in their order, pushes per stream."""

from __future__ import annotations

import json
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Any

from tests.golden.app_comparison import Comparison
from tests.golden.app_stage import MovingWorld

REPLIES = frozenset(("subscribed", "unsubscribed", "error", "pong"))
# What the public service does not say, besides pushes; the last where the recorded world can't answer for an address.
OUR_OWN = frozenset(("welcome", "snapshot", "resumed", "lagged", "resync_required"))
MORE = frozenset(("seq", "height", "time", "timestamp", "params", "topic", "owner", "snapshot"))
RULES = tomllib.loads(Path(__file__).with_name("app_websocket.toml").read_text())


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


def restricted(world: MovingWorld) -> set[str]:
    """Leases that HTTP does not show because their asset is restricted for their kind of position."""
    rules = world.world["gated_files"]["lease-rules.json"]["asset_restrictions"]
    kinds = {one["name"]: str(one["position_type"]).lower() for one in world.world["etl_protocols"]["protocols"]}
    found = set()
    for address, lease in world.world["leases"].items():
        state = (lease["contract_answer"] or {}).get("opened")
        if state and state["amount"]["ticker"] in rules[f"ignore_{kinds[lease['protocol']]}"]:
            found.add(address)
    return found


def judged(session: dict[str, Any], got: list[dict[str, Any]], restricted: set[str]) -> tuple[int, int, list[str]]:
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
