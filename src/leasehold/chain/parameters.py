"""Message fields from URL text: dotted query parameters and path segments, with a real gateway's error texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, cast
from urllib.parse import unquote_plus

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from leasehold.chain.base64_text import decode_base64
from leasehold.chain.go_types import go_type
from leasehold.chain.json_decoding import JsonDecoder, parse_duration, parse_timestamp
from leasehold.chain.json_encoding import enum_type, message_type
from leasehold.core.errors import InvalidInput

_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})
_BITS = {
    FieldDescriptor.CPPTYPE_INT32: (32, True),
    FieldDescriptor.CPPTYPE_INT64: (64, True),
    FieldDescriptor.CPPTYPE_UINT32: (32, False),
    FieldDescriptor.CPPTYPE_UINT64: (64, False),
}
_INDEXED = re.compile(r"(.*)\[(.*)\]", re.DOTALL)
_ESCAPED = re.compile(r"%(?![0-9a-fA-F]{2})")
# The gateway of a real node doesn't know the names of this enum and takes numbers only.
_NAMELESS_ENUMS = frozenset({"cosmos.gov.v1beta1.ProposalStatus"})
# Contract queries are also sent without base64 padding, and answered.
_UNPADDED_PACKAGE = "cosmwasm.wasm.v1."


class InvalidParameter(InvalidInput):
    """A query parameter or path segment that does not parse as its field."""


def parse_integer(text: str, *, bits: int, signed: bool) -> int:
    """Integer of a text in Go's base-0 notation (0x, 0b, 0o, leading 0, underscores between digits)."""
    function = "strconv.ParseInt" if signed else "strconv.ParseUint"
    quoted = '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    found = re.fullmatch(r"([+-]?)(0[xXbBoO](?:_?[0-9a-fA-F]+)+|0(?:_?[0-7]+)+|0|[1-9][0-9]*(?:_[0-9]+)*)", text)
    if found is None or (found[1] and not signed):
        raise InvalidParameter(f"{function}: parsing {quoted}: invalid syntax", field="parameter")
    digits = re.sub(r"^0_?(?=[0-7])", "0o", found[2])
    try:
        value = int(digits, 0)
    except ValueError:
        raise InvalidParameter(f"{function}: parsing {quoted}: invalid syntax", field="parameter") from None
    value = -value if found[1] == "-" else value
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    if not low <= value <= high:
        raise InvalidParameter(f"{function}: parsing {quoted}: value out of range", field="parameter")
    return value


def parse_boolean(text: str) -> bool:
    """Truth value of one of the twelve texts Go accepts."""
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise InvalidParameter(f'strconv.ParseBool: parsing "{text}": invalid syntax', field="parameter")


def query_pairs(query: str) -> list[tuple[str, str]]:
    """Names and values of a query string, percent-decoded."""
    pairs = []
    for part in query.split("&"):
        if ";" in part:
            raise InvalidParameter("invalid semicolon separator in query", field="query")
        if (wrong := _ESCAPED.search(part)) is not None:
            escape = part[wrong.start() : wrong.start() + 3].partition("=")[0]
            raise InvalidParameter(f'invalid URL escape "{escape}"', field="query")
        if part:
            name, _, value = part.partition("=")
            pairs.append((unquote_plus(name), unquote_plus(value)))
    return pairs


class ParameterReader:
    """Sets fields of messages of one registry from URL text."""

    def __init__(self, decoder: JsonDecoder) -> None:
        self._fields = decoder.fields

    def set_query(self, message: Message, pairs: Iterable[tuple[str, str]], *, taken: Sequence[str] = ()) -> None:
        """Sets every field the query parameters name; unknown names and those `taken` by the path are ignored."""
        grouped: dict[str, list[str]] = {}
        for name, text in pairs:
            grouped.setdefault(name, []).append(text)
        for name, texts in grouped.items():
            if (found := _INDEXED.fullmatch(name)) is not None:
                # A key in brackets is the first of the values: `a[b]=c` stands for b and c.
                name, texts = found[1], [found[2], *texts]
            if name not in taken:
                self._set(message, name.split("."), texts)

    def set_path(self, message: Message, name: str, text: str) -> None:
        """Sets the field a path segment stands for; the error names the parameter."""
        field = message.DESCRIPTOR.fields_by_name.get(name)
        texts = text.split(",") if field is not None and field.is_repeated else [text]
        try:
            self._set(message, name.split("."), texts)
        except InvalidInput as error:
            raise InvalidParameter(f"type mismatch, parameter: {name}, error: {error.message}", field=name) from None

    def _set(self, message: Message, path: list[str], texts: list[str]) -> None:
        for index, name in enumerate(path):
            field = self._fields(cast(Descriptor, message.DESCRIPTOR)).get(name)
            if field is None:
                return
            last = index == len(path) - 1
            if field.is_repeated:
                if not last:
                    raise InvalidParameter(f"unexpected repeated field in {'.'.join(path)}", field=name)
                getattr(message, field.name).extend(_parsed(field, text) for text in texts)
                return
            if field.type != FieldDescriptor.TYPE_MESSAGE:
                if not last:
                    place = ".".join(path[: index + 1])
                    raise InvalidParameter(f"unexpected nested field {path[index + 1]} in {place}", field=name)
                setattr(message, field.name, _parsed(field, texts[0]))
                return
            message = getattr(message, field.name)
            message.SetInParent()
        _set_well_known(message, texts[0])


def _set_well_known(message: Message, text: str) -> None:
    name = message.DESCRIPTOR.full_name
    target = cast(Any, message)
    if name == "google.protobuf.Timestamp":
        target.seconds, target.nanos = parse_timestamp(text)
    elif name == "google.protobuf.Duration":
        target.seconds, target.nanos = parse_duration(text)
    else:
        text = f"field type *{go_type(name)} is not supported in query parameters"
        raise InvalidParameter(text, field="parameter")


def _parsed(field: FieldDescriptor, text: str) -> Any:
    if field.type == FieldDescriptor.TYPE_MESSAGE:
        name = go_type(message_type(field).full_name)
        raise InvalidParameter(f"unsupported field type {name}", field=field.name)
    if field.type == FieldDescriptor.TYPE_STRING:
        return text
    if field.type == FieldDescriptor.TYPE_BYTES:
        return decode_base64(text, padded=not field.full_name.startswith(_UNPADDED_PACKAGE))
    if field.type == FieldDescriptor.TYPE_BOOL:
        return parse_boolean(text)
    if field.type == FieldDescriptor.TYPE_ENUM:
        return _enum(field, text)
    bits, signed = _BITS[field.cpp_type]
    return parse_integer(text, bits=bits, signed=signed)


def _enum(field: FieldDescriptor, text: str) -> int:
    enum = enum_type(field)
    if enum.full_name in _NAMELESS_ENUMS:
        return parse_integer(text, bits=32, signed=True)
    if text in enum.values_by_name:
        return enum.values_by_name[text].number
    if re.fullmatch(r"[+-]?[0-9]{1,10}", text) and int(text) in enum.values_by_number:
        return int(text)
    raise InvalidParameter(f"{text} is not a valid {go_type(enum.full_name)}", field=field.name)
