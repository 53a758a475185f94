"""Time alarms: contracts ask to be called after an instant, anyone delivers what is due.

Storage: `at/<second><address>` in order of delivery, `of/<address>` the second of a subscriber's only alarm,
`delivering` the subscribers whose replies are awaited.
"""

from __future__ import annotations

from typing import Any

import msgspec

from leasehold.devnet.contracts.build import PlatformBuild
from leasehold.devnet.contracts.native import Case, Native, software_release
from leasehold.devnet.contracts.platform import check_contract, check_platform_migration
from leasehold.devnet.wasm.contract import (
    ContractError,
    Event,
    Reply,
    ReplyOn,
    Response,
    Storage,
    SubMessage,
    WasmExecute,
)
from leasehold.protocol.messages import timealarms as wire

SECOND = 1_000_000_000
DELIVERY = b'{"time_alarm":{}}'
VERSION = "0.5.2"

_AT = b"at/"
_OF = b"of/"
_DELIVERING = b"delivering"


class Alarms:
    """Alarms by second, one per subscriber."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def set(self, subscriber: str, second: int) -> None:
        """Replace the subscriber's alarm."""
        self.remove(subscriber)
        stamp = second.to_bytes(8, "big")
        self._storage.set(_AT + stamp + subscriber.encode(), b"")
        self._storage.set(_OF + subscriber.encode(), stamp)

    def remove(self, subscriber: str) -> None:
        stamp = self._storage.get(_OF + subscriber.encode())
        if stamp is not None:
            self._storage.delete(_AT + stamp + subscriber.encode())
            self._storage.delete(_OF + subscriber.encode())

    def due(self, now_second: int, limit: int) -> list[str]:
        """Subscribers of alarms strictly before a second, oldest first, then by address."""
        found: list[str] = []
        if limit > 0:
            start = len(_AT) + 8
            for key, _ in self._storage.iterate(_AT, _AT + now_second.to_bytes(8, "big")):
                found.append(key[start:].decode())
                if len(found) == limit:
                    break
        return found


class TimeAlarms(Native):
    """The platform's registry of time alarms."""

    tag = "[TimeAlarms]"
    instantiate_type = wire.Instantiate
    execute_type = wire.Execute
    sudo_type = wire.Sudo
    query_type = wire.Query

    def __init__(self, build: PlatformBuild) -> None:
        super().__init__(build.codec)
        self._release = software_release(build.release, "timealarms", VERSION, 1)

    def execute_add_alarm(self, case: Case, msg: wire.AddAlarm) -> Response:
        check_contract(case.querier, case.info.sender, self.tag)
        time = int(msg.time)
        if time < case.now:
            raise ContractError(f"{self.tag} Alarm is in the past: Timestamp(Uint64({time}))")
        Alarms(case.storage).set(case.info.sender, time // SECOND)
        return Response()

    def execute_dispatch_alarms(self, case: Case, msg: wire.DispatchAlarms) -> Response:
        if case.storage.get(_DELIVERING) is not None:
            text = "[Time Oracle] Alarms delivery queue is not empty! Cause: Assertion requested"
            raise ContractError(f"{self.tag} {text}")
        alarms = Alarms(case.storage)
        due = alarms.due(case.now // SECOND, msg.max_count)
        event = Event("timealarm")
        response = Response(events=[event], data=b"%d" % len(due))
        for subscriber in due:
            alarms.remove(subscriber)
            event.attributes.append(("receiver", subscriber))
            response.messages.append(SubMessage(WasmExecute(subscriber, DELIVERY), 0, ReplyOn.ALWAYS))
        if due:
            case.storage.set(_DELIVERING, msgspec.json.encode(due))
        return response

    def on_reply(self, case: Case, reply: Reply) -> Response:
        waiting: list[str] = msgspec.json.decode(case.storage.get(_DELIVERING) or b"[]")
        subscriber, rest = waiting[0], waiting[1:]
        if rest:
            case.storage.set(_DELIVERING, msgspec.json.encode(rest))
        else:
            case.storage.delete(_DELIVERING)
        event = Event("time-alarm")
        if reply.ok:
            event.attributes.append(("delivered", "success"))
        else:
            Alarms(case.storage).set(subscriber, case.now // SECOND - 1)
            event.attributes += [("delivered", "error"), ("details", reply.error or "")]
        return Response(events=[event])

    def query_alarms_status(self, case: Case, msg: Any) -> wire.AlarmsStatus:
        return wire.AlarmsStatus(bool(Alarms(case.storage).due(case.now // SECOND, 1)))

    def query_contract_version(self, case: Case, msg: Any) -> Any:
        return self._release.code.version

    def on_migrate(self, case: Case, msg: bytes) -> Response:
        check_platform_migration(self.codec, self._release, msg)
        return Response()

    def query_platform_package_release(self, case: Case, msg: Any) -> Any:
        return self._release
