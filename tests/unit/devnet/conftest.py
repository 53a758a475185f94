"""A tiny key-value application behind the ABCI boundary, and nodes that run it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from leasehold.core.clock import ManualClock
from leasehold.devnet.app.abci import (
    AppInfo,
    ConsensusParams,
    Event,
    FinalizeBlock,
    FinalizeResult,
    InitChain,
    InitChainResult,
    QueryResult,
    TxResult,
    ValidatorUpdate,
)
from leasehold.devnet.consensus.blockstore import BlockStore
from leasehold.devnet.consensus.genesis import Genesis
from leasehold.devnet.consensus.keys import ValidatorKeys
from leasehold.devnet.consensus.node import Node

GENESIS_NS = 1_700_000_000_123_456_780


class KeyValueApp:
    """Transactions `key=value`; `fail…` is delivered with code 7, `bad…` rejected, `power:<hex key>:<n>` an update.

    Its state lives in memory, or in the block store's database when given the connection.
    """

    def __init__(self, connection: sqlite3.Connection | None = None) -> None:
        self.connection = connection
        self.values: dict[str, str] = {}
        self.height = 0
        self.app_hash = sha256(b"").digest()
        self.requests: list[FinalizeBlock] = []
        self._staged: tuple[int, dict[str, str], bytes] | None = None
        if connection is not None:
            connection.execute("CREATE TABLE IF NOT EXISTS kv (key TEXT, height INTEGER, value TEXT)")
            connection.execute("CREATE TABLE IF NOT EXISTS kv_head (height INTEGER PRIMARY KEY, hash BLOB)")
            for key, value in connection.execute("SELECT key, value FROM kv ORDER BY height"):
                self.values[key] = value
            row = connection.execute("SELECT height, hash FROM kv_head ORDER BY height DESC LIMIT 1").fetchone()
            if row is not None:
                self.height, self.app_hash = row

    def info(self) -> AppInfo:
        return AppInfo("kv", "1.2.3", 0, self.height, self.app_hash)

    def init_chain(self, request: InitChain) -> InitChainResult:
        return InitChainResult(request.validators, self.app_hash, request.params)

    def check_tx(self, tx: bytes, *, recheck: bool = False) -> TxResult:
        text = tx.decode(errors="replace")
        if text.startswith("bad") or (recheck and text.split("=")[0] in self.values):
            return TxResult(code=5, log=f"refused {text[:20]}", codespace="kv", gas_wanted=10, gas_used=1)
        return TxResult(data=b"", gas_wanted=10, gas_used=2)

    def finalize_block(self, request: FinalizeBlock) -> FinalizeResult:
        self.requests.append(request)
        written: dict[str, str] = {}
        updates: list[ValidatorUpdate] = []
        results = [self._execute(tx.decode(errors="replace"), written, updates) for tx in request.txs]
        digest = sha256(self.app_hash + repr(sorted(written.items())).encode()).digest()
        self._staged = (request.height, written, digest)
        events = [Event("mint", [("denom", "unls"), ("amount", str(request.height))])]
        if request.height % 5 == 0:
            events.append(Event("rare", [("fifth", "yes")]))
        return FinalizeResult(events, results, updates, ConsensusParams(), digest)

    def _execute(self, text: str, written: dict[str, str], updates: list[ValidatorUpdate]) -> TxResult:
        if text.startswith("fail"):
            events = [Event("tx", [("fee", "1unls")])]
            return TxResult(7, None, "it failed", "", 10, 3, events, "kv")
        if text.startswith("power:"):
            _, key, power = text.split(":")
            updates.append(ValidatorUpdate(bytes.fromhex(key), int(power)))
            return TxResult(data=b"", gas_wanted=10, gas_used=4)
        key, _, value = text.partition("=")
        written[key] = value
        events = [
            Event("tx", [("fee", "1unls")]),
            Event("set", [("key", key), ("value", value)]),
            Event("set", [("key", "other"), ("value", "<&>")]),
        ]
        return TxResult(0, b"done", "", "", 10, 5, events)

    def commit(self) -> None:
        assert self._staged is not None
        self.height, written, self.app_hash = self._staged
        self.values.update(written)
        if self.connection is not None:
            rows = [(key, self.height, value) for key, value in written.items()]
            self.connection.executemany("INSERT INTO kv VALUES (?, ?, ?)", rows)
            self.connection.execute("INSERT OR REPLACE INTO kv_head VALUES (?, ?)", (self.height, self.app_hash))

    def query(self, path: str, data: bytes, height: int, prove: bool) -> QueryResult:
        if path != "/get":
            return QueryResult(code=6, log="unknown query path: unknown request", codespace="sdk")
        value = self.values.get(data.decode(errors="replace"))
        return QueryResult(value=None if value is None else value.encode(), height=height or self.height)


NodeFactory = Callable[..., Node]


@pytest.fixture
def make_node(tmp_path: Path) -> Iterator[NodeFactory]:
    """Builds started nodes on a database of the test's own; the same folder continues the same chain."""
    opened: list[BlockStore] = []

    def make(
        *, validators: int = 1, owned: int | None = None, persistent: bool = True, start: bool = True, **options: object
    ) -> Node:
        store = BlockStore(tmp_path / "chain.db", durable=False)
        opened.append(store)
        everyone = ValidatorKeys.derive(1, validators)
        genesis = Genesis(
            "test-1",
            GENESIS_NS,
            b'{"a":"<b>"}',
            validators=tuple(ValidatorUpdate(key, 100 - at) for at, key in enumerate(everyone.public_keys())),
        )
        keys = everyone if owned is None else ValidatorKeys.derive(1, owned)
        app = KeyValueApp(store.connection if persistent else None)
        node = Node(app, store, genesis, clock=ManualClock(GENESIS_NS), keys=keys, **options)  # type: ignore[arg-type]
        if start:
            node.start()
        return node

    yield make
    for store in opened:
        store.close()
