"""wasm: codes and contracts, reached by messages and queries; the runtime does the work."""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Iterable
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import msgspec

from leasehold.core.addresses import decode, predictable_contract_address
from leasehold.core.nesting import nests_too_deep
from leasehold.devnet.app.coins import Coins, coins_text, from_proto, valid
from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import (
    INVALID_COINS,
    INVALID_REQUEST,
    UNAUTHORIZED,
    ChainError,
    Kind,
    PlainError,
    Status,
    StatusError,
    undefined,
)
from leasehold.devnet.app.module import Module, answers, handles, validates
from leasehold.devnet.app.pagination import page, page_of
from leasehold.devnet.modules.wasm_host import ContractBank, MeterGas, context_around
from leasehold.devnet.wasm import records
from leasehold.devnet.wasm.contract import BankCoin, Contract
from leasehold.devnet.wasm.failures import ModuleFailure, WasmFailure
from leasehold.devnet.wasm.host import Block, Call
from leasehold.devnet.wasm.runtime import Runtime

if TYPE_CHECKING:
    from leasehold.chain.registry import Registry
    from leasehold.core.settings import Identity
    from leasehold.devnet.app.assembly import Modules

_PARAMS = b"wasm/params"
_ACCESS = b"wasm/access/"
_BYTECODE = b"wasm/bytes/"
_PINNED = b"wasm/pinned/"
_MAX_BYTECODE = 5 * 1024 * 1024
_MAX_LABEL = 128
_MAX_SALT = 64
_PAGE_LIMIT = 100
_MAGIC = b"\x00asm"

NOBODY, EVERYBODY, ANY_OF = 1, 3, 4

CREATE_FAILED = Kind("wasm", 2, "create wasm contract failed")
QUERY_FAILED = Kind("wasm", 9, "query wasm contract failed")
EMPTY = Kind("wasm", 12, "empty")
LIMIT = Kind("wasm", 13, "exceeds limit")
INVALID = Kind("wasm", 14, "invalid")
NO_SUCH_CONTRACT = Kind("wasm", 22, "no such contract")
NO_SUCH_CODE = Kind("wasm", 28, "no such code")

_OPERATIONS = {"init": 1, "migrate": 2, "genesis": 3}


class Wasm(Module):
    """Contracts."""

    name = "wasm"

    def __init__(self, identity: Identity, registry: Registry) -> None:
        super().__init__(identity, registry)
        self._bank = ContractBank(lambda: self.modules)
        self.runtime: Runtime

    def connect(self, modules: Modules) -> None:
        super().connect(modules)
        self.runtime = Runtime(
            self.prefixes,
            self._bank,
            modules.interchain,
            on_created=lambda store, address: modules.auth.ensure(context_around(store), decode(address)[1]),
        )

    def init_genesis(self, ctx: Context, state: dict[str, Any]) -> None:
        params = self.from_json("cosmwasm.wasm.v1.Params", state["params"])
        ctx.store.set(_PARAMS, params.SerializeToString())
        self._deploy(ctx, state.get("deployment", {}))

    def _deploy(self, ctx: Context, deployment: dict[str, Any]) -> None:
        """Carry out the contracts' own genesis: codes of installed programs, then operations in order."""
        for code in deployment.get("codes", []):
            self.register(ctx, code["creator"], bytes.fromhex(code["checksum"]))
        for operation in deployment.get("operations", []):
            ((kind, given),) = operation.items()
            msg = json.dumps(given["msg"], separators=(",", ":")).encode()
            if kind == "instantiate":
                label, admin = given["label"], given["sender"]
                code_id, sender = given["code_id"], given["sender"]
                self._run(
                    ctx,
                    partial(
                        self.runtime.instantiate, sender=sender, code_id=code_id, msg=msg, label=label, admin=admin
                    ),
                )
            elif kind == "execute":
                self._run(
                    ctx, partial(self.runtime.execute, sender=given["sender"], contract=given["contract"], msg=msg)
                )
            else:
                self._run(ctx, partial(self.runtime.sudo, contract=given["contract"], msg=msg))

    # What other modules and the devnet's genesis use.

    def install(self, program: Contract, checksum: bytes) -> None:
        """Make a program runnable in this process; its code id comes from `register`."""
        self.runtime.install(checksum, program)

    def register(self, ctx: Context, creator: str, checksum: bytes) -> int:
        """Give an installed program a code id that anybody may instantiate."""
        return self._keep_code(ctx, creator, checksum, self._access(EVERYBODY))

    def call(self, ctx: Context) -> Call:
        """An operation of the runtime in this context."""
        return Call(ctx.overlay, self._block(ctx), MeterGas(ctx.gas))

    def _block(self, ctx: Context) -> Block:
        return Block(ctx.block.height, ctx.block.time_ns, ctx.block.chain_id, ctx.tx_index)

    def params(self, ctx: Context) -> Any:
        return self.read(ctx, _PARAMS, "cosmwasm.wasm.v1.Params")

    def sudo(self, ctx: Context, contract: str, msg: bytes) -> bytes | None:
        """Call a contract with the chain's own authority."""
        data: bytes | None = self._run(ctx, lambda call: self.runtime.sudo(call, contract, msg))
        return data

    def query_smart(self, ctx: Context, contract: str, msg: bytes) -> bytes:
        """A contract's answer in this context's state."""
        with self._bank.during(ctx.block, None):
            return self.runtime.query(ctx.overlay, self._block(ctx), contract, msg)

    def _run(self, ctx: Context, operation: Any) -> Any:
        call = self.call(ctx)
        try:
            with self._bank.during(ctx.block, ctx.gas):
                result = operation(call)
        except ModuleFailure as failure:
            raise ChainError(Kind(failure.codespace, failure.code, failure.text)) from None
        ctx.events.extend(call.events)
        return result

    def _access(self, permission: int, addresses: Iterable[str] = ()) -> Any:
        return self.new("cosmwasm.wasm.v1.AccessConfig", permission=permission, addresses=list(addresses))

    def _keep_code(self, ctx: Context, creator: str, checksum: bytes, access: Any) -> int:
        code_id = records.add_code(ctx.store, creator, checksum)
        ctx.store.set(_ACCESS + code_id.to_bytes(8, "big"), access.SerializeToString())
        return code_id

    def code_access(self, ctx: Context, code_id: int) -> Any:
        return self.read(ctx, _ACCESS + code_id.to_bytes(8, "big"), "cosmwasm.wasm.v1.AccessConfig")

    # Stateless checks.

    def _address(self, text: str, what: str) -> None:
        try:
            self.modules.auth.address_bytes(text)
        except PlainError as error:
            raise undefined(f"{what}: {error}") from None

    def _payload(self, data: bytes) -> None:
        if not _is_json(data):
            raise INVALID("payload msg")

    def _funds(self, coins: Coins) -> None:
        if not valid(coins):
            raise INVALID_COINS(coins_text(coins)) if coins else ChainError(INVALID_COINS)

    def _label(self, label: str) -> None:
        if not label:
            raise EMPTY("label: is required")
        if len(label) > _MAX_LABEL:
            raise LIMIT(f"label: cannot be longer than {_MAX_LABEL} characters")
        if label.strip() != label:
            raise INVALID("label: must not start/end with whitespaces")

    @validates("cosmwasm.wasm.v1.MsgStoreCode")
    def validate_store_code(self, msg: Any) -> None:
        self._address(msg.sender, "sender")
        self._bytecode(msg.wasm_byte_code)

    def _bytecode(self, data: bytes) -> None:
        if not data:
            raise EMPTY("code bytes")
        if len(data) > _MAX_BYTECODE:
            raise LIMIT(f"code bytes cannot be longer than {_MAX_BYTECODE} bytes")

    @validates("cosmwasm.wasm.v1.MsgInstantiateContract")
    def validate_instantiate(self, msg: Any) -> None:
        self._address(msg.sender, "sender")
        if msg.code_id == 0:
            raise INVALID_REQUEST("code id is required")
        self._label(msg.label)
        if msg.funds:
            self._funds(from_proto(msg.funds))
        if msg.admin:
            self._address(msg.admin, "admin")
        self._payload(msg.msg)

    @validates("cosmwasm.wasm.v1.MsgInstantiateContract2")
    def validate_instantiate2(self, msg: Any) -> None:
        self.validate_instantiate(msg)
        if not msg.salt:
            raise EMPTY("salt: is required")
        if len(msg.salt) > _MAX_SALT:
            raise LIMIT(f"salt: cannot be longer than {_MAX_SALT} characters")

    @validates("cosmwasm.wasm.v1.MsgExecuteContract")
    def validate_execute(self, msg: Any) -> None:
        self._address(msg.sender, "sender")
        self._address(msg.contract, "contract")
        if msg.funds:
            self._funds(from_proto(msg.funds))
        self._payload(msg.msg)

    @validates("cosmwasm.wasm.v1.MsgMigrateContract")
    def validate_migrate(self, msg: Any) -> None:
        if msg.code_id == 0:
            raise INVALID_REQUEST("code id is required")
        self._address(msg.sender, "sender")
        self._address(msg.contract, "contract")
        self._payload(msg.msg)

    @validates("cosmwasm.wasm.v1.MsgUpdateAdmin")
    def validate_update_admin(self, msg: Any) -> None:
        self._address(msg.sender, "sender")
        self._address(msg.contract, "contract")
        self._address(msg.new_admin, "new admin")
        if msg.sender == msg.new_admin:
            raise INVALID_REQUEST("new admin is the same as the old")

    @validates("cosmwasm.wasm.v1.MsgClearAdmin")
    def validate_clear_admin(self, msg: Any) -> None:
        self._address(msg.sender, "sender")
        self._address(msg.contract, "contract")

    @validates("cosmwasm.wasm.v1.MsgUpdateContractLabel")
    def validate_update_label(self, msg: Any) -> None:
        self._address(msg.sender, "sender")
        self._label(msg.new_label)
        self._address(msg.contract, "contract")

    # Messages.

    @handles("cosmwasm.wasm.v1.MsgStoreCode")
    def handle_store_code(self, ctx: Context, msg: Any) -> Any:
        params = self.params(ctx)
        if not _allowed(params.code_upload_access, msg.sender):
            raise UNAUTHORIZED("can not create code")
        bytecode = _unpacked(msg.wasm_byte_code)
        if not bytecode.startswith(_MAGIC):
            raise CREATE_FAILED(
                "Error calling the VM: Error during static Wasm validation: "
                'Wasm bytecode could not be deserialized. Deserialization error: "magic header not detected"'
            )
        checksum = sha256(bytecode).digest()
        access = msg.instantiate_permission if msg.HasField("instantiate_permission") else None
        if access is None:
            chosen = params.instantiate_default_permission
            access = self._access(chosen, [msg.sender] if chosen == ANY_OF else [])
        ctx.gas.consume(3 * len(msg.wasm_byte_code), "Compiling wasm bytecode")
        with ctx.unmetered():
            ctx.store.set(_BYTECODE + checksum, bytecode)
        code_id = self._keep_code(ctx, msg.sender, checksum, access)
        ctx.emit("store_code", ("code_checksum", checksum.hex()), ("code_id", str(code_id)))
        return self.new("cosmwasm.wasm.v1.MsgStoreCodeResponse", code_id=code_id, checksum=checksum)

    def _may_instantiate(self, ctx: Context, code_id: int, sender: str) -> None:
        access = self.code_access(ctx, code_id)
        if access is not None and not _allowed(access, sender):
            raise UNAUTHORIZED("can not instantiate")

    def _instantiate(self, ctx: Context, msg: Any, salt: bytes | None) -> tuple[str, bytes]:
        self._may_instantiate(ctx, msg.code_id, msg.sender)
        address, data = self._run(
            ctx,
            lambda call: self.runtime.instantiate(
                call,
                msg.sender,
                msg.code_id,
                msg.msg,
                label=msg.label,
                admin=msg.admin or None,
                funds=_funds(msg.funds),
                salt=salt,
            ),
        )
        return address, data or b""

    @handles("cosmwasm.wasm.v1.MsgInstantiateContract")
    def handle_instantiate(self, ctx: Context, msg: Any) -> Any:
        address, data = self._instantiate(ctx, msg, None)
        return self.new("cosmwasm.wasm.v1.MsgInstantiateContractResponse", address=address, data=data)

    @handles("cosmwasm.wasm.v1.MsgInstantiateContract2")
    def handle_instantiate2(self, ctx: Context, msg: Any) -> Any:
        address, data = self._instantiate(ctx, msg, msg.salt)
        return self.new("cosmwasm.wasm.v1.MsgInstantiateContract2Response", address=address, data=data)

    @handles("cosmwasm.wasm.v1.MsgExecuteContract")
    def handle_execute(self, ctx: Context, msg: Any) -> Any:
        data = self._run(
            ctx, lambda call: self.runtime.execute(call, msg.sender, msg.contract, msg.msg, _funds(msg.funds))
        )
        return self.new("cosmwasm.wasm.v1.MsgExecuteContractResponse", data=data or b"")

    @handles("cosmwasm.wasm.v1.MsgMigrateContract")
    def handle_migrate(self, ctx: Context, msg: Any) -> Any:
        data = self._run(ctx, lambda call: self.runtime.migrate(call, msg.sender, msg.contract, msg.code_id, msg.msg))
        return self.new("cosmwasm.wasm.v1.MsgMigrateContractResponse", data=data or b"")

    @handles("cosmwasm.wasm.v1.MsgUpdateAdmin")
    def handle_update_admin(self, ctx: Context, msg: Any) -> Any:
        self._run(ctx, lambda call: self.runtime.update_admin(call, msg.sender, msg.contract, msg.new_admin))
        return self.new("cosmwasm.wasm.v1.MsgUpdateAdminResponse")

    @handles("cosmwasm.wasm.v1.MsgClearAdmin")
    def handle_clear_admin(self, ctx: Context, msg: Any) -> Any:
        self._run(ctx, lambda call: self.runtime.update_admin(call, msg.sender, msg.contract, None))
        return self.new("cosmwasm.wasm.v1.MsgClearAdminResponse")

    @handles("cosmwasm.wasm.v1.MsgUpdateContractLabel")
    def handle_update_label(self, ctx: Context, msg: Any) -> Any:
        address = self.modules.auth.address_bytes(msg.contract)
        record = records.contract(ctx.store, address)
        if record is None:
            raise NO_SUCH_CONTRACT(f"address {msg.contract}")
        if record.admin != msg.sender:
            raise UNAUTHORIZED("can not modify contract")
        records.put_contract(ctx.store, address, msgspec.structs.replace(record, label=msg.new_label))
        ctx.emit("update_contract_label", ("_contract_address", msg.contract), ("new_label", msg.new_label))
        return self.new("cosmwasm.wasm.v1.MsgUpdateContractLabelResponse")

    @handles("cosmwasm.wasm.v1.MsgUpdateInstantiateConfig")
    def handle_update_access(self, ctx: Context, msg: Any) -> Any:
        code = records.code(ctx.store, msg.code_id)
        if code is None:
            raise NO_SUCH_CODE(f"code id {msg.code_id}")
        if code.creator != msg.sender:
            raise UNAUTHORIZED("can not modify code access config")
        access = msg.new_instantiate_permission
        ctx.store.set(_ACCESS + msg.code_id.to_bytes(8, "big"), access.SerializeToString())
        ctx.emit(
            "update_code_access_config",
            ("code_permission", _permission_name(access.permission)),
            ("code_id", str(msg.code_id)),
        )
        return self.new("cosmwasm.wasm.v1.MsgUpdateInstantiateConfigResponse")

    @handles("cosmwasm.wasm.v1.MsgSudoContract")
    def handle_sudo(self, ctx: Context, msg: Any) -> Any:
        self.modules.gov.require_authority(msg.authority)
        data = self.sudo(ctx, msg.contract, msg.msg)
        return self.new("cosmwasm.wasm.v1.MsgSudoContractResponse", data=data or b"")

    @handles("cosmwasm.wasm.v1.MsgUpdateParams")
    def handle_update_params(self, ctx: Context, msg: Any) -> Any:
        self.modules.gov.require_authority(msg.authority)
        ctx.store.set(_PARAMS, msg.params.SerializeToString())
        return self.new("cosmwasm.wasm.v1.MsgUpdateParamsResponse")

    @handles("cosmwasm.wasm.v1.MsgPinCodes")
    def handle_pin(self, ctx: Context, msg: Any) -> Any:
        self.modules.gov.require_authority(msg.authority)
        for code_id in msg.code_ids:
            if records.code(ctx.store, code_id) is None:
                raise NO_SUCH_CODE(f"code id {code_id}")
            ctx.store.set(_PINNED + code_id.to_bytes(8, "big"), b"")
            ctx.emit("pin_code", ("code_id", str(code_id)))
        return self.new("cosmwasm.wasm.v1.MsgPinCodesResponse")

    @handles("cosmwasm.wasm.v1.MsgUnpinCodes")
    def handle_unpin(self, ctx: Context, msg: Any) -> Any:
        self.modules.gov.require_authority(msg.authority)
        for code_id in msg.code_ids:
            ctx.store.delete(_PINNED + code_id.to_bytes(8, "big"))
            ctx.emit("unpin_code", ("code_id", str(code_id)))
        return self.new("cosmwasm.wasm.v1.MsgUnpinCodesResponse")

    # Queries.

    def _paging(self, request: Any) -> Any:
        wanted = request.pagination
        if wanted.offset or wanted.count_total:
            raise StatusError(Status.INVALID_ARGUMENT, "offset and count queries not supported")
        limit = min(wanted.limit or _PAGE_LIMIT, _PAGE_LIMIT)
        return self.registry.new(
            "cosmos.base.query.v1beta1.PageRequest", key=wanted.key, limit=limit, reverse=wanted.reverse
        )

    def _code_id(self, code_id: int) -> int:
        if code_id == 0:
            raise INVALID("code id")
        return code_id

    def _code_info(self, ctx: Context, code_id: int, record: records.CodeRecord) -> Any:
        return self.new(
            "cosmwasm.wasm.v1.CodeInfoResponse",
            code_id=code_id,
            creator=record.creator,
            data_hash=record.checksum,
            instantiate_permission=self.code_access(ctx, code_id),
        )

    def _known_code(self, ctx: Context, code_id: int) -> records.CodeRecord:
        record = records.code(ctx.store, self._code_id(code_id))
        if record is None:
            raise NO_SUCH_CODE(f"code id {code_id}")
        return record

    @answers("cosmwasm.wasm.v1.Query/Code")
    def query_code(self, ctx: Context, request: Any) -> Any:
        record = self._known_code(ctx, request.code_id)
        data = ctx.store.get(_BYTECODE + record.checksum) or b""
        info = self._code_info(ctx, request.code_id, record)
        return self.new("cosmwasm.wasm.v1.QueryCodeResponse", code_info=info, data=data)

    @answers("cosmwasm.wasm.v1.Query/CodeInfo")
    def query_code_info(self, ctx: Context, request: Any) -> Any:
        record = self._known_code(ctx, request.code_id)
        return self.new(
            "cosmwasm.wasm.v1.QueryCodeInfoResponse",
            code_id=request.code_id,
            creator=record.creator,
            checksum=record.checksum,
            instantiate_permission=self.code_access(ctx, request.code_id),
        )

    @answers("cosmwasm.wasm.v1.Query/Codes")
    def query_codes(self, ctx: Context, request: Any) -> Any:
        listed = [
            (code_id.to_bytes(8, "big"), self._code_info(ctx, code_id, record))
            for code_id, record in records.codes(ctx.store)
        ]
        items, result = page_of(listed, self._paging(request))
        return self.new("cosmwasm.wasm.v1.QueryCodesResponse", code_infos=items, pagination=self.page_response(result))

    @answers("cosmwasm.wasm.v1.Query/ContractInfo")
    def query_contract_info(self, ctx: Context, request: Any) -> Any:
        record = self._contract(ctx, request.address)
        info = self.new(
            "cosmwasm.wasm.v1.ContractInfo",
            code_id=record.code_id,
            creator=record.creator,
            admin=record.admin,
            label=record.label,
            created=self.new(
                "cosmwasm.wasm.v1.AbsoluteTxPosition",
                block_height=record.created_height,
                tx_index=record.created_tx_index,
            ),
            ibc2_port_id=f"wasm2{request.address.removeprefix(self.identity.prefix)}",
        )
        return self.new("cosmwasm.wasm.v1.QueryContractInfoResponse", address=request.address, contract_info=info)

    def _contract(self, ctx: Context, text: str) -> records.ContractRecord:
        record = records.contract(ctx.store, self.modules.auth.address_bytes(text))
        if record is None:
            raise NO_SUCH_CONTRACT(f"address {text}")
        return record

    @answers("cosmwasm.wasm.v1.Query/ContractHistory")
    def query_history(self, ctx: Context, request: Any) -> Any:
        address = self.modules.auth.address_bytes(request.address)
        listed = []
        for index, entry in enumerate(records.history(ctx.store, address)):
            updated = self.new(
                "cosmwasm.wasm.v1.AbsoluteTxPosition", block_height=entry.height, tx_index=entry.tx_index
            )
            message = self.new(
                "cosmwasm.wasm.v1.ContractCodeHistoryEntry",
                operation=_OPERATIONS[entry.operation],
                code_id=entry.code_id,
                updated=updated,
                msg=entry.msg,
            )
            listed.append((index.to_bytes(8, "big"), message))
        items, result = page_of(listed, self._paging(request))
        return self.new(
            "cosmwasm.wasm.v1.QueryContractHistoryResponse", entries=items, pagination=self.page_response(result)
        )

    @answers("cosmwasm.wasm.v1.Query/ContractsByCode")
    def query_contracts_by_code(self, ctx: Context, request: Any) -> Any:
        prefix = records.by_code_prefix(self._code_id(request.code_id))
        items, result = page(ctx.store, prefix, self._paging(request), lambda key, _: self.modules.auth.text(key[16:]))
        return self.new(
            "cosmwasm.wasm.v1.QueryContractsByCodeResponse", contracts=items, pagination=self.page_response(result)
        )

    @answers("cosmwasm.wasm.v1.Query/ContractsByCreator")
    def query_contracts_by_creator(self, ctx: Context, request: Any) -> Any:
        creator = self.modules.auth.address_bytes(request.creator_address)
        items, result = page(
            ctx.store,
            records.by_creator_prefix(creator),
            self._paging(request),
            lambda key, _: self.modules.auth.text(key[16:]),
        )
        return self.new(
            "cosmwasm.wasm.v1.QueryContractsByCreatorResponse",
            contract_addresses=items,
            pagination=self.page_response(result),
        )

    @answers("cosmwasm.wasm.v1.Query/AllContractState")
    def query_all_state(self, ctx: Context, request: Any) -> Any:
        self._contract(ctx, request.address)
        prefix = records.STORAGE + self.modules.auth.address_bytes(request.address)

        def model(key: bytes, value: bytes) -> Any:
            return self.new("cosmwasm.wasm.v1.Model", key=key, value=value)

        items, result = page(ctx.store, prefix, self._paging(request), model)
        return self.new(
            "cosmwasm.wasm.v1.QueryAllContractStateResponse", models=items, pagination=self.page_response(result)
        )

    @answers("cosmwasm.wasm.v1.Query/RawContractState")
    def query_raw(self, ctx: Context, request: Any) -> Any:
        self._contract(ctx, request.address)
        data = self.runtime.raw(ctx.overlay, request.address, request.query_data)
        return self.new("cosmwasm.wasm.v1.QueryRawContractStateResponse", data=data or b"")

    @answers("cosmwasm.wasm.v1.Query/SmartContractState")
    def query_smart_state(self, ctx: Context, request: Any) -> Any:
        if not _is_json(request.query_data):
            raise StatusError(Status.INVALID_ARGUMENT, "invalid query data")
        self._contract(ctx, request.address)
        try:
            data = self.query_smart(ctx, request.address, request.query_data)
        except WasmFailure as failure:
            # The real node keeps the contract's text first here, unlike every other registered error.
            raise StatusError(Status.UNKNOWN, failure.text) from None
        return self.new("cosmwasm.wasm.v1.QuerySmartContractStateResponse", data=data)

    @answers("cosmwasm.wasm.v1.Query/PinnedCodes")
    def query_pinned(self, ctx: Context, request: Any) -> Any:
        items, result = page(ctx.store, _PINNED, self._paging(request), lambda key, _: int.from_bytes(key, "big"))
        return self.new(
            "cosmwasm.wasm.v1.QueryPinnedCodesResponse", code_ids=items, pagination=self.page_response(result)
        )

    @answers("cosmwasm.wasm.v1.Query/Params")
    def query_params(self, ctx: Context, request: Any) -> Any:
        return self.new("cosmwasm.wasm.v1.QueryParamsResponse", params=self.params(ctx))

    @answers("cosmwasm.wasm.v1.Query/WasmLimitsConfig")
    def query_limits(self, ctx: Context, request: Any) -> Any:
        return self.new("cosmwasm.wasm.v1.QueryWasmLimitsConfigResponse", config="{}")

    @answers("cosmwasm.wasm.v1.Query/BuildAddress")
    def query_build_address(self, ctx: Context, request: Any) -> Any:
        try:
            checksum = bytes.fromhex(request.code_hash)
            salt = bytes.fromhex(request.salt)
        except ValueError as error:
            raise PlainError(f"invalid code hash: {error}") from None
        creator = self.modules.auth.address_bytes(request.creator_address)
        address = predictable_contract_address(checksum, creator, salt, request.init_args)
        return self.new("cosmwasm.wasm.v1.QueryBuildAddressResponse", address=self.modules.auth.text(address))


def _funds(coins: Any) -> tuple[BankCoin, ...]:
    return tuple(BankCoin(coin.denom, int(coin.amount or "0")) for coin in coins)


def _allowed(access: Any, sender: str) -> bool:
    if access.permission == EVERYBODY:
        return True
    return access.permission == ANY_OF and sender in access.addresses


def _permission_name(permission: int) -> str:
    return {NOBODY: "Nobody", EVERYBODY: "Everybody", ANY_OF: "AnyOfAddresses"}.get(permission, "Unspecified")


def _unpacked(data: bytes) -> bytes:
    """Bytecode, unzipped when it came zipped; bounded, so that a small archive can't fill the memory."""
    if not data.startswith(b"\x1f\x8b"):
        return data
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as archive:
            unpacked = archive.read(_MAX_BYTECODE + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise CREATE_FAILED(f"uncompress wasm archive: {error}") from None
    if len(unpacked) > _MAX_BYTECODE:
        raise CREATE_FAILED(f"uncompress wasm archive: max {_MAX_BYTECODE} bytes: exceeds limit")
    return unpacked


def _is_json(data: bytes) -> bool:
    """Whether contracts could read a text at all: well-formed, and not nested without end."""
    if nests_too_deep(data):
        return False
    try:
        msgspec.json.decode(data)
    except msgspec.DecodeError:
        return False
    return True
