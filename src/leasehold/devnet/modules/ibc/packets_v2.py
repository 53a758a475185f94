"""Messages of IBC's second version: counterparties of clients are registered; no packet between clients is provable."""

from __future__ import annotations

from typing import Any

from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import ChainError, Kind
from leasehold.devnet.app.module import handles, validates
from leasehold.devnet.modules.ibc import errors
from leasehold.devnet.modules.ibc.channel_handshakes import ChannelHandshakes
from leasehold.devnet.modules.ibc.identifiers import INVALID_IDENTIFIER, check, is_numbered_client
from leasehold.devnet.modules.ibc.second_version import CHANNEL_V2, CLIENT_V2

_COUNTERPARTY = b"ibc/counterparty/"
_CONFIG = b"ibc/config/"

NO_COUNTERPARTY = Kind("clientv2", 35, "counterparty not found")
WRONG_COUNTERPARTY = Kind("clientv2", 34, "invalid counterparty")
INVALID_PAYLOAD = Kind("channelv2", 3, "invalid payload")
INVALID_TIMEOUT = Kind("channelv2", 8, "invalid packet timeout")
TIMEOUT_ELAPSED = Kind("channelv2", 9, "timeout elapsed")


class PacketsV2(ChannelHandshakes):
    """Handlers of messages between clients."""

    @validates(CLIENT_V2 + "MsgRegisterCounterparty")
    def validate_register(self, msg: Any) -> None:
        if not msg.counterparty_merkle_prefix:
            raise WRONG_COUNTERPARTY("counterparty messaging key cannot be empty")
        check("client", msg.client_id)
        check("client", msg.counterparty_client_id)
        if not (is_numbered_client(msg.client_id) and is_numbered_client(msg.counterparty_client_id)):
            both = f"{msg.client_id} and {msg.counterparty_client_id}"
            raise INVALID_IDENTIFIER(f"{both} must be in valid format: {{string}}-{{number}}")

    @handles(CLIENT_V2 + "MsgRegisterCounterparty")
    def handle_register(self, ctx: Context, msg: Any) -> Any:
        creator = self.client_creator(ctx, msg.client_id)
        if creator != msg.signer:
            text = f"expected same signer as createClient submittor {creator}, got {msg.signer}"
            raise errors.UNAUTHORIZED(text)
        key = _COUNTERPARTY + msg.client_id.encode()
        if ctx.store.get(key) is not None:
            raise errors.INVALID_REQUEST("cannot register counterparty once it is already set")
        ctx.store.set(key, msg.counterparty_client_id.encode())
        return self.new(CLIENT_V2 + "MsgRegisterCounterpartyResponse")

    @validates(CLIENT_V2 + "MsgUpdateClientConfig")
    def validate_config(self, msg: Any) -> None:
        check("client", msg.client_id)
        if not is_numbered_client(msg.client_id):
            raise INVALID_IDENTIFIER(f"client ID {msg.client_id} must be in valid format: {{string}}-{{number}}")

    @handles(CLIENT_V2 + "MsgUpdateClientConfig")
    def handle_config(self, ctx: Context, msg: Any) -> Any:
        self.require_creator(ctx, msg, f"update params for {msg.client_id}")
        ctx.store.set(_CONFIG + msg.client_id.encode(), msg.config.SerializeToString())
        return self.new(CLIENT_V2 + "MsgUpdateClientConfigResponse")

    def _counterparty(self, ctx: Context, client_id: str, what: str) -> str:
        found = ctx.store.get(_COUNTERPARTY + client_id.encode())
        if found is None:
            raise NO_COUNTERPARTY(f"{what}: counterparty not found for client: {client_id}")
        return found.decode()

    @validates(CHANNEL_V2 + "MsgSendPacket")
    def validate_send(self, msg: Any) -> None:
        check("client", msg.source_client)
        if msg.timeout_timestamp == 0:
            raise INVALID_TIMEOUT("timeout must not be 0")
        if len(msg.payloads) != 1:
            raise INVALID_PAYLOAD(f"payloads must be of length 1, got {len(msg.payloads)} instead")

    @handles(CHANNEL_V2 + "MsgSendPacket")
    def handle_send(self, ctx: Context, msg: Any) -> Any:
        failed = f"send packet failed for source id: {msg.source_client}"
        self._counterparty(ctx, msg.source_client, failed)
        now = ctx.block.time_ns // 10**9
        if msg.timeout_timestamp <= now:
            text = f"timeout is less than or equal the current block timestamp, {msg.timeout_timestamp} <= {now}"
            raise TIMEOUT_ELAPSED(f"{failed}: {text}")
        # No module here speaks to clients directly.
        raise errors.NO_ROUTE(f"route not found to portID: {msg.payloads[0].source_port}")

    @validates(CHANNEL_V2 + "MsgRecvPacket")
    def validate_receive(self, msg: Any) -> None:
        if not msg.proof_commitment:
            raise errors.INVALID_PROOF("proof commitment can not be empty")

    @handles(CHANNEL_V2 + "MsgRecvPacket")
    def handle_receive(self, ctx: Context, msg: Any) -> Any:
        ends = (msg.packet.destination_client, msg.packet.source_client, "source")
        self._prove(ctx, "receive packet verification failed", ends, msg, msg.proof_commitment, "commitment")

    @validates(CHANNEL_V2 + "MsgAcknowledgement")
    def validate_acknowledge(self, msg: Any) -> None:
        if not msg.proof_acked:
            raise errors.INVALID_PROOF("cannot submit an empty acknowledgement proof")

    @handles(CHANNEL_V2 + "MsgAcknowledgement")
    def handle_acknowledge(self, ctx: Context, msg: Any) -> Any:
        ends = (msg.packet.source_client, msg.packet.destination_client, "destination")
        self._prove(ctx, "acknowledge packet verification failed", ends, msg, msg.proof_acked, "acknowledgement")

    @validates(CHANNEL_V2 + "MsgTimeout")
    def validate_timeout(self, msg: Any) -> None:
        if not msg.proof_unreceived:
            raise errors.INVALID_PROOF("proof unreceived can not be empty")

    @handles(CHANNEL_V2 + "MsgTimeout")
    def handle_timeout(self, ctx: Context, msg: Any) -> Any:
        ends = (msg.packet.source_client, msg.packet.destination_client, "destination")
        self._prove(ctx, "timeout packet verification failed", ends, msg, msg.proof_unreceived, "receipt absence")

    def _prove(self, ctx: Context, failed: str, ends: tuple[str, str, str], msg: Any, proof: bytes, of: str) -> None:
        own, other, side = ends
        counterparty = self._counterparty(ctx, own, failed)
        if counterparty != other:
            text = f"counterparty id ({counterparty}) does not match packet {side} id ({other})"
            raise WRONG_COUNTERPARTY(f"{failed}: {text}")
        try:
            self.require_proof(ctx, own, msg.proof_height, proof)
        except ChainError as error:
            raise error.wrap(f"{failed}: failed packet {of} verification for client ({own})") from None
