"""Wire types of the profit."""

from __future__ import annotations

from typing import ClassVar

from leasehold.protocol.messages.treasury import Cadence
from leasehold.protocol.messages.values import ConnectionParams
from leasehold.protocol.scalars import U16, Address
from leasehold.protocol.serde import Empty, Nothing, OneOf, Wire


class Instantiate(Wire, frozen=True):
    """A new profit collector."""

    rust_name: ClassVar[str] = "InstantiateMsg"
    cadence_hours: U16
    treasury: Address
    oracle: Address
    timealarms: Address
    dex: ConnectionParams


class Execute(OneOf, frozen=True):
    """What the profit can be told."""

    rust_name: ClassVar[str] = "ExecuteMsg"
    time_alarm: Empty | None = None
    config: Cadence | None = None
    dex_callback: Nothing | None = None
    dex_callback_continue: Nothing | None = None
    heal: Nothing | None = None


class Query(OneOf, frozen=True):
    """What the profit can be asked."""

    rust_name: ClassVar[str] = "QueryMsg"
    config: Empty | None = None
    protocol_package_release: Empty | None = None
