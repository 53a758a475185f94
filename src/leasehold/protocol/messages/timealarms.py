"""Wire types of the time alarms."""

from __future__ import annotations

from typing import ClassVar

from leasehold.protocol.scalars import U32, Instant
from leasehold.protocol.serde import Empty, Lax, OneOf, Wire


class Instantiate(Wire, frozen=True):
    """A new registry of alarms."""

    rust_name: ClassVar[str] = "InstantiateMsg"


class AddAlarm(Wire, frozen=True):
    """When to call the sender."""

    time: Instant


class DispatchAlarms(Wire, frozen=True):
    """How many to deliver at most."""

    max_count: U32


class Execute(OneOf, frozen=True):
    """What the registry can be told."""

    rust_name: ClassVar[str] = "ExecuteMsg"
    add_alarm: AddAlarm | None = None
    dispatch_alarms: DispatchAlarms | None = None


class Sudo(OneOf, frozen=True):
    """Governance has nothing to say."""

    rust_name: ClassVar[str] = "SudoMsg"


class Query(OneOf, frozen=True):
    """What the registry can be asked."""

    rust_name: ClassVar[str] = "QueryMsg"
    contract_version: Empty | None = None
    alarms_status: Empty | None = None
    platform_package_release: Empty | None = None


class Delivery(OneOf, frozen=True):
    """What a subscriber gets."""

    rust_name: ClassVar[str] = "ExecuteAlarmMsg"
    time_alarm: Empty | None = None


class AlarmsStatus(Lax, frozen=True):
    """Answer to `alarms_status`, here and of the oracle."""

    rust_name: ClassVar[str] = "AlarmsStatusResponse"
    remaining_alarms: bool
