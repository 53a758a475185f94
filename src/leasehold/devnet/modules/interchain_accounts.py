"""Interchain accounts as any account may ask for them: a handshake is begun, and no channel of theirs ever opens."""

from __future__ import annotations

from typing import Any

from google.protobuf.message import DecodeError

from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import ChainError, Kind, PlainError, Status, StatusError, undefined
from leasehold.devnet.app.module import Module, answers, handles, validates
from leasehold.devnet.modules.ibc import errors
from leasehold.devnet.modules.ibc.handshake_checks import value_name
from leasehold.devnet.modules.ibc.identifiers import check

_HOST = "ibc.applications.interchain_accounts.host.v1."
_CONTROLLER = "ibc.applications.interchain_accounts.controller.v1."
_LONGEST_OWNER = 2048
_LONGEST_MEMO = 32_768
_UNORDERED, _ORDERED, _INIT = 1, 2, 1

INVALID_OUTGOING = Kind("interchainaccounts", 6, "invalid outgoing data")
NO_ACTIVE_CHANNEL = Kind("interchainaccounts", 11, "no active channel for this owner")


class InterchainAccounts(Module):
    """Accounts on other chains."""

    name = "interchainaccounts"

    def init_genesis(self, ctx: Context, state: dict[str, Any]) -> None:
        controller = state.get("controller_genesis_state", {}).get("params", {"controller_enabled": True})
        host = state.get("host_genesis_state", {}).get("params", {"host_enabled": True, "allow_messages": ["*"]})
        for key, name, document in (
            (b"interchainaccounts/controller", _CONTROLLER, controller),
            (b"interchainaccounts/host", _HOST, host),
        ):
            ctx.store.set(key, self.from_json(name + "Params", document).SerializeToString())

    @answers(_CONTROLLER + "Query/Params")
    def query_controller_params(self, ctx: Context, request: Any) -> Any:
        params = self.read(ctx, b"interchainaccounts/controller", _CONTROLLER + "Params")
        return self.new(_CONTROLLER + "QueryParamsResponse", params=params)

    @answers(_HOST + "Query/Params")
    def query_host_params(self, ctx: Context, request: Any) -> Any:
        params = self.read(ctx, b"interchainaccounts/host", _HOST + "Params")
        return self.new(_HOST + "QueryParamsResponse", params=params)

    @answers(_CONTROLLER + "Query/InterchainAccount")
    def query_account(self, ctx: Context, request: Any) -> Any:
        if not request.owner:
            text = (
                "failed to generate portID from owner address: owner address cannot be empty: invalid account address"
            )
            raise StatusError(Status.INVALID_ARGUMENT, text)
        text = f"failed to retrieve account address for icacontroller-{request.owner} on connection "
        raise StatusError(Status.NOT_FOUND, text + request.connection_id)

    # Messages.

    @validates(_CONTROLLER + "MsgRegisterInterchainAccount")
    def validate_register(self, msg: Any) -> None:
        self._check_connection(msg)
        if msg.ordering not in (_UNORDERED, _ORDERED):
            raise errors.WRONG_ORDERING(value_name(msg, "ordering"))
        self._check_owner(msg)

    def _check_connection(self, msg: Any) -> None:
        try:
            check("connection", msg.connection_id)
        except ChainError as error:
            raise error.wrap("invalid connection ID") from None

    def _check_owner(self, msg: Any) -> None:
        if not msg.owner.strip():
            raise errors.INVALID_ADDRESS("owner address cannot be empty")
        if len(msg.owner.encode()) > _LONGEST_OWNER:
            raise errors.INVALID_ADDRESS(f"owner address must not exceed {_LONGEST_OWNER} bytes")

    @handles(_CONTROLLER + "MsgRegisterInterchainAccount")
    def handle_register(self, ctx: Context, msg: Any) -> Any:
        port = f"icacontroller-{msg.owner}"
        channel = {
            "state": _INIT,
            "ordering": msg.ordering,
            "counterparty": {"port_id": "icahost"},
            "connection_hops": [msg.connection_id],
            "version": msg.version,
        }
        begin = self.new("ibc.core.channel.v1.MsgChannelOpenInit", port_id=port, channel=channel)
        opened = self.modules.ibc.handle_channel_init(ctx, begin)
        name = _CONTROLLER + "MsgRegisterInterchainAccountResponse"
        return self.new(name, channel_id=opened.channel_id, port_id=port)

    @validates(_CONTROLLER + "MsgSendTx")
    def validate_send(self, msg: Any) -> None:
        self._check_connection(msg)
        self._check_owner(msg)
        invalid = "invalid interchain account packet data: "
        if msg.packet_data.type == 0:
            raise INVALID_OUTGOING(f"{invalid}packet data type cannot be unspecified")
        if not msg.packet_data.data:
            raise INVALID_OUTGOING(f"{invalid}packet data cannot be empty")
        if len(msg.packet_data.memo.encode()) > _LONGEST_MEMO:
            raise INVALID_OUTGOING(f"{invalid}packet data memo cannot be greater than {_LONGEST_MEMO} characters")
        if msg.relative_timeout == 0:
            raise errors.INVALID_REQUEST("relative timeout cannot be zero")

    @handles(_CONTROLLER + "MsgSendTx")
    def handle_send(self, ctx: Context, msg: Any) -> Any:
        where = f"connection {msg.connection_id} for port icacontroller-{msg.owner}"
        raise NO_ACTIVE_CHANNEL(f"failed to retrieve active channel on {where}")

    @handles(_CONTROLLER + "MsgUpdateParams")
    def handle_controller_params(self, ctx: Context, msg: Any) -> Any:
        self.modules.ibc.require_authority(msg.signer)
        ctx.store.set(b"interchainaccounts/controller", msg.params.SerializeToString())
        return self.new(_CONTROLLER + "MsgUpdateParamsResponse")

    @handles(_HOST + "MsgUpdateParams")
    def handle_host_params(self, ctx: Context, msg: Any) -> Any:
        self.modules.ibc.require_authority(msg.signer)
        ctx.store.set(b"interchainaccounts/host", msg.params.SerializeToString())
        return self.new(_HOST + "MsgUpdateParamsResponse")

    @handles(_HOST + "MsgModuleQuerySafe")
    def handle_query_safe(self, ctx: Context, msg: Any) -> Any:
        table = {f"/{name}": handler for module in self.modules.all() for name, handler in module.marked("answers")}
        responses = []
        for request in msg.requests:
            handler = table.get(request.path)
            if handler is None or not self._is_safe(request.path):
                raise errors.INVALID_REQUEST(f"not module query safe: {request.path}")
            try:
                asked = self.registry.method_by_path[request.path].request_type.FromString(request.data)
                responses.append(handler(ctx, asked).SerializeToString())
            except DecodeError:
                raise undefined("unexpected EOF") from None
            except PlainError as error:
                raise undefined(str(error)) from None
            except StatusError as error:
                raise undefined(f"rpc error: code = {error.status.title} desc = {error.message}") from None
        return self.new(_HOST + "MsgModuleQuerySafeResponse", height=ctx.block.height, responses=responses)

    def _is_safe(self, path: str) -> bool:
        """Whether a query's definition says that it always gives the same answer in the same state."""
        pool = self.registry.pool
        options: Any = self.registry.type("google.protobuf.MethodOptions")
        told = pool.FindMethodByName(path[1:].replace("/", ".")).GetOptions().SerializeToString()
        safe = pool.FindExtensionByName("cosmos.query.v1.module_query_safe")
        return bool(options.FromString(told).Extensions[safe])
