"""A contract's own storage: a slice of the chain's state, metered, and read-only while it answers a query."""

from __future__ import annotations

from collections.abc import Iterator

from leasehold.devnet.state.store import Reader, Store, prefix_end
from leasehold.devnet.wasm.contract import ContractTrap
from leasehold.devnet.wasm.host import Gas, GasCosts
from leasehold.devnet.wasm.records import STORAGE


class ReadStorage:
    """Ordered reads of one contract's keys; writing traps."""

    __slots__ = ("_prefix", "_reader")

    def __init__(self, reader: Reader, address: bytes) -> None:
        self._reader = reader
        self._prefix = STORAGE + address

    def get(self, key: bytes) -> bytes | None:
        return self._reader.get(self._prefix + key)

    def set(self, key: bytes, value: bytes) -> None:
        raise ContractTrap("a query may not write")

    def delete(self, key: bytes) -> None:
        raise ContractTrap("a query may not write")

    def iterate(
        self, start: bytes = b"", end: bytes | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        prefix = self._prefix
        last = prefix_end(prefix) if end is None else prefix + end
        size = len(prefix)
        for key, value in self._reader.iterate(prefix + start, last, reverse=reverse):
            yield key[size:], value


class WriteStorage(ReadStorage):
    """Ordered reads and writes of one contract's keys."""

    __slots__ = ("_store",)

    def __init__(self, store: Store, address: bytes) -> None:
        super().__init__(store, address)
        self._store = store

    def set(self, key: bytes, value: bytes) -> None:
        self._store.set(self._prefix + key, value)

    def delete(self, key: bytes) -> None:
        self._store.delete(self._prefix + key)


class MeteredStorage(WriteStorage):
    """Storage whose every access is charged to a gas meter."""

    __slots__ = ("_costs", "_gas")

    def __init__(self, store: Store, address: bytes, gas: Gas, costs: GasCosts) -> None:
        super().__init__(store, address)
        self._gas = gas
        self._costs = costs

    def get(self, key: bytes) -> bytes | None:
        value = super().get(key)
        self._gas.charge(self._costs.read + self._costs.read_byte * (len(key) + len(value or b"")), "read")
        return value

    def set(self, key: bytes, value: bytes) -> None:
        self._gas.charge(self._costs.write + self._costs.write_byte * (len(key) + len(value)), "write")
        super().set(key, value)

    def delete(self, key: bytes) -> None:
        self._gas.charge(self._costs.delete, "delete")
        super().delete(key)

    def iterate(
        self, start: bytes = b"", end: bytes | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        for key, value in super().iterate(start, end, reverse=reverse):
            self._gas.charge(self._costs.next + self._costs.read_byte * (len(key) + len(value)), "iterate")
            yield key, value
