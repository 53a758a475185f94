"""The one ordered path from a chain to PostgreSQL: follow, decode, project, write; and again after any failure."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import psycopg

from leasehold.chain.client.blocks import FetchedBlock
from leasehold.chain.client.nodes import Nodes
from leasehold.chain.registry import registry
from leasehold.core import logging
from leasehold.core.addresses import Bech32Prefixes
from leasehold.core.clock import Clock
from leasehold.core.settings import Settings
from leasehold.indexer.beginnings import BeginningReader
from leasehold.indexer.decode import Decoder
from leasehold.indexer.discovery import Discovery
from leasehold.indexer.follow import Follower, Pace, Position
from leasehold.indexer.lookups import ChainLookups
from leasehold.indexer.patience import PatientReader
from leasehold.indexer.project import Projector
from leasehold.indexer.stage import Stage
from leasehold.indexer.state import StateLoader
from leasehold.indexer.writer import SCHEMA, Batch, CursorMoved, Writer
from leasehold.storage.pool import DatabaseUnavailable

_log = logging.get("ingest")


@dataclass(slots=True)
class Progress:
    """Where the ingest stands; counts are since the process started."""

    height: int = 0
    time_ns: int = 0
    target: int = 0
    blocks: int = 0
    txs: int = 0
    events: int = 0
    rows: int = 0
    quarantined: int = 0
    restarts: int = 0
    started: float = 0.0

    @property
    def lag(self) -> int:
        """Blocks known to exist and not yet committed."""
        return max(self.target - self.height, 0)


Committed = Callable[[Batch], None]


@dataclass(slots=True)
class _Session:
    """State that lives from one (re)start to the next failure."""

    stage: Stage
    writing: asyncio.Task[None] | None = field(default=None)


class Ingest:
    """Runs until cancelled; survives the node and PostgreSQL going away, and loses or doubles nothing."""

    def __init__(
        self,
        settings: Settings,
        nodes: Nodes,
        clock: Clock,
        *,
        schema: str = SCHEMA,
        on_commit: Committed | None = None,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
        pace: Pace | None = None,
    ) -> None:
        self._settings = settings
        self._nodes = nodes
        self._clock = clock
        self._pause = pause
        self._on_commit = on_commit
        self.writer = Writer(settings.database.url, schema=schema)
        index = settings.index
        self._pace = pace or Pace(batch_blocks=index.batch_blocks, requests=index.prefetch)
        self.follower = Follower(nodes, pace=self._pace, pause=pause)
        self.progress = Progress()
        self._decoder = Decoder(registry(settings.identity.namespace))
        discovery = Discovery(
            PatientReader(nodes, pause), Bech32Prefixes(settings.identity.prefix), settings.chain.admin_contract
        )
        beginnings = BeginningReader(
            PatientReader(nodes, pause), registry(settings.identity.namespace), settings.identity.prefix
        )
        self._lookups = ChainLookups(nodes, discovery, beginnings, self._decoder, pause)
        self.divergences = 0
        self.orphans = 0
        self._writing: asyncio.Task[None] | None = None

    async def run(self, *, until: int | None = None) -> None:
        """Ingest for ever, or until a height is committed; typed errors of the chain itself are raised."""
        self.progress.started = self._clock.monotonic()
        failures = 0
        try:
            while True:
                before = self.progress.height
                try:
                    await self._session(until)
                    return
                except (psycopg.OperationalError, psycopg.InterfaceError, DatabaseUnavailable, CursorMoved) as error:
                    failures = 0 if self.progress.height > before else failures + 1
                    self.progress.restarts += 1
                    _log.warning("starting again from the cursor", reason=str(error).strip())
                    await self._pause(min(5.0, 0.05 * 2 ** min(failures, 7)))
        finally:
            await self.writer.close()

    async def drain(self, seconds: float) -> None:
        """Wait for the batch that is being written, if any, before `run` is cancelled."""
        if self._writing is not None and not self._writing.done():
            await asyncio.wait({self._writing}, timeout=seconds)

    async def _session(self, until: int | None) -> None:
        cursor = await self.writer.open()
        world = await StateLoader(self.writer.connection, self.writer.schema).world(self._settings.identity)
        position = cursor.position if cursor is not None else Position(max(self._settings.index.start_height, 1) - 1)
        session = _Session(Stage(Projector(world), self._decoder, self._lookups))
        self.progress.height, self.progress.time_ns = position.height, world.time_ns
        if until is not None and position.height >= until:
            return
        await self.follower.verify(position)
        try:
            async with self.follower.batches(position) as batches:
                async for fetched in batches:
                    kept = fetched if until is None else [block for block in fetched if block.height <= until]
                    await self._ingest(session, kept)
                    if until is not None and kept[-1].height >= until:
                        break
            if session.writing is not None:
                await session.writing
        finally:
            if session.writing is not None:
                # A batch on its way is torn down as a whole; half of one never remains.
                session.writing.cancel()
                await asyncio.gather(session.writing, return_exceptions=True)

    async def _ingest(self, session: _Session, fetched: list[FetchedBlock]) -> None:
        batch = await session.stage.apply(fetched)
        if session.writing is not None:
            await session.writing
        session.writing = self._writing = asyncio.create_task(self._commit(batch))
        projector = session.stage.projector
        self.divergences = projector.leases.divergences
        self.orphans = projector.leases.orphans + projector.pools.orphans + projector.strangers

    async def _commit(self, batch: Batch) -> None:
        await self.writer.write(batch)
        progress = self.progress
        progress.height, progress.time_ns = batch.height, batch.time_ns
        progress.target = max(self.follower.target, batch.height)
        progress.blocks += batch.blocks
        progress.txs += batch.txs
        progress.events += batch.events
        progress.quarantined += batch.quarantined
        progress.rows += batch.rows.count()
        if self._on_commit is not None:
            self._on_commit(batch)
