"""What leases bought, from the DEX's answer that opened them."""

from __future__ import annotations

import base64
import json

import hypothesis.strategies as st
from hypothesis import given

from leasehold.chain.client import wire
from leasehold.chain.registry import registry
from leasehold.indexer.decode import IBC_ACKNOWLEDGE, Block, Message, Tx
from leasehold.indexer.openings import openings, swap_outputs

TYPES = registry("leasehold")


def answer(*amounts: int) -> bytes:
    """An acknowledgement of swaps that paid these amounts."""
    data = TYPES.new("cosmos.base.abci.v1beta1.TxMsgData")
    for amount in amounts:
        text = str(amount).encode()
        data.msg_responses.add(type_url="/swap.Response", value=b"\x0a" + bytes([len(text)]) + text)
    return json.dumps({"result": base64.b64encode(data.SerializeToString()).decode()}).encode()


def opened(acknowledgement: bytes, *, port: str, down: str = "USDC") -> Block:
    content = TYPES.new("ibc.core.channel.v1.MsgAcknowledgement", acknowledgement=acknowledgement)
    content.packet.source_port = port
    attributes = {"id": "chain1lease", "currency": "BTC", "downpayment-symbol": down, "downpayment-amount": "7"}
    event = wire.Event("wasm-ls-open", [wire.Attribute(k, v) for k, v in [*attributes.items(), ("msg_index", "0")]])
    tx = Tx(0, b"", 0, 0, 0, 0, None, "", [Message(0, 0, IBC_ACKNOWLEDGE, b"", content)], [event])
    return Block(5, 1, [tx], [])


def test_the_amount_is_the_sum_of_the_swaps() -> None:
    """Both legs of an opening add up; a down-payment already in the asset is added to the one swap."""
    (found,) = openings([opened(answer(100, 23), port="icacontroller-chain1lease.0")])
    assert (found.lease, found.height, found.amount) == ("chain1lease", 5, 123)
    (same,) = openings([opened(answer(100), port="icacontroller-chain1lease.0", down="BTC")])
    assert same.amount == 107


def test_answers_for_others_and_failures_tell_nothing() -> None:
    """An acknowledgement of another contract, or of something else than swaps, leaves the amount open."""
    assert openings([opened(answer(100), port="icacontroller-chain1other.0")])[0].amount is None
    assert openings([opened(b'{"error":"ABCI code: 1"}', port="icacontroller-chain1lease.0")])[0].amount is None


@given(st.binary(max_size=80))
def test_no_acknowledgement_makes_it_raise(data: bytes) -> None:
    """Whatever the bytes, there are outputs or none."""
    assert swap_outputs(data) is None or isinstance(swap_outputs(data), list)
    wrapped = json.dumps({"result": base64.b64encode(data).decode()}).encode()
    assert swap_outputs(wrapped) is None or isinstance(swap_outputs(wrapped), list)
