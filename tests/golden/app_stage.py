"""The recorded world as a chain that moves: blocks with events, and answers that change at a height."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from aiohttp import web
from tests.golden.app_world import RecordedWorld

RAISED = ("OSMO", "ATOM")
_CONTRACT = re.compile(r"/cosmwasm/wasm/v1/contract/([^/]+)/smart/(.+)")


def raised(price: dict[str, Any]) -> dict[str, Any]:
    """A price one percent higher, exactly."""
    amount, quote = price["amount"], price["amount_quote"]
    return {
        "amount": {**amount, "amount": str(int(amount["amount"]) * 100)},
        "amount_quote": {**quote, "amount": str(int(quote["amount"]) * 101)},
    }


class MovingWorld(RecordedWorld):
    """Answers as of a height; `seal` makes a block, with what happens in it."""

    def __init__(self, *folders: Path) -> None:
        super().__init__(*folders)
        self.height = 1004
        self.events: dict[int, list[dict[str, Any]]] = {}
        self.raised_at: int | None = None
        self.states: dict[str, list[tuple[int, Any]]] = {}
        self.credits: list[tuple[int, str, str, int]] = []

    def seal(self, *events: dict[str, Any]) -> int:
        """A new block with events."""
        self.height += 1
        self.events[self.height] = list(events)
        return self.height

    def put_state(self, lease: str, state: Any, *, height: int) -> None:
        """Let a lease's contract answer with a state from a height on."""
        self.states.setdefault(lease, []).append((height, state))

    def state(self, lease: str, height: int) -> Any:
        """A lease's state as of a height."""
        found = self.world["leases"][lease]["contract_answer"]
        for since, state in self.states.get(lease, ()):
            found = state if since <= height else found
        return found

    async def answer(self, request: web.Request) -> web.Response:
        path = request.path
        height = int(request.headers.get("x-cosmos-block-height") or self.height)
        if path == "/status":
            return web.json_response({"result": self._status()})
        if request.method == "POST" and path == "/":
            return web.json_response([self._call(call) for call in await request.json()])
        found = self._moved(request.raw_path, height)
        return web.json_response(found) if found is not None else await super().answer(request)

    def _moved(self, raw: str, height: int) -> Any:
        """An answer that is not the recorded one any more."""
        match = _CONTRACT.fullmatch(raw)
        if match:
            query = json.loads(b64decode(unquote(match[2])))
            return self._contract(match[1], query, raw, height)
        address = raw.removeprefix("/cosmos/bank/v1beta1/balances/")
        credits = [one for one in self.credits if one[0] <= height and one[1] == address]
        if not credits:
            return None
        answer = json.loads(json.dumps(self._found("GET", raw, "")[1]))  # type: ignore[index]
        for _, _, denom, amount in credits:
            for coin in answer["balances"]:
                if coin["denom"] == denom:
                    coin["amount"] = str(int(coin["amount"]) + amount)
        return answer

    def _contract(self, contract: str, query: dict[str, Any], raw: str, height: int) -> Any:
        if "state" in query and contract in self.states:
            return {"data": self.state(contract, height)}
        higher = self.raised_at is not None and height >= self.raised_at
        if not higher or not ("prices" in query or "stable_price" in query):
            return None
        answer = self._found("GET", raw, "")
        assert answer is not None
        data = answer[1]["data"]
        if "stable_price" in query:
            return {"data": raised(data)} if data["amount"]["ticker"] in RAISED else None
        return {"data": {"prices": [raised(p) if p["amount"]["ticker"] in RAISED else p for p in data["prices"]]}}

    def _status(self) -> dict[str, Any]:
        sync = {"latest_block_height": str(self.height), "latest_block_time": self._time(self.height)}
        return {"node_info": {"network": "pirin-1"}, "sync_info": {**sync, "catching_up": False}}

    def _time(self, height: int) -> str:
        return f"2026-11-15T00:{height // 60 % 60:02d}:{height % 60:02d}.123456789Z"

    def _call(self, call: dict[str, Any]) -> dict[str, Any]:
        height = int(call["params"]["height"])
        if call["method"] == "block":
            header = {"chain_id": "pirin-1", "height": str(height), "time": self._time(height)}
            block = {"header": {**header, "last_block_id": {"hash": ""}}, "data": {"txs": ["AA=="]}}
            return {"id": call["id"], "result": {"block_id": {"hash": ""}, "block": block}}
        events = self.events.get(height, [])
        result = {"height": str(height), "txs_results": [{"code": 0, "events": events}], "finalize_block_events": []}
        return {"id": call["id"], "result": result}


def event(kind: str, **attributes: str) -> dict[str, Any]:
    """An event of a block."""
    return {"type": kind, "attributes": [{"key": key, "value": value} for key, value in attributes.items()]}
