"""interchain: parameters and reads of the modules contracts use to act on other chains."""

from __future__ import annotations

from typing import Any

from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import INVALID_REQUEST, ChainError, Kind, PlainError, Status, StatusError
from leasehold.devnet.app.module import Module, answers, handles
from leasehold.devnet.app.pagination import page_of

_OWN_TXS = "{ns}.interchaintxs.v1."
_FEES = "{ns}.feerefunder."
_MANAGER = "{ns}.contractmanager."
_LONGEST_ACCOUNT = 47
_MOST_FAILURES = 100

INVALID_ACCOUNT = Kind("interchaintxs", 1101, "invalid account address")
NO_ACCOUNT = Kind("interchaintxs", 1102, "interchain account not found")
NOT_CONTRACT = Kind("interchaintxs", 1103, "not a contract")
EMPTY_ACCOUNT = Kind("interchaintxs", 1104, "empty interchain account id")
EMPTY_CONNECTION = Kind("interchaintxs", 1105, "empty connection id")
NO_MESSAGES = Kind("interchaintxs", 1106, "no messages provided")
INVALID_TIMEOUT = Kind("interchaintxs", 1107, "invalid timeout")
LONG_ACCOUNT = Kind("interchaintxs", 1109, "interchain account id is too long")


class _Parameters(Module):
    """A module that is mostly its parameters."""

    package = ""

    @property
    def _key(self) -> bytes:
        return self.name.encode() + b"/params"

    def init_genesis(self, ctx: Context, state: dict[str, Any]) -> None:
        self.set_params(ctx, self.from_json(self.package + "Params", state.get("params") or self.defaults()))

    def defaults(self) -> dict[str, Any]:
        """Parameters of a chain whose genesis names none."""
        return {}

    def params(self, ctx: Context) -> Any:
        return self.read(ctx, self._key, self.package + "Params")

    def set_params(self, ctx: Context, params: Any) -> None:
        ctx.store.set(self._key, params.SerializeToString())

    def _update(self, ctx: Context, msg: Any) -> Any:
        # These modules came from elsewhere and refuse strangers with an error of their own kind.
        expected = self.modules.gov.authority
        if msg.authority != expected:
            raise INVALID_REQUEST(f"invalid authority; expected {expected}, got {msg.authority}")
        self.set_params(ctx, msg.params)
        return self.new(self.package + "MsgUpdateParamsResponse")

    def _shown(self, ctx: Context) -> Any:
        return self.new(self.package + "QueryParamsResponse", params=self.params(ctx))


class Feerefunder(_Parameters):
    """Fees of relayers."""

    name = "feerefunder"
    package = _FEES

    def defaults(self) -> dict[str, Any]:
        fee = [{"denom": self.identity.base_denom, "amount": "1"}]
        return {"min_fee": {"recv_fee": [], "ack_fee": fee, "timeout_fee": fee}}

    @handles(_FEES + "MsgUpdateParams")
    def handle_update_params(self, ctx: Context, msg: Any) -> Any:
        return self._update(ctx, msg)

    @answers(_FEES + "Query/Params")
    def query_params(self, ctx: Context, request: Any) -> Any:
        return self._shown(ctx)

    @answers(_FEES + "Query/FeeInfo")
    def query_fee_info(self, ctx: Context, request: Any) -> Any:
        where = f"port_id = {request.port_id}, channel_id={request.channel_id}, sequence={request.sequence}"
        raise INVALID_REQUEST(f"no fee info found for {where}")


class InterchainTransactions(_Parameters):
    """Transactions on other chains."""

    name = "interchaintxs"
    package = _OWN_TXS

    def defaults(self) -> dict[str, Any]:
        fee = [{"denom": self.identity.base_denom, "amount": "1"}]
        return {"msg_submit_tx_max_messages": "16", "register_fee": fee}

    @handles(_OWN_TXS + "MsgUpdateParams")
    def handle_update_params(self, ctx: Context, msg: Any) -> Any:
        return self._update(ctx, msg)

    @handles(_OWN_TXS + "MsgRegisterInterchainAccount")
    def handle_register(self, ctx: Context, msg: Any) -> Any:
        self._check_account(msg, "MsgRegisterInterchainAccount")
        if len(msg.interchain_account_id) > _LONGEST_ACCOUNT:
            text = f"max length is {_LONGEST_ACCOUNT}, got {len(msg.interchain_account_id)}"
            raise LONG_ACCOUNT(f"failed to validate MsgRegisterInterchainAccount: {text}")
        raise NOT_CONTRACT(f"{msg.from_address} is not a contract address")

    @handles(_OWN_TXS + "MsgSubmitTx")
    def handle_submit(self, ctx: Context, msg: Any) -> Any:
        self._check_account(msg, "MsgSubmitTx")
        if not msg.msgs:
            raise NO_MESSAGES("failed to validate MsgSubmitTx")
        if msg.timeout == 0:
            raise INVALID_TIMEOUT("failed to validate MsgSubmitTx: timeout must be greater than zero")
        raise NOT_CONTRACT(f"{msg.from_address} is not a contract address")

    def _check_account(self, msg: Any, name: str) -> None:
        """Refuse what is incomplete; whoever signs a transaction is no contract and is refused in the end."""
        if not msg.connection_id:
            raise EMPTY_CONNECTION(f"failed to validate {name}")
        if not msg.interchain_account_id:
            raise EMPTY_ACCOUNT(f"failed to validate {name}")

    @answers(_OWN_TXS + "Query/Params")
    def query_params(self, ctx: Context, request: Any) -> Any:
        return self._shown(ctx)

    @answers(_OWN_TXS + "Query/InterchainAccountAddress")
    def query_account(self, ctx: Context, request: Any) -> Any:
        try:
            self.modules.auth.plain_address_bytes(request.owner_address)
        except PlainError as error:
            inner = INVALID_ACCOUNT(f"failed to decode address from bech32: {error}").log
            raise INVALID_REQUEST(f"failed to create ica owner: {inner}") from None
        try:
            network = self.modules.interchain.networks(ctx).on_connection(request.connection_id)
        except ChainError:
            port = f"icacontroller-{request.owner_address}.{request.interchain_account_id}"
            raise NO_ACCOUNT(f"no interchain account found for portID {port}") from None
        address = self.modules.interchain.account(network, request.owner_address)
        return self.new(_OWN_TXS + "QueryInterchainAccountAddressResponse", interchain_account_address=address)


class ContractManager(_Parameters):
    """Callbacks to contracts that failed."""

    name = "contractmanager"
    package = _MANAGER

    def defaults(self) -> dict[str, Any]:
        return {"sudo_call_gas_limit": "1000000"}

    @handles(_MANAGER + "MsgUpdateParams")
    def handle_update_params(self, ctx: Context, msg: Any) -> Any:
        return self._update(ctx, msg)

    @answers(_MANAGER + "Query/Params")
    def query_params(self, ctx: Context, request: Any) -> Any:
        return self._shown(ctx)

    def _listed(self, ctx: Context, request: Any, name: str) -> Any:
        """Failures of a contract, or of all of them where none is named."""
        limit = request.pagination.limit
        if limit > _MOST_FAILURES:
            text = f"limit is more than maximum allowed ({limit} > {_MOST_FAILURES})"
            raise StatusError(Status.INVALID_ARGUMENT, text)
        if request.address:
            try:
                self.modules.auth.plain_address_bytes(request.address)
            except PlainError:
                text = f"failed to parse address: {request.address}"
                raise StatusError(Status.INVALID_ARGUMENT, text) from None
        found = self.modules.interchain.failures(ctx, request.address)
        try:
            items, result = page_of(
                ((f"{item.address}/{item.id:020d}".encode(), item) for item in found), request.pagination
            )
        except PlainError as error:
            raise StatusError(Status.INTERNAL, str(error)) from None
        return self.new(_MANAGER + name, failures=items, pagination=self.page_response(result))

    @answers(_MANAGER + "Query/Failures")
    def query_failures(self, ctx: Context, request: Any) -> Any:
        return self._listed(ctx, request, "QueryFailuresResponse")

    @answers(_MANAGER + "Query/AddressFailures")
    def query_address_failures(self, ctx: Context, request: Any) -> Any:
        return self._listed(ctx, request, "QueryAddressFailuresResponse")

    @answers(_MANAGER + "Query/AddressFailure")
    def query_address_failure(self, ctx: Context, request: Any) -> Any:
        try:
            self.modules.auth.plain_address_bytes(request.address)
        except PlainError as error:
            raise StatusError(Status.INVALID_ARGUMENT, f"invalid address: {error}") from None
        found = [f for f in self.modules.interchain.failures(ctx, request.address) if f.id == request.failure_id]
        if not found:
            raise StatusError(
                Status.INVALID_ARGUMENT,
                f"no failure found for contractAddress = {request.address} "
                f"and failureId = {request.failure_id}: key not found",
            )
        return self.new(_MANAGER + "QueryAddressFailureResponse", failures=found)
