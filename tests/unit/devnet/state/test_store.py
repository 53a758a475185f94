"""Ordered state: what overlays show, keep and throw away."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from leasehold.devnet.state.store import OrderedMap, Overlay, Prefixed, prefix_end

KEYS = st.binary(max_size=3)
WRITES = st.dictionaries(KEYS, st.none() | st.binary(max_size=3), max_size=12)


def _filled(pairs: dict[bytes, bytes]) -> OrderedMap:
    base = OrderedMap()
    for key, value in pairs.items():
        base.set(key, value)
    return base


@given(st.dictionaries(KEYS, st.binary(max_size=3), max_size=12), WRITES, KEYS, st.none() | KEYS, st.booleans())
def test_overlay_reads_as_if_its_writes_were_made(
    pairs: dict[bytes, bytes], writes: dict[bytes, bytes | None], start: bytes, end: bytes | None, reverse: bool
) -> None:
    """An overlay iterates and reads exactly like a map to which its writes were applied."""
    overlay = Overlay(_filled(pairs))
    expected = dict(pairs)
    for key, value in writes.items():
        if value is None:
            overlay.delete(key)
            expected.pop(key, None)
        else:
            overlay.set(key, value)
            expected[key] = value
    wanted = sorted((k, v) for k, v in expected.items() if k >= start and (end is None or k < end))
    assert list(overlay.iterate(start, end, reverse=reverse)) == (wanted[::-1] if reverse else wanted)
    assert all(overlay.get(key) == expected.get(key) for key in {*pairs, *writes})


@given(st.dictionaries(KEYS, st.binary(max_size=3), max_size=12), WRITES)
def test_written_overlay_leaves_the_same_map(pairs: dict[bytes, bytes], writes: dict[bytes, bytes | None]) -> None:
    """Writing an overlay to its parent gives what the overlay showed; forgetting it leaves the parent as it was."""
    base = _filled(pairs)
    overlay = Overlay(base)
    for key, value in writes.items():
        if value is None:
            overlay.delete(key)
        else:
            overlay.set(key, value)
    shown = list(overlay.iterate())
    assert list(base.iterate()) == sorted(pairs.items())
    overlay.write(base)
    assert list(base.iterate()) == shown


def test_prefixed_store_hides_the_prefix_and_its_neighbours() -> None:
    """Keys come and go without the prefix; keys of other prefixes are not seen."""
    base = OrderedMap()
    view = Prefixed(base, b"a\xff")
    view.set(b"1", b"x")
    base.set(b"a\xfe", b"before")
    base.set(b"b", b"after")
    assert list(view.iterate()) == [(b"1", b"x")]
    assert base.get(b"a\xff1") == b"x"


def test_prefix_end_of_all_ones_is_open() -> None:
    """A prefix of 0xff bytes has no end."""
    assert prefix_end(b"\xff\xff") is None
    assert prefix_end(b"a\xff") == b"b"
