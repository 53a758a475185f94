"""What the chain keeps about codes and contracts besides their storage: records, histories and two listings.

A code is known by its checksum; whoever runs it finds the program by that, so state never holds a Python object.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import msgspec

from leasehold.devnet.state.store import Reader, Store, prefix_end
from leasehold.devnet.wasm.host import Block

STORAGE = b"wasm/storage/"
_CODE = b"wasm/code/"
_CONTRACT = b"wasm/contract/"
_HISTORY = b"wasm/history/"
_BY_CODE = b"wasm/by-code/"
_BY_CREATOR = b"wasm/by-creator/"
_LAST_CODE = b"wasm/last/code"
_LAST_INSTANCE = b"wasm/last/instance"


class CodeRecord(msgspec.Struct, frozen=True, array_like=True):
    """A stored code and who uploaded it."""

    checksum: bytes
    creator: str


class ContractRecord(msgspec.Struct, frozen=True, array_like=True):
    """A contract; `admin` is empty when nobody may migrate it."""

    code_id: int
    creator: str
    admin: str
    label: str
    created_height: int
    created_tx_index: int


class HistoryRecord(msgspec.Struct, frozen=True, array_like=True):
    """A code change: `operation` is `init` or `migrate`, `msg` the JSON it was done with."""

    operation: str
    code_id: int
    height: int
    tx_index: int
    msg: bytes


# Every call looks up a contract and its code; the same bytes are the same record.
_code = lru_cache(maxsize=1024)(msgspec.msgpack.Decoder(CodeRecord).decode)
_contract = lru_cache(maxsize=16_384)(msgspec.msgpack.Decoder(ContractRecord).decode)
_history = msgspec.msgpack.Decoder(HistoryRecord)
_encode = msgspec.msgpack.Encoder().encode


def _number(value: int) -> bytes:
    return value.to_bytes(8, "big")


def _advance(store: Store, key: bytes) -> int:
    number = last(store, key) + 1
    store.set(key, _number(number))
    return number


def last(store: Reader, key: bytes) -> int:
    stored = store.get(key)
    return int.from_bytes(stored, "big") if stored else 0


def last_code(store: Reader) -> int:
    """The highest code id given so far."""
    return last(store, _LAST_CODE)


def add_code(store: Store, creator: str, checksum: bytes) -> int:
    """Keep a new code and return its id."""
    code_id = _advance(store, _LAST_CODE)
    store.set(_CODE + _number(code_id), _encode(CodeRecord(checksum, creator)))
    return code_id


def code(store: Reader, code_id: int) -> CodeRecord | None:
    if not 0 <= code_id < 1 << 64:
        return None
    stored = store.get(_CODE + _number(code_id))
    return _code(stored) if stored is not None else None


def codes(store: Reader) -> Iterator[tuple[int, CodeRecord]]:
    """All codes by id."""
    for key, value in store.iterate(_CODE, prefix_end(_CODE)):
        yield int.from_bytes(key[len(_CODE) :], "big"), _code(value)


def next_instance(store: Store) -> int:
    """The chain-wide number of the next contract with a counted address; starts at 1."""
    return _advance(store, _LAST_INSTANCE)


def contract(store: Reader, address: bytes) -> ContractRecord | None:
    stored = store.get(_CONTRACT + address)
    return _contract(stored) if stored is not None else None


def put_contract(store: Store, address: bytes, record: ContractRecord) -> None:
    store.set(_CONTRACT + address, _encode(record))


def add_history(store: Store, address: bytes, operation: str, code_id: int, block: Block, msg: bytes) -> None:
    """Append a code change and move the contract to the end of its code's listing."""
    entries = list(history(store, address))
    if entries:
        store.delete(_listing(entries[-1]) + address)
    record = HistoryRecord(operation, code_id, block.height, block.tx_index, msg)
    store.set(_HISTORY + address + _number(len(entries) + 1), _encode(record))
    store.set(_listing(record) + address, b"")


def _listing(record: HistoryRecord) -> bytes:
    return _BY_CODE + _number(record.code_id) + _number(record.height) + _number(record.tx_index)


def history(store: Reader, address: bytes) -> Iterator[HistoryRecord]:
    """Code changes of a contract, oldest first; none for an unknown one."""
    start = _HISTORY + address
    for _, value in store.iterate(start, prefix_end(start)):
        yield _history.decode(value)


def add_creation(store: Store, creator: bytes, address: bytes, block: Block) -> None:
    """List a contract under its creator."""
    start = _BY_CREATOR + bytes([len(creator)]) + creator
    store.set(start + _number(block.height) + _number(block.tx_index) + address, b"")


def by_code_prefix(code_id: int) -> bytes:
    """Where a code's contracts are listed: height and transaction index of the last code change, then the address."""
    return _BY_CODE + _number(code_id)


def by_creator_prefix(creator: bytes) -> bytes:
    """Where a creator's contracts are listed: height and transaction index of the creation, then the address."""
    return _BY_CREATOR + bytes([len(creator)]) + creator


def by_code(store: Reader, code_id: int) -> Iterator[bytes]:
    """Contracts of a code in the order of their last code change."""
    start = _BY_CODE + _number(code_id)
    for key, _ in store.iterate(start, prefix_end(start)):
        yield key[len(start) + 16 :]


def by_creator(store: Reader, creator: bytes) -> Iterator[bytes]:
    """Contracts of a creator in the order of their creation."""
    start = _BY_CREATOR + bytes([len(creator)]) + creator
    for key, _ in store.iterate(start, prefix_end(start)):
        yield key[len(start) + 16 :]
