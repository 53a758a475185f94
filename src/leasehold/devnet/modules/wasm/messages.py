"""Messages that store codes and work on contracts."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import msgspec

from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import INVALID_REQUEST, UNAUTHORIZED
from leasehold.devnet.app.module import handles
from leasehold.devnet.modules.wasm.checks import Checks
from leasehold.devnet.modules.wasm.codes import ANY_OF, BYTECODE, EVERYBODY, NOBODY, PACKAGE, WITHIN, allowed
from leasehold.devnet.modules.wasm.errors import CREATE_FAILED, NO_SUCH_CODE
from leasehold.devnet.modules.wasm.payloads import MAGIC, unpacked
from leasehold.devnet.wasm import records
from leasehold.devnet.wasm.contract import BankCoin


class Messages(Checks):
    """Handlers."""

    @handles(PACKAGE + "MsgStoreCode")
    def handle_store_code(self, ctx: Context, msg: Any) -> Any:
        code_id, checksum = self.store_code(ctx, msg.sender, msg)
        return self.new(PACKAGE + "MsgStoreCodeResponse", code_id=code_id, checksum=checksum)

    def store_code(self, ctx: Context, creator: str, msg: Any) -> tuple[int, bytes]:
        """Keep the bytecode of a message; returns its id and checksum."""
        params = self.params(ctx)
        if not self._governs(creator) and not allowed(params.code_upload_access, creator):
            raise UNAUTHORIZED("can not create code")
        bytecode = unpacked(msg.wasm_byte_code)
        if not bytecode.startswith(MAGIC):
            raise CREATE_FAILED(
                "Error calling the VM: Error during static Wasm validation: "
                f'Wasm bytecode could not be deserialized. Deserialization error: "{_undecodable(bytecode)}"'
            )
        checksum = sha256(bytecode).digest()
        access = msg.instantiate_permission if msg.HasField("instantiate_permission") else None
        if access is None:
            chosen = params.instantiate_default_permission
            access = self.access(chosen, [creator] if chosen == ANY_OF else [])
        ctx.gas.consume(3 * len(msg.wasm_byte_code), "Compiling wasm bytecode")
        with ctx.unmetered():
            ctx.store.set(BYTECODE + checksum, bytecode)
        code_id = self.keep_code(ctx, creator, checksum, access)
        ctx.emit("store_code", ("code_checksum", checksum.hex()), ("code_id", str(code_id)))
        return code_id, checksum

    def _governs(self, sender: str) -> bool:
        """Whether a message comes from the governance, which may do everything."""
        return bool(sender == self.modules.gov.authority)

    def _may_instantiate(self, ctx: Context, code_id: int, sender: str) -> None:
        if not self._may_use(ctx, code_id, sender):
            raise UNAUTHORIZED("can not instantiate")

    def _may_use(self, ctx: Context, code_id: int, sender: str) -> bool:
        access = self.code_access(ctx, code_id)
        return access is None or self._governs(sender) or allowed(access, sender)

    def instantiate(self, ctx: Context, sender: str, code_id: int, msg: Any, salt: bytes | None) -> tuple[str, bytes]:
        """Make a contract as a message says; returns its address and data."""
        self._may_instantiate(ctx, code_id, sender)
        address, data = self.run(
            ctx,
            lambda call: self.runtime.instantiate(
                call,
                sender,
                code_id,
                msg.msg,
                label=msg.label,
                admin=msg.admin or None,
                funds=_funds(msg.funds),
                salt=salt,
                fixed=msg.msg if salt is not None and msg.fix_msg else b"",
            ),
        )
        return address, data or b""

    @handles(PACKAGE + "MsgInstantiateContract")
    def handle_instantiate(self, ctx: Context, msg: Any) -> Any:
        address, data = self.instantiate(ctx, msg.sender, msg.code_id, msg, None)
        return self.new(PACKAGE + "MsgInstantiateContractResponse", address=address, data=data)

    @handles(PACKAGE + "MsgInstantiateContract2")
    def handle_instantiate2(self, ctx: Context, msg: Any) -> Any:
        address, data = self.instantiate(ctx, msg.sender, msg.code_id, msg, msg.salt)
        return self.new(PACKAGE + "MsgInstantiateContract2Response", address=address, data=data)

    @handles(PACKAGE + "MsgExecuteContract")
    def handle_execute(self, ctx: Context, msg: Any) -> Any:
        data = self.run(
            ctx, lambda call: self.runtime.execute(call, msg.sender, msg.contract, msg.msg, _funds(msg.funds))
        )
        return self.new(PACKAGE + "MsgExecuteContractResponse", data=data or b"")

    @handles(PACKAGE + "MsgMigrateContract")
    def handle_migrate(self, ctx: Context, msg: Any) -> Any:
        data = self.migrate(ctx, msg.sender, msg.code_id, msg)
        return self.new(PACKAGE + "MsgMigrateContractResponse", data=data)

    def migrate(self, ctx: Context, sender: str, code_id: int, msg: Any) -> bytes:
        """Give the contract of a message another code; returns its data."""
        # Whether the code is there is found out first, and told by the runtime.
        if not self._may_use(ctx, code_id, sender):
            record = records.contract(ctx.store, self.modules.auth.address_bytes(msg.contract))
            if record is not None and record.admin == sender:
                raise UNAUTHORIZED("to use new code")
        data = self.run(ctx, lambda call: self.runtime.migrate(call, sender, msg.contract, code_id, msg.msg))
        return data or b""

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
            raise INVALID_REQUEST("unknown contract")
        if not self._governs(msg.sender) and record.admin != msg.sender:
            raise UNAUTHORIZED("can not modify contract")
        records.put_contract(ctx.store, address, msgspec.structs.replace(record, label=msg.new_label))
        ctx.emit("update_contract_label", ("_contract_address", msg.contract), ("new_label", msg.new_label))
        return self.new(PACKAGE + "MsgUpdateContractLabelResponse")

    @handles(PACKAGE + "MsgUpdateInstantiateConfig")
    def handle_update_access(self, ctx: Context, msg: Any) -> Any:
        code = records.code(ctx.store, msg.code_id)
        if code is None:
            raise NO_SUCH_CODE(f"code id {msg.code_id}")
        chosen = msg.new_instantiate_permission.permission
        narrower = chosen in WITHIN[self.params(ctx).instantiate_default_permission]
        if not self._governs(msg.sender) and not (code.creator == msg.sender and narrower):
            raise UNAUTHORIZED("can not modify code access config")
        access = msg.new_instantiate_permission
        self.set_code_access(ctx, msg.code_id, access)
        listed = [("authorized_addresses", ",".join(access.addresses))] if access.permission == ANY_OF else []
        ctx.emit(
            "update_code_access_config",
            ("code_permission", _permission_name(access.permission)),
            ("code_id", str(msg.code_id)),
            *listed,
        )
        return self.new(PACKAGE + "MsgUpdateInstantiateConfigResponse")


def _funds(coins: Any) -> tuple[BankCoin, ...]:
    return tuple(BankCoin(coin.denom, int(coin.amount or "0")) for coin in coins)


def _permission_name(permission: int) -> str:
    return {NOBODY: "Nobody", EVERYBODY: "Everybody", ANY_OF: "AnyOfAddresses"}.get(permission, "Unspecified")


def _undecodable(bytecode: bytes) -> str:
    """What the virtual machine's parser says about bytes that do not begin as a module does."""
    if len(bytecode) < len(MAGIC):
        return "unexpected end-of-file (at offset 0x0)"
    expected, actual = _listed(MAGIC), _listed(bytecode[: len(MAGIC)])
    return f"magic header not detected: bad magic number - expected={expected} actual={actual} (at offset 0x0)"


def _listed(data: bytes) -> str:
    """Bytes as Rust lists them one below the other."""
    return "[\n" + "".join(f"    {byte:#x},\n" for byte in data) + "]"
