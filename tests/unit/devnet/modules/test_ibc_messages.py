"""Messages of IBC core and of interchain accounts: what can be begun here, and how the rest is refused."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.devnet.modules.test_ibc import chain as connected_chain
from tests.unit.devnet.modules.unsigned_chain import UnsignedChain

CLIENT, CONNECTION, CHANNEL = "ibc.core.client.v1.", "ibc.core.connection.v1.", "ibc.core.channel.v1."
CHANNEL_V2, CLIENT_V2 = "ibc.core.channel.v2.", "ibc.core.client.v2."
CONTROLLER = "ibc.applications.interchain_accounts.controller.v1."
HOST = "ibc.applications.interchain_accounts.host.v1."
TENDERMINT = "ibc.lightclients.tendermint.v1."

chain = connected_chain


def run(chain: UnsignedChain, name: str, **fields: Any) -> Any:
    signer = {} if fields.keys() & {"signer", "owner", "sender"} else {"signer": chain.account("ann")}
    return chain.run(chain.message(name, **signer, **fields))


def state(chain: UnsignedChain, **changes: Any) -> Any:
    """The state of a client of a chain elsewhere."""
    made = chain.message(TENDERMINT + "ClientState", chain_id=changes.pop("chain_id", "other-4"))
    made.trust_level.numerator, made.trust_level.denominator = 1, changes.pop("denominator", 3)
    made.trusting_period.seconds = changes.pop("trusting", 100)
    made.unbonding_period.seconds = 200
    made.max_clock_drift.seconds = 10
    made.latest_height.revision_number, made.latest_height.revision_height = 4, changes.pop("height", 7)
    made.proof_specs.add()
    return chain.registry.pack(made)


def client(chain: UnsignedChain) -> str:
    """Id of a client that ann created."""
    consensus = chain.registry.pack(chain.message(TENDERMINT + "ConsensusState"))
    outcome = run(chain, CLIENT + "MsgCreateClient", client_state=state(chain), consensus_state=consensus)
    assert outcome.log == ""
    return str(outcome.response.client_id)


def test_every_message_of_every_service_has_a_handler(chain: UnsignedChain) -> None:
    """Whatever a Msg service of the definitions takes is executed or refused in its own words, never unknown."""
    known = set(chain.message_names())
    missing = [
        method.request_type.DESCRIPTOR.full_name
        for method in chain.registry.methods
        if method.service.endswith(".Msg") and method.request_type.DESCRIPTOR.full_name not in known
    ]
    assert missing == []


def test_a_client_is_created_and_seen(chain: UnsignedChain) -> None:
    """It takes the next number, is announced, and answers queries with its creator."""
    client_id = client(chain)
    assert client_id == "07-tendermint-1"
    assert chain.ask(CLIENT + "Query/ClientStatus", client_id=client_id).status == "Active"
    assert chain.ask(CLIENT + "Query/ClientCreator", client_id=client_id).creator == chain.account("ann")
    assert chain.ask(CLIENT + "Query/ClientStatus", client_id="07-tendermint-9").status == "Unknown"


@pytest.mark.parametrize(
    ("changes", "log"),
    [
        ({"chain_id": " "}, "chain id cannot be empty string: invalid chain-id"),
        ({"denominator": 4}, "trustLevel must be within [1/3, 1], given 1/4: invalid trust level"),
        ({"trusting": 0}, "trusting period must be greater than zero: invalid trusting period"),
        (
            {"chain_id": "other-5"},
            "latest height revision number must match chain id revision number (4 != 5): invalid header height",
        ),
        ({"height": 0}, "tendermint client's latest height revision height cannot be zero: invalid header height"),
    ],
)
def test_clients_that_can_not_be(chain: UnsignedChain, changes: dict[str, Any], log: str) -> None:
    """A client's state is checked before anything else."""
    assert run(chain, CLIENT + "MsgCreateClient", client_state=state(chain, **changes)).log == log


def test_headers_and_proofs_of_simulated_chains_do_not_hold(chain: UnsignedChain) -> None:
    """Updates lack a trusted state, unknown clients are not active, and names must be names."""
    header = chain.registry.pack(chain.message(TENDERMINT + "Header"))
    update = CLIENT + "MsgUpdateClient"
    assert run(chain, update, client_id=client(chain), client_message=header).log == (
        "could not get trusted consensus state from clientStore for Header at TrustedHeight: 0-0: "
        "consensus state not found"
    )
    assert run(chain, update, client_id="07-tendermint-9", client_message=header).log == (
        "cannot update client (07-tendermint-9) with status Unknown: client state is not active"
    )
    assert run(chain, update, client_id="x", client_message=header).log.startswith("identifier x has invalid length")
    nothing = run(chain, update, client_id="07-tendermint-0").log
    assert nothing == "protobuf Any message cannot be nil: failed unpacking protobuf message from Any"


def test_a_connection_is_begun_and_not_finished(chain: UnsignedChain) -> None:
    """It stands in INIT under the next number; an acknowledgement fails for want of a proof that holds."""
    counterparty = {"client_id": "07-tendermint-3", "prefix": {"key_prefix": b"ibc"}}
    begun = run(chain, CONNECTION + "MsgConnectionOpenInit", client_id=client(chain), counterparty=counterparty)
    assert begun.of_type("connection_open_init") == [
        {
            "connection_id": "connection-1",
            "client_id": "07-tendermint-1",
            "counterparty_client_id": "07-tendermint-3",
        }
    ]
    shown = chain.ask(CONNECTION + "Query/Connection", connection_id="connection-1").connection
    assert shown.state == 1
    fields = {
        "counterparty_connection_id": "connection-0",
        "version": {"identifier": "1", "features": ["ORDER_ORDERED"]},
        "proof_height": {"revision_number": 4, "revision_height": 7},
    }
    acknowledge = CONNECTION + "MsgConnectionOpenAck"
    refused = run(chain, acknowledge, connection_id="connection-1", proof_try=b"\x0a\x00", **fields)
    assert refused.log == (
        "connection handshake open ack failed: failed connection state verification for client (07-tendermint-1): "
        "please ensure the proof was constructed against a height that exists on the client: consensus state not found"
    )
    garbled = run(chain, acknowledge, connection_id="connection-1", proof_try=b"\xff", **fields)
    assert garbled.log.endswith("failed to unmarshal proof into ICS 23 commitment merkle proof: invalid proof")
    early = {**fields, "proof_height": {"revision_number": 4, "revision_height": 8}}
    ahead = run(chain, acknowledge, connection_id="connection-1", proof_try=b"\x0a\x00", **early)
    assert "client state height < proof height (4-7 < 4-8)" in ahead.log
    opened = run(chain, acknowledge, connection_id="connection-0", proof_try=b"x", **fields)
    assert opened.log == (
        "connection handshake open ack failed: connection state is not INIT (got STATE_OPEN): invalid connection state"
    )
    unknown = run(chain, acknowledge, connection_id="connection-9", proof_try=b"x", **fields)
    assert unknown.log == "connection handshake open ack failed: connection-9: connection not found"
    unproved = run(chain, acknowledge, connection_id="connection-1", **fields)
    assert unproved.log == "cannot submit an empty proof try: invalid proof"


def test_a_connection_needs_an_active_client(chain: UnsignedChain) -> None:
    """An unknown client, the own chain's client and a foreign version are refused."""
    counterparty = {"client_id": "07-tendermint-3", "prefix": {"key_prefix": b"ibc"}}
    begin = CONNECTION + "MsgConnectionOpenInit"
    assert run(chain, begin, client_id="07-tendermint-8", counterparty=counterparty).log == (
        "connection handshake open init failed: client (07-tendermint-8) status is Unknown: client state is not active"
    )
    own = run(chain, begin, client_id="09-localhost", counterparty=counterparty)
    assert own.log == "localhost connection handshakes are disallowed: invalid client type"
    foreign = run(chain, begin, client_id="07-tendermint-0", counterparty=counterparty, version={"identifier": "2"})
    assert foreign.log == "connection handshake open init failed: version is not supported: invalid connection version"
    bare = run(chain, begin, client_id="07-tendermint-0", counterparty={"client_id": "07-tendermint-3"})
    assert bare.log == "counterparty prefix cannot be empty: invalid counterparty connection"


def channel(**changes: Any) -> dict[str, Any]:
    return {
        "state": 1,
        "ordering": 1,
        "counterparty": {"port_id": "transfer"},
        "connection_hops": ["connection-0"],
        "version": "ics20-1",
        **changes,
    }


def test_a_channel_is_begun_and_not_closed(chain: UnsignedChain) -> None:
    """It takes the next number, is announced with its version, and a user can't close it."""
    begun = run(chain, CHANNEL + "MsgChannelOpenInit", port_id="transfer", channel=channel(version=""))
    assert (begun.response.channel_id, begun.response.version) == ("channel-1", "ics20-1")
    assert begun.of_type("channel_open_init")[0]["connection_id"] == "connection-0"
    shown = chain.ask(CHANNEL + "Query/Channel", port_id="transfer", channel_id="channel-1").channel
    assert shown.state == 1
    sent = run(
        chain,
        "ibc.applications.transfer.v1.MsgTransfer",
        sender=chain.account("ann"),
        source_port="transfer",
        source_channel="channel-1",
        token=chain.coin(1),
        receiver="osmo1x",
        timeout_timestamp=2**62,
    )
    assert sent.log == "channel is not OPEN (got STATE_INIT): invalid channel state"
    closed = run(chain, CHANNEL + "MsgChannelCloseInit", port_id="transfer", channel_id="channel-1")
    assert closed.log == (
        "channel close init callback failed for port ID: transfer, channel ID: channel-1: user cannot close channel: "
        "invalid request"
    )


@pytest.mark.parametrize(
    ("port", "given", "log"),
    [
        ("nowhere", channel(), "route not found to portID: nowhere: route not found"),
        (
            "transfer",
            channel(connection_hops=["connection-7"]),
            "channel handshake open init failed: connection-7: connection not found",
        ),
        ("transfer", channel(connection_hops=[]), "current IBC version only supports one connection hop"),
        (
            "transfer",
            channel(state=3),
            "channel state must be INIT in MsgChannelOpenInit. expected: STATE_INIT, got: STATE_OPEN",
        ),
        ("transfer", channel(ordering=0), "ORDER_NONE_UNSPECIFIED: invalid channel ordering"),
        (
            "transfer",
            channel(ordering=2),
            "channel open init callback failed for port ID: transfer, channel ID: channel-1: "
            "expected ORDER_UNORDERED channel, got ORDER_ORDERED : invalid channel ordering",
        ),
        (
            "transfer",
            channel(version="ics20-9"),
            "channel open init callback failed for port ID: transfer, channel ID: channel-1: "
            "expected one of [ics20-1], got ics20-9: invalid ICS20 version",
        ),
    ],
)
def test_channels_that_can_not_be(chain: UnsignedChain, port: str, given: dict[str, Any], log: str) -> None:
    """Port, state, hops, ordering and version are each refused in the original's words."""
    assert run(chain, CHANNEL + "MsgChannelOpenInit", port_id=port, channel=given).log.startswith(log)


def test_other_ends_of_channels_are_not_believed(chain: UnsignedChain) -> None:
    """Trying, confirming and closing from the other side need proofs that don't hold."""
    given = channel(state=2, counterparty={"port_id": "transfer", "channel_id": "channel-8"})
    tried = run(chain, CHANNEL + "MsgChannelOpenTry", port_id="transfer", channel=given, proof_init=b"\x0a\x00")
    assert tried.log.startswith(
        "channel handshake open try failed: failed channel state verification for client (07-tendermint-0)"
    )
    fields = {"port_id": "transfer", "channel_id": "channel-0"}
    confirmed = run(chain, CHANNEL + "MsgChannelOpenConfirm", proof_ack=b"x", **fields)
    assert "channel state is not TRYOPEN (got STATE_OPEN)" in confirmed.log
    closed = run(chain, CHANNEL + "MsgChannelCloseConfirm", proof_init=b"\x0a\x00", **fields)
    assert closed.log.startswith("channel handshake close confirm failed: failed channel state verification")
    absent = run(chain, CHANNEL + "MsgChannelCloseConfirm", port_id="transfer", channel_id="channel-5", proof_init=b"x")
    assert absent.log == (
        "channel handshake close confirm failed: port ID (transfer) channel ID (channel-5): channel not found"
    )


def test_governance_decides_over_parameters_and_recovery(chain: UnsignedChain) -> None:
    """Others are refused in IBC's words; governance changes what is shown."""
    gov = chain.modules.gov.authority
    for name in (CLIENT, CONNECTION, CONTROLLER, HOST):
        refused = run(chain, name + "MsgUpdateParams", signer=chain.account("ann"))
        assert refused.log == f"expected {gov}, got {chain.account('ann')}: unauthorized"
        assert run(chain, name + "MsgUpdateParams", signer=gov).log == ""
    recover = {"subject_client_id": "07-tendermint-0", "substitute_client_id": "07-tendermint-1"}
    assert run(chain, CLIENT + "MsgRecoverClient", signer=gov, **recover).log == (
        "client recovery failed: cannot recover subject client (07-tendermint-0) with status Active: "
        "invalid recovery client"
    )
    plan = {"name": "next", "height": 99}
    upgraded = {"plan": plan, "upgraded_client_state": state(chain)}
    assert run(chain, CLIENT + "MsgIBCSoftwareUpgrade", signer=gov, **upgraded).log == ""
    assert chain.ask("cosmos.upgrade.v1beta1.Query/CurrentPlan").plan.name == "next"


def test_counterparties_of_clients_are_their_creators_to_name(chain: UnsignedChain) -> None:
    """Once, by whoever created the client; packets between clients need one, and a proof."""
    client_id = client(chain)
    fields = {
        "client_id": client_id,
        "counterparty_merkle_prefix": [b"ibc"],
        "counterparty_client_id": "07-tendermint-5",
    }
    stranger = run(chain, CLIENT_V2 + "MsgRegisterCounterparty", signer=chain.account("bob"), **fields)
    assert "expected same signer as createClient submittor" in stranger.log
    packet = {"source_client": "07-tendermint-5", "destination_client": client_id}
    receive = {"packet": packet, "proof_commitment": b"\x0a\x00"}
    assert run(chain, CHANNEL_V2 + "MsgRecvPacket", **receive).log == (
        f"receive packet verification failed: counterparty not found for client: {client_id}: counterparty not found"
    )
    assert run(chain, CLIENT_V2 + "MsgRegisterCounterparty", **fields).log == ""
    again = run(chain, CLIENT_V2 + "MsgRegisterCounterparty", **fields)
    assert again.log == "cannot register counterparty once it is already set: invalid request"
    assert "failed packet commitment verification for client" in run(chain, CHANNEL_V2 + "MsgRecvPacket", **receive).log
    deleted = run(chain, CLIENT + "MsgDeleteClientCreator", client_id=client_id)
    assert deleted.log == ""
    assert run(chain, CLIENT + "MsgDeleteClientCreator", client_id=client_id).log == (
        f"creator for client {client_id} not found: not found"
    )


def test_an_interchain_account_is_asked_for_and_never_opens(chain: UnsignedChain) -> None:
    """The handshake is begun on the owner's port; without an open channel nothing can be sent."""
    ann = chain.account("ann")
    asked = run(chain, CONTROLLER + "MsgRegisterInterchainAccount", owner=ann, connection_id="connection-0", ordering=1)
    assert (asked.response.channel_id, asked.response.port_id) == ("channel-1", f"icacontroller-{ann}")
    sent = run(
        chain,
        CONTROLLER + "MsgSendTx",
        owner=ann,
        connection_id="connection-0",
        packet_data={"type": 1, "data": b"x"},
        relative_timeout=1,
    )
    assert sent.log == (
        f"failed to retrieve active channel on connection connection-0 for port icacontroller-{ann}: "
        "no active channel for this owner"
    )
    lost = run(chain, CONTROLLER + "MsgRegisterInterchainAccount", owner=ann, connection_id="connection-9", ordering=1)
    assert lost.log == "channel handshake open init failed: connection-9: connection not found"


def test_queries_that_are_safe_can_be_asked_by_message(chain: UnsignedChain) -> None:
    """Those whose definition says so are answered at this height, others refused."""
    request = chain.registry.method_by_path["/cosmos.bank.v1beta1.Query/Balance"].request_type(
        address=chain.account("ann"), denom="ulsh"
    )
    asked = {"path": "/cosmos.bank.v1beta1.Query/Balance", "data": request.SerializeToString()}
    answered = run(chain, HOST + "MsgModuleQuerySafe", requests=[asked])
    assert len(answered.response.responses) == 1
    for data, log in ((b"\xff", "unexpected EOF"), (b"", "rpc error: code = InvalidArgument desc = ")):
        failed = run(chain, HOST + "MsgModuleQuerySafe", requests=[{**asked, "data": data}])
        assert failed.log.startswith(log)
    unsafe = run(chain, HOST + "MsgModuleQuerySafe", requests=[{"path": "/cosmos.gov.v1.Query/Nothing"}])
    assert unsafe.log == "not module query safe: /cosmos.gov.v1.Query/Nothing: invalid request"
