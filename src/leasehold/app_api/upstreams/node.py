"""The node's RPC: where the chain stands, and which software runs it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from leasehold.app_api.upstreams.failures import ServiceFailure
from leasehold.app_api.upstreams.lcd import Shared
from leasehold.app_api.upstreams.transport import Transport
from leasehold.core.clock import Clock, parse_rfc3339

T = TypeVar("T")
# A head older than this is asked for again before anybody reads at it.
STALE_SECONDS = 10.0


class _NodeInfo(msgspec.Struct):
    network: str


class _SyncInfo(msgspec.Struct):
    latest_block_height: str
    latest_block_time: str
    catching_up: bool


class Status(msgspec.Struct):
    node_info: _NodeInfo
    sync_info: _SyncInfo


class _StatusAnswer(msgspec.Struct):
    result: Status


class _Abci(msgspec.Struct):
    version: str = ""


class _AbciInfo(msgspec.Struct):
    response: _Abci


class _AbciAnswer(msgspec.Struct):
    result: _AbciInfo


@dataclass(frozen=True, slots=True)
class Head:
    """The newest block known, and when we learned of it (monotonic seconds)."""

    height: int
    time_ns: int
    seen: float


class Node:
    """Reads of the RPC; the next address is asked where one can't be reached."""

    def __init__(self, transports: Sequence[Transport], clock: Clock) -> None:
        self.transports = tuple(transports)
        self._clock = clock
        self._heads: Shared[Head] = Shared(keep=False)
        self.newest: Head | None = None

    async def status(self) -> Status:
        return (await self._read("/status", _StatusAnswer, "status")).result

    async def version(self) -> str:
        """Version of the chain's software."""
        return (await self._read("/abci_info", _AbciAnswer, "ABCI info")).result.response.version

    async def refresh(self) -> Head:
        """Learn where the chain stands now; a node that lags does not take us back."""
        status = await self.status()
        found = Head(
            int(status.sync_info.latest_block_height),
            parse_rfc3339(status.sync_info.latest_block_time),
            self._clock.monotonic(),
        )
        if self.newest is not None and found.height < self.newest.height:
            found = Head(self.newest.height, self.newest.time_ns, found.seen)
        self.newest = found
        return found

    async def head(self) -> Head:
        """A head fresh enough to read at."""
        known = self.newest
        if known is not None and self._clock.monotonic() - known.seen < STALE_SECONDS:
            return known
        return await self._heads.get("head", self.refresh)

    def close(self) -> None:
        self._heads.clear()

    async def _read(self, target: str, kind: type[T], context: str) -> T:
        last: ServiceFailure | None = None
        for transport in self.transports:
            try:
                return await transport.read(target, kind, context=context)
            except ServiceFailure as error:
                last = error
                await asyncio.sleep(0)
        assert last is not None
        raise last
