"""Time alarms: who may set one, when it is due, in which order it is delivered, and what a failure leads to."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.devnet.contracts.lending import KEEPER, OWNER, SECOND, USER, Lending, Refusal
from tests.unit.devnet.wasm.machine import Scripted

from leasehold.devnet.wasm.contract import ContractError, Response, SubMessage, WasmExecute


class Subscriber(Scripted):
    """Sets the alarm it is told to, and takes or refuses deliveries."""

    def __init__(self) -> None:
        super().__init__()
        self.taken: list[str] = []
        self.refuses = False
        self.then: Any = None

    def execute(self, deps: Any, env: Any, info: Any, msg: bytes) -> Response:
        if msg == b'{"time_alarm":{}}':
            if self.refuses:
                raise ContractError("not now")
            self.taken.append(env.contract)
            return Response([] if self.then is None else [SubMessage(self.then)])
        if msg == b"{}":
            return Response()
        return Response([SubMessage(WasmExecute(info.sender, msg))])


@pytest.fixture
def lending() -> Lending:
    return Lending()


@pytest.fixture
def subscriber(lending: Lending) -> Subscriber:
    program = Subscriber()
    lending.runtime.install(b"\x07" * 32, program)
    lending.codes["subscriber"] = lending.runtime.store_code(lending._call(lending.store), OWNER, b"\x07" * 32)
    for name in ("one", "two", "three"):
        lending.codes[name] = lending.codes["subscriber"]
        lending.create(name, {})
    return program


def _set(lending: Lending, name: str, at_ns: int) -> None:
    lending.tell("timealarms", {"add_alarm": {"time": str(at_ns)}}, lending.at[name])


def _due(lending: Lending) -> bool:
    answer = lending.ask("timealarms", {"alarms_status": {}})
    assert list(answer) == ["remaining_alarms"]
    return bool(answer["remaining_alarms"])


def test_only_contracts_and_only_the_future(lending: Lending, subscriber: Subscriber) -> None:
    """An account has no alarm, and nobody has one in the past; this very instant is allowed."""
    with pytest.raises(Refusal, match=f"error: Querier system error: No such contract: {USER}"):
        lending.tell("timealarms", {"add_alarm": {"time": str(lending.time + 1)}}, USER)
    with pytest.raises(Refusal, match=r"^\[TimeAlarms\] Alarm is in the past: Timestamp\(Uint64\(1\)\)"):
        _set(lending, "one", 1)
    _set(lending, "one", lending.time)


def test_due_strictly_after_the_second(lending: Lending, subscriber: Subscriber) -> None:
    """Only whole seconds count: an alarm of a second is due in the next one."""
    _set(lending, "one", lending.time + SECOND // 2)
    lending.time += SECOND - 1
    assert not _due(lending)
    lending.time += 1
    assert _due(lending)
    assert lending.dispatch("timealarms") == 1
    assert not _due(lending), "a delivered alarm is gone"


def test_order_and_limit(lending: Lending, subscriber: Subscriber) -> None:
    """Oldest first, then by address; the limit leaves the rest, and zero is a limit too."""
    same = sorted(lending.at[name] for name in ("one", "two"))
    _set(lending, "three", lending.time + 5 * SECOND)
    _set(lending, "one", lending.time + 9 * SECOND)
    _set(lending, "two", lending.time + 9 * SECOND)
    lending.advance(10)
    lending.tell("timealarms", {"dispatch_alarms": {"max_count": 0}}, KEEPER)
    assert subscriber.taken == []
    assert lending.tell("timealarms", {"dispatch_alarms": {"max_count": 2}}, KEEPER) == b"2"
    assert subscriber.taken == [lending.at["three"], same[0]]
    assert lending.dispatch("timealarms") == 1
    assert subscriber.taken[2:] == [same[1]]
    assert lending.tell("timealarms", {"dispatch_alarms": {"max_count": 2}}, KEEPER) == b"0"
    assert lending.seen("timealarm") == [{"_contract_address": lending.at["timealarms"]}], "emitted without receivers"


def test_one_alarm_per_subscriber(lending: Lending, subscriber: Subscriber) -> None:
    """Setting again replaces."""
    _set(lending, "one", lending.time + SECOND)
    _set(lending, "one", lending.time + 60 * SECOND)
    lending.advance(30)
    assert lending.dispatch("timealarms") == 0
    lending.advance(31)
    assert lending.dispatch("timealarms") == 1


def test_refused_delivery_is_tried_again(lending: Lending, subscriber: Subscriber) -> None:
    """A failure is counted, told with its details, and comes behind older alarms the next time."""
    _set(lending, "one", lending.time + SECOND)
    lending.advance(5)
    subscriber.refuses = True
    assert lending.tell("timealarms", {"dispatch_alarms": {"max_count": 9}}, KEEPER) == b"1"
    (outcome,) = lending.seen("time-alarm")
    assert (outcome["delivered"], outcome["details"]) == ("error", "not now: execute wasm contract failed")
    subscriber.refuses = False
    assert lending.dispatch("timealarms") == 1
    assert lending.seen("time-alarm")[0]["delivered"] == "success"
    assert not _due(lending)


def test_no_dispatch_within_a_delivery(lending: Lending, subscriber: Subscriber) -> None:
    """A subscriber that dispatches while it is called is refused, and nobody's alarm is lost."""
    _set(lending, "one", lending.time + SECOND)
    _set(lending, "two", lending.time + SECOND)
    lending.advance(5)
    subscriber.then = WasmExecute(lending.at["timealarms"], b'{"dispatch_alarms":{"max_count":9}}')
    lending.dispatch("timealarms")
    assert [outcome["delivered"] for outcome in lending.seen("time-alarm")] == ["error", "error"]
    subscriber.then = None
    assert lending.dispatch("timealarms") == 2


def test_wire(lending: Lending) -> None:
    """Numbers are text, unknown variants and missing fields are named, and versions are told."""
    for msg, text in (
        ({"add_alarm": {"time": 5}}, "invalid type: integer `5`, expected string-encoded integer"),
        ({"dispatch_alarms": {}}, "missing field `max_count`"),
        ({"nosuch": {}}, "unknown variant `nosuch`, expected `add_alarm` or `dispatch_alarms`"),
    ):
        with pytest.raises(Refusal, match=f"^kind: Serialization, error: {text} at line 1 column"):
            lending.tell("timealarms", msg, USER)
    with pytest.raises(Refusal, match="there are no variants"):
        lending.govern("timealarms", {"x": {}})
    with pytest.raises(Refusal, match="kind: Serialization, error: expected value"):
        lending.govern("timealarms", {})
    assert lending.ask("timealarms", {"contract_version": {}}) == {"major": 0, "minor": 5, "patch": 2}
    release = lending.ask("timealarms", {"platform_package_release": {}})
    assert release["code"]["name"] == "timealarms"
