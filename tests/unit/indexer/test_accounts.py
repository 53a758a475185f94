"""Which accounts a message concerns."""

from __future__ import annotations

import json

import pytest

from leasehold.chain.registry import registry
from leasehold.indexer import accounts
from leasehold.indexer.accounts import Concern, concern, contract_call, ics20
from leasehold.indexer.decode import EXECUTE, IBC_RECEIVE, REDELEGATE, VOTE, Message

TYPES = registry("leasehold")


def message(type_url: str, **fields: object) -> Message:
    content = TYPES.new(type_url.removeprefix("/"), **fields)
    return Message(0, 0, type_url, content.SerializeToString(), content)


@pytest.mark.parametrize(
    ("call", "kept"),
    [({"repay": []}, True), ({"open_lease": {"currency": "X"}}, True), ({"feed_prices": {}}, False), ({}, False)],
)
def test_only_what_users_call_is_their_history(call: dict[str, object], kept: bool) -> None:
    """Contract calls of users are kept, those of feeders and keepers are not."""
    execution = message(EXECUTE, sender="chain1u", contract="chain1c", msg=json.dumps(call).encode())
    found = concern(execution, contract_call(execution))
    assert (found is not None) is kept
    if found is not None:
        assert (found.kind, found.sender, found.receiver) == (accounts.CONTRACT, "chain1u", "chain1c")


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff", b'{"a":1,"b":2}', b'"repay"'])
def test_contract_messages_that_are_no_call_are_none(content: bytes) -> None:
    """A message that is not an object with one key concerns nobody."""
    assert contract_call(message(EXECUTE, sender="chain1u", contract="chain1c", msg=content)) is None


def test_votes_and_redelegations_name_what_they_go_to() -> None:
    """A vote goes to its proposal, a redelegation to the new validator."""
    vote = concern(message(VOTE, voter="chain1v", proposal_id=9), None)
    assert vote == Concern(accounts.VOTING, "chain1v", "9")
    moved = message(REDELEGATE, delegator_address="chain1d", validator_src_address="a", validator_dst_address="b")
    assert concern(moved, None) == Concern(accounts.STAKING, "chain1d", "b")


def test_received_packets_concern_their_receiver_only_when_they_carry_coins() -> None:
    """A transfer packet is history of its receiver; other packets are nobody's."""
    data = b'{"amount":"5","denom":"uosmo","sender":"osmo1s","receiver":"chain1r"}'
    packet = {"data": data, "source_port": "transfer"}
    found = concern(message(IBC_RECEIVE, packet=packet), None)
    assert found == Concern(accounts.TRANSFER, "osmo1s", "chain1r")
    assert concern(message(IBC_RECEIVE, packet={"data": b"\x01"}), None) is None
    assert ics20(b'{"amount":"x","denom":"d","sender":"s","receiver":"r"}') is None
