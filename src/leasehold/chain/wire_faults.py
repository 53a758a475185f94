"""What is wrong with the bytes of a message, in the words of the original's decoder.

Its decoders are stricter than ours, which takes a field of another wire type for an unknown one.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from google.protobuf.descriptor import FieldDescriptor

_END = "unexpected EOF"
_OVERFLOW = "proto: integer overflow"
_NEGATIVE = "proto: negative length found during unmarshaling"
_VARINT, _FIXED64, _BYTES, _START, _STOP, _FIXED32 = range(6)
_WIRE_TYPES = {
    FieldDescriptor.TYPE_DOUBLE: _FIXED64,
    FieldDescriptor.TYPE_FIXED64: _FIXED64,
    FieldDescriptor.TYPE_SFIXED64: _FIXED64,
    FieldDescriptor.TYPE_FLOAT: _FIXED32,
    FieldDescriptor.TYPE_FIXED32: _FIXED32,
    FieldDescriptor.TYPE_SFIXED32: _FIXED32,
    FieldDescriptor.TYPE_STRING: _BYTES,
    FieldDescriptor.TYPE_BYTES: _BYTES,
    FieldDescriptor.TYPE_MESSAGE: _BYTES,
}
_LONGEST = 10


class _Fault(Exception):
    pass


def wire_fault(descriptor: Any, data: bytes) -> str | None:
    """The first thing wrong with the bytes of a message; None when they can be read."""
    try:
        _check(descriptor, data, 0, len(data))
    except _Fault as fault:
        return str(fault)
    except RecursionError:
        return "exceeded max depth"
    return None


@lru_cache(maxsize=4096)
def _fields(descriptor: Any) -> dict[int, tuple[frozenset[int], str, Any]]:
    """By number: the wire types a field takes, its name in Go and the message it holds."""
    found = {}
    for field in descriptor.fields:
        wire = _WIRE_TYPES.get(field.type, _VARINT)
        taken = frozenset({wire, _BYTES} if field.is_repeated else {wire})
        name = "".join(part[:1].upper() + part[1:] for part in field.name.split("_"))
        found[field.number] = (taken, name, field.message_type)
    return found


def _check(descriptor: Any, data: bytes, at: int, end: int) -> None:
    fields = _fields(descriptor)
    while at < end:
        tag, after = _varint(data, at, end)
        number, wire = tag >> 3 & 0xFFFFFFFF, tag & 7
        number = number - (1 << 32) if number >= 1 << 31 else number
        if wire == _STOP:
            raise _Fault(f"proto: {descriptor.name}: wiretype end group for non-group")
        if number <= 0:
            raise _Fault(f"proto: {descriptor.name}: illegal tag {number} (wire type {tag})")
        known = fields.get(number)
        if known is None:
            at = _skip(data, at, end)
            continue
        taken, name, nested = known
        if wire not in taken:
            raise _Fault(f"proto: wrong wireType = {wire} for field {name}")
        start, at = _value(data, after, end, wire)
        if at > end:
            raise _Fault(_END)
        if nested is not None:
            _check(nested, data, start, at)


def _varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    value = 0
    for index in range(_LONGEST):
        if at + index >= end:
            raise _Fault(_END)
        byte = data[at + index]
        value |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at + index + 1
    raise _Fault(_OVERFLOW)


def _value(data: bytes, at: int, end: int, wire: int) -> tuple[int, int]:
    """Where a value begins and ends, which may be past the end."""
    if wire == _VARINT:
        return at, _varint(data, at, end)[1]
    if wire == _BYTES:
        size, at = _varint(data, at, end)
        if size >= 1 << 63 or at + size >= 1 << 63:
            raise _Fault(_NEGATIVE)
        return at, at + size
    return at, at + (8 if wire == _FIXED64 else 4)


def _skip(data: bytes, at: int, end: int) -> int:
    """The end of a field nobody knows, groups included."""
    depth = 0
    while at < end:
        tag, at = _varint(data, at, end)
        wire = tag & 7
        if wire in (_VARINT, _FIXED64, _BYTES, _FIXED32):
            at = _value(data, at, end, wire)[1]
        elif wire == _START:
            depth += 1
        elif wire == _STOP:
            depth -= 1
        else:
            raise _Fault(f"proto: illegal wireType {wire}")
        if depth == 0:
            break
    if depth or at > end:
        raise _Fault(_END)
    return at
