"""Codes and who may use them, and the runtime that works on contracts."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from leasehold.core.addresses import decode
from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import ChainError, Kind
from leasehold.devnet.app.module import Module
from leasehold.devnet.modules.wasm.host import ContractBank, MeterGas, context_around
from leasehold.devnet.wasm import records
from leasehold.devnet.wasm.contract import Contract
from leasehold.devnet.wasm.failures import ModuleFailure
from leasehold.devnet.wasm.host import Block, Call
from leasehold.devnet.wasm.runtime import Runtime

if TYPE_CHECKING:
    from leasehold.chain.registry import Registry
    from leasehold.core.settings import Identity
    from leasehold.devnet.app.assembly import Modules

PACKAGE = "cosmwasm.wasm.v1."
PINNED = b"wasm/pinned/"
BYTECODE = b"wasm/bytes/"
_PARAMS = b"wasm/params"
_ACCESS = b"wasm/access/"

NOBODY, EVERYBODY, ANY_OF = 1, 3, 4
# Permissions that let in no more than another does.
WITHIN = {NOBODY: {NOBODY}, EVERYBODY: {NOBODY, EVERYBODY, ANY_OF}, ANY_OF: {NOBODY, ANY_OF}}


class Codes(Module):
    """What messages and queries of contracts share."""

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
        self.runtime.governor = modules.gov.authority

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
                self.run(
                    ctx,
                    partial(
                        self.runtime.instantiate, sender=sender, code_id=code_id, msg=msg, label=label, admin=admin
                    ),
                )
            elif kind == "execute":
                self.run(
                    ctx, partial(self.runtime.execute, sender=given["sender"], contract=given["contract"], msg=msg)
                )
            else:
                self.run(ctx, partial(self.runtime.sudo, contract=given["contract"], msg=msg))

    # What other modules and the devnet's genesis use.

    def install(self, program: Contract, checksum: bytes) -> None:
        """Make a program runnable in this process; its code id comes from `register`."""
        self.runtime.install(checksum, program)

    def register(self, ctx: Context, creator: str, checksum: bytes) -> int:
        """Give an installed program a code id that anybody may instantiate."""
        return self.keep_code(ctx, creator, checksum, self.access(EVERYBODY))

    def call(self, ctx: Context) -> Call:
        """An operation of the runtime in this context."""
        return Call(ctx.overlay, self._block(ctx), MeterGas(ctx.gas))

    def _block(self, ctx: Context) -> Block:
        return Block(ctx.block.height, ctx.block.time_ns, ctx.block.chain_id, ctx.tx_index)

    def params(self, ctx: Context) -> Any:
        return self.read(ctx, _PARAMS, "cosmwasm.wasm.v1.Params")

    def sudo(self, ctx: Context, contract: str, msg: bytes) -> bytes | None:
        """Call a contract with the chain's own authority."""
        data: bytes | None = self.run(ctx, lambda call: self.runtime.sudo(call, contract, msg))
        return data

    def query_smart(self, ctx: Context, contract: str, msg: bytes) -> bytes:
        """A contract's answer in this context's state."""
        with self._bank.during(ctx.block, None):
            return self.runtime.query(ctx.overlay, self._block(ctx), contract, msg)

    def run(self, ctx: Context, operation: Any) -> Any:
        call = self.call(ctx)
        try:
            with self._bank.during(ctx.block, ctx.gas):
                result = operation(call)
        except ModuleFailure as failure:
            raise ChainError(Kind(failure.codespace, failure.code, failure.text)) from None
        ctx.events.extend(call.events)
        return result

    def access(self, permission: int, addresses: Iterable[str] = ()) -> Any:
        return self.new("cosmwasm.wasm.v1.AccessConfig", permission=permission, addresses=list(addresses))

    def keep_code(self, ctx: Context, creator: str, checksum: bytes, access: Any) -> int:
        code_id = records.add_code(ctx.store, creator, checksum)
        ctx.store.set(_ACCESS + code_id.to_bytes(8, "big"), access.SerializeToString())
        return code_id

    def code_access(self, ctx: Context, code_id: int) -> Any:
        return self.read(ctx, _ACCESS + code_id.to_bytes(8, "big"), "cosmwasm.wasm.v1.AccessConfig")

    def set_code_access(self, ctx: Context, code_id: int, access: Any) -> None:
        ctx.store.set(_ACCESS + code_id.to_bytes(8, "big"), access.SerializeToString())

    def set_params(self, ctx: Context, params: Any) -> None:
        ctx.store.set(_PARAMS, params.SerializeToString())


def allowed(access: Any, sender: str) -> bool:
    """Whether an access configuration lets an account in."""
    if access.permission == EVERYBODY:
        return True
    return access.permission == ANY_OF and sender in access.addresses
