"""Recorded WebSocket sessions, played again frame by frame while the chain goes on."""

from __future__ import annotations

import asyncio
import base64
import json
from contextlib import suppress
from typing import Any

from tests.golden.surface_cases import Case, event_height
from tests.golden.surface_http import HttpJudge
from tests.golden.surface_judgement import differences, layout
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

TIMEOUT = 30.0
# How long nothing must come where nothing was recorded, and for how many blocks.
SILENCE, SILENT_BLOCKS, PATIENT_BLOCKS = 0.05, 3, 20
_MAPS = frozenset({"events"})


class Session:
    """One recorded session: `advance` plays as much of it as the chain's height allows."""

    def __init__(self, case: Case, judge: HttpJudge) -> None:
        self.case = case
        self.lines: list[str] = []
        self._judge = judge
        self._entries: list[dict[str, Any]] = case.response["transcript"]
        self._at = 0
        self._connection: ClientConnection | None = None
        self._requests: dict[str, Any] = {}
        self._silent_until: int | None = None
        self._began = 0
        self.finished = False

    async def open(self, port: int, height: int) -> None:
        self._began = height
        path = self.case.request.get("path", "/websocket")
        self._connection = await connect(f"ws://127.0.0.1:{port}{path}", proxy=None, max_size=None, ping_interval=None)

    async def advance(self, height: int) -> None:
        """Send what was sent, expect what came, until an event of a block that is not there yet."""
        assert self._connection is not None
        try:
            while self._at < len(self._entries):
                entry = self._entries[self._at]
                if entry["dir"] == "client":
                    await self._send(entry)
                else:
                    if _lies_ahead(entry.get("frame"), height):
                        return
                    if not await self._expect(entry, height):
                        return
                self._at += 1
            await self._stay_silent(height)
        except TimeoutError:
            self.end(f"frame {self._at}: nothing came in {TIMEOUT:g} s")
        except ConnectionClosed:
            self.end(f"frame {self._at}: the connection was closed")

    def end(self, line: str | None = None) -> None:
        """Finish, with what went wrong."""
        if line is not None:
            self.lines.append(line)
        self.finished = True

    async def close(self) -> None:
        if self._connection is not None:
            await self._connection.close()

    async def _send(self, entry: dict[str, Any]) -> None:
        assert self._connection is not None
        if "binary_base64" in entry:
            await self._connection.send(base64.b64decode(entry["binary_base64"]))
            return
        frame = entry.get("frame")
        await self._connection.send(entry["text"] if "text" in entry else json.dumps(frame))
        if isinstance(frame, dict) and "id" in frame:
            self._requests[json.dumps(frame["id"])] = frame

    async def _expect(self, entry: dict[str, Any], height: int) -> bool:
        """Take the next frame; False when an event that shows no height may still come with a later block."""
        assert self._connection is not None
        patient = _is_undated_event(entry.get("frame")) and height < self._began + PATIENT_BLOCKS
        try:
            text = await asyncio.wait_for(self._connection.recv(decode=True), SILENCE if patient else TIMEOUT)
        except TimeoutError:
            if patient:
                return False
            raise
        assert isinstance(text, str)
        where = f"frame {self._at}"
        if "frame" not in entry:
            if entry.get("text") != text:
                self.lines.append(f"{where}: {entry.get('text')!r} recorded, {text[:200]!r} here")
            return True
        ours, recorded = json.loads(text), entry["frame"]
        if entry.get("format") != layout(text):
            self.lines.append(f"{where}: written {entry.get('format')} recorded, {layout(text)} here")
        request = self._requests.get(json.dumps(recorded.get("id")))
        if isinstance(request, dict) and request.get("method") == "abci_query":
            found = self._judge.rpc_differences(request, recorded, ours)
        else:
            found = differences(recorded, ours, any_order=_MAPS)
        self.lines += [type(line)(f"{where}: {line}") for line in found]
        return True

    async def _stay_silent(self, height: int) -> None:
        """A subscription with conditions of which nothing came must stay silent for some blocks."""
        assert self._connection is not None
        if self._silent_until is None:
            self._silent_until = height + SILENT_BLOCKS if self._waits_in_vain() else height
        if height < self._silent_until:
            return
        if self._waits_in_vain():
            with suppress(TimeoutError):
                extra = await asyncio.wait_for(self._connection.recv(decode=True), SILENCE)
                self.lines.append(f"nothing recorded, {extra[:200]!r} here")
        self.end()

    def _waits_in_vain(self) -> bool:
        frames = [entry.get("frame") for entry in self._entries]
        if any(event_height(frame) is not None for frame in frames):
            return False
        return any(
            isinstance(frame, dict)
            and frame.get("method") == "subscribe"
            and (" AND " in str(frame.get("params")) or "id" not in frame)
            for frame in frames
        )


def _lies_ahead(frame: Any, height: int) -> bool:
    told = event_height(frame)
    return told is not None and told > height


def _is_undated_event(frame: Any) -> bool:
    result = frame.get("result") if isinstance(frame, dict) else None
    return isinstance(result, dict) and "data" in result and event_height(frame) is None
