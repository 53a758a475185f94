"""Where a market stands, as data that a snapshot, a dump and a restart go on from."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from leasehold.devnet.market.deeds import Planned
from leasehold.devnet.market.keepers import AlarmState
from leasehold.devnet.market.prices import PriceState
from leasehold.devnet.market.relay import Fault


@dataclass(slots=True)
class Rates:
    """How often things happen, a day."""

    openings: float = 13.0
    managements: float = 13.0
    lendings: float = 8.0
    stakings: float = 4.0
    # Deeds gather in sessions this many seconds apart, so that what they set in motion shares its blocks.
    session_seconds: int = 10_800
    # Prices are fed this often even if nobody reads them.
    feed_seconds: int = 3600
    # While nothing else is going on, time alarms are delivered this often: those of hours share a feed and a block.
    alarm_seconds: int = 10_800


class MarketState(msgspec.Struct, frozen=True):
    """Everything about a market that changes as time goes by."""

    now: int
    rates: Rates
    queue: tuple[Planned, ...]
    order: int
    rhythm: int
    fed: int
    turn: int
    stirred: int
    dispatched: int
    dispatch: bytes
    feeds: tuple[tuple[bytes, tuple[str, ...]], ...]
    apart: tuple[str, ...]
    active: tuple[str, ...]
    ending: tuple[str, ...]
    prices: PriceState
    alarms: AlarmState
    faults: tuple[Fault, ...]
