"""Blocks, results, validator sets and the transaction index in SQLite.

The connection is shared: the application writes its own history through it, inside `transaction()`, so that a block,
its results and the state after it are kept together or not at all. While fast-forwarding, several blocks share one
SQLite transaction (`grouped()`), and with it one fsync.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from struct import pack, unpack

from leasehold.chain.comet.blocks import Block, BlockID, tx_hash
from leasehold.chain.comet.validators import Validator, ValidatorSet, address_of
from leasehold.core.errors import Unavailable
from leasehold.devnet.app.abci import ConsensusParams, Event, FinalizeResult, TxResult
from leasehold.devnet.consensus.recent import Recent
from leasehold.devnet.consensus.records import (
    Codec,
    event_tags,
    pack_params,
    pack_updates,
    unpack_params,
    unpack_updates,
)
from leasehold.storage.queries import load

SQL = load("leasehold.devnet.consensus", "store.sql")

# A transaction's place: height in the upper bits, index within the block in the lower twenty.
INDEX_BITS = 20

MEMBERS, PARAMS, TX_TAGS, BLOCK_TAGS = "members", "params", "tx tags", "block tags"


def tx_place(height: int, index: int) -> int:
    return height << INDEX_BITS | index


def pair_key(tag: str, value: str) -> int:
    """What finds a transaction by one attribute: 64 bits of a digest, so that an entry costs a few bytes."""
    digest = blake2b(f"{tag}\0{value}".encode(errors="surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


@dataclass(frozen=True, slots=True)
class StoredBlock:
    """A block with its identity and encoded size in bytes."""

    id: BlockID
    block: Block
    size: int


@dataclass(frozen=True, slots=True)
class IndexedTx:
    """A delivered transaction and its place."""

    height: int
    index: int
    tx: bytes
    result: TxResult


class BlockStore:
    """The chain on disk; `path` may be `:memory:`. Used from one thread; searches have readers of their own."""

    def __init__(self, path: Path | str, *, durable: bool = True) -> None:
        self.path = str(path)
        try:
            self.connection = sqlite3.connect(self.path, isolation_level=None)
            self.connection.execute("PRAGMA journal_mode = WAL")
            self.connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'OFF'}")
            self.connection.execute("PRAGMA cache_size = -32768")
            self.connection.executescript(SQL.schema)
        except sqlite3.Error as error:
            raise Unavailable(f"can't open the block store: {error}", hint=f"check {self.path} or remove it") from None
        self._codec = Codec()
        self._interned: dict[tuple[str, bytes], int] = {}
        self._group = 0
        self._pending = 0
        self._inside = False
        self.height = 0
        self.base = 0
        self._reload()
        self.block = Recent(512, self._load_block)
        self.validators = Recent(512, self._load_validators)
        self.results = Recent(64, self._load_results)
        self._value = Recent(256, self._load_value)

    def close(self) -> None:
        self.flush()
        self.connection.close()

    def _reload(self) -> None:
        self.height = self._number(SQL.last_height)
        self.base = self._number(SQL.first_height)

    def _number(self, statement: str) -> int:
        row = self.connection.execute(statement).fetchone()
        return int(row[0] or 0)

    # Transactions

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Everything written inside is kept together; a transaction inside another joins it."""
        if self._inside:
            yield self.connection
            return
        if not self.connection.in_transaction:
            self.connection.execute("BEGIN IMMEDIATE")
        self.connection.execute("SAVEPOINT block")
        self._inside = True
        try:
            yield self.connection
        except BaseException:
            self.connection.execute("ROLLBACK TO block")
            self.connection.execute("RELEASE block")
            self._inside = False
            self._forget()
            if not self._group:
                self.connection.execute("ROLLBACK")
            raise
        self._inside = False
        self.connection.execute("RELEASE block")
        self._pending += 1
        if self._pending >= self._group:
            self.flush()

    @contextmanager
    def grouped(self, blocks: int) -> Iterator[None]:
        """Let up to `blocks` transactions share one fsync; a crash inside loses at most those, whole."""
        previous, self._group = self._group, max(blocks, 1)
        try:
            yield
        finally:
            self._group = previous
            self.flush()

    @property
    def is_grouping(self) -> bool:
        return self._group > 0

    def flush(self) -> None:
        """Make what was written durable and visible to other connections."""
        if self.connection.in_transaction and not self._inside:
            self.connection.execute("COMMIT")
        self._pending = 0

    def _forget(self) -> None:
        self._interned.clear()
        self._forget_cached()
        self._reload()

    def _forget_cached(self) -> None:
        self.block.clear()
        self.validators.clear()
        self.results.clear()
        self._value.clear()

    # Writing

    def append(self, stored: StoredBlock, encoded: bytes, results: FinalizeResult, before: ConsensusParams) -> None:
        """Add a block with its results and index its events; call inside `transaction()`."""
        header = stored.block.header
        height = header.height
        execute = self.connection.execute
        identity = stored.id
        execute(SQL.add_block, (height, identity.hash, identity.parts_total, identity.parts_hash, encoded))
        execute(
            SQL.add_results,
            (
                height,
                results.app_hash,
                self._intern(PARAMS, pack_params(before)),
                self._intern(PARAMS, pack_params(results.params)),
                pack_updates(results.validator_updates),
            ),
        )
        tags = self._intern_tags(BLOCK_TAGS, event_tags(results.events))
        execute(SQL.add_block_index, (height, tags, self._codec.pack_events(results.events)))
        if results.tx_results:
            self._append_txs(height, stored.block.txs, results.tx_results)
        self.height = height
        if not self.base:
            self.base = height
        self.block.put(height, stored)
        self.results.put(height, results)

    def _append_txs(self, height: int, txs: Sequence[bytes], results: Sequence[TxResult]) -> None:
        rows: list[tuple[int, bytes, int, int, bytes, bytes]] = []
        pairs: list[tuple[int, int]] = []
        for index, (tx, result) in enumerate(zip(txs, results, strict=True)):
            place = tx_place(height, index)
            tags = self._intern_tags(TX_TAGS, event_tags(result.events))
            rows.append((place, tx_hash(tx), int(result.code != 0), tags, tx, self._codec.pack_result(result)))
            pairs.extend((key, place) for key in _pair_keys(result.events))
        self.connection.executemany(SQL.add_txs, rows)
        self.connection.executemany(SQL.add_pairs, pairs)

    def put_validators(self, height: int, validators: ValidatorSet) -> None:
        """Keep the set that decides a height, priorities included."""
        listed = validators.validators
        members = b"".join(pack(">32sq", validator.public_key, validator.power) for validator in listed)
        priorities = pack(f">{len(listed)}q", *(validator.priority for validator in listed))
        proposer = validators.index_of(validators.proposer.address) if validators.proposer else -1
        self.connection.execute(SQL.add_validators, (height, self._intern(MEMBERS, members), priorities, proposer))

    def put_meta(self, name: str, value: bytes) -> None:
        self.connection.execute(SQL.write_meta, (name, value))

    def meta(self, name: str) -> bytes | None:
        row = self.connection.execute(SQL.read_meta, (name,)).fetchone()
        return None if row is None else bytes(row[0])

    def prune(self, base: int) -> None:
        """Forget blocks below `base`; transactions and events stay searchable."""
        if base <= self.base:
            return
        with self.transaction():
            self._script(SQL.prune, {"height": base})
            self.base = base
            self._forget_cached()

    def hide(self, below: int) -> None:
        """Look as if blocks below a height had been pruned; 0 shows them again."""
        for recent in (self.block, self.validators, self.results):
            recent.floor = below

    def reload(self) -> None:
        """Take note of contents that were put here from outside."""
        self._forget()

    def revert(self, height: int) -> None:
        """Forget everything after a height; costs what is forgotten, not what is kept."""
        with self.transaction():
            for place, result in self.connection.execute(SQL.results_from, (tx_place(height + 1, 0),)).fetchall():
                keys = _pair_keys(self._codec.unpack_result(result).events)
                self.connection.executemany(SQL.remove_pairs, [(key, place) for key in keys])
            self._script(SQL.revert, {"height": height, "tx": tx_place(height + 1, 0)})
            self._forget()

    def _script(self, statements: str, parameters: dict[str, int]) -> None:
        for statement in statements.split(";"):
            names = {name: value for name, value in parameters.items() if f":{name}" in statement}
            self.connection.execute(statement, names)

    def _intern_tags(self, kind: str, tags: set[str]) -> int:
        return self._intern(kind, "\n".join(sorted(tags)).encode(errors="surrogatepass"))

    def _intern(self, kind: str, value: bytes) -> int:
        known = self._interned.get((kind, value))
        if known is not None:
            return known
        row = self.connection.execute(SQL.interned_id, (kind, value)).fetchone()
        if row is None:
            identity = self.connection.execute(SQL.intern, (kind, value)).lastrowid
        else:
            identity = row[0]
        if len(self._interned) >= 4096:
            self._interned.clear()
        self._interned[kind, value] = int(identity or 0)
        return int(identity or 0)

    # Reading

    def _load_value(self, identity: int) -> bytes:
        return bytes(self.connection.execute(SQL.interned_value, (identity,)).fetchone()[0])

    def _interned_value(self, identity: int) -> bytes:
        return self._value(identity) or b""

    def _load_block(self, height: int) -> StoredBlock | None:
        row = self.connection.execute(SQL.block, (height,)).fetchone()
        if row is None:
            return None
        return StoredBlock(BlockID(row[0], row[1], row[2]), Block.decode(row[3]), len(row[3]))

    def height_of(self, block_hash: bytes) -> int | None:
        """Height of the block with a hash, if it is kept."""
        row = self.connection.execute(SQL.height_of_hash, (block_hash,)).fetchone()
        return None if row is None else int(row[0])

    def _load_results(self, height: int) -> FinalizeResult | None:
        row = self.connection.execute(SQL.results, (height,)).fetchone()
        if row is None:
            return None
        events = self.connection.execute(SQL.block_events, (height,)).fetchone()
        span = (tx_place(height, 0), tx_place(height + 1, 0) - 1)
        return FinalizeResult(
            events=self._codec.unpack_events(events[0]),
            tx_results=[
                self._codec.unpack_result(result) for (result,) in self.connection.execute(SQL.tx_results, span)
            ],
            validator_updates=unpack_updates(row[3]),
            params=unpack_params(self._interned_value(row[2])),
            app_hash=row[0],
        )

    def params(self, height: int) -> ConsensusParams | None:
        """Parameters in effect at a height, up to one after the last."""
        row = self.connection.execute(SQL.results, (min(height, self.height),)).fetchone()
        return None if row is None else unpack_params(self._interned_value(row[1] if height <= self.height else row[2]))

    def _load_validators(self, height: int) -> ValidatorSet | None:
        row = self.connection.execute(SQL.validators, (height,)).fetchone()
        if row is None:
            return None
        members = self._interned_value(row[0])
        priorities = unpack(f">{len(members) // 40}q", row[1])
        listed = []
        for number, priority in enumerate(priorities):
            key, power = unpack(">32sq", members[number * 40 : number * 40 + 40])
            listed.append(Validator(address_of(key), key, power, priority))
        return ValidatorSet(listed, listed[row[2]] if row[2] >= 0 else None)

    def tx(self, digest: bytes) -> IndexedTx | None:
        """The delivered transaction with a hash."""
        return self._indexed(self.connection.execute(SQL.tx_by_hash, (digest,)).fetchone())

    def tx_at(self, place: int) -> IndexedTx | None:
        return self._indexed(self.connection.execute(SQL.tx_by_id, (place,)).fetchone())

    def _indexed(self, row: tuple[int, bytes, bytes] | None) -> IndexedTx | None:
        if row is None:
            return None
        height, index = divmod(row[0], 1 << INDEX_BITS)
        return IndexedTx(height, index, row[1], self._codec.unpack_result(row[2]))


def _pair_keys(events: Sequence[Event]) -> set[int]:
    # The same senders, actions and denoms come again and again, in one transaction and from one to the next.
    pairs = {(event.type, key, value) for event in events if event.type for key, value in event.attributes if key}
    return {_known_key(kind, key, value) for kind, key, value in pairs}


@lru_cache(maxsize=16_384)
def _known_key(kind: str, key: str, value: str) -> int:
    return pair_key(f"{kind}.{key}", value)
