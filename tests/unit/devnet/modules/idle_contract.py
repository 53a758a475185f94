"""A contract that does nothing, and chains that have it."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from tests.unit.devnet.modules.unsigned_chain import UnsignedChain

from leasehold.devnet.wasm.contract import Deps, Env, Info, Reply, Response

WASM = "cosmwasm.wasm.v1."
CODE = b"\x00asm first"
OTHER = b"\x00asm second"


class Idle:
    """A contract that agrees to everything and does nothing."""

    def instantiate(self, deps: Deps, env: Env, info: Info, msg: bytes) -> Response:
        return Response()

    def execute(self, deps: Deps, env: Env, info: Info, msg: bytes) -> Response:
        return Response()

    def query(self, deps: Deps, env: Env, msg: bytes) -> bytes:
        return b"{}"

    def reply(self, deps: Deps, env: Env, reply: Reply) -> Response:
        return Response()

    def sudo(self, deps: Deps, env: Env, msg: bytes) -> Response:
        return Response()

    def migrate(self, deps: Deps, env: Env, msg: bytes) -> Response:
        return Response()


def idle_chain(*names: str) -> UnsignedChain:
    """A chain on which governance may store two programs."""
    chain = UnsignedChain(*names)
    for code in (CODE, OTHER):
        chain.modules.wasm.install(Idle(), sha256(code).digest())
    return chain


def gov(chain: UnsignedChain) -> str:
    return str(chain.modules.gov.authority)


def stored(chain: UnsignedChain, code: bytes = CODE, **fields: Any) -> int:
    """Id of a code that governance stored."""
    message = chain.message(WASM + "MsgStoreCode", sender=gov(chain), wasm_byte_code=code, **fields)
    return int(chain.done(message).response.code_id)


def instance(chain: UnsignedChain, admin: str = "") -> str:
    """Address of a contract of a fresh code."""
    message = chain.message(
        WASM + "MsgInstantiateContract",
        sender=chain.account("ann"),
        code_id=stored(chain),
        label="one",
        msg=b"{}",
        admin=admin,
    )
    return str(chain.done(message).response.address)
