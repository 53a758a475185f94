"""uvicorn's WebSocket connection with a short cut: finished frames go to the socket itself, and slowness is told.

A frame for thousands costs little more than a system call each: nothing is queued, copied or timed for a peer that
keeps up. Messages may be compressed, each on its own, so that one compressed frame does for everybody and neither side
keeps a window for the other.

It reaches into uvicorn's internals, so it is written for the one version the lock pins, as `connection` is.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from starlette.types import Scope
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.extensions.permessage_deflate import PerMessageDeflate, ServerPerMessageDeflateFactory

from leasehold.serving.frames import WINDOW_BITS

# A message from a client is a few hundred bytes; what is longer closes the connection with 1009.
MESSAGE_BYTES = 64 * 1024
# What a socket does not take makes its connection a slow one: as long as it is not, its transport holds nothing, and
# what is written past the transport is in order.
WRITE_BUFFER = 0
PING_SECONDS = 30.0
PONG_SECONDS = 60.0
_EXTENSION = "leasehold.wire"
_write = os.write
_DEFLATE = ServerPerMessageDeflateFactory(server_no_context_takeover=True, client_no_context_takeover=True)


class Wire(WebSocketsSansIOProtocol):
    """One connection; `drained` is called when a slow peer has caught up, `farewell` is sent before a shutdown.

    `packs` says that the peer takes compressed frames of `frames`; `descriptor` is the number of the socket for as long
    as frames may be written to it past the transport, -1 otherwise.
    """

    # What each frame looks at stands in the object itself: a dictionary more per client is memory that is not at hand.
    __slots__ = ("_close_sent", "descriptor", "disconnected", "drained", "farewell", "packs", "paused", "transport")

    def __init__(self, *args: Any, **keywords: Any) -> None:
        super().__init__(*args, **keywords)
        self.descriptor = -1
        self.packs = False
        self.paused = False
        self.drained: Callable[[], None] | None = None
        self.farewell = b""
        self.conn.available_extensions = [_DEFLATE]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.transport.set_write_buffer_limits(high=WRITE_BUFFER)
        own = transport.get_extra_info("socket")
        if own is not None and transport.get_extra_info("sslcontext") is None:
            self.descriptor = own.fileno()

    def handle_connect(self, event: Any) -> None:
        super().handle_connect(event)
        if not self.close_sent:
            self.scope["extensions"][_EXTENSION] = self  # type: ignore[assignment]
            self.packs = any(
                isinstance(one, PerMessageDeflate) and one.local_max_window_bits >= WINDOW_BITS
                for one in self.conn.extensions
            )

    def pause_writing(self) -> None:
        super().pause_writing()
        self.paused = True

    def resume_writing(self) -> None:
        super().resume_writing()
        self.paused = False
        if self.drained is not None:
            self.drained()

    def connection_lost(self, exc: Exception | None) -> None:
        # The number may soon be another connection's.
        self.descriptor = -1
        super().connection_lost(exc)
        # What knows the connection and is known by it: letting go frees all of it at once, not when the collector runs,
        # which on a service that has lost its clients may be never.
        self.drained = None
        self.conn.parser.close()

    @property
    def close_sent(self) -> bool:
        """Whether the close frame is out; nothing may follow it."""
        return self._close_sent

    @close_sent.setter
    def close_sent(self, sent: bool) -> None:
        self._close_sent = sent
        if sent:
            self.descriptor = -1

    def write(self, frame: bytes) -> None:
        """Send a finished frame; nothing happens on a connection that is ending."""
        send_all(frame, (self,))

    def write_rest(self, frame: bytes, sent: int) -> None:
        """Send what the socket did not take of a frame, or all of it behind what the transport still holds."""
        if not self._close_sent and not self.disconnected:
            self.transport.write(frame[sent:])

    def forget_handshake(self) -> None:
        """Let go of what was asked and answered: with many connections it is a good part of the memory."""
        self.scope["headers"] = []
        del self.request, self.response

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


class Line(Protocol):
    """What frames are sent to: a socket, and who has the rest of a frame that the socket does not take."""

    descriptor: int
    paused: bool

    def write_rest(self, frame: bytes, sent: int) -> None: ...


def send_all(frame: bytes, lines: Sequence[Line]) -> None:
    """Send a finished frame to many, waiting for none.

    First every connection is looked at, then all are written to. A system call turns out what the processor has at hand
    of this process: objects that are looked at between one call and the next are fetched from afar each time.
    """
    size = len(frame)
    descriptors = [-1 if line.paused else line.descriptor for line in lines]
    for number, descriptor in enumerate(descriptors):
        try:
            sent = _write(descriptor, frame) if descriptor >= 0 else 0
        except OSError:
            # The socket is full, or the peer gone: the transport finds out which when it tries.
            sent = 0
        if sent != size:
            lines[number].write_rest(frame, sent)


def wire_of(scope: Scope) -> Wire:
    """The connection behind an accepted WebSocket's scope, to be asked for once; its handshake is forgotten."""
    found: Wire = scope["extensions"].pop(_EXTENSION)
    found.forget_handshake()
    return found
