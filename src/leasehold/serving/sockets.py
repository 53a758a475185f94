"""uvicorn's WebSocket connection with a short cut: finished frames are written past it, and slowness is told.

It reaches into uvicorn's internals, so it is written for the one version the lock pins, as `connection` is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from starlette.types import Scope
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

# A message from a client is a few hundred bytes; what is longer closes the connection with 1009.
MESSAGE_BYTES = 64 * 1024
WRITE_BUFFER = 64 * 1024
PING_SECONDS = 30.0
PONG_SECONDS = 60.0
_EXTENSION = "leasehold.wire"


def text_frame(payload: bytes) -> bytes:
    """An unmasked text frame, the same for every client."""
    size = len(payload)
    if size < 126:
        head = bytes((0x81, size))
    elif size < 65_536:
        head = b"\x81\x7e" + size.to_bytes(2, "big")
    else:
        head = b"\x81\x7f" + size.to_bytes(8, "big")
    return head + payload


class Wire(WebSocketsSansIOProtocol):
    """One connection; `drained` is called when a slow peer has caught up, `farewell` is sent before a shutdown."""

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        self.paused = False
        self.drained: Callable[[], None] | None = None
        self.farewell = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.transport.set_write_buffer_limits(high=WRITE_BUFFER)

    def handle_connect(self, event: Any) -> None:
        super().handle_connect(event)
        if not self.close_sent:
            self.scope["extensions"][_EXTENSION] = self  # type: ignore[assignment]

    def pause_writing(self) -> None:
        super().pause_writing()
        self.paused = True

    def resume_writing(self) -> None:
        super().resume_writing()
        self.paused = False
        if self.drained is not None:
            self.drained()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        # What knows the connection and is known by it: letting go frees all of it at once, not when the collector runs,
        # which on a service that has lost its clients may be never.
        self.drained = None
        self.conn.parser.close()

    def write(self, frame: bytes) -> None:
        """Send a finished frame; nothing happens on a connection that is ending."""
        if not self.close_sent and not self.disconnected:
            self.transport.write(frame)

    def end(self, code: int, reason: str) -> None:
        """Close with a code; a peer that does not read is cut off."""
        if self.close_sent or self.disconnected:
            return
        self.conn.send_close(code, reason)
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent = True
        self._part()

    def keepalive_timeout(self) -> None:
        super().keepalive_timeout()
        self._part()

    def _part(self) -> None:
        # An orderly close waits for the buffer, which a peer that does not read never empties.
        if self.paused:
            self.transport.abort()
        else:
            self.transport.close()

    def shutdown(self) -> None:
        if self.farewell and self.handshake_complete:
            self.write(self.farewell)
        super().shutdown()


def wire_of(scope: Scope) -> Wire:
    """The connection behind a WebSocket's scope, to be asked for once."""
    found: Wire = scope["extensions"].pop(_EXTENSION)
    return found
