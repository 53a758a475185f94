"""A contract's storage: its own slice, read-only in queries, metered in transactions."""

from __future__ import annotations

import pytest

from leasehold.devnet.state.store import OrderedMap
from leasehold.devnet.wasm.contract import ContractTrap
from leasehold.devnet.wasm.host import GasCosts
from leasehold.devnet.wasm.storage import MeteredStorage, ReadStorage, WriteStorage

ONE, TWO = b"\x01" * 32, b"\x01" * 31 + b"\x02"


class Meter:
    """Adds up what is charged."""

    def __init__(self) -> None:
        self.used = 0

    def charge(self, amount: int, reason: str) -> None:
        self.used += amount


def test_contracts_do_not_see_each_other() -> None:
    """Neighbouring addresses share nothing, also when iterating without an end."""
    store = OrderedMap()
    WriteStorage(store, ONE).set(b"\xff", b"1")
    WriteStorage(store, TWO).set(b"", b"2")
    assert list(ReadStorage(store, ONE).iterate()) == [(b"\xff", b"1")]
    assert list(ReadStorage(store, TWO).iterate()) == [(b"", b"2")]


def test_iteration_bounds_and_order() -> None:
    """The start is included, the end is not; keys come without the contract's prefix."""
    storage = WriteStorage(OrderedMap(), ONE)
    for key in (b"a", b"b", b"c"):
        storage.set(key, key)
    assert [key for key, _ in storage.iterate(b"a", b"c")] == [b"a", b"b"]
    assert [key for key, _ in storage.iterate(b"b", reverse=True)] == [b"c", b"b"]
    storage.delete(b"b")
    assert storage.get(b"b") is None


def test_queries_can_not_write() -> None:
    """Writing through a query's storage aborts."""
    storage = ReadStorage(OrderedMap(), ONE)
    with pytest.raises(ContractTrap):
        storage.set(b"k", b"v")
    with pytest.raises(ContractTrap):
        storage.delete(b"k")


def test_every_access_costs() -> None:
    """Reads, writes, deletions and steps of an iteration are charged by number and size."""
    meter, costs = Meter(), GasCosts(read=1, read_byte=10, write=100, write_byte=1000, delete=7, next=5)
    storage = MeteredStorage(OrderedMap(), ONE, meter, costs)
    for operation, cost in (
        (lambda: storage.set(b"k", b"vv"), 100 + 3 * 1000),
        (lambda: storage.get(b"k"), 1 + 3 * 10),
        (lambda: list(storage.iterate()), 5 + 3 * 10),
        (lambda: storage.delete(b"k"), 7),
    ):
        meter.used = 0
        operation()
        assert meter.used == cost
