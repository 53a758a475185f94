"""Messages from JSON request bodies: both spellings of a name, unknown members ignored, contract messages inlined.

Objects are split one level at a time with their members left raw, so that inlined contract JSON keeps its exact text.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import msgspec
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from leasehold.chain.base64_text import decode_base64
from leasehold.chain.go_json import syntax_error
from leasehold.chain.json_encoding import ACCESS_TYPE, ACCESS_TYPE_NAMES, INLINED, enum_type, is_map, message_type
from leasehold.chain.registry import MessageType, Registry
from leasehold.core.errors import InvalidInput

_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ARRAY = msgspec.json.Decoder(list[msgspec.Raw])
_VALUE = msgspec.json.Decoder()
_PLACES = 18
_DECIMAL = re.compile(r"(-?)([0-9]+)(?:\.([0-9]{1,18}))?")
_DURATION = re.compile(r"(-?)([0-9]+)(?:\.([0-9]{1,9}))?s")
_TIMESTAMP = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.([0-9]{1,9}))?(Z|[+-]\d\d:\d\d)")
_RANGES = {
    FieldDescriptor.CPPTYPE_INT32: (-(1 << 31), (1 << 31) - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(1 << 63), (1 << 63) - 1),
    FieldDescriptor.CPPTYPE_UINT32: (0, (1 << 32) - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, (1 << 64) - 1),
}
MAXIMUM_DEPTH = 64


class InvalidJson(InvalidInput):
    """A JSON text that is not the message it should be; worded as a real node words it where that is known."""


def scaled_decimal(text: str) -> str:
    """Integer scaled by 10^18 of a decimal with at most 18 places."""
    found = _DECIMAL.fullmatch(text)
    if found is None:
        raise InvalidJson(f"failed to set decimal string: {text[:100]}", field="decimal")
    sign, whole, fraction = found.groups()
    digits = (whole + (fraction or "").ljust(_PLACES, "0")).lstrip("0") or "0"
    return "0" if digits == "0" else sign + digits


def parse_timestamp(text: str) -> tuple[int, int]:
    """Unix seconds and nanoseconds of an RFC 3339 time."""
    found = _TIMESTAMP.fullmatch(text)
    try:
        if found is None:
            raise ValueError
        base, fraction, zone = found.groups()
        moment = datetime.fromisoformat(base + ("+00:00" if zone == "Z" else zone))
        seconds = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)
    except ValueError:
        raise InvalidJson(f"bad Timestamp: {text[:100]}", field="timestamp") from None
    return seconds, int((fraction or "").ljust(9, "0"))


def parse_duration(text: str) -> tuple[int, int]:
    """Seconds and nanoseconds of a duration such as `1.5s`."""
    found = _DURATION.fullmatch(text)
    if found is None:
        raise InvalidJson(f"bad Duration: {text[:100]}", field="duration")
    sign = -1 if found[1] else 1
    return sign * int(found[2]), sign * int((found[3] or "").ljust(9, "0"))


class JsonDecoder:
    """Decodes messages of one registry."""

    def __init__(self, types: Registry) -> None:
        self._types = types
        self._names: dict[str, dict[str, FieldDescriptor]] = {}

    def decode(self, kind: MessageType | str, data: bytes) -> Any:
        """A message of that class (or full name) from its JSON."""
        message = (self._types.type(kind) if isinstance(kind, str) else kind)()
        self.merge(message, data)
        return message

    def merge(self, message: Message, data: bytes) -> None:
        """Sets the fields of a message that its JSON names; an empty text names none."""
        if data:
            self._fill(message, data, 0)

    def fields(self, descriptor: Descriptor) -> dict[str, FieldDescriptor]:
        """Fields of a message by both spellings of their names."""
        found = self._names.get(descriptor.full_name)
        if found is None:
            found = {field.camelcase_name: field for field in descriptor.fields}
            found.update((field.name, field) for field in descriptor.fields)
            self._names[descriptor.full_name] = found
        return found

    def _fill(self, message: Message, data: bytes, depth: int) -> None:
        if depth > MAXIMUM_DEPTH:
            raise InvalidJson("exceeded max depth", field="body")
        name = message.DESCRIPTOR.full_name
        if name == "google.protobuf.Any":
            self._fill_any(message, data, depth)
        elif name in ("google.protobuf.Timestamp", "google.protobuf.Duration"):
            parse = parse_timestamp if name.endswith("Timestamp") else parse_duration
            target = cast(Any, message)
            target.seconds, target.nanos = parse(_text(data, name))
        else:
            self._fill_members(message, _members(data, name), depth)

    def _fill_members(self, message: Message, members: dict[str, Any], depth: int) -> None:
        fields = self.fields(cast(Descriptor, message.DESCRIPTOR))
        for key, raw in members.items():
            field = fields.get(key)
            if field is not None:
                self._set(message, field, bytes(raw), depth)

    def _fill_any(self, message: Message, data: bytes, depth: int) -> None:
        members = _members(data, "google.protobuf.Any")
        if "@type" not in members:
            raise InvalidJson("Any JSON doesn't have '@type'", field="@type")
        url = _text(bytes(members.pop("@type")), "@type")
        inner = self._types.resolve(url)()
        if inner.DESCRIPTOR.full_name.startswith("google.protobuf."):
            self._fill(inner, bytes(members.get("value", msgspec.Raw(b"null"))), depth + 1)
        else:
            self._fill_members(inner, members, depth + 1)
        target = cast(Any, message)
        target.type_url, target.value = url, inner.SerializeToString(deterministic=True)

    def _set(self, message: Message, field: FieldDescriptor, data: bytes, depth: int) -> None:
        traits = self._types.field_traits(field)
        inlined = traits.casttype in INLINED
        if data == b"null" and not (inlined and not field.is_repeated):
            return
        if field.is_repeated:
            self._set_repeated(message, field, data, depth)
        elif field.type == FieldDescriptor.TYPE_MESSAGE:
            target = getattr(message, field.name)
            target.SetInParent()
            self._fill(target, data, depth + 1)
        else:
            setattr(message, field.name, self._scalar(field, data))

    def _set_repeated(self, message: Message, field: FieldDescriptor, data: bytes, depth: int) -> None:
        target = getattr(message, field.name)
        if is_map(field):
            item = message_type(field).fields_by_name["value"]
            for key, raw in _members(data, field.name).items():
                if item.type == FieldDescriptor.TYPE_MESSAGE:
                    self._fill(target[key], bytes(raw), depth + 1)
                else:
                    target[key] = self._scalar(item, bytes(raw))
            return
        for raw in _items(data, field.name):
            if field.type == FieldDescriptor.TYPE_MESSAGE:
                self._fill(target.add(), bytes(raw), depth + 1)
            else:
                target.append(self._scalar(field, bytes(raw)))

    def _scalar(self, field: FieldDescriptor, data: bytes) -> Any:
        if field.type == FieldDescriptor.TYPE_ENUM:
            return _enum_number(field, data)
        if field.type in (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES):
            return self._textual(field, data)
        value = _decoded(data, field.name)
        if field.type == FieldDescriptor.TYPE_BOOL:
            if not isinstance(value, bool):
                raise _mismatch(field)
            return value
        return _integer(field, value)

    def _textual(self, field: FieldDescriptor, data: bytes) -> str | bytes:
        traits = self._types.field_traits(field)
        if traits.casttype in INLINED:
            return data
        text = _text(data, field.name)
        if traits.customtype:
            digits = scaled_decimal(text) if traits.customtype == "LegacyDec" else _big_integer(field, text)
            return digits.encode() if field.type == FieldDescriptor.TYPE_BYTES else digits
        if field.type == FieldDescriptor.TYPE_STRING:
            return text
        if traits.casttype == "HexBytes":
            try:
                return bytes.fromhex(text)
            except ValueError:
                raise InvalidJson(f"{field.name}: not hexadecimal", field=field.name) from None
        return decode_base64(text)


def _mismatch(field: FieldDescriptor) -> InvalidJson:
    return InvalidJson(f"json: cannot unmarshal value into field {field.name}", field=field.name)


def _big_integer(field: FieldDescriptor, text: str) -> str:
    if not re.fullmatch(r"-?[0-9]{1,100}", text):
        raise InvalidJson(f"{field.name}: not an integer: {text[:100]}", field=field.name)
    return str(int(text))


def _integer(field: FieldDescriptor, value: object) -> int:
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,20}", value):
        value = int(value)
    low, high = _RANGES.get(field.cpp_type, (0, -1))
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise _mismatch(field)
    return value


def _enum_number(field: FieldDescriptor, data: bytes) -> int:
    value = _decoded(data, field.name)
    enum = enum_type(field)
    if isinstance(value, str):
        if value in enum.values_by_name:
            return enum.values_by_name[value].number
        if enum.full_name == ACCESS_TYPE and value in ACCESS_TYPE_NAMES:
            return ACCESS_TYPE_NAMES.index(value)
        raise InvalidJson(f'unknown value "{value}" for enum {enum.full_name}', field=field.name)
    if isinstance(value, int) and not isinstance(value, bool) and -(1 << 31) <= value < 1 << 31:
        return value
    raise _mismatch(field)


def _decoded(data: bytes, name: str) -> Any:
    try:
        return _VALUE.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidJson(str(error), field=name) from None


def _text(data: bytes, name: str) -> str:
    value = _decoded(data, name)
    if not isinstance(value, str):
        raise InvalidJson(f"json: cannot unmarshal value of {name} into a string", field=name)
    return value


def _members(data: bytes, name: str) -> dict[str, Any]:
    try:
        return _OBJECT.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidJson(syntax_error(data) or f"{name}: {error}", field=name) from None


def _items(data: bytes, name: str) -> list[Any]:
    try:
        return _ARRAY.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidJson(syntax_error(data) or f"{name}: {error}", field=name) from None
