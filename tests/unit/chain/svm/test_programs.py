"""SVM addresses, messages and instructions, against recorded bytes and against themselves."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.chain.svm import addresses, programs, transactions
from leasehold.core.addresses import InvalidAddress

OWNER = addresses.decode("4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T")
MINT = addresses.decode("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v")
BLOCKHASH = addresses.decode("4sGjMW1sUnHzSxGspuhpqLDx6wiyjNtZAMdL4VZHirAn")
PROGRAM = bytes(range(32))


@given(st.binary(max_size=40))
def test_base58_keeps_every_byte(data: bytes) -> None:
    """Decoding an encoding gives the same bytes, leading zeros included."""
    assert addresses.decode(addresses.encode(data)) == data


@pytest.mark.parametrize("text", ["", "foo", "0" * 44, "1" * 31, "1" * 33, "z" * 44, "l" * 32])
def test_only_32_bytes_are_an_address(text: str) -> None:
    """Other alphabets and other lengths are refused."""
    with pytest.raises(InvalidAddress):
        addresses.address_bytes(text)


def test_the_recorded_token_account_is_rebuilt_byte_by_byte(golden: Path) -> None:
    """A create instruction compiles to the recorded transaction, its derived address and account order included."""
    cases = json.loads((golden / "app" / "solana_transfer.json").read_text())
    cases = cases["cases"] if isinstance(cases, dict) else cases
    recorded = next(case for case in cases if case["case"] == "create ata")["response"]["body"]["transaction"]
    instructions = (
        *programs.compute_budget(200_000, 1000),
        programs.create_associated_account(OWNER, MINT),
    )
    made = transactions.unsigned(transactions.compiled(OWNER, BLOCKHASH, instructions))
    assert base64.b64encode(made).decode() == recorded


@given(
    st.sampled_from((programs.SOURCE, programs.SINK)),
    st.integers(0, 2**16 - 1),
    st.lists(st.integers(0, 2**64 - 1), min_size=4, max_size=4),
    st.text(max_size=90),
    st.text(max_size=60),
)
def test_a_send_survives_the_wire(kind: int, channel: int, numbers: list[int], recipient: str, denom: str) -> None:
    """Compiling, parsing and reading a send gives it back, with its accounts and their rights."""
    what = programs.Send(kind, channel, *numbers, recipient, denom)
    instruction = programs.send(PROGRAM, OWNER, MINT, what)
    raw = transactions.unsigned(transactions.compiled(OWNER, BLOCKHASH, [instruction]))
    message = transactions.parse(raw).message
    assert message.payer == OWNER
    assert message.blockhash == BLOCKHASH
    assert message.instructions == (instruction,)
    assert programs.parse_send(message.instructions[0].data) == what


@given(st.binary(max_size=300))
def test_garbage_is_refused_and_nothing_else(data: bytes) -> None:
    """Bytes that are no transaction, send or account raise InvalidTransaction."""
    for read in (transactions.parse, programs.parse_send, programs.parse_commitments, programs.parse_acknowledgements):
        with pytest.raises(transactions.InvalidTransaction):
            read(data)


@given(st.lists(st.tuples(st.integers(0, 2**64 - 1), st.booleans()), unique_by=lambda row: row[0]))
def test_packet_lists_survive_the_wire(rows: list[tuple[int, bool]]) -> None:
    """Commitments and acknowledgements are read back as they were written."""
    assert programs.parse_commitments(programs.commitments(7, [row[0] for row in rows])) == [row[0] for row in rows]
    assert programs.parse_acknowledgements(programs.acknowledgements(7, rows)) == dict(rows)


def test_derived_addresses_are_no_keys() -> None:
    """An address a program derives is off the curve; a key is on it."""
    assert not addresses.is_on_curve(programs.associated_account(OWNER, MINT))
    key = bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
    assert addresses.is_on_curve(key)
