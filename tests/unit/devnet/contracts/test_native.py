"""What every native contract shares: strict decoding, handlers by name, refusals in its own words, common checks."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.unit.devnet.wasm.machine import ALICE, BOB, Machine

from leasehold.devnet.contracts.native import Case, Native
from leasehold.devnet.contracts.platform import check_code, one_coin, storage_key_text
from leasehold.devnet.wasm.contract import BankCoin, Response
from leasehold.devnet.wasm.failures import ModuleFailure
from leasehold.protocol.currencies import NATIVE, Currency
from leasehold.protocol.errors import ArithmeticTrap, Refused
from leasehold.protocol.serde import Codec, Empty, OneOf, Wire

COIN = Currency("NLS", "unls", "ibc/nls", 6, NATIVE)


class Start(Wire, frozen=True):
    """No arguments."""


class Execute(OneOf, frozen=True):
    """What the example is told."""

    rust_name = "ExecuteMsg"
    refuse: Empty | None = None
    abort: Empty | None = None
    convert: Empty | None = None
    pay: Empty | None = None
    peer: Empty | None = None
    answer: Empty | None = None


class Query(OneOf, frozen=True):
    """What the example is asked."""

    rust_name = "QueryMsg"
    answer: Empty | None = None


class Example(Native):
    """A contract that fails in every way."""

    tag = "[Example]"
    instantiate_type = Start
    execute_type = Execute
    query_type = Query

    def execute_refuse(self, case: Case, msg: Any) -> Response:
        raise Refused("no")

    def execute_abort(self, case: Case, msg: Any) -> Response:
        raise ArithmeticTrap("overflow")

    def execute_convert(self, case: Case, msg: Any) -> Response:
        return Response(data=msgspec.convert("x", int))  # type: ignore[arg-type]

    def execute_pay(self, case: Case, msg: Any) -> Response:
        return Response(data=b"%d" % one_coin(case.info.funds, COIN, self.tag))

    def execute_peer(self, case: Case, msg: Any) -> Response:
        check_code(case.querier, case.info.sender, 9, self.tag)
        return Response()

    def execute_answer(self, case: Case, msg: Any) -> Response:
        return Response(data=b"executed")

    def query_answer(self, case: Case, msg: Any) -> dict[str, int]:
        return {"b": 1, "a": 2}


@pytest.fixture
def machine() -> Machine:
    machine = Machine()
    machine.runtime.install(bytes(32), Example(Codec()))
    return machine


def _execute(machine: Machine, msg: bytes, *coins: BankCoin, sender: str = ALICE) -> bytes | None:
    return machine.runtime.execute(machine.call(), sender, machine.address, msg, coins)


@pytest.mark.parametrize(
    ("msg", "text", "code"),
    [
        (b'{"refuse":{}}', "[Example] no: execute wasm contract failed", 5),
        (b'{"convert":{}}', "kind: Serialization, error: Expected `int`, got `str`: execute wasm contract failed", 5),
        (b"{", "kind: Serialization, error: expected value", 5),
        (b'{"abort":{}}', "Error calling the VM:", 29),
        (b'{"unknown":{}}', "kind: Serialization, error: unknown variant `unknown`", 5),
    ],
)
def test_failures_are_the_contracts_own(machine: Machine, msg: bytes, text: str, code: int) -> None:
    """Refusals carry the contract's tag, parse errors none, and an abort is a failure of the machine."""
    with pytest.raises(ModuleFailure) as failure:
        _execute(machine, msg)
    assert str(failure.value).startswith(text)
    assert failure.value.code == code


def test_entry_points_do_not_share_what_they_remember(machine: Machine) -> None:
    """The same bytes are another message to another entry point, the first time and every time after."""
    for _ in range(2):
        assert _execute(machine, b'{"answer":{}}') == b"executed"
        answer = machine.runtime.query(machine.store, machine.block, machine.address, b'{"answer":{}}')
        assert answer == b'{"b":1,"a":2}', "keys keep their order"


def test_missing_entry_points_refuse(machine: Machine) -> None:
    """Sudo without variants refuses all of them; migration is accepted unless a contract checks it."""
    with pytest.raises(ModuleFailure, match="there are no variants"):
        machine.runtime.sudo(machine.call(), machine.address, b'{"x":{}}')
    machine.runtime.migrate(machine.call(), ALICE, machine.address, 1, b"{}")


@pytest.mark.parametrize(
    ("coins", "text"),
    [
        ((), "Expecting funds of NLS but found none"),
        ((BankCoin("unls", 1), BankCoin("uother", 1)), "Expecting funds of NLS but found extra ones"),
        ((BankCoin("uother", 1),), "'uother' pretending to be the bank symbol of the currency with ticker 'NLS'"),
    ],
)
def test_exactly_one_coin_is_expected(machine: Machine, coins: tuple[BankCoin, ...], text: str) -> None:
    """None, several and another coin are told apart."""
    for coin in coins:
        machine.bank.give(machine.store, ALICE, coin)
    with pytest.raises(ModuleFailure, match=text):
        _execute(machine, b'{"pay":{}}', *coins)


def test_the_one_coin_is_taken(machine: Machine) -> None:
    """Its amount is told."""
    machine.bank.give(machine.store, ALICE, BankCoin("unls", 7))
    assert _execute(machine, b'{"pay":{}}', BankCoin("unls", 7)) == b"7"


def test_senders_code_is_checked(machine: Machine) -> None:
    """An account is no contract, and a contract of another code is named."""
    with pytest.raises(ModuleFailure, match=f"Querier system error: No such contract: {BOB}"):
        _execute(machine, b'{"peer":{}}', sender=BOB)
    with pytest.raises(ModuleFailure, match=f"Expecting code id 9 for the contract {machine.address}"):
        _execute(machine, b'{"peer":{}}', sender=machine.address)


def test_storage_keys_print_as_bytes() -> None:
    """A key that was not found reads like the real storage prints it: length, namespace, key."""
    assert storage_key_text("ab", b"c") == "[00, 02, 61, 62, 63]"
