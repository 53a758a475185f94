"""The recorded world: every upstream answer of the public application backend, replayed over HTTP on loopback.

A height header is ignored, as there is one state only. A call that no recording answers is refused with 501 and listed.
"""

from __future__ import annotations

import asyncio
import json
import re
from base64 import b64decode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote

from aiohttp import web

SMART = "/smart/"
_WASM = "/cosmwasm/wasm/v1/contract/"


def _load(folder: Path, name: str) -> dict[str, Any]:
    path = folder / name
    return json.loads(path.read_bytes()) if path.exists() else {}


class RecordedWorld:
    """The upstreams as one server; `mode` is good, 500, garbage or hang."""

    def __init__(self, *folders: Path) -> None:
        """Answers of the first folder win over those of the next."""
        self.mode = "good"
        self.unanswered: list[str] = []
        self.calls: list[str] = []
        self.world: dict[str, Any] = {}
        self.upstream: dict[str, Any] = {}
        self._answers: dict[Any, tuple[int, Any]] = {}
        self._smart: dict[tuple[str, str], tuple[int, Any]] = {}
        for folder in reversed(folders):
            self.world |= _load(folder, "world.json")
            answers = _load(folder, "upstream.json")
            self.upstream |= answers
            for key, value in answers.items():
                self._remember(key, value["status"], value["answer"])
        self._remember_world()

    def _remember(self, key: str, status: int, answer: Any) -> None:
        method, _, rest = key.partition(" ")
        if "(variant" in rest:
            return
        if SMART in rest:
            contract, _, query = rest.removeprefix(_WASM).partition(SMART)
            self._smart[contract, _canonical(query)] = (status, answer)
            return
        if method == "GET":
            self._answers[_get_key(rest)] = (status, answer)
        else:
            path, _, body = rest.partition(" ")
            self._answers[method, path, _canonical(body)] = (status, answer)

    def _remember_world(self) -> None:
        for key, answer in self.world.get("smart_query_answers", {}).items():
            contract, _, query = key.partition(" ")
            refused = isinstance(answer, str) and answer.startswith("HTTP ")
            found = (int(answer.split()[1]), _REFUSED) if refused else (200, {"data": answer})
            self._smart.setdefault((contract, _canonical(query)), found)
        for status, listed in self.world.get("lcd_validators", {}).items():
            target = f"/cosmos/staking/v1beta1/validators?status={status}&pagination.limit=200"
            self._answers.setdefault(_get_key(target), (200, {"validators": listed, "pagination": {"next_key": None}}))
        for path, member in (("/api/protocols", "etl_protocols"), ("/api/currencies", "etl_currencies")):
            self._answers.setdefault(_get_key(path), (200, self.world.get(member)))

    async def answer(self, request: web.Request) -> web.Response:
        """What the recorded upstream said."""
        raw = request.raw_path
        if request.path == "/websocket":
            # Nothing happens in this world that could be announced.
            return web.Response(status=404)
        self.calls.append(f"{request.method} {raw}")
        if self.mode == "hang":
            await asyncio.sleep(60)
        if self.mode == "500":
            return web.Response(status=500, text="upstream exploded")
        if self.mode == "garbage":
            return web.Response(text="<html>not json</html>", content_type="text/html")
        found = self._found(request.method, raw, await request.text())
        if found is None:
            self.unanswered.append(f"{request.method} {unquote(raw)}")
            return web.Response(status=501, text="no recording answers this")
        status, answer = found
        if isinstance(answer, str) and not raw.startswith("/cosm"):
            return web.Response(status=status, text=answer)
        return web.json_response(answer, status=status)

    def _found(self, method: str, raw: str, body: str) -> tuple[int, Any] | None:
        path = raw.partition("?")[0]
        if path.startswith(_WASM) and SMART in path:
            return self._smart_answer(path)
        if method == "GET":
            return self._answers.get(_get_key(raw)) or self._default(raw)
        return self._answers.get((method, unquote(path), _canonical(body)))

    def _smart_answer(self, path: str) -> tuple[int, Any] | None:
        contract, _, encoded = path.removeprefix(_WASM).partition(SMART)
        query = _canonical(b64decode(unquote(encoded)).decode())
        known = self._smart.get((contract, query))
        if known is not None:
            return known
        kind = next(iter(json.loads(query)))
        if contract not in {one for one, _ in self._smart}:
            return 404, {"code": 2, "message": f"codespace wasm code 22: no such contract: address {contract}"}
        # Somebody the recorded chain does not know owns nothing.
        return {"leases": (200, {"data": []}), "balance": (200, {"data": {"amount": "0"}})}.get(kind)

    def _default(self, raw: str) -> tuple[int, Any] | None:
        path, _, query = raw.partition("?")
        if path == "/api/ls-opening":
            lease = dict(parse_qsl(query)).get("lease", "")
            return 200, self.world.get("etl_ls_opening", {}).get(lease)
        return _of_nobody(unquote(path))


def _of_nobody(path: str) -> tuple[int, Any] | None:
    """What the recorded chain says of accounts and votes that it does not know."""
    vote = _VOTE.fullmatch(path)
    if vote:
        return 400, {"code": 3, "message": f"voter: {vote[2]} not found for proposal: {vote[1]}", "details": []}
    for start, end, answer in _NOTHING:
        if path.startswith(start) and path.endswith(end):
            return 200, answer
    return None


_VOTE = re.compile(r"/cosmos/gov/v1/proposals/(\d+)/votes/(nolus1[a-z0-9]{38})")
_PAGE = {"next_key": None, "total": "0"}
_NOTHING = (
    ("/cosmos/bank/v1beta1/balances/", "", {"balances": [], "pagination": _PAGE}),
    ("/cosmos/staking/v1beta1/delegations/", "", {"delegation_responses": [], "pagination": _PAGE}),
    (
        "/cosmos/staking/v1beta1/delegators/",
        "/unbonding_delegations",
        {"unbonding_responses": [], "pagination": _PAGE},
    ),
    ("/cosmos/distribution/v1beta1/delegators/", "/rewards", {"rewards": [], "total": []}),
)
_REFUSED = {"code": 2, "message": "Generic error: query refused: query wasm contract failed", "details": []}


def _canonical(text: str) -> str:
    try:
        return json.dumps(json.loads(text), sort_keys=True)
    except ValueError:
        return text


def _get_key(raw: str) -> tuple[str, str, frozenset[tuple[str, str]]]:
    """A call without the order of its query; of a name given twice, the recorded service passed on the last."""
    path, _, query = raw.partition("?")
    return "GET", unquote(path), frozenset(dict(parse_qsl(query, keep_blank_values=True)).items())


@asynccontextmanager
async def replayed(world: RecordedWorld) -> AsyncIterator[str]:
    """The world's upstreams at a base URL."""
    application = web.Application(client_max_size=8 * 1024 * 1024)
    application.router.add_route("*", "/{tail:.*}", world.answer)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}"  # type: ignore[union-attr]
    finally:
        await runner.cleanup()
