"""Handshakes of connections: they are begun here; what the other chain would have to prove is refused."""

from __future__ import annotations

from typing import Any

from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import ChainError
from leasehold.devnet.app.module import handles, validates
from leasehold.devnet.modules.ibc import errors
from leasehold.devnet.modules.ibc.handshake_checks import (
    INIT,
    TRY,
    check_named,
    next_number,
    require_number,
    require_some,
    state_of,
)
from leasehold.devnet.modules.ibc.light_clients import LightClients
from leasehold.devnet.modules.ibc.tables import CONNECTION_V1, LOCALHOST_CLIENT

_FEATURES = ("ORDER_ORDERED", "ORDER_UNORDERED")


class ConnectionHandshakes(LightClients):
    """Handlers of messages about connections."""

    @validates(CONNECTION_V1 + "MsgConnectionOpenInit")
    def validate_connection_init(self, msg: Any) -> None:
        self._connection_client(msg)
        if msg.counterparty.connection_id:
            text = "counterparty connection identifier must be empty"
            raise errors.WRONG_COUNTERPARTY_CONNECTION(text)
        if msg.HasField("version"):
            _check_version(msg.version, "basic validation of the provided version failed: ")
        _check_counterparty(msg.counterparty)

    def _connection_client(self, msg: Any) -> None:
        if msg.client_id == LOCALHOST_CLIENT:
            raise errors.INVALID_CLIENT_TYPE("localhost connection handshakes are disallowed")
        check_named("client", msg.client_id, "invalid client ID")

    @handles(CONNECTION_V1 + "MsgConnectionOpenInit")
    def handle_connection_init(self, ctx: Context, msg: Any) -> Any:
        try:
            return self._begin_connection(ctx, msg)
        except ChainError as error:
            raise error.wrap("connection handshake open init failed") from None

    def _begin_connection(self, ctx: Context, msg: Any) -> Any:
        features = list(msg.version.features) if msg.HasField("version") else list(_FEATURES)
        identifier = msg.version.identifier if msg.HasField("version") else "1"
        if identifier != "1" or not features or not set(features) <= set(_FEATURES):
            raise errors.WRONG_CONNECTION_VERSION("version is not supported")
        self.require_active(ctx, msg.client_id)
        connection = self.new(CONNECTION_V1 + "IdentifiedConnection", client_id=msg.client_id, state=INIT)
        connection.id = f"connection-{next_number(found.id for found in self.connections(ctx))}"
        connection.versions.add(identifier="1", features=features)
        connection.counterparty.CopyFrom(msg.counterparty)
        connection.delay_period = msg.delay_period
        self.save_connection(ctx, connection)
        ctx.emit(
            "connection_open_init",
            ("connection_id", connection.id),
            ("client_id", msg.client_id),
            ("counterparty_client_id", msg.counterparty.client_id),
        )
        ctx.emit("message", ("module", "ibc_connection"))
        return self.new(CONNECTION_V1 + "MsgConnectionOpenInitResponse")

    @validates(CONNECTION_V1 + "MsgConnectionOpenTry")
    def validate_connection_try(self, msg: Any) -> None:
        self._connection_client(msg)
        check_named("connection", msg.counterparty.connection_id, "invalid counterparty connection ID")
        if not msg.counterparty_versions:
            raise errors.INVALID_VERSION("empty counterparty versions")
        for index, version in enumerate(msg.counterparty_versions):
            _check_version(version, f"basic validation failed on version with index {index}: ")
        require_some(msg.proof_init, "cannot submit an empty proof init")
        _check_counterparty(msg.counterparty)

    @handles(CONNECTION_V1 + "MsgConnectionOpenTry")
    def handle_connection_try(self, ctx: Context, msg: Any) -> Any:
        self._prove_connection(ctx, "try", msg.client_id, msg, msg.proof_init)

    @validates(CONNECTION_V1 + "MsgConnectionOpenAck")
    def validate_connection_ack(self, msg: Any) -> None:
        require_number(msg.connection_id, "connection")
        check_named("connection", msg.counterparty_connection_id, "invalid counterparty connection ID")
        if not msg.HasField("version"):
            raise errors.WRONG_CONNECTION_VERSION("version cannot be nil")
        _check_version(msg.version, "")
        require_some(msg.proof_try, "cannot submit an empty proof try")

    @handles(CONNECTION_V1 + "MsgConnectionOpenAck")
    def handle_connection_ack(self, ctx: Context, msg: Any) -> Any:
        found = self._awaiting(ctx, msg.connection_id, "ack", INIT)
        self._prove_connection(ctx, "ack", found.client_id, msg, msg.proof_try)

    @validates(CONNECTION_V1 + "MsgConnectionOpenConfirm")
    def validate_connection_confirm(self, msg: Any) -> None:
        require_number(msg.connection_id, "connection")
        require_some(msg.proof_ack, "cannot submit an empty proof ack")

    @handles(CONNECTION_V1 + "MsgConnectionOpenConfirm")
    def handle_connection_confirm(self, ctx: Context, msg: Any) -> Any:
        found = self._awaiting(ctx, msg.connection_id, "confirm", TRY)
        self._prove_connection(ctx, "confirm", found.client_id, msg, msg.proof_ack)

    def _awaiting(self, ctx: Context, connection_id: str, step: str, state: int) -> Any:
        found = self.connection(ctx, connection_id)
        failed = f"connection handshake open {step} failed: "
        if found is None:
            raise errors.NO_CONNECTION(f"{failed}{connection_id}")
        if found.state != state:
            expected = {INIT: "INIT", TRY: "TRYOPEN"}[state]
            text = f"connection state is not {expected} (got {state_of(found)})"
            raise errors.WRONG_CONNECTION_STATE(failed + text)
        return found

    def _prove_connection(self, ctx: Context, step: str, client_id: str, msg: Any, proof: bytes) -> None:
        try:
            self.require_proof(ctx, client_id, msg.proof_height, proof)
        except ChainError as error:
            text = f"failed connection state verification for client ({client_id})"
            raise error.wrap(f"connection handshake open {step} failed: {text}") from None

    @handles(CONNECTION_V1 + "MsgUpdateParams")
    def handle_connection_params(self, ctx: Context, msg: Any) -> Any:
        self.require_authority(msg.signer)
        self.set_connection_params(ctx, msg.params)
        return self.new(CONNECTION_V1 + "MsgUpdateParamsResponse")


def _check_version(version: Any, what: str) -> None:
    if not version.identifier.strip():
        raise errors.WRONG_CONNECTION_VERSION(f"{what}version identifier cannot be blank")
    for index, feature in enumerate(version.features):
        if not feature.strip():
            raise errors.WRONG_CONNECTION_VERSION(f"{what}feature cannot be blank, index {index}")


def _check_counterparty(counterparty: Any) -> None:
    if counterparty.connection_id:
        check_named("connection", counterparty.connection_id, "invalid counterparty connection ID")
    check_named("client", counterparty.client_id, "invalid counterparty client ID")
    if not counterparty.prefix.key_prefix:
        raise errors.WRONG_COUNTERPARTY_CONNECTION("counterparty prefix cannot be empty")
