"""Handshakes of channels: they are begun here; what the other chain would have to prove is refused."""

from __future__ import annotations

import json
from typing import Any

from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import ChainError
from leasehold.devnet.app.module import handles, validates
from leasehold.devnet.modules.ibc import errors
from leasehold.devnet.modules.ibc.connection_handshakes import ConnectionHandshakes
from leasehold.devnet.modules.ibc.handshake_checks import (
    CLOSED,
    INIT,
    OPEN,
    TRY,
    check_named,
    next_number,
    require_number,
    require_some,
    state_of,
    value_name,
)
from leasehold.devnet.modules.ibc.tables import CHANNEL_V1

_UNORDERED, _ORDERED = 1, 2
_VERSION = "ics20-1"
_CONTROLLER = "icacontroller-"
_HOST = "icahost"


class ChannelHandshakes(ConnectionHandshakes):
    """Handlers of messages about channels."""

    def _check_channel(self, msg: Any, state: int, name: str) -> None:
        check_named("port", msg.port_id, "invalid port ID")
        if msg.channel.state != state:
            expected = {INIT: "INIT", TRY: "TRYOPEN"}[state]
            wanted, got = value_name(msg.channel, "state", state), state_of(msg.channel)
            text = f"channel state must be {expected} in {name}. expected: {wanted}, got: {got}"
            raise errors.WRONG_CHANNEL_STATE(text)

    def _check_ends(self, channel: Any) -> None:
        if channel.ordering not in (_UNORDERED, _ORDERED):
            raise errors.WRONG_ORDERING(value_name(channel, "ordering"))
        if len(channel.connection_hops) != 1:
            raise errors.TOO_MANY_HOPS("current IBC version only supports one connection hop")
        check_named("connection", channel.connection_hops[0], "invalid connection hop ID")
        check_named("port", channel.counterparty.port_id, "invalid counterparty port ID")

    @validates(CHANNEL_V1 + "MsgChannelOpenInit")
    def validate_channel_init(self, msg: Any) -> None:
        self._check_channel(msg, INIT, "MsgChannelOpenInit")
        if msg.channel.counterparty.channel_id:
            raise errors.WRONG_COUNTERPARTY_CHANNEL("counterparty channel identifier must be empty")
        self._check_ends(msg.channel)

    @handles(CHANNEL_V1 + "MsgChannelOpenInit")
    def handle_channel_init(self, ctx: Context, msg: Any) -> Any:
        self._require_route(msg.port_id)
        try:
            connection = self._hop(ctx, msg.channel)
            self.require_active(ctx, connection.client_id)
        except ChainError as error:
            raise error.wrap("channel handshake open init failed") from None
        channel_id = f"channel-{next_number(found.channel_id for found in self.channels(ctx))}"
        version = self._version(msg, connection, channel_id)
        channel = self.new(
            CHANNEL_V1 + "IdentifiedChannel",
            state=INIT,
            ordering=msg.channel.ordering,
            counterparty=msg.channel.counterparty,
            connection_hops=msg.channel.connection_hops,
            version=version,
            port_id=msg.port_id,
            channel_id=channel_id,
        )
        self.save_channel(ctx, channel)
        ctx.emit(
            "channel_open_init",
            ("port_id", msg.port_id),
            ("channel_id", channel_id),
            ("counterparty_port_id", channel.counterparty.port_id),
            ("connection_id", channel.connection_hops[0]),
            ("version", version),
        )
        ctx.emit("message", ("module", "ibc_channel"))
        return self.new(CHANNEL_V1 + "MsgChannelOpenInitResponse", channel_id=channel_id, version=version)

    def _version(self, msg: Any, connection: Any, channel_id: str) -> str:
        """What a channel's two ends will speak, if the module behind the port agrees."""
        if msg.port_id.startswith(_CONTROLLER):
            return msg.channel.version or _metadata(connection)
        failed = f"channel open init callback failed for port ID: {msg.port_id}, channel ID: {channel_id}"
        version: str = msg.channel.version.strip() or _VERSION
        if msg.channel.ordering != _UNORDERED:
            raise errors.WRONG_ORDERING(f"{failed}: expected ORDER_UNORDERED channel, got ORDER_ORDERED ")
        if version != _VERSION:
            raise errors.WRONG_TRANSFER_VERSION(f"{failed}: expected one of [{_VERSION}], got {version}")
        return version

    def _require_route(self, port_id: str) -> None:
        if port_id != "transfer" and port_id != _HOST and not port_id.startswith((_CONTROLLER, "wasm.")):
            raise errors.NO_ROUTE(f"route not found to portID: {port_id}")

    def _hop(self, ctx: Context, channel: Any) -> Any:
        found = self.connection(ctx, channel.connection_hops[0])
        if found is None:
            raise errors.NO_CONNECTION(channel.connection_hops[0])
        return found

    @validates(CHANNEL_V1 + "MsgChannelOpenTry")
    def validate_channel_try(self, msg: Any) -> None:
        check_named("port", msg.port_id, "invalid port ID")
        if msg.previous_channel_id:
            raise errors.WRONG_CHANNEL_ID(
                "previous channel identifier must be empty, this field has been deprecated as crossing hellos are no "
                "longer supported"
            )
        require_some(msg.proof_init, "cannot submit an empty init proof")
        self._check_channel(msg, TRY, "MsgChannelOpenTry")
        check_named("channel", msg.channel.counterparty.channel_id, "invalid counterparty channel ID")
        self._check_ends(msg.channel)

    @handles(CHANNEL_V1 + "MsgChannelOpenTry")
    def handle_channel_try(self, ctx: Context, msg: Any) -> Any:
        self._require_route(msg.port_id)
        self._prove_channel(ctx, "open try", msg.channel, msg, msg.proof_init)

    @validates(CHANNEL_V1 + "MsgChannelOpenConfirm")
    def validate_channel_confirm(self, msg: Any) -> None:
        check_named("port", msg.port_id, "invalid port ID")
        require_number(msg.channel_id, "channel")
        require_some(msg.proof_ack, "cannot submit an empty acknowledgement proof")

    @handles(CHANNEL_V1 + "MsgChannelOpenConfirm")
    def handle_channel_confirm(self, ctx: Context, msg: Any) -> Any:
        self._require_route(msg.port_id)
        found = self._end(ctx, msg, "open confirm")
        if found.state != TRY:
            text = f"channel state is not TRYOPEN (got {state_of(found)})"
            raise errors.WRONG_CHANNEL_STATE(f"channel handshake open confirm failed: {text}")
        self._prove_channel(ctx, "open confirm", found, msg, msg.proof_ack)

    @validates(CHANNEL_V1 + "MsgChannelCloseInit")
    def validate_close_init(self, msg: Any) -> None:
        check_named("port", msg.port_id, "invalid port ID")
        require_number(msg.channel_id, "channel")

    @handles(CHANNEL_V1 + "MsgChannelCloseInit")
    def handle_close_init(self, ctx: Context, msg: Any) -> Any:
        self._require_route(msg.port_id)
        where = f"port ID: {msg.port_id}, channel ID: {msg.channel_id}"
        raise errors.INVALID_REQUEST(f"channel close init callback failed for {where}: user cannot close channel")

    @validates(CHANNEL_V1 + "MsgChannelCloseConfirm")
    def validate_close_confirm(self, msg: Any) -> None:
        self.validate_close_init(msg)
        require_some(msg.proof_init, "cannot submit an empty init proof")

    @handles(CHANNEL_V1 + "MsgChannelCloseConfirm")
    def handle_close_confirm(self, ctx: Context, msg: Any) -> Any:
        self._require_route(msg.port_id)
        found = self._end(ctx, msg, "close confirm")
        if found.state == CLOSED:
            raise errors.WRONG_CHANNEL_STATE("channel handshake close confirm failed: channel is already CLOSED")
        self._prove_channel(ctx, "close confirm", found, msg, msg.proof_init)

    @validates(CHANNEL_V1 + "MsgTimeoutOnClose")
    def validate_timeout_on_close(self, msg: Any) -> None:
        if msg.next_sequence_recv == 0:
            raise errors.INVALID_SEQUENCE("next sequence receive cannot be 0")
        require_some(msg.proof_unreceived, "cannot submit an empty unreceived proof")
        require_some(msg.proof_close, "cannot submit an empty proof of closed counterparty channel end")

    @handles(CHANNEL_V1 + "MsgTimeoutOnClose")
    def handle_timeout_on_close(self, ctx: Context, msg: Any) -> Any:
        packet = msg.packet
        self._require_route(packet.source_port)
        failed = "timeout on close packet verification failed"
        found = self.channel(ctx, packet.source_port, packet.source_channel)
        if found is None:
            raise errors.NO_CHANNEL(f"{failed}: port ID ({packet.source_port}) channel ID ({packet.source_channel})")
        waiting = self.modules.interchain.pending(ctx)
        if not any(known.sequence == packet.sequence and known.channel == packet.source_channel for known in waiting):
            # One that has its outcome already is no trouble.
            return self.new(CHANNEL_V1 + "MsgTimeoutOnCloseResponse", result=1)
        try:
            self.require_proof(ctx, self._hop(ctx, found).client_id, msg.proof_height, msg.proof_close)
        except ChainError as error:
            raise error.wrap(failed) from None

    def _end(self, ctx: Context, msg: Any, step: str) -> Any:
        found = self.channel(ctx, msg.port_id, msg.channel_id)
        if found is None:
            text = f"port ID ({msg.port_id}) channel ID ({msg.channel_id})"
            raise errors.NO_CHANNEL(f"channel handshake {step} failed: {text}")
        return found

    def _prove_channel(self, ctx: Context, step: str, channel: Any, msg: Any, proof: bytes) -> None:
        try:
            connection = self._hop(ctx, channel)
            if connection.state != OPEN:
                raise errors.WRONG_CONNECTION_STATE(f"connection state is not OPEN (got {state_of(connection)})")
            try:
                self.require_proof(ctx, connection.client_id, msg.proof_height, proof)
            except ChainError as error:
                text = f"failed channel state verification for client ({connection.client_id})"
                raise error.wrap(text) from None
        except ChainError as error:
            raise error.wrap(f"channel handshake {step} failed") from None


def _metadata(connection: Any) -> str:
    """What two ends of an interchain account agree on."""
    members = {
        "version": "ics27-1",
        "controller_connection_id": connection.id,
        "host_connection_id": connection.counterparty.connection_id,
        "address": "",
        "encoding": "proto3",
        "tx_type": "sdk_multi_msg",
    }
    return json.dumps(members, separators=(",", ":"))
