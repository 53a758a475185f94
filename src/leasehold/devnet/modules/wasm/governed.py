"""Messages that only the governance may send, in proposals."""

from __future__ import annotations

from typing import Any

from leasehold.devnet.app.context import Context
from leasehold.devnet.app.module import handles
from leasehold.devnet.modules.wasm.codes import ANY_OF, PACKAGE, PINNED
from leasehold.devnet.modules.wasm.errors import INVALID, NO_SUCH_CODE
from leasehold.devnet.modules.wasm.messages import Messages
from leasehold.devnet.wasm import records


class Governed(Messages):
    """Handlers of the governance's messages."""

    def _require_authority(self, authority: str) -> None:
        expected = self.modules.gov.authority
        if authority != expected:
            raise INVALID(f"invalid authority; expected {expected}, got {authority}")

    def _require_code(self, ctx: Context, code_id: int) -> None:
        if records.code(ctx.store, code_id) is None:
            raise NO_SUCH_CODE(f"code id {code_id}")

    @handles(PACKAGE + "MsgSudoContract")
    def handle_sudo(self, ctx: Context, msg: Any) -> Any:
        self._require_authority(msg.authority)
        data = self.sudo(ctx, msg.contract, msg.msg)
        return self.new(PACKAGE + "MsgSudoContractResponse", data=data or b"")

    @handles(PACKAGE + "MsgUpdateParams")
    def handle_update_params(self, ctx: Context, msg: Any) -> Any:
        self._require_authority(msg.authority)
        self.set_params(ctx, msg.params)
        return self.new(PACKAGE + "MsgUpdateParamsResponse")

    @handles(PACKAGE + "MsgPinCodes")
    def handle_pin(self, ctx: Context, msg: Any) -> Any:
        self._require_authority(msg.authority)
        for code_id in msg.code_ids:
            self._require_code(ctx, code_id)
            ctx.store.set(PINNED + code_id.to_bytes(8, "big"), b"")
            ctx.emit("pin_code", ("code_id", str(code_id)))
        return self.new(PACKAGE + "MsgPinCodesResponse")

    @handles(PACKAGE + "MsgUnpinCodes")
    def handle_unpin(self, ctx: Context, msg: Any) -> Any:
        self._require_authority(msg.authority)
        for code_id in msg.code_ids:
            self._require_code(ctx, code_id)
            ctx.store.delete(PINNED + code_id.to_bytes(8, "big"))
            ctx.emit("unpin_code", ("code_id", str(code_id)))
        return self.new(PACKAGE + "MsgUnpinCodesResponse")

    @handles(PACKAGE + "MsgStoreAndInstantiateContract")
    def handle_store_and_instantiate(self, ctx: Context, msg: Any) -> Any:
        code_id, _ = self.store_code(ctx, msg.authority, msg)
        address, data = self.instantiate(ctx, msg.authority, code_id, msg, None)
        return self.new(PACKAGE + "MsgStoreAndInstantiateContractResponse", address=address, data=data)

    @handles(PACKAGE + "MsgStoreAndMigrateContract")
    def handle_store_and_migrate(self, ctx: Context, msg: Any) -> Any:
        code_id, checksum = self.store_code(ctx, msg.authority, msg)
        data = self.migrate(ctx, msg.authority, code_id, msg)
        return self.new(PACKAGE + "MsgStoreAndMigrateContractResponse", code_id=code_id, checksum=checksum, data=data)

    @handles(PACKAGE + "MsgAddCodeUploadParamsAddresses")
    def handle_add_uploaders(self, ctx: Context, msg: Any) -> Any:
        self._require_authority(msg.authority)
        listed = self._uploaders(ctx)
        self._set_uploaders(ctx, [*listed, *(text for text in msg.addresses if text not in listed)])
        return self.new(PACKAGE + "MsgAddCodeUploadParamsAddressesResponse")

    @handles(PACKAGE + "MsgRemoveCodeUploadParamsAddresses")
    def handle_remove_uploaders(self, ctx: Context, msg: Any) -> Any:
        self._require_authority(msg.authority)
        self._set_uploaders(ctx, [text for text in self._uploaders(ctx) if text not in msg.addresses])
        return self.new(PACKAGE + "MsgRemoveCodeUploadParamsAddressesResponse")

    def _uploaders(self, ctx: Context) -> list[str]:
        access = self.params(ctx).code_upload_access
        if access.permission != ANY_OF:
            raise INVALID("permission")
        return list(access.addresses)

    def _set_uploaders(self, ctx: Context, addresses: list[str]) -> None:
        params = self.new(PACKAGE + "Params")
        params.CopyFrom(self.params(ctx))
        params.code_upload_access.ClearField("addresses")
        params.code_upload_access.addresses.extend(addresses)
        self.set_params(ctx, params)
