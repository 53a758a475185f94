"""WebSocket frames as finished bytes: the same for every client, compressed at most once for those that want it."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

# Below this, what compression saves is less than what an acknowledgement of it costs.
WORTH_PACKING = 512
# The window that every peer which sets no smaller one can read.
WINDOW_BITS = 15
_TEXT, _PACKED_TEXT = 0x81, 0xC1
_TAIL = b"\x00\x00\xff\xff"


def text_frame(payload: bytes) -> bytes:
    """An unmasked text frame."""
    return _frame(_TEXT, payload)


def packed_frame(frame: bytes) -> bytes:
    """A text frame with its payload deflated on its own (RFC 7692); the frame itself where that saves nothing."""
    if len(frame) < WORTH_PACKING:
        return frame
    squeeze = zlib.compressobj(wbits=-WINDOW_BITS)
    squeezed = squeeze.compress(memoryview(frame)[_head_size(frame) :]) + squeeze.flush(zlib.Z_SYNC_FLUSH)
    found = _frame(_PACKED_TEXT, squeezed.removesuffix(_TAIL))
    return found if len(found) < len(frame) else frame


def _frame(first: int, payload: bytes) -> bytes:
    size = len(payload)
    if size < 126:
        head = bytes((first, size))
    elif size < 65_536:
        head = bytes((first, 126)) + size.to_bytes(2, "big")
    else:
        head = bytes((first, 127)) + size.to_bytes(8, "big")
    return head + payload


def _head_size(frame: bytes) -> int:
    return {126: 4, 127: 10}.get(frame[1], 2)


@dataclass(slots=True, eq=False)
class Item:
    """A finished frame with its place in its topic's order; of `latest_only` ones a newer replaces one that waits."""

    seq: int
    frame: bytes
    latest_only: bool = False
    _packed: bytes | None = None

    @property
    def packed(self) -> bytes:
        """The frame for clients that take compressed ones, made when the first of them needs it."""
        if self._packed is None:
            self._packed = packed_frame(self.frame)
        return self._packed
