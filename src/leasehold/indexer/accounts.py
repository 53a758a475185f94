"""Which accounts a message concerns, and as what: the source of an account's history."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from leasehold.indexer import decode
from leasehold.indexer.decode import Message

TRANSFER, STAKING, VOTING, EARN, POSITION, CONTRACT = range(1, 7)

# Contract calls of users; everything else (feeders, keepers, relayers) is no account's history.
USER_CALLS = frozenset(
    {
        "deposit",
        "burn",
        "burn_deposit",
        "open_lease",
        "repay",
        "claim_rewards",
        "close_position",
        "change_close_policy",
    }
)


@dataclass(slots=True)
class Concern:
    """A message seen from the accounts it touches; `call` is the decoded contract message, if it is one."""

    kind: int
    sender: str
    receiver: str
    call: dict[str, Any] | None = None


def contract_call(message: Message) -> dict[str, Any] | None:
    """The JSON object of a contract execution, or None when it is not one."""
    try:
        call = msgspec.json.decode(message.content.msg)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return call if isinstance(call, dict) and len(call) == 1 else None


def concern(message: Message, call: dict[str, Any] | None) -> Concern | None:
    """How a message concerns accounts; None when it concerns nobody's history."""
    content = message.content
    if content is None:
        return None
    match message.type_url:
        case decode.SEND:
            return Concern(TRANSFER, content.from_address, content.to_address)
        case decode.IBC_TRANSFER:
            return Concern(TRANSFER, content.sender, content.receiver)
        case decode.IBC_RECEIVE:
            packet = ics20(content.packet.data)
            return None if packet is None else Concern(TRANSFER, packet.sender, packet.receiver)
        case decode.VOTE | decode.VOTE_LEGACY | decode.VOTE_WEIGHTED | decode.VOTE_WEIGHTED_LEGACY:
            return Concern(VOTING, content.voter, str(content.proposal_id))
        case decode.DELEGATE | decode.UNDELEGATE | decode.WITHDRAW_REWARD:
            return Concern(STAKING, content.delegator_address, content.validator_address)
        case decode.REDELEGATE:
            return Concern(STAKING, content.delegator_address, content.validator_dst_address)
        case decode.EXECUTE:
            if call is not None and USER_CALLS.issuperset(call):
                return Concern(CONTRACT, content.sender, content.contract, call)
    return None


class TransferPacket(msgspec.Struct):
    """The ICS-20 data of a packet."""

    amount: str
    denom: str
    sender: str
    receiver: str


_PACKET = msgspec.json.Decoder(TransferPacket)


def ics20(data: bytes) -> TransferPacket | None:
    """The transfer inside a packet, or None when it carries something else."""
    try:
        packet = _PACKET.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return packet if packet.amount.isdigit() else None
