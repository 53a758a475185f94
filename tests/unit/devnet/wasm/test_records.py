"""Codes, contracts, histories and listings in state."""

from __future__ import annotations

from leasehold.devnet.state.store import OrderedMap
from leasehold.devnet.wasm import records
from leasehold.devnet.wasm.host import Block

FIRST, SECOND = b"\x01" * 32, b"\x02" * 32


def test_codes_are_numbered_from_one() -> None:
    """Ids grow by one and are listed in order, beyond what one digit orders."""
    store = OrderedMap()
    assert records.last_code(store) == 0
    for number in range(1, 13):
        assert records.add_code(store, "chain1a", bytes([number]) * 32) == number
    assert [number for number, _ in records.codes(store)] == list(range(1, 13))
    assert records.code(store, 12) == records.CodeRecord(b"\x0c" * 32, "chain1a")
    assert records.code(store, 13) is None
    assert records.code(store, -1) is None
    assert records.code(store, 2**64) is None


def test_history_and_listing_follow_migrations() -> None:
    """A migrated contract moves to the end of its new code's listing; its history keeps everything."""
    store = OrderedMap()
    records.add_history(store, FIRST, "init", 1, Block(5, 0, "c", 0), b"{}")
    records.add_history(store, SECOND, "init", 2, Block(6, 0, "c", 3), b"{}")
    records.add_history(store, FIRST, "migrate", 2, Block(7, 0, "c", 1), b"[]")
    assert list(records.by_code(store, 1)) == []
    assert list(records.by_code(store, 2)) == [SECOND, FIRST]
    assert [(entry.operation, entry.code_id, entry.msg) for entry in records.history(store, FIRST)] == [
        ("init", 1, b"{}"),
        ("migrate", 2, b"[]"),
    ]


def test_creators_list_their_contracts_in_order() -> None:
    """Accounts whose bytes start alike don't see each other's contracts."""
    store = OrderedMap()
    short, long = b"\x09" * 20, b"\x09" * 32
    records.add_creation(store, short, SECOND, Block(1, 0, "c", 0))
    records.add_creation(store, short, FIRST, Block(1, 0, "c", 1))
    records.add_creation(store, long, FIRST, Block(1, 0, "c", 0))
    assert list(records.by_creator(store, short)) == [SECOND, FIRST]
    assert list(records.by_creator(store, long)) == [FIRST]


def test_instances_are_counted_chain_wide() -> None:
    """The counter starts at 1."""
    store = OrderedMap()
    assert [records.next_instance(store) for _ in range(3)] == [1, 2, 3]
