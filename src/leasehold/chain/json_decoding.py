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
from leasehold.chain.go_json import syntax_error, value_size
from leasehold.chain.go_types import go_type
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
    FieldDescriptor.CPPTYPE_INT32: ("int32", -(1 << 31), (1 << 31) - 1),
    FieldDescriptor.CPPTYPE_INT64: ("int64", -(1 << 63), (1 << 63) - 1),
    FieldDescriptor.CPPTYPE_UINT32: ("uint32", 0, (1 << 32) - 1),
    FieldDescriptor.CPPTYPE_UINT64: ("uint64", 0, (1 << 64) - 1),
}
_WHOLE = re.compile(rb"-?[0-9]{1,20}")
# Kinds of JSON values by their first byte; the rest are numbers.
_KINDS = {b'"': "string", b"t": "bool", b"f": "bool", b"[": "array", b"{": "object"}
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
        """Sets the fields of a message that its JSON names; an empty text names none, what follows it is not read."""
        if data.strip():
            self._fill(message, first_value(data), 0)

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
        if data == b"null" and self._types.field_traits(field).casttype not in INLINED:
            return field.default_value
        if field.type == FieldDescriptor.TYPE_ENUM:
            return _enum_number(field, data)
        if field.type in (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES):
            return self._textual(field, data)
        if field.type == FieldDescriptor.TYPE_BOOL:
            value = _decoded(data, field.name)
            if not isinstance(value, bool):
                raise _unfit(data, "bool")
            return value
        return _integer(field, data)

    def _textual(self, field: FieldDescriptor, data: bytes) -> str | bytes:
        traits = self._types.field_traits(field)
        if traits.casttype in INLINED:
            return data
        text = _text(data, field.name, "[]uint8" if _is_plain_bytes(field, traits) else "string")
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
        return decode_base64(text, url_safe=False)


def first_value(data: bytes) -> bytes:
    """The first JSON value of a text, which is all that a stream's reader takes of it."""
    try:
        _VALUE.decode(data)
    except (msgspec.DecodeError, RecursionError):
        size = value_size(data)
        if isinstance(size, str):
            raise InvalidJson(size, field="body") from None
        return data[:size]
    return data


def _is_plain_bytes(field: FieldDescriptor, traits: Any) -> bool:
    return field.type == FieldDescriptor.TYPE_BYTES and not traits.customtype and traits.casttype != "HexBytes"


def _unfit(data: bytes, target: str) -> InvalidJson:
    """A value of another kind than its field takes."""
    return InvalidJson(f"json: cannot unmarshal {_KINDS.get(data[:1], 'number')} into Go value of type {target}")


def _big_integer(field: FieldDescriptor, text: str) -> str:
    if not re.fullmatch(r"-?[0-9]{1,100}", text):
        raise InvalidJson(f"{field.name}: not an integer: {text[:100]}", field=field.name)
    return str(int(text))


def _integer(field: FieldDescriptor, data: bytes) -> int:
    if data.startswith(b'"'):
        # Quotes are dropped from numbers, whatever is between them.
        data = data[1:-1]
        if (wrong := syntax_error(data)) is not None:
            raise InvalidJson(wrong, field=field.name)
    kind, low, high = _RANGES[field.cpp_type]
    if _KINDS.get(data[:1]) is not None:
        raise _unfit(data, kind)
    if _WHOLE.fullmatch(data) is None or not low <= (value := int(data)) <= high:
        text = f"json: cannot unmarshal number {data[:100].decode()} into Go value of type {kind}"
        raise InvalidJson(text, field=field.name)
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
    raise _unfit(data, go_type(enum.full_name))


def _decoded(data: bytes, name: str) -> Any:
    try:
        return _VALUE.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidJson(str(error), field=name) from None


def _text(data: bytes, name: str, target: str = "string") -> str:
    value = _decoded(data, name)
    if not isinstance(value, str):
        raise _unfit(data, target)
    return value


def _members(data: bytes, name: str) -> dict[str, Any]:
    data = data.strip()
    if data == b"null":
        return {}
    if data[:1] != b"{" and syntax_error(data) is None:
        raise _unfit(data, "map[string]json.RawMessage")
    try:
        return _OBJECT.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidJson(syntax_error(data) or f"{name}: {error}", field=name) from None


def _items(data: bytes, name: str) -> list[Any]:
    if data[:1] != b"[":
        raise _unfit(data, "[]json.RawMessage")
    try:
        return _ARRAY.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InvalidJson(syntax_error(data) or f"{name}: {error}", field=name) from None
