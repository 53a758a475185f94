"""Strict protobuf: transactions may not carry fields their definitions don't know.

The walk reads the wire itself, because parsers tolerate what must be refused, and words its errors as a real node does.
"""

from __future__ import annotations

from typing import cast

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from leasehold.chain.interfaces import interfaces
from leasehold.chain.json_encoding import message_type
from leasehold.chain.registry import MalformedMessage, Registry, UnknownType

NON_CRITICAL = 1 << 10
MAXIMUM_DEPTH = 64
_MAXIMUM_FIELD = (1 << 29) - 1
_WIRE_NAMES = {0: "varint", 1: "fixed64", 2: "bytes", 3: "start_group", 4: "end_group", 5: "fixed32"}
_VARINT, _FIXED64, _BYTES, _START_GROUP, _END_GROUP, _FIXED32 = range(6)

TRUNCATED = "unexpected EOF"
_LENGTH_DELIMITED = (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES, FieldDescriptor.TYPE_MESSAGE)
_GO_PACKAGES = {
    "cosmos.tx.v1beta1": "tx",
    "cosmos.tx.signing.v1beta1": "signing",
    "cosmos.gov.v1": "v1",
    "cosmos.gov.v1beta1": "v1beta1",
    "cosmos.authz.v1beta1": "authz",
    "cosmos.feegrant.v1beta1": "feegrant",
    "cosmos.crypto.secp256k1": "secp256k1",
    "cosmos.crypto.ed25519": "ed25519",
    "cosmos.crypto.multisig": "multisig",
    "cosmos.params.v1beta1": "proposal",
    "cosmos.base.query.v1beta1": "query",
    "ibc.lightclients.tendermint.v1": "tendermint",
    "ibc.core.commitment.v2": "v2",
    "tendermint.crypto": "crypto",
    "tendermint.version": "version",
    "cosmos.ics23.v1": "ics23",
}


class WireError(MalformedMessage):
    """Bytes that stop being protobuf; the text is the cause alone."""


def varint(data: bytes, at: int) -> tuple[int, int]:
    """A varint and the position after it."""
    value = shift = 0
    while True:
        if at >= len(data):
            raise WireError(TRUNCATED, field="tx")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >> 64:
                raise WireError("variable length integer overflow", field="tx")
            return value, at
        shift += 7
        if shift > 63:
            raise WireError("variable length integer overflow", field="tx")


def tag(data: bytes, at: int) -> tuple[int, int, int]:
    """Field number, wire type and the position after the tag."""
    value, at = varint(data, at)
    number = value >> 3
    if not 1 <= number <= _MAXIMUM_FIELD:
        raise WireError("proto: invalid field number", field="tx")
    return number, value & 7, at


def field_end(data: bytes, at: int, number: int, wire: int, depth: int = 0) -> int:
    """Position after the value of a field."""
    if wire == _VARINT:
        return varint(data, at)[1]
    if wire == _BYTES:
        length, at = varint(data, at)
        end = at + length
    elif wire == _FIXED64:
        end = at + 8
    elif wire == _FIXED32:
        end = at + 4
    elif wire == _START_GROUP:
        return _group_end(data, at, number, depth)
    elif wire == _END_GROUP:
        raise WireError("mismatching end group marker", field="tx")
    else:
        raise WireError("cannot parse reserved wire type", field="tx")
    if end > len(data):
        raise WireError(TRUNCATED, field="tx")
    return end


def _group_end(data: bytes, at: int, number: int, depth: int) -> int:
    if depth > MAXIMUM_DEPTH:
        raise WireError("exceeded max recursion depth", field="tx")
    while True:
        inner, wire, at = tag(data, at)
        if wire == _END_GROUP:
            if inner != number:
                raise WireError("mismatching end group marker", field="tx")
            return at
        at = field_end(data, at, inner, wire, depth + 1)


def go_type(descriptor: Descriptor) -> str:
    """How a node prints the type of a message."""
    package = descriptor.file.package
    if package.endswith(".tax.v2") and not package.startswith("cosmos."):
        return f"*typesv2.{descriptor.name}"
    name = descriptor.full_name[len(package) + 1 :].replace(".", "_")
    return f"*{_GO_PACKAGES.get(package, 'types')}.{name}"


def reject_unknown_fields(
    types: Registry, descriptor: Descriptor, data: bytes, *, allow_non_critical: bool, depth: int = 0
) -> bool:
    """Refuses unknown fields in a message and everything nested in it; tells whether non-critical ones were met."""
    if depth > MAXIMUM_DEPTH:
        raise MalformedMessage("recursion depth exceeded", field="tx")
    met, at = False, 0
    while at < len(data):
        try:
            number, wire, at = tag(data, at)
        except WireError:
            raise MalformedMessage("invalid length", field="tx") from None
        field = descriptor.fields_by_number.get(number)
        if field is None:
            critical = not number & NON_CRITICAL
            if critical or not allow_non_critical:
                raise MalformedMessage(_unknown(descriptor, number, wire), field="tx")
            met = True
        elif not _fits(field, wire):
            raise MalformedMessage(_mismatched(descriptor, field, wire), field="tx")
        start = at
        try:
            at = field_end(data, at, number, wire)
        except WireError as error:
            what = (
                f'could not consume field value for tagNum: {number}, wireType: "{_wire_name(wire)}"; {error.message}'
            )
            raise MalformedMessage(what, field="tx") from None
        if field is not None and wire == _BYTES:
            payload = data[varint(data, start)[1] : at]
            if field.type == FieldDescriptor.TYPE_MESSAGE:
                met |= _nested(types, message_type(field), payload, allow_non_critical, depth + 1)
            else:
                _check_payload(field, payload)
    return met


def _check_payload(field: FieldDescriptor, payload: bytes) -> None:
    if field.type == FieldDescriptor.TYPE_STRING:
        try:
            payload.decode()
        except UnicodeDecodeError:
            raise MalformedMessage(f"proto: field {field.full_name} contains invalid UTF-8", field="tx") from None
    elif field.type != FieldDescriptor.TYPE_BYTES and not field.is_repeated:
        # Only lists of numbers may be packed; a parser would take a packed single number for an unknown field.
        name = "".join(part.capitalize() for part in field.name.split("_"))
        raise MalformedMessage(f"proto: wrong wireType = {_BYTES} for field {name}", field="tx")


def _nested(types: Registry, descriptor: Descriptor, data: bytes, allow_non_critical: bool, depth: int) -> bool:
    met = reject_unknown_fields(types, descriptor, data, allow_non_critical=allow_non_critical, depth=depth)
    if descriptor.full_name != "google.protobuf.Any":
        return met
    packed = types.parse("google.protobuf.Any", data)
    if packed.type_url not in interfaces(types).registered:
        raise UnknownType(f"unable to resolve type URL {packed.type_url}", field="type_url")
    inner = types.resolve(packed.type_url).DESCRIPTOR
    return met | _nested(types, cast(Descriptor, inner), packed.value, allow_non_critical, depth + 1)


def _fits(field: FieldDescriptor, wire: int) -> bool:
    return wire == _BYTES or (field.type not in _LENGTH_DELIMITED and wire == _scalar_wire(field))


def _scalar_wire(field: FieldDescriptor) -> int:
    if field.type in (FieldDescriptor.TYPE_FIXED64, FieldDescriptor.TYPE_SFIXED64, FieldDescriptor.TYPE_DOUBLE):
        return _FIXED64
    if field.type in (FieldDescriptor.TYPE_FIXED32, FieldDescriptor.TYPE_SFIXED32, FieldDescriptor.TYPE_FLOAT):
        return _FIXED32
    return _VARINT


def _wire_name(wire: int) -> str:
    return _WIRE_NAMES.get(wire, f"unknown type: {wire}")


def _unknown(descriptor: Descriptor, number: int, wire: int) -> str:
    return f'errUnknownField "{go_type(descriptor)}": {{TagNum: {number}, WireType:"{_wire_name(wire)}"}}'


def _mismatched(descriptor: Descriptor, field: FieldDescriptor, wire: int) -> str:
    wanted = _BYTES if field.type in _LENGTH_DELIMITED else _scalar_wire(field)
    return (
        f'Mismatched "{go_type(descriptor)}": '
        f'{{TagNum: {field.number}, GotWireType: "{_wire_name(wire)}" != WantWireType: "{_wire_name(wanted)}"}}'
    )
