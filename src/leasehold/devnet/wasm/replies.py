"""Response data of wasm messages, as a contract finds it in a reply: protobuf around the callee's own data.

Only two messages of two length-delimited fields are needed, so they are written and read by hand.
"""

from __future__ import annotations

from leasehold.devnet.wasm.contract import ContractError, Reply


def _field(number: int, value: bytes) -> bytes:
    size = len(value)
    encoded = bytearray([number << 3 | 2])
    while size > 0x7F:
        encoded.append(size & 0x7F | 0x80)
        size >>= 7
    encoded.append(size)
    return bytes(encoded) + value


def _fields(data: bytes) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    position = 0
    while position < len(data):
        tag = data[position]
        position += 1
        if tag & 7 != 2:
            raise ContractError("failed to decode reply data")
        size = shift = 0
        while True:
            if position >= len(data):
                raise ContractError("failed to decode reply data")
            byte = data[position]
            position += 1
            size |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        if position + size > len(data):
            raise ContractError("failed to decode reply data")
        found[tag >> 3] = data[position : position + size]
        position += size
    return found


def execute_response(data: bytes | None) -> bytes:
    """Response message of an execution (also of a migration) around the contract's data."""
    return _field(1, data) if data else b""


def instantiate_response(address: str, data: bytes | None) -> bytes:
    """Response message of an instantiation."""
    return _field(1, address.encode()) + (_field(2, data) if data else b"")


def executed(reply: Reply) -> bytes | None:
    """The callee's own data in the reply to an execution, None when it gave none."""
    return _fields(reply.data or b"").get(1)


def instantiated(reply: Reply) -> tuple[str, bytes | None]:
    """Address and own data of the new contract in the reply to an instantiation."""
    fields = _fields(reply.data or b"")
    if 1 not in fields:
        raise ContractError("missing contract address in reply data")
    return fields[1].decode(), fields.get(2)
