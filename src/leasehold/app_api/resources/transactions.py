"""Transactions of the data API: those a user started, with the protobuf in `value` decoded into `data`."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Callable
from typing import Any

import msgspec

from leasehold.chain.registry import MalformedMessage, registry

Decoded = dict[str, Any]


def _coin(coin: Any) -> dict[str, str]:
    return {"denom": coin.denom, "amount": coin.amount}


def _optional_coin(message: Any, field: str) -> dict[str, str] | None:
    return _coin(getattr(message, field)) if message.HasField(field) else None


def _send(message: Any) -> Decoded:
    return {
        "fromAddress": message.from_address,
        "toAddress": message.to_address,
        "amount": [_coin(coin) for coin in message.amount],
    }


def _transfer(message: Any) -> Decoded:
    return {
        "sender": message.sender,
        "receiver": message.receiver,
        "token": _optional_coin(message, "token"),
        "sourcePort": message.source_port,
        "sourceChannel": message.source_channel,
    }


def _execute(message: Any) -> Decoded:
    return {
        "sender": message.sender,
        "contract": message.contract,
        "msg": message.msg.decode(),
        "funds": [_coin(coin) for coin in message.funds],
    }


def _vote(message: Any) -> Decoded:
    return {"voter": message.voter, "proposalId": message.proposal_id, "option": message.option}


def _delegate(message: Any) -> Decoded:
    return {
        "delegatorAddress": message.delegator_address,
        "validatorAddress": message.validator_address,
        "amount": _optional_coin(message, "amount"),
    }


def _redelegate(message: Any) -> Decoded:
    return {
        "delegatorAddress": message.delegator_address,
        "validatorSrcAddress": message.validator_src_address,
        "validatorDstAddress": message.validator_dst_address,
        "amount": _optional_coin(message, "amount"),
    }


def _withdraw(message: Any) -> Decoded:
    return {"delegatorAddress": message.delegator_address, "validatorAddress": message.validator_address}


def _receive(message: Any) -> Decoded:
    packet = message.packet
    return {
        "packet": {
            "data": packet.data.decode(),
            "sourcePort": packet.source_port,
            "sourceChannel": packet.source_channel,
            "destinationPort": packet.destination_port,
            "destinationChannel": packet.destination_channel,
        }
    }


TRANSFER = "/ibc.applications.transfer.v1.MsgTransfer"
RECEIVE = "/ibc.core.channel.v1.MsgRecvPacket"
# The nine types a user starts, as clients know them; everything else in the index is the machinery around them.
DECODERS: dict[str, Callable[[Any], Decoded]] = {
    "/cosmos.bank.v1beta1.MsgSend": _send,
    TRANSFER: _transfer,
    "/cosmwasm.wasm.v1.MsgExecuteContract": _execute,
    "/cosmos.gov.v1beta1.MsgVote": _vote,
    "/cosmos.staking.v1beta1.MsgDelegate": _delegate,
    "/cosmos.staking.v1beta1.MsgUndelegate": _delegate,
    "/cosmos.staking.v1beta1.MsgBeginRedelegate": _redelegate,
    "/cosmos.distribution.v1beta1.MsgWithdrawDelegatorReward": _withdraw,
    RECEIVE: _receive,
}


def kept_transaction(entry: dict[str, Any], namespace: str, address: str | None) -> dict[str, Any] | None:
    """An entry with `data` (and `is_swap` for transfers) where its value decodes, None for a type no user starts."""
    kind = entry.get("type")
    if kind not in DECODERS:
        return None
    decoded = _decoded(kind, entry.get("value"), namespace)
    if decoded is None:
        return entry
    found = {**entry, "data": decoded}
    swap = _is_swap(kind, decoded, address)
    return found if swap is None else {**found, "is_swap": swap}


def _decoded(kind: str, value: Any, namespace: str) -> Decoded | None:
    if not isinstance(value, str):
        return None
    try:
        message = registry(namespace).parse(kind.removeprefix("/"), b64decode(value, validate=True))
        return DECODERS[kind](message)
    except (MalformedMessage, Base64Error, UnicodeDecodeError):
        return None


def _is_swap(kind: str, decoded: Decoded, address: str | None) -> bool | None:
    """Whether the other end of a transfer is not the account itself under another prefix, None where nobody knows."""
    if address is None:
        return None
    if kind == TRANSFER:
        other = decoded["receiver"]
    elif kind == RECEIVE:
        other = _packet_sender(decoded["packet"]["data"])
    else:
        return None
    own, others = _body(address), _body(other)
    return None if own is None or others is None else own != others


class _Packet(msgspec.Struct):
    sender: str | None = None


def _packet_sender(text: str) -> str | None:
    try:
        return msgspec.json.decode(text, type=_Packet).sender
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _body(address: str | None) -> str | None:
    """What an address says about its owner: its data without prefix and checksum."""
    if address is None or "1" not in address:
        return None
    data = address.partition("1")[2]
    return data[:-6] if len(data) > 6 else None
