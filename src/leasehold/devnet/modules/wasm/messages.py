"""Messages that store codes and work on contracts."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import msgspec

from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import UNAUTHORIZED
from leasehold.devnet.app.module import handles
from leasehold.devnet.modules.wasm.checks import Checks
from leasehold.devnet.modules.wasm.codes import ANY_OF, BYTECODE, EVERYBODY, NOBODY, PACKAGE, PINNED, allowed
from leasehold.devnet.modules.wasm.errors import CREATE_FAILED, NO_SUCH_CODE, NO_SUCH_CONTRACT
from leasehold.devnet.modules.wasm.payloads import unpacked
from leasehold.devnet.wasm import records
from leasehold.devnet.wasm.contract import BankCoin

_MAGIC = b"\x00asm"


class Messages(Checks):
    """Handlers."""

    @handles(PACKAGE + "MsgStoreCode")
    def handle_store_code(self, ctx: Context, msg: Any) -> Any:
        params = self.params(ctx)
        if not allowed(params.code_upload_access, msg.sender):
            raise UNAUTHORIZED("can not create code")
        bytecode = unpacked(msg.wasm_byte_code)
        if not bytecode.startswith(_MAGIC):
            raise CREATE_FAILED(
                "Error calling the VM: Error during static Wasm validation: "
                'Wasm bytecode could not be deserialized. Deserialization error: "magic header not detected"'
            )
        checksum = sha256(bytecode).digest()
        access = msg.instantiate_permission if msg.HasField("instantiate_permission") else None
        if access is None:
            chosen = params.instantiate_default_permission
            access = self.access(chosen, [msg.sender] if chosen == ANY_OF else [])
        ctx.gas.consume(3 * len(msg.wasm_byte_code), "Compiling wasm bytecode")
        with ctx.unmetered():
            ctx.store.set(BYTECODE + checksum, bytecode)
        code_id = self.keep_code(ctx, msg.sender, checksum, access)
        ctx.emit("store_code", ("code_checksum", checksum.hex()), ("code_id", str(code_id)))
        return self.new(PACKAGE + "MsgStoreCodeResponse", code_id=code_id, checksum=checksum)

    def _may_instantiate(self, ctx: Context, code_id: int, sender: str) -> None:
        access = self.code_access(ctx, code_id)
        if access is not None and not allowed(access, sender):
            raise UNAUTHORIZED("can not instantiate")

    def _instantiate(self, ctx: Context, msg: Any, salt: bytes | None) -> tuple[str, bytes]:
        self._may_instantiate(ctx, msg.code_id, msg.sender)
        address, data = self.run(
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

    @handles(PACKAGE + "MsgInstantiateContract")
    def handle_instantiate(self, ctx: Context, msg: Any) -> Any:
        address, data = self._instantiate(ctx, msg, None)
        return self.new(PACKAGE + "MsgInstantiateContractResponse", address=address, data=data)

    @handles(PACKAGE + "MsgInstantiateContract2")
    def handle_instantiate2(self, ctx: Context, msg: Any) -> Any:
        address, data = self._instantiate(ctx, msg, msg.salt)
        return self.new(PACKAGE + "MsgInstantiateContract2Response", address=address, data=data)

    @handles(PACKAGE + "MsgExecuteContract")
    def handle_execute(self, ctx: Context, msg: Any) -> Any:
        data = self.run(
            ctx, lambda call: self.runtime.execute(call, msg.sender, msg.contract, msg.msg, _funds(msg.funds))
        )
        return self.new(PACKAGE + "MsgExecuteContractResponse", data=data or b"")

    @handles(PACKAGE + "MsgMigrateContract")
    def handle_migrate(self, ctx: Context, msg: Any) -> Any:
        data = self.run(ctx, lambda call: self.runtime.migrate(call, msg.sender, msg.contract, msg.code_id, msg.msg))
        return self.new(PACKAGE + "MsgMigrateContractResponse", data=data or b"")

    @handles(PACKAGE + "MsgUpdateAdmin")
    def handle_update_admin(self, ctx: Context, msg: Any) -> Any:
        self.run(ctx, lambda call: self.runtime.update_admin(call, msg.sender, msg.contract, msg.new_admin))
        return self.new(PACKAGE + "MsgUpdateAdminResponse")

    @handles(PACKAGE + "MsgClearAdmin")
    def handle_clear_admin(self, ctx: Context, msg: Any) -> Any:
        self.run(ctx, lambda call: self.runtime.update_admin(call, msg.sender, msg.contract, None))
        return self.new(PACKAGE + "MsgClearAdminResponse")

    @handles(PACKAGE + "MsgUpdateContractLabel")
    def handle_update_label(self, ctx: Context, msg: Any) -> Any:
        address = self.modules.auth.address_bytes(msg.contract)
        record = records.contract(ctx.store, address)
        if record is None:
            raise NO_SUCH_CONTRACT(f"address {msg.contract}")
        if record.admin != msg.sender:
            raise UNAUTHORIZED("can not modify contract")
        records.put_contract(ctx.store, address, msgspec.structs.replace(record, label=msg.new_label))
        ctx.emit("update_contract_label", ("_contract_address", msg.contract), ("new_label", msg.new_label))
        return self.new(PACKAGE + "MsgUpdateContractLabelResponse")

    @handles(PACKAGE + "MsgUpdateInstantiateConfig")
    def handle_update_access(self, ctx: Context, msg: Any) -> Any:
        code = records.code(ctx.store, msg.code_id)
        if code is None:
            raise NO_SUCH_CODE(f"code id {msg.code_id}")
        if code.creator != msg.sender:
            raise UNAUTHORIZED("can not modify code access config")
        access = msg.new_instantiate_permission
        self.set_code_access(ctx, msg.code_id, access)
        ctx.emit(
            "update_code_access_config",
            ("code_permission", _permission_name(access.permission)),
            ("code_id", str(msg.code_id)),
        )
        return self.new(PACKAGE + "MsgUpdateInstantiateConfigResponse")

    @handles(PACKAGE + "MsgSudoContract")
    def handle_sudo(self, ctx: Context, msg: Any) -> Any:
        self.modules.gov.require_authority(msg.authority)
        data = self.sudo(ctx, msg.contract, msg.msg)
        return self.new(PACKAGE + "MsgSudoContractResponse", data=data or b"")

    @handles(PACKAGE + "MsgUpdateParams")
    def handle_update_params(self, ctx: Context, msg: Any) -> Any:
        self.modules.gov.require_authority(msg.authority)
        self.set_params(ctx, msg.params)
        return self.new(PACKAGE + "MsgUpdateParamsResponse")

    @handles(PACKAGE + "MsgPinCodes")
    def handle_pin(self, ctx: Context, msg: Any) -> Any:
        self.modules.gov.require_authority(msg.authority)
        for code_id in msg.code_ids:
            if records.code(ctx.store, code_id) is None:
                raise NO_SUCH_CODE(f"code id {code_id}")
            ctx.store.set(PINNED + code_id.to_bytes(8, "big"), b"")
            ctx.emit("pin_code", ("code_id", str(code_id)))
        return self.new(PACKAGE + "MsgPinCodesResponse")

    @handles(PACKAGE + "MsgUnpinCodes")
    def handle_unpin(self, ctx: Context, msg: Any) -> Any:
        self.modules.gov.require_authority(msg.authority)
        for code_id in msg.code_ids:
            ctx.store.delete(PINNED + code_id.to_bytes(8, "big"))
            ctx.emit("unpin_code", ("code_id", str(code_id)))
        return self.new(PACKAGE + "MsgUnpinCodesResponse")


def _funds(coins: Any) -> tuple[BankCoin, ...]:
    return tuple(BankCoin(coin.denom, int(coin.amount or "0")) for coin in coins)


def _permission_name(permission: int) -> str:
    return {NOBODY: "Nobody", EVERYBODY: "Everybody", ANY_OF: "AnyOfAddresses"}.get(permission, "Unspecified")
