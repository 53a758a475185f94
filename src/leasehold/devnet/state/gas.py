"""Gas: a meter that runs out, and a store that charges for every access as the chain's stores do."""

from __future__ import annotations

from collections.abc import Iterator

from leasehold.devnet.state.store import Store

HAS_FLAT = 1000
DELETE_FLAT = 1000
READ_FLAT = 1000
READ_BYTE = 3
WRITE_FLAT = 2000
WRITE_BYTE = 30
NEXT_FLAT = 30


class OutOfGas(Exception):
    """The meter's limit was passed at `location`."""

    def __init__(self, location: str, limit: int, used: int) -> None:
        super().__init__(location)
        self.location = location
        self.limit = limit
        self.used = used


class GasMeter:
    """Counts gas up to a limit; None is no limit."""

    __slots__ = ("limit", "used")

    def __init__(self, limit: int | None = None) -> None:
        self.limit = limit
        self.used = 0

    def consume(self, amount: int, location: str) -> None:
        self.used += amount
        if self.limit is not None and self.used > self.limit:
            raise OutOfGas(location, self.limit, self.used)

    def refund(self, amount: int) -> None:
        self.used = max(0, self.used - amount)

    @property
    def remaining(self) -> int | None:
        return None if self.limit is None else max(0, self.limit - self.used)


class MeteredStore:
    """A store whose accesses are charged to a meter: at once while there is gas, step by step where it runs out."""

    __slots__ = ("_store", "meter")

    def __init__(self, store: Store, meter: GasMeter) -> None:
        self._store = store
        self.meter = meter

    def get(self, key: bytes) -> bytes | None:
        value = self._store.get(key)
        meter = self.meter
        size = READ_BYTE * (len(key) + len(value or b""))
        used = meter.used + READ_FLAT + size
        if meter.limit is None or used <= meter.limit:
            meter.used = used
        else:
            meter.consume(READ_FLAT, "ReadFlat")
            meter.consume(size, "ReadPerByte")
        return value

    def set(self, key: bytes, value: bytes) -> None:
        meter = self.meter
        size = WRITE_BYTE * (len(key) + len(value))
        used = meter.used + WRITE_FLAT + size
        if meter.limit is None or used <= meter.limit:
            meter.used = used
        else:
            meter.consume(WRITE_FLAT, "WriteFlat")
            meter.consume(size, "WritePerByte")
        self._store.set(key, value)

    def delete(self, key: bytes) -> None:
        self.meter.consume(DELETE_FLAT, "Delete")
        self._store.delete(key)

    def iterate(
        self, start: bytes = b"", end: bytes | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        meter = self.meter
        for key, value in self._store.iterate(start, end, reverse=reverse):
            size = READ_BYTE * (len(key) + len(value))
            used = meter.used + NEXT_FLAT + size
            if meter.limit is None or used <= meter.limit:
                meter.used = used
            else:
                meter.consume(size, "ValuePerByte")
                meter.consume(NEXT_FLAT, "IterNextFlat")
            yield key, value
