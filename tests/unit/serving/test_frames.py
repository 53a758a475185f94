"""Finished frames: what every client reads the same, and what is compressed at most once."""

from __future__ import annotations

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.serving import frames
from leasehold.serving.frames import Item, packed_frame, text_frame


def read(frame: bytes) -> tuple[bool, bytes]:
    """Whether a frame is compressed, and its payload as RFC 6455 frames it."""
    assert frame[0] in (0x81, 0xC1)
    size = frame[1]
    start = {126: 4, 127: 10}.get(size, 2)
    if start > 2:
        size = int.from_bytes(frame[2:start], "big")
    assert len(frame) == start + size
    return frame[0] == 0xC1, frame[start:]


@pytest.mark.parametrize("size", [0, 1, 125, 126, 127, 65_535, 65_536, 200_000])
def test_a_frame_says_its_length(size: int) -> None:
    """Each of the three forms of a length is used where it must be."""
    assert read(text_frame(b"x" * size)) == (False, b"x" * size)


@given(st.binary(max_size=3000), st.integers(0, 40))
def test_compressed_frames_hold_the_same(noise: bytes, repeats: int) -> None:
    """A compressed frame inflates on its own to the payload, is never longer, and small ones stay as they are."""
    payload = noise + b'"ATOM@OSMOSIS":"1.25",' * repeats
    frame = text_frame(payload)
    packed = packed_frame(frame)
    is_packed, content = read(packed)
    assert len(packed) <= len(frame)
    assert is_packed or packed is frame
    if is_packed:
        assert zlib.decompressobj(wbits=-15).decompress(content + b"\x00\x00\xff\xff") == payload
    if len(frame) < frames.WORTH_PACKING:
        assert not is_packed


def test_an_item_is_compressed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many clients want it compressed, the work is done for the first, and not at all where none does."""
    calls = []

    def counted(frame: bytes) -> bytes:
        calls.append(frame)
        return b"packed"

    monkeypatch.setattr(frames, "packed_frame", counted)
    item = Item(1, b"frame")
    assert calls == []
    assert [item.packed for _ in range(3)] == [b"packed"] * 3
    assert calls == [b"frame"]
