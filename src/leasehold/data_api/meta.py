"""Tags Meta and Health: blocks, version, liveness and readiness."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import msgspec

import leasehold
from leasehold.core.clock import NANOSECONDS, Clock
from leasehold.core.errors import LeaseholdError, NotFound
from leasehold.data_api.head import Index
from leasehold.serving.envelopes import DataDialect
from leasehold.serving.parameters import Input
from leasehold.serving.routes import Cache, PlainRequest, Registry, Reply, Request

# A chain that stands still makes the index old without making it wrong; beyond this it is not called ready.
STALE_SECONDS = 600


class Version(msgspec.Struct):
    """The running release."""

    version: str


class Block(msgspec.Struct):
    """One indexed block."""

    height: int
    hash: str
    time: datetime
    tx_count: int
    event_count: int


class Gap(msgspec.Struct):
    """Heights that are not indexed, both ends included."""

    start: Annotated[int, msgspec.Meta(ge=1)]
    end: Annotated[int, msgspec.Meta(ge=1)]


class Health(msgspec.Struct):
    """Liveness."""

    status: str
    version: str


class Checks(msgspec.Struct):
    """What readiness depends on."""

    database: bool
    caches: bool
    indexed_height: int
    lag_seconds: int


class Readiness(msgspec.Struct):
    """Whether answers are complete and fresh."""

    status: str
    checks: Checks


class HeightParams(msgspec.Struct, frozen=True):
    height: Annotated[int, msgspec.Meta(ge=1), Input(about="block height", example=1)]


def meta_routes(index: Index, clock: Clock) -> Registry:
    """The routes of both tags."""
    api = Registry("Data API", version=leasehold.__version__, dialect=DataDialect())
    live = Cache.live()

    @api.get("/api/blocks", summary="Number of indexed blocks", tags=("Meta",), cache=live, errors=(503,))
    async def blocks(request: PlainRequest) -> int:
        head = await index.head()
        return Reply(head.blocks, headers=head.headers)  # type: ignore[return-value]

    @api.get("/api/blocks/latest", summary="The newest indexed block", tags=("Meta",), cache=live, errors=(503,))
    async def latest(request: PlainRequest) -> Block:
        head = await index.head()
        return await _block(index, head.height)

    @api.get("/api/blocks/gaps", summary="Heights missing from the index", tags=("Meta",), cache=live, errors=(503,))
    async def gaps(request: PlainRequest) -> list[Gap]:
        head = await index.head()
        # One ordered writer leaves no gaps behind its cursor; only history before its start can be missing.
        found = [Gap(1, head.first_height - 1)] if head.first_height > 1 else []
        return Reply(found, headers=head.headers)  # type: ignore[return-value]

    @api.get("/api/blocks/{height}", summary="One indexed block", tags=("Meta",), cache=live, errors=(404, 503))
    async def block(request: Request[HeightParams, None]) -> Block:
        return await _block(index, request.params.height)

    @api.get("/api/version", summary="The running release", tags=("Meta",), cache=live)
    async def version(request: PlainRequest) -> Version:
        return Version(leasehold.__version__)

    @api.get("/health", summary="Liveness", tags=("Health",), rate="none")
    async def health(request: PlainRequest) -> Health:
        return Health("ok", leasehold.__version__)

    @api.get("/ready", summary="Readiness: false while the index lags", tags=("Health",), rate="none", errors=(503,))
    async def ready(request: PlainRequest) -> Readiness:
        try:
            head = await index.head()
        except LeaseholdError:
            checks = Checks(database=False, caches=False, indexed_height=0, lag_seconds=0)
            return Reply(Readiness("not_ready", checks), status=503)  # type: ignore[return-value]
        lag = max((clock.now_ns() - head.time_ns) // NANOSECONDS, 0)
        fresh = lag <= STALE_SECONDS
        checks = Checks(database=True, caches=True, indexed_height=head.height, lag_seconds=lag)
        found = Readiness("ready" if fresh else "not_ready", checks)
        return found if fresh else Reply(found, status=503)  # type: ignore[return-value]

    return api


async def _block(index: Index, height: int) -> Block:
    head, row = await index.row("block", height)
    if row is None:
        raise NotFound(f"block {height} is not indexed")
    content = Block(row["height"], row["hash"].upper(), row["time"], row["tx_count"], row["event_count"])
    return Reply(content, headers=head.headers)  # type: ignore[return-value]
