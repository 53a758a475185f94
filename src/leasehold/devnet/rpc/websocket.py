"""A WebSocket client of the RPC: requests in, answers and announcements out, neither without bound.

States: open, then ending (an error for every subscription was queued, nothing more is taken), then closed. Frames wait
in a bounded queue while the peer does not read; a full queue ends the connection instead of losing frames silently.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

from websockets.frames import Frame, Opcode
from websockets.http11 import Request as HandshakeRequest
from websockets.protocol import State
from websockets.server import ServerProtocol

from leasehold.devnet.rpc.arguments import BadArgument
from leasehold.devnet.rpc.broadcasting import Failure, Panic
from leasehold.devnet.rpc.dispatch import LARGE, Answer, call, values_of
from leasehold.devnet.rpc.envelope import (
    INTERNAL,
    NOT_FOUND,
    PARSE_ERROR,
    SERVER,
    URI_ID,
    Request,
    Unparsable,
    failure,
    read_frame,
    success,
)
from leasehold.devnet.rpc.subscriptions import EXITED, OUT_OF_CAPACITY, Hub
from leasehold.devnet.rpc.table import Method

MAX_FRAME = 1_000_000
QUEUE_FRAMES = 200
INBOX_FRAMES = 100
PING_SECONDS = 27.0
SILENCE_SECONDS = 30.0
_DATA = (Opcode.TEXT, Opcode.BINARY, Opcode.CONT)

Spawn = Callable[[Coroutine[Any, Any, None]], object]


class WebSocketSession:
    """One connection after its handshake; the owner feeds it bytes and tells it about flow control."""

    def __init__(
        self,
        transport: asyncio.Transport,
        table: dict[str, Method],
        hub: Hub,
        spawn: Spawn,
        *,
        queue_frames: int = QUEUE_FRAMES,
    ) -> None:
        self._transport = transport
        self._table = table
        self._hub = hub
        self._spawn = spawn
        self._limit = queue_frames
        self._protocol = ServerProtocol(max_size=MAX_FRAME)
        self._loop = asyncio.get_running_loop()
        self._queue: deque[bytes] = deque()
        self._inbox: deque[bytes] = deque()
        self._fragments: list[bytes] = []
        self._paused = False
        self._busy = False
        self._ending = False
        self._last_heard = self._loop.time()
        self._last_ping = self._loop.time()

    def handshake(self, head: bytes, leftover: bytes) -> bool:
        """Answer the upgrade whose request had this head; False when it is none that can be accepted."""
        self._protocol.receive_data(head)
        request = next(iter(self._protocol.events_received()), None)
        if not isinstance(request, HandshakeRequest):
            return False
        response = self._protocol.accept(request)
        if response.status_code != 101:
            return False
        self._protocol.send_response(response)
        self._write_out()
        if leftover:
            self.feed(leftover)
        return True

    # Incoming

    def feed(self, data: bytes) -> None:
        self._last_heard = self._loop.time()
        self._protocol.receive_data(data)
        for event in self._protocol.events_received():
            if not isinstance(event, Frame) or event.opcode not in _DATA:
                continue
            self._fragments.append(bytes(event.data))
            if event.fin:
                self._inbox.append(b"".join(self._fragments))
                self._fragments.clear()
        self._write_out()
        if len(self._inbox) > INBOX_FRAMES:
            self._transport.pause_reading()
        if not self._busy:
            self._work()
        if self._protocol.close_expected():
            self._hub.drop(self)
            self._transport.close()

    def _work(self) -> None:
        """Answer waiting requests in order; one that has to wait holds back those after it."""
        while self._inbox and not self._ending:
            answered = self._handle(self._inbox.popleft())
            if answered is None:
                continue
            if not isinstance(answered, bytes):
                self._busy = True
                self._spawn(self._finish(answered))
                return
            self.deliver(answered)
        if not self._transport.is_closing():
            self._transport.resume_reading()

    async def _finish(self, pending: Coroutine[Any, Any, bytes | None]) -> None:
        try:
            answered = await pending
        finally:
            self._busy = False
        if not self._transport.is_closing():
            if answered is not None:
                self.deliver(answered)
            self._work()

    def _handle(self, frame: bytes) -> bytes | Coroutine[Any, Any, bytes | None] | None:
        if len(frame) > LARGE:
            return self._handle_large(frame)
        try:
            return self._answer(read_frame(frame))
        except Unparsable as error:
            return failure(None, PARSE_ERROR, f"error unmarshaling request: {error}")

    async def _handle_large(self, frame: bytes) -> bytes | None:
        try:
            answered = self._answer(await asyncio.to_thread(read_frame, frame))
        except Unparsable as error:
            return failure(None, PARSE_ERROR, f"error unmarshaling request: {error}")
        return answered if answered is None or isinstance(answered, bytes) else await answered

    def _answer(self, request: Request) -> bytes | Coroutine[Any, Any, bytes | None] | None:
        identity = request.id
        if identity is None:
            return None
        method = self._table.get(request.method)
        if method is None:
            return failure(identity, NOT_FOUND)
        try:
            values = values_of(method, request)
            if method.call is None:
                return self._subscription(request, identity, values)
            answered = call(method, identity, values)
        except BadArgument as error:
            return failure(identity, INTERNAL, f"error converting json params to arguments: {error.message}")
        except Panic as panic:
            return failure(URI_ID, INTERNAL, str(panic) if panic.is_error else f"WSJSONRPC: {panic}")
        return answered.body if isinstance(answered, Answer) else _body(answered)

    def _subscription(self, request: Request, identity: bytes, values: list[Any]) -> bytes:
        try:
            if request.method == "subscribe":
                self._hub.subscribe(self, values[0], identity)
            elif request.method == "unsubscribe":
                self._hub.unsubscribe(self, values[0])
            else:
                self._hub.unsubscribe_all(self)
        except Failure as error:
            return failure(identity, INTERNAL, error.message)
        return success(identity, b"{}")

    # Outgoing

    def deliver(self, frame: bytes) -> None:
        """Send a frame, or queue it while the peer does not read; a full queue ends the connection."""
        if self._ending or self._protocol.state is not State.OPEN:
            return
        if not self._paused:
            self._protocol.send_text(frame)
            self._write_out()
        elif len(self._queue) < self._limit:
            self._queue.append(frame)
        else:
            self.end(OUT_OF_CAPACITY)

    def end(self, reason: str = EXITED, code: int = 1001) -> None:
        """Cancel every subscription with an error that says why, then close."""
        if self._ending:
            return
        self._ending = True
        # What waited would only delay the news; its place is taken by the errors.
        self._queue.clear()
        text = f"subscription was canceled (reason: {reason})"
        if self._protocol.state is State.OPEN:
            for identity in self._hub.drop(self):
                self._protocol.send_text(failure(identity, SERVER, text))
            self._protocol.send_close(code)
            self._write_out()
        self._transport.close()

    def _write_out(self) -> None:
        for chunk in self._protocol.data_to_send():
            if chunk:
                self._transport.write(chunk)

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        self._paused = False
        while self._queue and not self._paused:
            self._protocol.send_text(self._queue.popleft())
            self._write_out()

    def lost(self) -> None:
        """The connection is gone."""
        self._ending = True
        self._hub.drop(self)
        self._queue.clear()
        self._inbox.clear()

    def tick(self, now: float, *, ping: float = PING_SECONDS, silence: float = SILENCE_SECONDS) -> None:
        """Ping a quiet peer, and drop one that has been silent for too long."""
        if now - self._last_heard >= silence:
            self._hub.drop(self)
            self._ending = True
            self._transport.abort()
        elif now - max(self._last_ping, self._last_heard) >= ping and self._protocol.state is State.OPEN:
            self._last_ping = now
            self._protocol.send_ping(b"")
            self._write_out()


async def _body(pending: Coroutine[Any, Any, Answer]) -> bytes:
    return (await pending).body
