"""Health: whether the service runs, and whether what it says is current."""

from __future__ import annotations

import msgspec

from leasehold.core.clock import NANOSECONDS
from leasehold.core.errors import NotReady
from leasehold.data_api.desk import Desk, queries
from leasehold.serving.routes import PlainRequest

TAGS = ("Health",)
sql = queries("health.sql")


class Health(msgspec.Struct):
    """The service runs."""

    status: str
    version: str


class Checks(msgspec.Struct):
    """What readiness depends on; lag in seconds between the newest indexed block and now."""

    database: bool
    caches: bool
    indexed_height: int
    lag_seconds: int


class Readiness(msgspec.Struct):
    """`ready`, and what that rests on; where it isn't, the answer is an error."""

    status: str
    checks: Checks


def declare(desk: Desk) -> None:
    """Declare the routes of this tag."""
    lag_limit = desk.settings.data_api.ready_lag_seconds

    @desk.api.get("/health", summary="Whether the service runs", tags=TAGS, rate="none")
    async def health(request: PlainRequest) -> Health:
        return Health("ok", desk.api.version)

    @desk.api.get(
        "/ready",
        summary="Whether answers are current",
        tags=TAGS,
        rate="none",
        errors={503: "Not ready; the message says why"},
    )
    async def ready(request: PlainRequest) -> Readiness:
        height = time_ns = 0
        database = True
        try:
            rows = await desk.index.rows(sql.cursor)
            if rows:
                height, time_ns = rows[0]["height"], rows[0]["time_ns"]
        except NotReady:
            database = False
        lag = max((desk.clock.now_ns() - time_ns) // NANOSECONDS, 0) if time_ns else 0
        caches = desk.shelf.warm and not desk.shelf.failures
        if not database:
            raise NotReady("not ready: the database does not answer")
        if not height:
            raise NotReady("not ready: nothing is indexed yet")
        if lag > lag_limit:
            raise NotReady(f"not ready: the newest indexed block, {height}, is {lag} seconds old")
        if not caches:
            raise NotReady("not ready: answers are still being made")
        return Readiness("ready", Checks(database, caches, height, lag))
