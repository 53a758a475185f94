"""Amino binary: the old form of transactions and public keys, where a name's hash stands for a type.

It is protobuf, except that a packed message is its four prefix bytes followed by its value, and that public keys are
their bare length-prefixed bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from hashlib import sha256
from typing import Any, cast

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from leasehold.chain.interfaces import holds_any, interfaces
from leasehold.chain.json_encoding import message_type
from leasehold.chain.registry import MalformedMessage, Registry
from leasehold.chain.unknown_fields import WireError, field_end, tag, varint

_BYTES = 2


def prefix_bytes(name: str) -> bytes:
    """The four bytes that stand for a registered amino name."""
    digest = sha256(name.encode()).digest().lstrip(b"\x00")
    return digest[3:].lstrip(b"\x00")[:4]


def uvarint(value: int) -> bytes:
    """Protobuf's unsigned variable-length integer."""
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def delimited(number: int, data: bytes) -> bytes:
    """A length-delimited field."""
    return uvarint(number << 3 | _BYTES) + uvarint(len(data)) + data


class AminoBinary:
    """Amino binary of the messages of one registry."""

    def __init__(self, types: Registry) -> None:
        self._types = types
        self.names: dict[str, str] = {}
        for url in interfaces(types).registered:
            descriptor = cast(Descriptor, types.resolve(url).DESCRIPTOR)
            name = types.message_traits(descriptor).amino_name
            if name:
                self.names[name] = descriptor.full_name
        self._prefixes = {prefix_bytes(name): full_name for name, full_name in self.names.items()}

    def registered(self, message: Message) -> bytes:
        """A message behind its prefix bytes."""
        name = self._types.message_traits(cast(Descriptor, message.DESCRIPTOR)).amino_name
        if not name:
            raise MalformedMessage(f"{message.DESCRIPTOR.full_name} has no amino name", field="type")
        return prefix_bytes(name) + self.bare(message)

    def bare(self, message: Message) -> bytes:
        """A message without prefix bytes."""
        descriptor = cast(Descriptor, message.DESCRIPTOR)
        if self._types.message_traits(descriptor).amino_encoding == "key_field":
            key: bytes = cast(Any, message).key
            return uvarint(len(key)) + key
        if not holds_any(descriptor):
            return message.SerializeToString(deterministic=True)
        return b"".join(self._fields(message))

    def _fields(self, message: Message) -> Iterator[bytes]:
        for field, value in message.ListFields():
            if field.message_type is None or not holds_any(message_type(field)):
                alone = type(message)()
                _copy_field(alone, message, field)
                yield alone.SerializeToString(deterministic=True)
                continue
            for item in value if field.is_repeated else [value]:
                if message_type(field).full_name == "google.protobuf.Any":
                    yield delimited(field.number, self.registered(self._types.unpack(item)))
                else:
                    yield delimited(field.number, self.bare(item))

    def parse_registered(self, data: bytes) -> Any:
        """The message behind prefix bytes."""
        full_name = self._prefixes.get(data[:4])
        if full_name is None:
            raise MalformedMessage(f"unrecognized prefix bytes {data[:4].hex().upper()}", field="amino")
        kind = self._types.type(full_name)
        return self._types.parse(kind, self._protobuf(cast(Descriptor, kind.DESCRIPTOR), data[4:]))

    def _protobuf(self, descriptor: Descriptor, data: bytes) -> bytes:
        if self._types.message_traits(descriptor).amino_encoding == "key_field":
            return b"\x0a" + data
        if not holds_any(descriptor):
            return data
        return b"".join(self._converted(descriptor, data))

    def _converted(self, descriptor: Descriptor, data: bytes) -> Iterator[bytes]:
        for number, wire, whole, value in wire_fields(data):
            field = descriptor.fields_by_number.get(number)
            if field is None or wire != _BYTES or field.message_type is None:
                yield whole
            elif message_type(field).full_name == "google.protobuf.Any":
                packed = self._types.pack(self.parse_registered(value))
                yield delimited(number, packed.SerializeToString())
            else:
                yield delimited(number, self._protobuf(message_type(field), value))


def wire_fields(data: bytes) -> Iterator[tuple[int, int, bytes, bytes]]:
    """Number, wire type, whole bytes and (for length-delimited ones) payload of each field."""
    at = 0
    try:
        while at < len(data):
            start = at
            number, wire, at = tag(data, at)
            value = at
            at = field_end(data, at, number, wire)
            yield number, wire, data[start:at], data[varint(data, value)[1] : at] if wire == _BYTES else b""
    except WireError as error:
        raise MalformedMessage(error.message, field="amino") from None


def _copy_field(target: Message, source: Message, field: FieldDescriptor) -> None:
    value = getattr(source, field.name)
    if field.is_repeated:
        getattr(target, field.name).extend(value)
    elif field.message_type is not None:
        getattr(target, field.name).CopyFrom(value)
    else:
        setattr(target, field.name, value)


@lru_cache(maxsize=8)
def amino_binary(types: Registry) -> AminoBinary:
    """The shared amino binary codec of a registry."""
    return AminoBinary(types)
