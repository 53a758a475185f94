"""Decoded transactions of the data API."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest

from leasehold.app_api.resources.transactions import DECODERS, kept_transaction
from leasehold.chain.registry import registry
from leasehold.core.addresses import encode

ME, ME_THERE, OTHER = encode("chain", bytes(20)), encode("osmo", bytes(20)), encode("osmo", b"\x01" * 20)
COIN = {"denom": "ulsh", "amount": "7"}


def entry(kind: str, **fields: Any) -> dict[str, Any]:
    message = registry("leasehold").new(kind.removeprefix("/"), **fields)
    return {"type": kind, "value": b64encode(message.SerializeToString()).decode(), "index": 0}


CASES = {
    "/cosmos.bank.v1beta1.MsgSend": (
        {"from_address": ME, "to_address": "b", "amount": [COIN]},
        {"fromAddress": ME, "toAddress": "b", "amount": [COIN]},
    ),
    "/ibc.applications.transfer.v1.MsgTransfer": (
        {"sender": ME, "receiver": ME_THERE, "token": COIN, "source_port": "transfer", "source_channel": "channel-0"},
        {"sender": ME, "receiver": ME_THERE, "token": COIN, "sourcePort": "transfer", "sourceChannel": "channel-0"},
    ),
    "/cosmwasm.wasm.v1.MsgExecuteContract": (
        {"sender": ME, "contract": "c", "msg": b'{"a":1}', "funds": [COIN]},
        {"sender": ME, "contract": "c", "msg": '{"a":1}', "funds": [COIN]},
    ),
    "/cosmos.gov.v1beta1.MsgVote": (
        {"voter": ME, "proposal_id": 3, "option": 1},
        {"voter": ME, "proposalId": 3, "option": 1},
    ),
    "/cosmos.staking.v1beta1.MsgDelegate": (
        {"delegator_address": ME, "validator_address": "v", "amount": COIN},
        {"delegatorAddress": ME, "validatorAddress": "v", "amount": COIN},
    ),
    "/cosmos.staking.v1beta1.MsgUndelegate": (
        {"delegator_address": ME, "validator_address": "v"},
        {"delegatorAddress": ME, "validatorAddress": "v", "amount": None},
    ),
    "/cosmos.staking.v1beta1.MsgBeginRedelegate": (
        {"delegator_address": ME, "validator_src_address": "v", "validator_dst_address": "w", "amount": COIN},
        {"delegatorAddress": ME, "validatorSrcAddress": "v", "validatorDstAddress": "w", "amount": COIN},
    ),
    "/cosmos.distribution.v1beta1.MsgWithdrawDelegatorReward": (
        {"delegator_address": ME, "validator_address": "v"},
        {"delegatorAddress": ME, "validatorAddress": "v"},
    ),
    "/ibc.core.channel.v1.MsgRecvPacket": (
        {"packet": {"data": b'{"sender":"x"}', "source_port": "t", "source_channel": "c", "destination_port": "t"}},
        {
            "packet": {
                "data": '{"sender":"x"}',
                "sourcePort": "t",
                "sourceChannel": "c",
                "destinationPort": "t",
                "destinationChannel": "",
            }
        },
    ),
}


@pytest.mark.parametrize("kind", DECODERS)
def test_every_kept_type_is_decoded(kind: str) -> None:
    """The nine types a user starts carry their message in the words clients know."""
    fields, decoded = CASES[kind]
    found = kept_transaction(entry(kind, **fields), "leasehold", None)
    assert found is not None
    assert found["data"] == decoded
    assert "is_swap" not in found


def test_other_types_are_left_out() -> None:
    """What a relayer or a module does is not a user's transaction, and neither is a type that clients do not know."""
    assert len(DECODERS) == 9
    for kind in ("/cosmos.authz.v1beta1.MsgExec", "/cosmos.gov.v1.MsgVote", "/ibc.core.client.v1.MsgUpdateClient"):
        assert kept_transaction({"type": kind, "value": ""}, "leasehold", ME) is None


@pytest.mark.parametrize("value", ["////", "%", None, 5])
def test_what_can_not_be_decoded_is_passed_on(value: Any) -> None:
    """An entry whose value is broken stays, without data."""
    broken = {"type": "/cosmos.bank.v1beta1.MsgSend", "value": value}
    assert kept_transaction(broken, "leasehold", ME) == broken


@pytest.mark.parametrize(("receiver", "swap"), [(ME_THERE, False), (OTHER, True), ("nonsense", None)])
def test_a_transfer_to_somebody_else_is_a_swap(receiver: str, swap: bool | None) -> None:
    """The same key under another prefix is a transfer to oneself; a stranger is an intermediary."""
    sent = entry("/ibc.applications.transfer.v1.MsgTransfer", sender=ME, receiver=receiver)
    found = kept_transaction(sent, "leasehold", ME)
    assert found is not None
    assert found.get("is_swap") is swap
    packet = {"data": f'{{"sender":"{receiver}"}}'.encode()}
    received = kept_transaction(entry("/ibc.core.channel.v1.MsgRecvPacket", packet=packet), "leasehold", ME)
    assert received is not None
    assert received.get("is_swap") is swap
