"""The query table behind `abci_query`: paths, codes, heights and raw stores."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.devnet.open_chain import BLOCKS, shared_chain

from leasehold.devnet.app.abci import QueryResult
from leasehold.devnet.app.errors import INSUFFICIENT_FUNDS, WRONG_SEQUENCE, ChainError, Kind
from leasehold.devnet.app.heights import HeightError, asked_height
from leasehold.devnet.app.source_positions import source_position

PARAMS = "/cosmos.bank.v1beta1.Query/Params"
_EXECUTED = "failed to execute message; message index: "


def ask(path: str, data: bytes = b"", height: int = 0, *, prove: bool = False) -> QueryResult:
    return shared_chain().devnet.app.query(path, data, height, prove)


@pytest.mark.parametrize(
    ("path", "code", "log"),
    [
        ("", 6, "no query path provided: unknown request"),
        ("/", 6, "unknown query path: unknown request"),
        ("nope", 6, "unknown query path: unknown request"),
        (PARAMS[1:], 6, "unknown query path: unknown request"),
        (
            "/app",
            6,
            "expected second parameter to be either 'simulate' or 'version', neither was present: unknown request",
        ),
        ("/app/nope", 6, "unknown query: [app nope]: unknown request"),
        ("/p2p", 6, "path should be p2p filter <addr|id> <parameter>: unknown request"),
        ("/p2p/x/y/z", 6, "expected second parameter to be 'filter': unknown request"),
        ("/store", 4, "no such store: : unknown request"),
        ("/store/nosuch/key", 4, "no such store: nosuch: unknown request"),
        ("/cosmos.tx.v1beta1.Service/BroadcastTx", 18, "can't route a broadcast tx message: invalid request"),
    ],
)
def test_paths_that_lead_nowhere(path: str, code: int, log: str) -> None:
    """Each has its code and text, and no height."""
    answer = ask(path)
    assert (answer.code, answer.log, answer.height) == (code, log, 0)


def test_paths_of_the_application_work_with_and_without_a_slash() -> None:
    """The version is told with the height it was asked at; peers are never filtered."""
    assert ask("/app/version") == ask("app/version")
    assert (ask("/app/version").height, ask("/app/version", height=2).height) == (BLOCKS, 2)
    assert ask("/p2p/filter/addr/1.2.3.4") == QueryResult()


def test_simulations_keep_the_code_of_the_failure() -> None:
    """Through this path a failure has its own code and no place in the source; a success is JSON."""
    chain = shared_chain()
    failed = ask("/app/simulate", chain.send(1, sequence=9))
    assert (failed.code, failed.codespace) == (32, "sdk")
    assert failed.log.startswith("failed to simulate tx: account sequence mismatch")
    assert ".go:" not in failed.log
    answered = json.loads(ask("/app/simulate", chain.send(1)).value or b"")
    assert int(answered["gas_info"]["gas_used"]) > 0
    assert answered["result"]["events"]


def test_heights_of_a_query() -> None:
    """The latest by default; the future, the past before the first block, and proofs of the first are refused."""
    assert ask(PARAMS).height == BLOCKS
    assert ask(PARAMS, height=2).height == 2
    assert (ask(PARAMS, height=99).code, ask(PARAMS, height=-1).code) == (26, 18)
    assert ask(PARAMS, height=1, prove=True).code == 18


def test_accounts_and_balances_are_read_raw_as_the_original_stores_them() -> None:
    """An account under its prefix and address, a balance under its owner and denom, all of an owner's in a subspace."""
    chain = shared_chain()
    address = chain.sender.address_bytes
    account = ask("/store/acc/key", b"\x01" + address).value
    assert account is not None
    packed = chain.devnet.registry.parse("google.protobuf.Any", account)
    assert chain.devnet.registry.unpack(packed).address == chain.sender.address
    owner = b"\x02" + bytes([len(address)]) + address
    balance = ask("/store/bank/key", owner + chain.denom.encode()).value
    assert (
        balance == str(chain.devnet.app.modules.bank.balance(chain.devnet.app.context(), address, chain.denom)).encode()
    )
    listed = ask("/store/bank/subspace", owner).value
    assert listed is not None
    assert balance in listed


def test_raw_reads_that_fail() -> None:
    """Empty keys, other operations, missing heights; a missing key is an empty value."""
    assert (ask("/store/acc/key").codespace, ask("/store/acc/key").code) == ("store", 2)
    assert ask("/store/acc/iterate", b"x").log == "unexpected query path: /iterate: unknown request"
    assert ask("/store/acc/key", b"x", height=99).log == "version does not exist"
    assert ask("/store/acc/key", b"x", height=99, prove=True).code == 7
    missing = ask("/store/acc/key", b"\x01" + b"?" * 20)
    assert (missing.code, missing.value, missing.key) == (0, None, b"\x01" + b"?" * 20)


@given(st.text(max_size=40), st.binary(max_size=40), st.integers(-(2**70), 2**70), st.booleans())
def test_whatever_is_asked_is_answered(path: str, data: bytes, height: int, prove: bool) -> None:
    """No path, data or height raises."""
    for prefix in ("", "/store/acc/", "/app/", "/cosmos.bank.v1beta1.Query/"):
        assert isinstance(ask(prefix + path, data, height, prove=prove), QueryResult)
    assert isinstance(ask("/cosmos.bank.v1beta1.Query/Balance", data, height, prove=prove), QueryResult)


@pytest.mark.parametrize(("text", "height"), [("0", 0), ("+7", 7), ("-3", -3), ("007", 7)])
def test_heights_are_read_as_go_reads_them(text: str, height: int) -> None:
    """Signs and leading zeros are fine."""
    assert asked_height(text) == height


@pytest.mark.parametrize("text", ["", " 1", "1 ", "1_0", "٣", "0x1", "1.0", "9" * 19, "9" * 5_000])
def test_other_texts_are_no_heights(text: str) -> None:
    """Nothing else that Python would take for a number, and nothing beyond 64 bits."""
    with pytest.raises(HeightError):
        asked_height(text)


@pytest.mark.parametrize(
    ("error", "place"),
    [
        (WRONG_SEQUENCE("account sequence mismatch, expected 1, got 2"), "x/auth/ante/sigverify.go:364"),
        (INSUFFICIENT_FUNDS("spendable balance 1u is smaller than 2u").wrap(_EXECUTED + "0"),
         "x/bank/keeper/send.go:298"),
        (ChainError(Kind("staking", 3, "validator does not exist"), _EXECUTED + "12"),
         "baseapp/baseapp.go:1051"),
        (Kind("x", 9, "something else")("of another kind"), "errors.go:155"),
    ],
)  # fmt: skip
def test_a_failed_simulation_names_a_place(error: ChainError, place: str) -> None:
    """Known errors have their own place, bare ones the executor's, all others that of a wrapped error."""
    assert source_position(error).endswith(f"{place}]")
