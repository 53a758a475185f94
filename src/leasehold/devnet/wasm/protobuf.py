"""The little protobuf that contracts and the runtime need: length-delimited fields, written and read by hand."""

from __future__ import annotations

from leasehold.devnet.wasm.contract import ContractError


def field(number: int, value: bytes) -> bytes:
    """A length-delimited field; numbers up to 15."""
    size, encoded = len(value), bytearray([number << 3 | 2])
    while size > 0x7F:
        encoded.append(size & 0x7F | 0x80)
        size >>= 7
    encoded.append(size)
    return bytes(encoded) + value


def fields(data: bytes) -> list[tuple[int, bytes]]:
    """Number and value of each field in order; anything but length-delimited fields is refused."""
    found, position = [], 0
    while position < len(data):
        tag = data[position]
        size, position = _size(data, position + 1)
        if tag & 7 != 2 or position + size > len(data):
            raise ContractError("failed to decode Protobuf message")
        found.append((tag >> 3, data[position : position + size]))
        position += size
    return found


def _size(data: bytes, position: int) -> tuple[int, int]:
    size = shift = 0
    for byte in data[position : position + 5]:
        position += 1
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return size, position
    raise ContractError("failed to decode Protobuf message")
