"""IBC: what the chain says it is connected to, and a user's transfer over it."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from tests.unit.devnet.modules.unsigned_chain import DENOM, GENESIS, UnsignedChain

from leasehold.core.addresses import escrow_address, ibc_denom
from leasehold.devnet.app.errors import StatusError
from leasehold.devnet.modules.ibc.identifiers import revision

VOUCHER = ibc_denom("transfer/channel-0/uosmo")
TRANSFER = "ibc.applications.transfer.v1."


@pytest.fixture
def chain() -> UnsignedChain:
    genesis = copy.deepcopy(GENESIS)
    genesis["counterparty"] = {
        "relayer": "",
        "networks": [
            {
                "name": "OSMOSIS",
                "prefix": "osmo",
                "connection": "connection-0",
                "channel": "channel-0",
                "remote_channel": "channel-8",
                "denoms": {VOUCHER: "uosmo"},
            }
        ],
    }
    chain = UnsignedChain("ann", "bob", genesis=genesis)
    chain.seal()
    return chain


def transfer(chain: UnsignedChain, **fields: Any) -> Any:
    given = {
        "source_port": "transfer",
        "source_channel": "channel-0",
        "token": chain.coin(100),
        "sender": chain.account("ann"),
        "receiver": "osmo1receiver",
        "timeout_timestamp": chain.block.time_ns + 10**10,
    } | fields
    return chain.message(TRANSFER + "MsgTransfer", **given)


def test_native_coins_are_escrowed(chain: UnsignedChain) -> None:
    """A transfer moves them to the channel's account and tells the packet, then the transfer."""
    outcome = chain.done(transfer(chain))
    kinds = [event.type for event in outcome.events]
    assert kinds[-4:] == ["send_packet", "message", "ibc_transfer", "message"]
    held = chain.modules.bank.balance(chain.context(), escrow_address("transfer", "channel-0"), DENOM)
    assert held == 100
    total = chain.ask(TRANSFER + "Query/TotalEscrowForDenom", denom=DENOM).amount
    assert total.amount == "100"
    assert outcome.response.sequence == 1


@pytest.mark.parametrize(
    ("fields", "log"),
    [
        (
            {"source_channel": "x"},
            "invalid source channel ID x: identifier x has invalid length: 1, must be between 8-64 characters: "
            "invalid identifier",
        ),
        ({"receiver": " "}, "missing recipient address: invalid address"),
        ({"receiver": "r" * 2049}, "recipient address must not exceed 2048 bytes: invalid address"),
        ({"memo": "m" * 32_769}, "memo must not exceed 32768 bytes: invalid memo"),
        (
            {"source_channel": "channel-9"},
            "source port: transfer, source channel: channel-9: sequence send not found",
        ),
    ],
)
def test_bad_transfers_are_refused(chain: UnsignedChain, fields: dict[str, str], log: str) -> None:
    """Identifiers, receiver and memo are checked before anything moves."""
    assert chain.run(transfer(chain, **fields)).log == log


def test_a_transfer_needs_a_timeout_to_come(chain: UnsignedChain) -> None:
    """None at all, or one that has passed, is refused."""
    assert "cannot both be 0" in chain.run(transfer(chain, timeout_timestamp=0)).log
    assert chain.run(transfer(chain, timeout_timestamp=1)).log.endswith("timeout elapsed")


def test_reads_agree_with_each_other(chain: UnsignedChain) -> None:
    """Channel, connection and client lead from one to the next."""
    channel = chain.ask("ibc.core.channel.v1.Query/Channel", port_id="transfer", channel_id="channel-0").channel
    assert (channel.version, channel.counterparty.channel_id) == ("ics20-1", "channel-8")
    connection = chain.ask("ibc.core.connection.v1.Query/Connection", connection_id=channel.connection_hops[0])
    state = chain.ask("ibc.core.client.v1.Query/ClientState", client_id=connection.connection.client_id)
    by_channel = chain.ask(
        "ibc.core.channel.v1.Query/ChannelClientState", port_id="transfer", channel_id="channel-0"
    ).identified_client_state
    assert by_channel.client_state == state.client_state
    listed = chain.ask("ibc.core.connection.v1.Query/Connections").connections
    assert [connection.id for connection in listed] == ["connection-0", "connection-localhost"]


def test_denoms_lead_back_to_their_trace(chain: UnsignedChain) -> None:
    """A voucher's hash and its path name each other."""
    denom = chain.ask(TRANSFER + "Query/Denom", hash=VOUCHER).denom
    assert (denom.base, denom.trace[0].channel_id) == ("uosmo", "channel-0")
    digest = chain.ask(TRANSFER + "Query/DenomHash", trace="transfer/channel-0/uosmo").hash
    assert f"ibc/{digest}" == VOUCHER
    with pytest.raises(StatusError, match="denomination not found"):
        chain.ask(TRANSFER + "Query/Denom", hash="AB" * 32)
    with pytest.raises(StatusError, match="invalid byte: U\\+0074 't'"):
        chain.ask(TRANSFER + "Query/Denom", hash="test")


@pytest.mark.parametrize(
    ("chain_id", "number"),
    [("golden-1", 1), ("leasehold-12", 12), ("plain", 0), ("zero-0", 0), ("a-b-3", 3), ("-1", 0)],
)
def test_the_revision_is_the_end_of_the_chain_id(chain_id: str, number: int) -> None:
    """A number after the last dash, if there is one."""
    assert revision(chain_id) == number


def test_the_chain_s_own_transfer_message(chain: UnsignedChain) -> None:
    """The wrapper sends as the standard message does and answers with the channel too."""
    own = chain.message("leasehold.transfer.MsgTransfer")
    own.MergeFromString(transfer(chain).SerializeToString())
    response = chain.done(own).response
    assert (response.sequence_id, response.channel) == (1, "channel-0")
    own.receiver = ""
    assert chain.run(own).log == "failed to validate MsgTransfer: missing recipient address: invalid address"


def test_the_second_version_is_empty(chain: UnsignedChain) -> None:
    """Nobody speaks it here: lists are empty, single reads find nothing."""
    path = "ibc.core.channel.v2.Query/"
    assert list(chain.ask(path + "PacketCommitments", client_id="07-tendermint-0").commitments) == []
    with pytest.raises(StatusError, match="client-id 07-tendermint-0: sequence send not found"):
        chain.ask(path + "NextSequenceSend", client_id="07-tendermint-0")
    with pytest.raises(StatusError, match="packet sequence cannot be 0"):
        chain.ask(path + "PacketReceipt", client_id="07-tendermint-0")


def test_packets_wait_for_their_acknowledgement(chain: UnsignedChain) -> None:
    """A sent packet has a commitment, and its acknowledgement is outstanding."""
    chain.done(transfer(chain))
    where = {"port_id": "transfer", "channel_id": "channel-0"}
    path = "ibc.core.channel.v1.Query/"
    assert [state.sequence for state in chain.ask(path + "PacketCommitments", **where).commitments] == [1]
    assert list(chain.ask(path + "UnreceivedAcks", packet_ack_sequences=[1, 2], **where).sequences) == [1]
    assert chain.ask(path + "NextSequenceSend", **where).next_sequence_send == 2
    with pytest.raises(StatusError, match="packet commitment hash not found"):
        chain.ask(path + "PacketCommitment", sequence=9, **where)


def granted(chain: UnsignedChain, *allocations: dict[str, Any]) -> Any:
    """The message by which Ann lets Bob transfer over channels."""
    message = chain.message("cosmos.authz.v1beta1.MsgGrant", granter=chain.account("ann"), grantee=chain.account("bob"))
    usual = {"source_port": "transfer", "source_channel": "channel-0", "spend_limit": [chain.coin(250)]}
    authorization = chain.message(TRANSFER + "TransferAuthorization", allocations=[usual | one for one in allocations])
    message.grant.authorization.CopyFrom(chain.registry.pack(authorization))
    return message


def on_behalf(chain: UnsignedChain, **fields: Any) -> Any:
    """Bob transfers as Ann."""
    packed = [chain.registry.pack(transfer(chain, **fields))]
    return chain.message("cosmos.authz.v1beta1.MsgExec", grantee=chain.account("bob"), msgs=packed)


def test_transfers_for_another_use_up_their_limit(chain: UnsignedChain) -> None:
    """Each takes its amount off; more than is left is refused, and the last one ends the grant."""
    chain.done(granted(chain, {}))
    chain.done(on_behalf(chain))
    outcome = chain.run(on_behalf(chain, token=chain.coin(151)))
    assert outcome.log == f"requested amount of token {DENOM} is more than spend limit: insufficient funds"
    done = chain.done(on_behalf(chain, token=chain.coin(150)))
    assert done.events[0].type == "cosmos.authz.v1beta1.EventRevoke"
    assert "authorization not found" in chain.run(on_behalf(chain)).log


def test_transfers_for_another_go_where_they_may(chain: UnsignedChain) -> None:
    """Recipients, memos and channels bind; the largest number of all is no limit."""
    endless = [{"denom": DENOM, "amount": str(2**256 - 1)}]
    bound = {"spend_limit": endless, "allow_list": ["osmo1receiver"], "allowed_packet_data": ["thanks"]}
    chain.done(granted(chain, bound))
    for _ in range(3):
        chain.done(on_behalf(chain, memo=" thanks"))
    refused = {
        "not allowed receiver address for transfer: invalid address": {"receiver": "osmo1other", "memo": "thanks"},
        "not allowed memo: more: invalid transfer authorization": {"memo": "more"},
        "requested port and channel allocation does not exist: not found": {"source_channel": "channel-9"},
    }
    for log, fields in refused.items():
        assert chain.run(on_behalf(chain, **fields)).log == log
    chain.done(granted(chain, {}))
    assert chain.run(on_behalf(chain, memo="x")).log == (
        "memo must be empty because allowed packet data in allocation is empty: invalid transfer authorization"
    )
    chain.done(granted(chain, {"allowed_packet_data": ["*"]}))
    chain.done(on_behalf(chain, memo="x"))


def test_transfer_grants_that_make_no_sense(chain: UnsignedChain) -> None:
    """Each is refused in its own words."""
    wrong: dict[str, list[dict[str, Any]]] = {
        "allocations cannot be empty: invalid transfer authorization": [],
        "duplicate source channel ID: channel-0: invalid channel": [{}, {}],
        "spend limit cannot be nil: invalid coins": [{"spend_limit": []}],
        "invalid spend limit: invalid denom: !: invalid coins": [{"spend_limit": [{"denom": "!", "amount": "1"}]}],
        "invalid source port ID: identifier cannot be blank: invalid identifier": [{"source_port": ""}],
        "invalid source channel ID: identifier cannot be blank: invalid identifier": [{"source_channel": ""}],
        "duplicate entry in allow list a: invalid transfer authorization": [{"allow_list": ["a", "a"]}],
    }
    for log, allocations in wrong.items():
        assert chain.run(granted(chain, *allocations)).log == log
