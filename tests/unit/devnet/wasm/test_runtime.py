"""The contract machine: entry points, messages in order, replies, and what a failure leaves behind."""

from __future__ import annotations

import pytest
from tests.unit.devnet.wasm.machine import ALICE, BOB, PREFIXES, Machine

from leasehold.core.addresses import contract_address, predictable_contract_address
from leasehold.devnet.wasm import records, replies
from leasehold.devnet.wasm.contract import (
    BankCoin,
    BankSend,
    ContractError,
    ContractTrap,
    Event,
    Interchain,
    Reply,
    ReplyOn,
    Response,
    SubMessage,
    WasmExecute,
    WasmInstantiate,
    WasmMigrate,
    WasmUpdateAdmin,
)
from leasehold.devnet.wasm.failures import ModuleFailure


@pytest.fixture
def machine() -> Machine:
    return Machine()


def _types(call_events: list) -> list[str]:
    return [event.type for event in call_events]


def test_counted_and_salted_addresses(machine: Machine) -> None:
    """The two instantiate rules give the two documented addresses; a salt can't be used twice."""
    assert machine.address == PREFIXES.account_text(contract_address(1, 1))
    call = machine.call()
    address, _ = machine.runtime.instantiate(call, ALICE, 1, b"{}", label="x", salt=b"salt")
    creator = PREFIXES.account_bytes(ALICE)
    assert address == PREFIXES.account_text(predictable_contract_address(bytes(32), creator, b"salt"))
    with pytest.raises(ModuleFailure, match="already exists") as failure:
        machine.runtime.instantiate(machine.call(), ALICE, 1, b"{}", label="x", salt=b"salt")
    assert (failure.value.codespace, failure.value.code) == ("wasm", 15)
    second, _ = machine.runtime.instantiate(machine.call(), ALICE, 1, b"{}", label="x")
    assert second == PREFIXES.account_text(contract_address(1, 2)), "a salted address takes no number"


def test_records_of_a_new_contract(machine: Machine) -> None:
    """Creator, admin, label, position and the first history entry are kept."""
    record = machine.runtime.record(machine.store, machine.address)
    assert record == records.ContractRecord(1, ALICE, ALICE, "first", 7, 2)
    raw = PREFIXES.account_bytes(machine.address)
    assert list(records.history(machine.store, raw)) == [records.HistoryRecord("init", 1, 7, 2, b"{}")]
    assert list(records.by_code(machine.store, 1)) == [raw]
    assert list(records.by_creator(machine.store, PREFIXES.account_bytes(ALICE))) == [raw]


def test_funds_arrive_before_the_contract_runs(machine: Machine) -> None:
    """A contract sees the attached coins on its account, and their transfer comes first among the events."""
    machine.bank.give(machine.store, ALICE, BankCoin("coin", 5))
    msg = machine.script("look", lambda d, e, i: Response(data=str(d.querier.balance(e.contract, "coin")).encode()))
    call = machine.call()
    assert machine.runtime.execute(call, ALICE, machine.address, msg, (BankCoin("coin", 5),)) == b"5"
    assert _types(call.events) == ["transfer", "execute"]


def test_own_events_then_messages_then_replies(machine: Machine) -> None:
    """Events come as on the chain: execute, wasm, wasm-*, each message's own, then its reply."""
    inner = machine.script("inner", lambda d, e, i: Response(events=[Event("inner", [("k", " v ")])]))

    def outer(deps, env, info):  # type: ignore[no-untyped-def]
        message = SubMessage(WasmExecute(env.contract, inner), 1, ReplyOn.SUCCESS)
        return Response([message], [("a", "1")], [Event("outer")])

    machine.program.on_reply = lambda d, e, r: Response(attributes=[("done", "yes")])
    call = machine.call()
    machine.runtime.execute(call, ALICE, machine.address, machine.script("outer", outer))
    assert _types(call.events) == ["execute", "wasm", "wasm-outer", "execute", "wasm-inner", "reply", "wasm"]
    assert call.events[4].attributes == [("_contract_address", machine.address), ("k", "v")]


@pytest.mark.parametrize(
    ("mode", "fails", "replied"),
    [
        (ReplyOn.NEVER, False, 0),
        (ReplyOn.SUCCESS, False, 1),
        (ReplyOn.ERROR, False, 0),
        (ReplyOn.ALWAYS, False, 1),
        (ReplyOn.ERROR, True, 1),
        (ReplyOn.ALWAYS, True, 1),
    ],
)
def test_reply_modes(machine: Machine, mode: ReplyOn, fails: bool, replied: int) -> None:
    """A contract hears exactly of the outcomes it asked for."""

    def inner(deps, env, info):  # type: ignore[no-untyped-def]
        deps.storage.set(b"k", b"v")
        if fails:
            raise ContractError("no")
        return Response(data=b"42")

    message = machine.script("inner", inner)
    outer = machine.script(
        "outer", lambda d, e, i: Response([SubMessage(WasmExecute(e.contract, message), 9, mode, b"p")])
    )
    machine.runtime.execute(machine.call(), ALICE, machine.address, outer)
    assert len(machine.program.replies) == replied
    assert machine.runtime.raw(machine.store, machine.address, b"k") == (None if fails else b"v")
    for reply in machine.program.replies:
        assert (reply.id, reply.payload, reply.ok) == (9, b"p", not fails)
        if fails:
            assert reply.error == "no: execute wasm contract failed"
        else:
            assert replies.executed(reply) == b"42"


@pytest.mark.parametrize("mode", [ReplyOn.NEVER, ReplyOn.SUCCESS])
def test_unheard_failure_fails_the_caller(machine: Machine, mode: ReplyOn) -> None:
    """A message nobody asked the failure of takes its sender down, with the innermost text kept."""
    outer = machine.script(
        "outer", lambda d, e, i: Response([SubMessage(WasmExecute(e.contract, b'{"do":"none"}'), 1, mode)])
    )
    with pytest.raises(ModuleFailure) as failure:
        machine.runtime.execute(machine.call(), ALICE, machine.address, outer)
    assert str(failure.value) == "no script none: execute wasm contract failed"
    assert (failure.value.codespace, failure.value.code) == ("wasm", 5)


def test_deeper_failures_are_told_by_code(machine: Machine) -> None:
    """Below the called contract only codespace and code are shown, and a bank's refusal likewise."""
    middle = machine.script("middle", lambda d, e, i: Response([SubMessage(WasmExecute(e.contract, b'{"do":"none"}'))]))
    send = BankSend(BOB, (BankCoin("coin", 1),))
    outer = machine.script(
        "outer",
        lambda d, e, i: Response(
            [SubMessage(WasmExecute(e.contract, middle), 1, ReplyOn.ERROR), SubMessage(send, 2, ReplyOn.ERROR)]
        ),
    )
    call = machine.call()
    machine.runtime.execute(call, ALICE, machine.address, outer)
    assert [reply.error for reply in machine.program.replies] == ["codespace: wasm, code: 5", "codespace: sdk, code: 5"]
    assert _types(call.events) == ["execute", "reply", "reply"], "failed messages leave no events"


def test_trap_is_a_vm_error(machine: Machine) -> None:
    """An aborted contract is code 29 and, to another contract, only a code."""

    def abort(deps, env, info):  # type: ignore[no-untyped-def]
        raise ContractTrap("overflow")

    msg = machine.script("abort", abort)
    with pytest.raises(ModuleFailure, match=r"Aborted: overflow: wasmvm error$") as failure:
        machine.runtime.execute(machine.call(), ALICE, machine.address, msg)
    assert failure.value.code == 29
    assert failure.value.shown_to_contract() == "codespace: wasm, code: 29"


def test_reply_data_overrides(machine: Machine) -> None:
    """The last reply that gives data wins over the contract's own; a reply without data changes nothing."""
    inner = machine.script("inner", lambda d, e, i: Response(data=b"ignored"))

    def outer(deps, env, info):  # type: ignore[no-untyped-def]
        calls = [SubMessage(WasmExecute(env.contract, inner), number, ReplyOn.SUCCESS) for number in (1, 2, 3)]
        return Response(calls, data=b"own")

    machine.program.on_reply = lambda d, e, r: Response(data=None if r.id == 3 else b"reply%d" % r.id)
    msg = machine.script("outer", outer)
    assert machine.runtime.execute(machine.call(), ALICE, machine.address, msg) == b"reply2"


def test_failing_reply_undoes_its_message(machine: Machine) -> None:
    """A reply that fails takes the whole call down and is named in the text."""
    inner = machine.script("inner", lambda d, e, i: Response())

    def refuse(deps, env, reply: Reply) -> Response:  # type: ignore[no-untyped-def]
        raise ContractError("bad reply")

    machine.program.on_reply = refuse
    outer = machine.script(
        "outer", lambda d, e, i: Response([SubMessage(WasmExecute(e.contract, inner), 1, ReplyOn.SUCCESS)])
    )
    with pytest.raises(ModuleFailure) as failure:
        machine.runtime.execute(machine.call(), ALICE, machine.address, outer)
    assert str(failure.value) == "reply: bad reply: execute wasm contract failed"


def test_reply_to_instantiation_names_the_new_contract(machine: Machine) -> None:
    """The creator learns address and data of a contract it made, and sees events with sorted attributes."""
    created = machine.script("created", lambda d, e, i: Response(data=b"hi"))
    outer = machine.script(
        "outer",
        lambda d, e, i: Response([SubMessage(WasmInstantiate(1, created, "x", e.contract), 1, ReplyOn.SUCCESS)]),
    )
    machine.runtime.execute(machine.call(), ALICE, machine.address, outer)
    (reply,) = machine.program.replies
    address = PREFIXES.account_text(contract_address(1, 2))
    assert replies.instantiated(reply) == (address, b"hi")
    assert reply.events == (("instantiate", (("_contract_address", address), ("code_id", "1"))),)
    assert machine.runtime.record(machine.store, address).admin == machine.address


def test_only_the_admin_migrates(machine: Machine) -> None:
    """Migration needs the admin; it changes code, history and the order of listings."""
    machine.runtime.install(b"\x01" * 32, machine.program)
    machine.runtime.store_code(machine.call(), ALICE, b"\x01" * 32)
    with pytest.raises(ModuleFailure, match=r"^can not migrate: unauthorized$"):
        machine.runtime.migrate(machine.call(), BOB, machine.address, 2, b"{}")
    with pytest.raises(ModuleFailure, match=r"^unknown code: invalid request$"):
        machine.runtime.migrate(machine.call(), ALICE, machine.address, 9, b"{}")
    call = machine.call()
    machine.runtime.migrate(call, ALICE, machine.address, 2, b"{}")
    assert call.events[0].attributes == [("code_id", "2"), ("_contract_address", machine.address)]
    raw = PREFIXES.account_bytes(machine.address)
    assert [entry.operation for entry in records.history(machine.store, raw)] == ["init", "migrate"]
    assert list(records.by_code(machine.store, 1)) == []
    assert list(records.by_code(machine.store, 2)) == [raw]


def test_a_contract_may_migrate_and_release_what_it_administers(machine: Machine) -> None:
    """Migrate and update-admin messages run with the contract's own authority."""
    machine.runtime.update_admin(machine.call(), ALICE, machine.address, machine.address)
    steps = machine.script(
        "steps",
        lambda d, e, i: Response(
            [SubMessage(WasmMigrate(e.contract, 1, b"{}")), SubMessage(WasmUpdateAdmin(e.contract, None))]
        ),
    )
    call = machine.call()
    machine.runtime.execute(call, BOB, machine.address, steps)
    assert _types(call.events) == ["execute", "migrate", "update_contract_admin"]
    with pytest.raises(ModuleFailure, match="can not modify contract"):
        machine.runtime.update_admin(machine.call(), machine.address, machine.address, ALICE)


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (Event("ok", []), "Event type too short: 'ok': invalid event"),
        (Event("long", [("_own", "x")]), "Attribute key starts with reserved prefix _: '_own': invalid event"),
        (Event("long", [(" ", "x")]), "Empty attribute key. Value: x: invalid event"),
    ],
)
def test_refused_events(machine: Machine, event: Event, text: str) -> None:
    """Events a chain does not accept fail the call that emitted them."""
    msg = machine.script("emit", lambda d, e, i: Response(events=[event]))
    with pytest.raises(ModuleFailure) as failure:
        machine.runtime.execute(machine.call(), ALICE, machine.address, msg)
    assert str(failure.value) == text


def test_query_texts(machine: Machine) -> None:
    """Failures of queries read as on the chain, directly and through another contract."""
    with pytest.raises(ModuleFailure, match=f"^address {BOB}: no such contract$"):
        machine.runtime.query(machine.store, machine.block, BOB, b"{}")
    with pytest.raises(ModuleFailure, match=r"^no script none: query wasm contract failed$"):
        machine.runtime.query(machine.store, machine.block, machine.address, b'{"do":"none"}')
    ask = machine.script("ask", lambda d, e, i: Response(data=d.querier.smart(BOB, b"{}")))
    with pytest.raises(ModuleFailure, match=f"error: Querier system error: No such contract: {BOB}: query wasm"):
        machine.runtime.query(machine.store, machine.block, machine.address, ask)
    fail = machine.script("fail", lambda d, e, i: Response(data=d.querier.smart(e.contract, b'{"do":"none"}')))
    text = "kind: Other, error: Querier contract error: no script none: query wasm contract failed: query wasm"
    with pytest.raises(ModuleFailure, match=text):
        machine.runtime.query(machine.store, machine.block, machine.address, fail)


def test_queries_neither_write_nor_nest_without_end(machine: Machine) -> None:
    """A query that writes traps; one that asks itself is stopped at the tenth level."""

    def write(deps, env, info):  # type: ignore[no-untyped-def]
        deps.storage.set(b"k", b"v")
        return Response()

    with pytest.raises(ModuleFailure, match="wasmvm error"):
        machine.runtime.query(machine.store, machine.block, machine.address, machine.script("write", write))
    loop = machine.script("loop", lambda d, e, i: Response(data=d.querier.smart(e.contract, b'{"do":"loop"}')))
    with pytest.raises(ModuleFailure, match="codespace: wasm, code: 27"):
        machine.runtime.query(machine.store, machine.block, machine.address, loop)


def test_endless_calls_end(machine: Machine) -> None:
    """A contract that calls itself for ever is refused, not a crash."""
    msg = b'{"do":"loop"}'
    machine.script("loop", lambda d, e, i: Response([SubMessage(WasmExecute(e.contract, msg))]))
    with pytest.raises(ModuleFailure, match="max call depth exceeded") as failure:
        machine.runtime.execute(machine.call(), ALICE, machine.address, msg)
    assert failure.value.code == 30


def test_interchain_messages_reach_their_handler(machine: Machine) -> None:
    """What goes to other chains is handed over with its sender; `message` events of messages are dropped."""
    message = Interchain("register_ica", {"connection_id": "connection-0"})
    msg = machine.script("out", lambda d, e, i: Response([SubMessage(message)]))
    call = machine.call()
    machine.runtime.execute(call, ALICE, machine.address, msg)
    assert machine.interchain.sent == [(machine.address, message)]
    assert _types(call.events) == ["execute"]


def test_gas_is_charged_for_entries_and_storage(machine: Machine) -> None:
    """A meter that refuses stops the contract where it stands."""

    class Meter:
        used = 0

        def charge(self, amount: int, reason: str) -> None:
            self.used += amount
            if reason == "write":
                raise RuntimeError("out of gas")

    def write(deps, env, info):  # type: ignore[no-untyped-def]
        deps.storage.set(b"k", b"v")
        return Response()

    call = machine.call()
    call.gas = meter = Meter()
    with pytest.raises(RuntimeError, match="out of gas"):
        machine.runtime.execute(call, ALICE, machine.address, machine.script("write", write))
    assert meter.used > 60_000
