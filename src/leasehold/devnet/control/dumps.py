"""A chain put aside under a name, inside its own folder, and taken up again in place."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec

from leasehold.core.errors import Conflict, InvalidInput, NotFound, Unavailable
from leasehold.devnet.chain import GENESIS_FILE, Devnet
from leasehold.devnet.consensus.genesis import Genesis

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_SUFFIX = ".sqlite"
_META = "dump"


class DumpNote(msgspec.Struct):
    """What a dump holds besides the chain's own database: its genesis and the clock's time."""

    genesis: bytes
    clock_ns: int


class Dumps:
    """The dumps of one chain; names only, never paths, so that nothing outside the home can be touched."""

    def __init__(self, devnet: Devnet, folder: Path | None) -> None:
        self._devnet = devnet
        self._folder = folder

    def names(self) -> list[str]:
        folder = self._folder
        if folder is None or not (folder / "dumps").is_dir():
            return []
        return sorted(path.name.removesuffix(_SUFFIX) for path in (folder / "dumps").glob(f"*{_SUFFIX}"))

    def _path(self, name: str) -> Path:
        if _NAME.fullmatch(name) is None:
            raise InvalidInput("a dump's name is letters, digits, - and _, at most 64", field="name")
        if self._folder is None:
            raise Unavailable("this chain lives in memory and has no place for dumps", hint="run it with a home")
        return self._folder / "dumps" / f"{name}{_SUFFIX}"

    def save(self, name: str, clock_ns: int) -> int:
        """Write the chain as it is; returns its size in bytes. A dump of the same name is replaced."""
        path = self._path(name)
        genesis = path.parent.parent / GENESIS_FILE
        path.parent.mkdir(exist_ok=True)
        partial = path.with_suffix(".partial")
        partial.unlink(missing_ok=True)
        store = self._devnet.node.store
        store.flush()
        note = DumpNote(genesis.read_bytes(), clock_ns)
        try:
            with closing(sqlite3.connect(partial, isolation_level=None)) as target:
                store.connection.backup(target)
                target.execute(
                    "INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", (_META, msgspec.msgpack.encode(note))
                )
        except sqlite3.Error as error:
            partial.unlink(missing_ok=True)
            raise Unavailable(f"the dump can't be written: {error}", hint="is the disk full?") from None
        partial.replace(path)
        return path.stat().st_size

    def load(self, name: str) -> int:
        """Make the chain what it was in a dump; returns the clock's time then."""
        path = self._path(name)
        if not path.exists():
            known = ", ".join(self.names()) or "none"
            raise NotFound(f"no dump is named {name}", hint=f"there are: {known}")
        devnet = self._devnet
        node = devnet.node
        try:
            with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, isolation_level=None)) as source:
                row = source.execute("SELECT value FROM meta WHERE name = ?", (_META,)).fetchone()
                if row is None:
                    raise Conflict(f"{name} is no dump of a chain")
                note = msgspec.msgpack.decode(row[0], type=DumpNote)
                genesis = Genesis.parse(note.genesis)
                if genesis.chain_id != node.chain_id:
                    raise Conflict(f"the dump is of chain {genesis.chain_id}, this is {node.chain_id}")
                node.store.flush()
                source.backup(node.store.connection)
        except sqlite3.Error as error:
            raise Unavailable(f"the dump can't be read: {error}") from None
        node.store.reload()
        node.genesis = genesis
        (path.parent.parent / GENESIS_FILE).write_bytes(note.genesis)
        devnet.app.state.reload()
        devnet.app.resume()
        node.resume()
        return note.clock_ns
