"""The block store: transactions, grouping, what is remembered and what is forgotten."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from leasehold.chain.comet.blocks import tx_hash
from leasehold.chain.comet.query import parse
from leasehold.core.errors import Unavailable
from leasehold.devnet.app.abci import ConsensusParams, Event, TxResult, ValidatorUpdate
from leasehold.devnet.consensus.blockstore import BlockStore, pair_key, tx_place
from leasehold.devnet.consensus.node import Node
from leasehold.devnet.consensus.records import (
    Codec,
    pack_params,
    pack_updates,
    unpack_params,
    unpack_updates,
)
from leasehold.devnet.consensus.search import Searcher

SECOND = 1_000_000_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[BlockStore]:
    store = BlockStore(tmp_path / "chain?#.db", durable=False)
    yield store
    store.close()


def visible(store: BlockStore, name: str) -> bool:
    """Whether another connection sees a fact."""
    other = sqlite3.connect(store.path)
    try:
        return other.execute("SELECT count(*) FROM meta WHERE name = ?", (name,)).fetchone() == (1,)
    finally:
        other.close()


def fail_writing(store: BlockStore, name: str) -> None:
    with store.transaction():
        store.put_meta(name, b"1")
        raise RuntimeError


def test_a_transaction_is_kept_whole_or_not_at_all(store: BlockStore) -> None:
    """What is written inside becomes visible at its end; an error takes all of it back, joined ones included."""
    with store.transaction():
        store.put_meta("a", b"1")
        with store.transaction() as connection:
            connection.execute("INSERT INTO meta VALUES ('b', x'00')")
        assert not visible(store, "a")
    assert visible(store, "a")
    assert visible(store, "b")
    with pytest.raises(RuntimeError):
        fail_writing(store, "c")
    assert store.meta("c") is None
    assert not store.connection.in_transaction


def test_grouped_transactions_share_a_commit(store: BlockStore) -> None:
    """A group commits every so many transactions and at its end; an error in one takes back only that one."""
    with store.grouped(3):
        for name in "abcd":
            with store.transaction():
                store.put_meta(name, b"1")
        assert store.is_grouping
        assert [visible(store, name) for name in "abcd"] == [True, True, True, False]
        with pytest.raises(RuntimeError):
            fail_writing(store, "e")
        with store.transaction():
            store.put_meta("f", b"1")
        store.flush()
        assert visible(store, "d")
    assert not store.is_grouping
    assert [visible(store, name) for name in "def"] == [True, False, True]


def test_a_database_that_is_none_is_told(tmp_path: Path) -> None:
    """A file that is no database is refused with what to do."""
    path = tmp_path / "chain.db"
    path.write_bytes(b"not a database, not at all" * 100)
    with pytest.raises(Unavailable, match="can't open the block store"):
        BlockStore(path)


def test_results_survive_the_store(make_node: Callable[..., Node]) -> None:
    """Results, events, updates and parameters read back from disk are those the application gave."""
    node = make_node(validators=2)
    key = node.keys.public_keys()[0]
    sealed = node.seal(txs=[b"a=1", b"fail", f"power:{key.hex()}:9".encode()])
    node.store._forget()
    read = node.store.results(1)
    assert read is not None
    assert read is not sealed.results
    assert read == sealed.results
    assert node.store.params(1) == node.genesis.params
    assert node.store.params(2) == read.params
    assert node.store.params(5) == read.params


def test_of_two_deliveries_the_good_one_is_found(make_node: Callable[..., Node]) -> None:
    """The same bytes delivered twice: success is shown before failure, the newest before older ones."""
    node = make_node(persistent=False)
    node.seal(txs=[b"a=1"])
    node.seal(txs=[b"a=1"])
    digest = tx_hash(b"a=1")
    found = node.store.tx(digest)
    assert found is not None
    assert found.height == 2
    node.store.connection.execute("UPDATE txs SET failed = 1 WHERE id = ?", (tx_place(2, 0),))
    found = node.store.tx(digest)
    assert found is not None
    assert found.height == 1


def test_searchers_read_paths_with_odd_names(store: BlockStore) -> None:
    """A path may contain what a URI gives a meaning to."""
    searcher = Searcher.open(store.path)
    assert searcher.txs(parse("tx.height>0")) == []
    searcher.close()


def test_records_round_trip() -> None:
    """Small and large records, absent and empty data, come back as they were."""
    codec = Codec()
    events = [Event("a", [("k", "v" * number), ("", "")]) for number in range(40)]
    for result in (TxResult(), TxResult(5, b"", "log", "info", 1, 2, events, "sdk"), TxResult(data=b"x")):
        assert codec.unpack_result(codec.pack_result(result)) == result
    assert codec.unpack_events(codec.pack_events(events)) == events
    params = ConsensusParams(1, -1, 2, 3, 4, ("ed25519", "x"), 5, 6)
    assert unpack_params(pack_params(params)) == params
    updates = [ValidatorUpdate(b"\1" * 32, 0)]
    assert unpack_updates(pack_updates(updates)) == updates
    assert pack_updates([]) is None
    assert unpack_updates(None) == []


def test_pair_keys_keep_tag_and_value_apart() -> None:
    """Moving a character from tag to value gives another key, and keys fit SQLite's integers."""
    keys = {pair_key("a.b", "c"), pair_key("a.bc", ""), pair_key("a", ".bc")}
    assert len(keys) == 3
    assert all(-(1 << 63) <= key < 1 << 63 for key in keys)
