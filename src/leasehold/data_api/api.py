"""All routes of the data API, in the order of their tags."""

from __future__ import annotations

from importlib.metadata import version

from leasehold.core.clock import Clock
from leasehold.core.metrics import Metrics
from leasehold.core.settings import Settings
from leasehold.data_api import (
    aliases,
    currency,
    health,
    lease,
    liquidity,
    market,
    meta,
    metrics,
    pnl,
    position,
    protocol,
    subscriptions,
    treasury,
    txs,
    wallet,
)
from leasehold.data_api.desk import Desk
from leasehold.data_api.exports import Exports
from leasehold.data_api.index import Index
from leasehold.data_api.push.endpoints import Guard
from leasehold.data_api.shelf import Shelf
from leasehold.data_api.subscriptions import Subscriptions
from leasehold.serving.envelopes import DataDialect
from leasehold.serving.routes import Registry
from leasehold.serving.snapshots import SnapshotTable

TITLE = "Leasehold data API"
ABOUT = (
    "Indexed history and totals of a lease-lending protocol: read-only, public, JSON or CSV. Amounts are decimal "
    "strings in plain notation; aggregates are renewed every five minutes or on the hour, accounts are read live. "
    "X-Block-Height and X-Block-Time say what an answer speaks for."
)
CONVENTIONS = (
    "`period` is 3m (default), 6m, 12m or all; `from` (RFC 3339 with a zone, exclusive) gives rows changed since then, "
    "and alone lifts the default period.",
    "`format=csv` gives CSV with a header line; `export=true` streams everything as CSV, at most 100,000 rows, "
    "whatever `period` and `from` say, two at a time (others wait, then 429).",
    "`skip` and `limit` (default 10, at most 100, on /api/ls-loan-closing 10): larger limits are lowered.",
    "`address` is a lower-case bech32 account of this chain; anything else is 400.",
    "`protocol` is a name in any case; an unknown one is 404.",
    'Errors are {"error", "message", "status"}: 400 names the parameter, 404 what is unknown, 429 has Retry-After in '
    "seconds, 503 says that the index can't be read. A repeated parameter is 400, an unknown one is ignored.",
    "An answer that may stay as it is has an ETag: send it back in If-None-Match and get 304. Warning: 110 says that "
    "an answer is older than it should be.",
)


class DataApi:
    """The routes and what answers them; `index` is connected when the service starts."""

    def __init__(self, settings: Settings, clock: Clock, *, guard: Guard | None = None, poll: float = 2.0) -> None:
        self.settings = settings
        self.clock = clock
        self.guard = guard or Guard()
        self.metrics = Metrics()
        self.snapshots = SnapshotTable()
        self.index = Index()
        lag = settings.data_api.ready_lag_seconds
        self.shelf = Shelf(self.index, self.snapshots, clock, metrics=self.metrics, poll=poll, lag_seconds=lag)
        self.exports = Exports(self.index)
        self.registry = Registry(
            TITLE, version=version("leasehold"), dialect=DataDialect(), description=ABOUT, conventions=CONVENTIONS
        )
        desk = Desk(self.registry, self.index, self.shelf, self.exports, clock, settings)
        for module in (
            protocol, currency, metrics, treasury, liquidity, position, lease, market, pnl, wallet, txs, meta
        ):  # fmt: skip
            module.declare(desk)
        self.subscriptions: Subscriptions = subscriptions.declare(desk, self.guard)
        health.declare(desk)
        aliases.declare(desk)
