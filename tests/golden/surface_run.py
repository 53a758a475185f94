"""The run: the chain is rebuilt once, and every case is put to it when it stands where the original stood."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import grpc
from google.protobuf import json_format
from google.protobuf.message import DecodeError
from tests.golden.replay_world import load
from tests.golden.surface_cases import SURFACES, Case, Role, Timeline, by_file, find, unknown, usual_heights
from tests.golden.surface_chain import Facts, RebuiltChain, Served, pruned, served
from tests.golden.surface_grpc import GrpcSurface
from tests.golden.surface_grpcurl import judge_grpcurl
from tests.golden.surface_http import HttpClient, HttpJudge
from tests.golden.surface_judgement import judged_by
from tests.golden.surface_silence import judge_silence, shows_frames
from tests.golden.surface_websocket import Session
from websockets.exceptions import InvalidHandshake

# Asking these again at another height would do something a second time.
_ONCE = ("broadcast_tx", "check_tx", "BroadcastTx", "/cosmos/tx/v1beta1/txs")


# Blocks after which a transaction that was waited for has come.
BLOCKS_WAITED = 3
# How long an answer to what is in a block may take; only one that never comes takes that long.
ANSWER_SECONDS = 5.0
# What a case of unforeseen form may raise while it is asked or read.
UNASKABLE = (
    OSError, EOFError, LookupError, TypeError, ValueError, AttributeError, AssertionError,
    grpc.RpcError, DecodeError, json_format.Error,
)  # fmt: skip


@dataclass(slots=True)
class Verdict:
    """How a case came out; no lines means it agrees."""

    case: Case
    lines: list[str] = field(default_factory=list)

    @property
    def agrees(self) -> bool:
        return not self.lines


@dataclass(slots=True)
class Outcome:
    """Verdicts of all cases, and files nobody could read."""

    verdicts: list[Verdict]
    unknown: list[str]


@cache
def outcome(golden: Path) -> Outcome:
    """Everything recorded of the four surfaces, asked and judged; done once per process."""
    return asyncio.run(_run(golden))


async def _run(golden: Path) -> Outcome:
    cases = find(golden)
    recording = load(golden)
    genesis = _genesis(golden)
    timeline = Timeline(recording.blocks)
    usual = {surface: usual_heights(cases, surface) for surface in SURFACES}
    for listed in by_file(cases).values():
        if listed[0].role is Role.FULL:
            timeline.place(listed, usual[listed[0].surface])
    roles = {role: [case for case in cases if case.role is role] for role in Role}
    facts = Facts.gather([*roles[Role.FULL], *roles[Role.PRUNED]]) or Facts.guess(recording)
    verdicts: list[Verdict] = []
    builders: dict[Role, Callable[[], RebuiltChain]] = {
        Role.EMPTY: lambda: RebuiltChain(recording, genesis, Facts.gather(roles[Role.EMPTY]) or facts),
        Role.PRUNED: lambda: pruned(recording, genesis, roles[Role.PRUNED], facts),
        Role.FULL: lambda: RebuiltChain(recording, genesis, facts),
    }
    for role, build in builders.items():
        if not roles[role]:
            continue
        chain = build()
        try:
            async with served(chain) as node:
                verdicts += await Asking(node).run(roles[role], moving=role is Role.FULL)
        finally:
            chain.close()
    return Outcome(verdicts, unknown(golden))


def _genesis(golden: Path) -> bytes:
    for path in sorted((golden / "chain").rglob("*.json")):
        data = path.read_bytes()
        if b'"app_state"' in data and "app_state" in json.loads(data):
            return data
    raise AssertionError("no genesis among the recordings")


class Asking:
    """Puts cases to one node."""

    def __init__(self, node: Served) -> None:
        self._node = node
        self._chain = node.chain
        self._clients = {"rpc": HttpClient(node.rpc), "lcd": HttpClient(node.lcd)}
        self._grpc = GrpcSurface(node.grpc, node.chain.registry)
        self._judge = HttpJudge(node.chain.registry)
        self._sessions: list[Session] = []
        self._verdicts: dict[int, Verdict] = {}

    async def run(self, cases: list[Case], *, moving: bool) -> list[Verdict]:
        """Verdicts in the order of the cases; `moving` lets the chain go on while it is asked."""
        try:
            if moving:
                await self._run_moving(cases)
            else:
                for case in cases:
                    await self._ask(case)
        finally:
            for client in self._clients.values():
                await client.close()
            await self._grpc.close()
        for case in cases:
            self._verdicts.setdefault(id(case), Verdict(case, ["never asked"]))
        return [self._verdicts[id(case)] for case in cases]

    async def _run_moving(self, cases: list[Case]) -> None:
        # The original went on for a few blocks that are not in the replay.
        last = max(len(self._chain.blocks), *(max(case.heights) for case in cases))
        waiting: dict[int, list[Case]] = {}
        for case in cases:
            for height in case.heights:
                waiting.setdefault(height, []).append(case)
        while True:
            height = self._chain.height
            for due in sorted(waited for waited in waiting if waited <= height):
                for case in waiting.pop(due):
                    known = self._verdicts.get(id(case))
                    if known is None or not (known.agrees or _only_once(case)):
                        await self._ask(case)
            if self._chain.height > height:
                # A case that waited for its block had it sealed.
                continue
            if height >= last:
                break
            self._chain.seal_next()
            await self._play_on()
        for session in self._sessions:
            session.lines.append("the chain ended before the session did")
            await self._finish(session)

    async def _ask(self, case: Case) -> None:
        if case.surface == "ws":
            await self._begin(case)
            return
        try:
            lines = judged_by(case.compare, await self._lines(case))
        except UNASKABLE as error:
            # One case that can't be asked or read must not take the others with it.
            lines = [f"no answer: {error!r}"]
        before = self._verdicts.get(id(case))
        if before is None or not lines:
            self._verdicts[id(case)] = Verdict(case, lines)

    async def _begin(self, case: Case) -> None:
        if shows_frames(case):
            try:
                lines = await judge_silence(case, self._chain.node)
            except UNASKABLE as error:
                lines = [f"no answer: {error!r}"]
            self._verdicts[id(case)] = Verdict(case, lines)
            return
        session = Session(case, self._judge)
        try:
            await session.open(self._node.rpc, self._chain.height)
        except (OSError, InvalidHandshake) as error:
            self._verdicts[id(case)] = Verdict(case, [f"no connection: {error!r}"])
            return
        self._sessions.append(session)
        await self._play_on(only=session)

    async def _lines(self, case: Case) -> list[str]:
        self._prepare(case)
        if case.request.get("tool") == "grpcurl":
            return await judge_grpcurl(case, self._grpc)
        if case.surface == "grpc":
            return await self._grpc.judge(case)
        request = case.request
        if "_by_hash" in _text(case) and not _is_refused(case):
            request = self._chain.translated(request)
        asked = asyncio.ensure_future(self._clients[case.surface].ask(request))
        if _waits_for_block(case):
            await self._until_taken(asked, _broadcast(case, self._chain))
            for _ in range(BLOCKS_WAITED):
                if not asked.done():
                    self._chain.seal_next()
                    await self._play_on()
                    await asyncio.wait((asked,), timeout=ANSWER_SECONDS)
        return self._judge.judge(case, await asked)

    async def _until_taken(self, asked: asyncio.Future[Any], raw: bytes | None) -> None:
        """Wait until the mempool has taken a transaction, or has refused it: no block may come before that."""
        mempool = self._chain.node.mempool
        while not asked.done():
            pending = mempool.first(len(mempool))
            if raw in pending if raw is not None else pending:
                return
            await asyncio.sleep(0.005)

    def _prepare(self, case: Case) -> None:
        """Bring the mempool to what it was: cases that sent something before this one may have been taken away."""
        raw = _broadcast(case, self._chain)
        if raw is not None:
            answer = str(case.response)
            known = "already exists in cache" in answer or "'code': 19" in answer
            self._chain.send_what_came_before(raw, itself=known)

    async def _play_on(self, only: Session | None = None) -> None:
        for session in [only] if only else list(self._sessions):
            try:
                await session.advance(self._chain.height)
            except UNASKABLE as error:
                session.end(f"no answer: {error!r}")
            if session.finished:
                await self._finish(session)

    async def _finish(self, session: Session) -> None:
        await session.close()
        self._sessions = [other for other in self._sessions if other is not session]
        self._verdicts[id(session.case)] = Verdict(session.case, judged_by(session.case.compare, session.lines))


def _text(case: Case) -> str:
    request: dict[str, Any] = case.request
    return f"{request.get('method')} {request.get('path')} {str(request.get('body'))[:200]}"


def _is_refused(case: Case) -> bool:
    """Whether the original answered with an error: for the form of a request, which no translation may change."""
    body = case.response.get("body")
    return isinstance(body, dict) and "error" in body


def _broadcast(case: Case, chain: RebuiltChain) -> bytes | None:
    """The transaction that a case sends."""
    body = case.request.get("body")
    body = body if isinstance(body, dict) else {}
    params = body.get("params")
    try:
        if str(body.get("method")).startswith("broadcast_tx") and isinstance(params, dict):
            return base64.b64decode(params["tx"])
        if case.surface == "lcd" and case.request["method"] == "POST" and case.request["path"].endswith("/txs"):
            return base64.b64decode(body["tx_bytes"])
        if str(case.request.get("method")).endswith("/BroadcastTx"):
            name = "cosmos.tx.v1beta1.BroadcastTxRequest"
            return bytes(chain.registry.parse(name, base64.b64decode(case.request["message_base64"])).tx_bytes)
    except (KeyError, TypeError, ValueError):
        pass
    return None


def _only_once(case: Case) -> bool:
    text = _text(case)
    return case.surface == "ws" or (any(name in text for name in _ONCE) and not text.startswith("GET /cosmos"))


def _waits_for_block(case: Case) -> bool:
    """Whether a case was answered with the block that has its transaction; refusals come at once."""
    body = case.response.get("body")
    result = body.get("result") if isinstance(body, dict) else None
    height = result.get("height") if isinstance(result, dict) else None
    return "broadcast_tx_commit" in _text(case) and str(height or "0") != "0"
