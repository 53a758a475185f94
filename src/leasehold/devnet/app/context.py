"""What a handler works with: the store, the block, the gas meter and the events it emits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum

from leasehold.devnet.app.abci import Event, Misbehavior, VoteInfo
from leasehold.devnet.app.pagination import Walk
from leasehold.devnet.state.gas import GasMeter, MeteredStore
from leasehold.devnet.state.store import Overlay, Reader, Store


class Mode(Enum):
    """Why code runs."""

    GENESIS = "genesis"
    BLOCK = "block"
    DELIVER = "deliver"
    CHECK = "check"
    RECHECK = "recheck"
    SIMULATE = "simulate"
    QUERY = "query"


@dataclass(frozen=True, slots=True)
class Block:
    """The block being executed, or the one a query speaks for."""

    height: int
    time_ns: int
    chain_id: str
    proposer: bytes = b""
    commit: tuple[VoteInfo, ...] = ()
    misbehavior: tuple[Misbehavior, ...] = ()
    next_validators_hash: bytes = b""
    app_hash: bytes = b""

    @property
    def time_s(self) -> int:
        return self.time_ns // 1_000_000_000


class Context:
    """Access to state under a block, a meter and a mode; events collect in `events`."""

    __slots__ = ("_overlay", "block", "events", "gas", "mode", "store", "tx_index", "walk")

    def __init__(
        self, overlay: Overlay, block: Block, mode: Mode, *, gas: GasMeter | None = None, tx_index: int = 0
    ) -> None:
        self._overlay = overlay
        self.block = block
        self.mode = mode
        self.gas = gas or GasMeter()
        self.store: Store = overlay if gas is None else MeteredStore(overlay, gas)
        self.events: list[Event] = []
        self.tx_index = tx_index
        # Where a list that a query gathers in parts stands; None gathers it at once.
        self.walk: Walk | None = None

    @classmethod
    def for_query(cls, reader: Reader, block: Block) -> Context:
        """A context whose writes are thrown away."""
        return cls(Overlay(reader), block, Mode.QUERY)

    def emit(self, type_: str, *attributes: tuple[str, str]) -> None:
        self.events.append(Event(type_, list(attributes)))

    @property
    def simulating(self) -> bool:
        return self.mode is Mode.SIMULATE

    def fork(self) -> Context:
        """A context over a fresh overlay with the same meter; keep it with `join`."""
        inner = Context.__new__(Context)
        inner._overlay = Overlay(self._overlay)
        inner.block = self.block
        inner.mode = self.mode
        inner.gas = self.gas
        inner.store = MeteredStore(inner._overlay, self.gas) if isinstance(self.store, MeteredStore) else inner._overlay
        inner.events = []
        inner.tx_index = self.tx_index
        inner.walk = self.walk
        return inner

    def join(self, inner: Context) -> None:
        """Keep what a fork wrote and emitted."""
        inner._overlay.write(self._overlay)
        self.events.extend(inner.events)

    @contextmanager
    def branch(self) -> Iterator[Context]:
        """A fork that is kept when the block of code ends without an exception."""
        inner = self.fork()
        yield inner
        self.join(inner)

    @contextmanager
    def unmetered(self) -> Iterator[None]:
        """Run without charging gas."""
        store = self.store
        self.store = self._overlay
        try:
            yield
        finally:
            self.store = store

    @property
    def writes(self) -> dict[bytes, bytes | None]:
        """What has been written so far in this overlay."""
        return self._overlay.writes

    @property
    def overlay(self) -> Overlay:
        return self._overlay
