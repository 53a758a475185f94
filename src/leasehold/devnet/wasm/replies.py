"""Response data of wasm messages, as a contract finds it in a reply: protobuf around the callee's own data."""

from __future__ import annotations

from leasehold.devnet.wasm import protobuf
from leasehold.devnet.wasm.contract import ContractError, Reply


def execute_response(data: bytes | None) -> bytes:
    """Response message of an execution (also of a migration) around the contract's data."""
    return protobuf.field(1, data) if data else b""


def instantiate_response(address: str, data: bytes | None) -> bytes:
    """Response message of an instantiation."""
    return protobuf.field(1, address.encode()) + (protobuf.field(2, data) if data else b"")


def executed(reply: Reply) -> bytes | None:
    """The callee's own data in the reply to an execution, None when it gave none."""
    return dict(protobuf.fields(reply.data or b"")).get(1)


def instantiated(reply: Reply) -> tuple[str, bytes | None]:
    """Address and own data of the new contract in the reply to an instantiation."""
    fields = dict(protobuf.fields(reply.data or b""))
    if 1 not in fields:
        raise ContractError("missing contract address in reply data")
    return fields[1].decode(), fields.get(2)
