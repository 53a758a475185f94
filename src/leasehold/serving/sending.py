"""From an answer to the connection: through ASGI, or, where the whole answer is there, in a single write."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from starlette.types import Message, Scope, Send
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from leasehold.serving.answers import Answer
from leasehold.serving.cors import Headers

if TYPE_CHECKING:
    from leasehold.serving.connection import Connection

# Name of the extension of an ASGI scope that takes a whole answer.
WHOLE = "leasehold.whole"
_WITHOUT_BODY = frozenset((204, 304))


class Sender:
    """ASGI send that adds the headers every response carries, and remembers the status."""

    def __init__(self, scope: Scope, send: Send, common: Headers) -> None:
        self._whole: Callable[[int, Headers, bytes], bool] | None = (
            scope.get("extensions", {}).get(WHOLE, {}).get("send")
        )
        self._send = send
        self._common = common
        self.status = 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message = {**message, "headers": [*message.get("headers", ()), *self._common]}
        await self._send(message)

    async def answer(self, answer: Answer) -> None:
        """Send an answer; nothing where one has begun."""
        if self.status:
            return
        body = answer.body
        headers = [*answer.headers, (b"connection", b"close")] if answer.close else answer.headers
        if self._whole and isinstance(body, bytes) and self._whole(answer.status, [*headers, *self._common], body):
            self.status = answer.status
            return
        await self({"type": "http.response.start", "status": answer.status, "headers": headers})
        if isinstance(body, bytes):
            await self._send({"type": "http.response.body", "body": body})
            return
        async for chunk in body:
            await self._send({"type": "http.response.body", "body": chunk, "more_body": True})
        await self._send({"type": "http.response.body", "body": b""})


class Outlet:
    """The transport as one of uvicorn's cycles sees it: closing leaves the peer time to read what it was told."""

    __slots__ = ("_cycle", "_owner")

    def __init__(self, owner: Connection, cycle: Any) -> None:
        self._owner = owner
        self._cycle = cycle

    def write(self, data: bytes) -> None:
        self._owner.transport.write(data)

    def is_closing(self) -> bool:
        return self._owner.transport.is_closing()

    def close(self) -> None:
        self._owner.depart()

    def whole(self, status: int, headers: Headers, body: bytes) -> bool:
        """Send an answer at once; False where it must wait or has no length, and ASGI's way is the one to go."""
        cycle, owner = self._cycle, self._owner
        if cycle.disconnected or cycle.response_started or owner.flow.write_paused:
            return False
        lines = [owner.watch.date_line]
        measured, closing = status in _WITHOUT_BODY, not cycle.keep_alive
        for name, value in headers:
            if name == b"connection":
                closing = True
                continue
            measured = measured or name == b"content-length"
            lines.append(name + b": " + value + b"\r\n")
        if not measured:
            return False
        if closing:
            lines.append(b"connection: close\r\n")
        head = b"".join(lines)
        if not head.count(b"\n") == head.count(b"\r") == len(lines):
            raise RuntimeError("a header has a line end in it")
        cycle.response_started = cycle.response_complete = True
        cycle.waiting_for_100_continue = False
        shown = b"" if cycle.scope["method"] == "HEAD" else body
        owner.transport.write(b"".join((STATUS_LINE[status], head, b"\r\n", shown)))
        cycle.message_event.set()
        if closing:
            self.close()
        cycle.on_response()
        return True
