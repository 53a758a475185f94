"""Where in the chain a projection is working, and the rows it makes there."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any

import msgspec

from leasehold.indexer.tables import Rows


@dataclass(slots=True)
class Dirty:
    """Keys of remembered state that changed since the last write, with the time of the last change."""

    positions: set[str] = field(default_factory=set)
    balances: set[tuple[str, str]] = field(default_factory=set)
    pools: dict[str, datetime] = field(default_factory=dict)
    lenders: dict[tuple[str, str], datetime] = field(default_factory=dict)
    proposals: dict[int, datetime] = field(default_factory=dict)


@dataclass(slots=True)
class Moment:
    """One block being projected; `tx` is -1 while its own events are read."""

    height: int
    time_ns: int
    time: datetime
    rows: Rows
    dirty: Dirty
    tx: int = -1
    tx_hash: bytes = b""
    event: int = 0
    changes: int = 0
    day: date = field(init=False)
    month: datetime = field(init=False)

    def __post_init__(self) -> None:
        self.day = self.time.date()
        self.month = datetime(self.time.year, self.time.month, 1, tzinfo=UTC)

    @property
    def key(self) -> dict[str, Any]:
        """Key columns of a row made from the current event."""
        return {
            "height": self.height,
            "tx": self.tx,
            "event": self.event,
            "time": self.time,
            "tx_hash": self.tx_hash,
        }

    def log(self, topic: str, key: str, payload: dict[str, Any]) -> None:
        """Note a change for subscribers."""
        text = msgspec.json.encode(payload).decode()
        self.rows.append("change_log", (self.height, self.changes, topic, key, text))
        self.changes += 1

    def notify(self, lease: str, kind: str, owner: str, data: dict[str, Any]) -> None:
        """Queue a notification for the owner of a lease."""
        text = msgspec.json.encode({"type": kind, "data": data}).decode()
        self.rows.append("outbox", (lease, kind, self.height, owner, text, self.time))

    def active(self, address: str) -> None:
        """An account acted this month."""
        self.rows.wallets.setdefault((self.month, address), self.time)

    def today(self, **amounts: int) -> None:
        """Add to the figures of this day."""
        self.rows.add("days", (self.day,), self.time, **amounts)

    def total(self, name: str, *, amount: int = 0, usd: int = 0) -> None:
        """Add to a lifetime sum."""
        self.rows.add("totals", (name,), self.time, amount=amount, usd=usd)
