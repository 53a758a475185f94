"""Decoding transactions: nested messages come out, and whatever can't be read is set aside, never raised."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given

from leasehold.chain.client import wire
from leasehold.chain.client.blocks import FetchedBlock
from leasehold.chain.registry import registry
from leasehold.indexer.decode import AUTHZ_EXEC, SEND, Decoder

TYPES = registry("leasehold")
DECODER = Decoder(TYPES)


def fetched(*txs: bytes) -> FetchedBlock:
    """A block of raw transactions that all succeeded."""
    results = wire.BlockResults(height="7", txs_results=[wire.TxResult() for _ in txs])
    return FetchedBlock(7, 1, b"h", b"p", "c-1", b"v", list(txs), results, b"{}")


def raw_tx(*packed: object, memo: str = "") -> bytes:
    body = TYPES.new("cosmos.tx.v1beta1.TxBody", messages=list(packed), memo=memo)
    fee = TYPES.new("cosmos.tx.v1beta1.Fee")
    fee.amount.add(denom="ulsh", amount="750")
    auth = TYPES.new("cosmos.tx.v1beta1.AuthInfo", fee=fee)
    parts = {"body_bytes": body.SerializeToString(), "auth_info_bytes": auth.SerializeToString()}
    return bytes(TYPES.new("cosmos.tx.v1beta1.TxRaw", **parts).SerializeToString())


def send(receiver: str = "chain1b") -> object:
    return TYPES.pack(TYPES.new("cosmos.bank.v1beta1.MsgSend", from_address="chain1a", to_address=receiver))


def test_messages_inside_an_authz_execution_are_numbered_from_one() -> None:
    """The outer message keeps number 0; those inside, at any depth, count on."""
    inner = TYPES.pack(TYPES.new("cosmos.authz.v1beta1.MsgExec", grantee="chain1g", msgs=[send("chain1x")]))
    outer = TYPES.pack(TYPES.new("cosmos.authz.v1beta1.MsgExec", grantee="chain1g", msgs=[send(), inner]))
    (tx,) = DECODER.block(fetched(raw_tx(send(), outer, memo="hi"))).txs
    found = [(message.message, message.inner, message.type_url) for message in tx.messages]
    assert found == [(0, 0, SEND), (1, 0, AUTHZ_EXEC), (1, 1, SEND), (1, 2, AUTHZ_EXEC), (1, 3, SEND)]
    assert (tx.memo, tx.fee_amount, tx.fee_denom) == ("hi", 750, "ulsh")
    assert tx.messages[-1].content.to_address == "chain1x"


def test_unknown_types_keep_their_bytes_and_are_no_misfits() -> None:
    """A message of a type nobody reads is kept as bytes."""
    stranger = TYPES.new("google.protobuf.Any", type_url="/some.other.Msg", value=b"\x01\x02")
    block = DECODER.block(fetched(raw_tx(stranger)))
    assert block.misfits == []
    assert (block.txs[0].messages[0].value, block.txs[0].messages[0].content) == (b"\x01\x02", None)


def test_what_is_no_transaction_or_no_message_is_set_aside_with_its_bytes() -> None:
    """The block goes on; the misfit says where it stood and why."""
    broken = TYPES.new("google.protobuf.Any", type_url=SEND, value=b"\xff\xff")
    block = DECODER.block(fetched(b"\xff\x00garbage", raw_tx(send(), broken)))
    assert [(misfit.tx, misfit.part) for misfit in block.misfits] == [(0, "tx"), (1, "message")]
    assert block.misfits[0].data == b"\xff\x00garbage"
    assert len(block.txs[1].messages) == 2


def test_two_misfits_of_one_transaction_have_places_of_their_own() -> None:
    """Several bad messages, also inside one execution, never share a key."""
    broken = TYPES.new("google.protobuf.Any", type_url=SEND, value=b"\xff")
    outer = TYPES.pack(TYPES.new("cosmos.authz.v1beta1.MsgExec", grantee="chain1g", msgs=[broken, broken]))
    misfits = DECODER.block(fetched(raw_tx(outer, broken))).misfits
    assert len({(misfit.tx, misfit.part, misfit.ordinal) for misfit in misfits}) == 3


@given(st.binary(max_size=200))
def test_no_bytes_make_the_decoder_raise(data: bytes) -> None:
    """Any transaction bytes give a block."""
    assert len(DECODER.block(fetched(data)).txs) == 1


@pytest.mark.golden
def test_every_recorded_transaction_is_understood(golden: Path) -> None:
    """All transactions of the recorded chain decode, those inside authz executions included."""
    decoder = Decoder(registry("nolus"))
    blocks = json.loads((golden / "chain" / "blocks" / "replay.json").read_text())["blocks"]
    decoded = [decoder.block(fetched(*map(base64.b64decode, block["txs"]))) for block in blocks]
    assert [misfit for block in decoded for misfit in block.misfits] == []
    messages = [message for block in decoded for tx in block.txs for message in tx.messages]
    assert sum(1 for message in messages if message.inner) >= 3
    hashes = [tx.hash.hex().upper() for block in decoded for tx in block.txs]
    assert hashes == [known for block in blocks for known in block["tx_hashes"]]
