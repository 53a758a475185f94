"""The head of the state, how it came to be, and how it was at every height.

Commit applies a block's writes to the head and keeps what they replaced. Recent heights are read by laying those undo
records over the head; older ones come from the history in SQLite; revert replays undo records. The app hash chains
each block's sorted writes.
"""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256

from leasehold.core.errors import NotFound
from leasehold.devnet.state.store import OrderedMap, Overlay, Reader

Writes = dict[bytes, bytes | None]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS state (
  key BLOB NOT NULL, height INTEGER NOT NULL, value BLOB, PRIMARY KEY (key, height)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS state_hash (height INTEGER PRIMARY KEY, hash BLOB NOT NULL);
"""


class MissingHeight(NotFound):
    """State of a height that is not there: not reached yet, or pruned."""


def chain_hash(previous: bytes, writes: Writes) -> bytes:
    """App hash after a block: the previous hash with the block's writes in key order."""
    parts = [previous]
    for key in sorted(writes):
        value = writes[key]
        if value is None:
            parts += (len(key).to_bytes(4, "big"), key, b"\x00")
        else:
            parts += (len(key).to_bytes(4, "big"), key, b"\x01", len(value).to_bytes(8, "big"), value)
    return sha256(b"".join(parts)).digest()


class History:
    """Every (key, height, value) ever committed, in SQLite; the caller owns the transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        connection.executescript(_SCHEMA)

    def append(self, height: int, writes: Writes, app_hash: bytes) -> None:
        self._connection.executemany(
            "INSERT OR REPLACE INTO state (key, height, value) VALUES (?, ?, ?)",
            [(key, height, value) for key, value in writes.items()],
        )
        self._connection.execute("INSERT OR REPLACE INTO state_hash VALUES (?, ?)", (height, app_hash))

    def truncate(self, height: int, written: Iterable[tuple[bytes, int]] | None = None) -> None:
        """Forget everything after a height; knowing what was written then spares reading the whole table."""
        if written is None:
            self._connection.execute("DELETE FROM state WHERE height > ?", (height,))
        else:
            self._connection.executemany("DELETE FROM state WHERE key = ? AND height = ?", written)
        self._connection.execute("DELETE FROM state_hash WHERE height > ?", (height,))

    def last(self) -> tuple[int, bytes] | None:
        """Last height with its app hash."""
        row = self._connection.execute("SELECT height, hash FROM state_hash ORDER BY height DESC LIMIT 1").fetchone()
        return None if row is None else (row[0], row[1])

    def hash_at(self, height: int) -> bytes:
        row = self._connection.execute("SELECT hash FROM state_hash WHERE height = ?", (height,)).fetchone()
        if row is None:
            raise MissingHeight(f"no app hash at height {height}")
        return bytes(row[0])

    def get(self, key: bytes, height: int) -> bytes | None:
        row = self._connection.execute(
            "SELECT value FROM state WHERE key = ? AND height <= ? ORDER BY height DESC LIMIT 1", (key, height)
        ).fetchone()
        return None if row is None else row[0]

    def iterate(self, start: bytes, end: bytes | None, height: int, *, reverse: bool) -> Iterator[tuple[bytes, bytes]]:
        bound = "" if end is None else "AND key < ?"
        order = "DESC" if reverse else "ASC"
        rows = self._connection.execute(
            f"SELECT key, value, max(height) FROM state WHERE key >= ? {bound} AND height <= ? "
            f"GROUP BY key ORDER BY key {order}",
            (start, height) if end is None else (start, end, height),
        )
        for key, value, _ in rows:
            if value is not None:
                yield key, value


class PastView:
    """The state at a height old enough to be read from the history."""

    __slots__ = ("_height", "_history")

    def __init__(self, history: History, height: int) -> None:
        self._history = history
        self._height = height

    def get(self, key: bytes) -> bytes | None:
        return self._history.get(key, self._height)

    def iterate(
        self, start: bytes = b"", end: bytes | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        return self._history.iterate(start, end, self._height, reverse=reverse)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A block's writes that change something, what they replace, and the app hash after them."""

    height: int
    writes: Writes
    replaced: Writes
    app_hash: bytes


class VersionedState:
    """The head with its undo records, and views of the past."""

    def __init__(self, history: History | None = None, *, recent: int = 256, window: int = 0) -> None:
        self.head = OrderedMap()
        self.height = 0
        self.app_hash = sha256(b"").digest()
        self._history = history
        self._recent = recent
        self._window = window
        self._undo: OrderedDict[int, tuple[Writes, bytes]] = OrderedDict()
        # The lowest height somebody may want to go back to soon; its undo records are kept however old.
        self.pinned: int | None = None
        # Heights below look pruned.
        self.floor = 0
        self._views: dict[int, Overlay] = {}
        if history is not None and (last := history.last()) is not None:
            self.height, self.app_hash = last
            self.head.load(history.iterate(b"", None, self.height, reverse=False))

    @property
    def first_height(self) -> int:
        """Lowest height whose state can be read."""
        if self._window:
            return max(1, self.height - self._window + 1, self.floor)
        if self._history is None:
            return max(0, self.height - len(self._undo), self.floor)
        return self.floor

    def prepare(self, height: int, writes: Writes) -> Prepared:
        """What a block's writes come to, with the app hash after them; nothing is applied yet."""
        read = self.head.get
        replaced = {key: old for key, value in writes.items() if (old := read(key)) != value}
        effective = {key: writes[key] for key in replaced}
        return Prepared(height, effective, replaced, chain_hash(self.app_hash, effective))

    def commit(self, block: Prepared) -> None:
        """Apply a prepared block; the caller commits the SQLite transaction."""
        head, undo = self.head, block.replaced
        for key, value in block.writes.items():
            if value is None:
                head.delete(key)
            else:
                head.set(key, value)
        self._undo[block.height] = (undo, self.app_hash)
        self.height, self.app_hash = block.height, block.app_hash
        while len(self._undo) > self._recent and (self.pinned is None or next(iter(self._undo)) <= self.pinned):
            oldest, _ = self._undo.popitem(last=False)
            self._views.pop(oldest - 1, None)
        for view in self._views.values():
            for key, old in undo.items():
                view.writes.setdefault(key, old)
        if self._history is not None:
            self._history.append(block.height, block.writes, block.app_hash)

    def view(self, height: int) -> Reader:
        """The state as it was at the end of a block."""
        if height == self.height:
            return self.head
        if height > self.height or height < self.first_height:
            raise MissingHeight(f"state of height {height} is not available")
        if (cached := self._views.get(height)) is not None:
            return cached
        if height + 1 in self._undo:
            overlay = Overlay(self.head)
            for past in range(self.height, height, -1):
                overlay.writes.update(self._undo[past][0])
            if len(self._views) >= 16:
                self._views.pop(next(iter(self._views)))
            self._views[height] = overlay
            return overlay
        if self._history is None:
            raise MissingHeight(f"state of height {height} is not kept")
        return PastView(self._history, height)

    def reload(self) -> None:
        """Take the head from the history anew, after its contents were put there from outside."""
        last = None if self._history is None else self._history.last()
        if self._history is None or last is None:
            raise MissingHeight("there is no history to load the state from")
        self.height, self.app_hash = last
        self.head = OrderedMap()
        self.head.load(self._history.iterate(b"", None, self.height, reverse=False))
        self._undo.clear()
        self._views.clear()

    def revert(self, height: int) -> None:
        """Make a past height the head again; the caller commits the SQLite transaction."""
        if height > self.height:
            raise MissingHeight(f"can't revert to height {height}, the head is {self.height}")
        self._views.clear()
        written: list[tuple[bytes, int]] = []
        known = True
        while self.height > height and self.height in self._undo:
            undo, previous = self._undo.pop(self.height)
            written += [(key, self.height) for key in undo]
            for key, old in undo.items():
                if old is None:
                    self.head.delete(key)
                else:
                    self.head.set(key, old)
            self.app_hash = previous
            self.height -= 1
        if self.height > height:
            if self._history is None:
                raise MissingHeight(f"height {height} is beyond the undo records")
            self.head = OrderedMap()
            self.head.load(self._history.iterate(b"", None, height, reverse=False))
            self.height, self.app_hash = height, self._history.hash_at(height)
            self._undo.clear()
            known = False
        if self._history is not None:
            self._history.truncate(height, written if known else None)
