"""Versioned state: every height stays readable, and revert undoes exactly."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leasehold.devnet.state.versions import History, MissingHeight, VersionedState

KEYS = st.binary(min_size=1, max_size=2)
BLOCKS = st.lists(st.dictionaries(KEYS, st.none() | st.binary(max_size=2), max_size=5), min_size=1, max_size=8)


def _commit(state: VersionedState, height: int, writes: dict[bytes, bytes | None]) -> bytes:
    prepared = state.prepare(height, writes)
    state.commit(prepared)
    return prepared.app_hash


def _after(blocks: list[dict[bytes, bytes | None]], height: int) -> list[tuple[bytes, bytes]]:
    state: dict[bytes, bytes] = {}
    for writes in blocks[:height]:
        for key, value in writes.items():
            if value is None:
                state.pop(key, None)
            else:
                state[key] = value
    return sorted(state.items())


@settings(max_examples=60)
@given(BLOCKS, st.integers(1, 4))
def test_every_height_reads_as_it_was(blocks: list[dict[bytes, bytes | None]], recent: int) -> None:
    """Heights within the undo records and older ones from the history give the state after that block."""
    state = VersionedState(History(sqlite3.connect(":memory:")), recent=recent)
    for height, writes in enumerate(blocks, 1):
        _commit(state, height, writes)
        # Views taken between commits must follow later commits.
        state.view(max(height - 1, 0) or height)
    for height in range(1, len(blocks) + 1):
        view = state.view(height)
        expected = _after(blocks, height)
        assert list(view.iterate()) == expected
        assert all(view.get(key) == dict(expected).get(key) for writes in blocks for key in writes)


@settings(max_examples=60)
@given(BLOCKS, st.integers(1, 4), st.data())
def test_revert_restores_state_and_hash(
    blocks: list[dict[bytes, bytes | None]], recent: int, data: st.DataObject
) -> None:
    """After a revert the head, its hash and what follows are as if the later blocks had never been."""
    state = VersionedState(History(sqlite3.connect(":memory:")), recent=recent)
    hashes = [_commit(state, height, writes) for height, writes in enumerate(blocks, 1)]
    target = data.draw(st.integers(1, len(blocks)))
    state.revert(target)
    assert list(state.head.iterate()) == _after(blocks, target)
    assert state.app_hash == hashes[target - 1]
    again = [_commit(state, height, writes) for height, writes in enumerate(blocks[target:], target + 1)]
    assert again == hashes[target:]


def test_state_survives_a_restart() -> None:
    """A state opened on the same history continues at the last committed height and hash."""
    connection = sqlite3.connect(":memory:")
    first = VersionedState(History(connection))
    _commit(first, 1, {b"a": b"1", b"b": b"2"})
    app_hash = _commit(first, 2, {b"a": None})
    second = VersionedState(History(connection))
    assert (second.height, second.app_hash) == (2, app_hash)
    assert list(second.head.iterate()) == [(b"b", b"2")]


def test_heights_outside_the_window_are_missing() -> None:
    """Future heights and those older than the pruning window are refused."""
    state = VersionedState(History(sqlite3.connect(":memory:")), window=2)
    for height in range(1, 6):
        _commit(state, height, {b"k": str(height).encode()})
    assert state.view(4).get(b"k") == b"4"
    for height in (3, 6):
        with pytest.raises(MissingHeight):
            state.view(height)
