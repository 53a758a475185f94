"""LCD JSON of messages: one encoder per message type, compiled once from its descriptor and options.

Names as in the proto, every field in declaration order; 64-bit integers, decimals and big integers are strings; unset
bytes and nullable messages are null; unset oneof members are left out.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from operator import attrgetter
from typing import Any, cast

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message

from leasehold.chain.go_json import compact, escape, quote
from leasehold.chain.registry import MalformedMessage, Registry

Render = Callable[[Any], str]

ACCESS_TYPE = "cosmwasm.wasm.v1.AccessType"
ACCESS_TYPE_NAMES = ("Unspecified", "Nobody", "OnlyAddress", "Everybody", "AnyOfAddresses")
INLINED = ("RawContractMessage", "encoding/json.RawMessage")
BIG_INTEGERS = ("Int", "Uint")

_PLACES = 18
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NEVER = '"0001-01-01T00:00:00Z"'
_QUOTED_INTEGERS = frozenset(
    {
        FieldDescriptor.CPPTYPE_INT64,
        FieldDescriptor.CPPTYPE_UINT64,
    }
)


def message_type(field: FieldDescriptor) -> Descriptor:
    """Descriptor of a message field's type."""
    return cast(Descriptor, field.message_type)


def enum_type(field: FieldDescriptor) -> EnumDescriptor:
    """Descriptor of an enum field's type."""
    return cast(EnumDescriptor, field.enum_type)


def is_map(field: FieldDescriptor) -> bool:
    """Whether a repeated field is a map."""
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def decimal_text(scaled: str) -> str:
    """Decimal notation with 18 places of an integer scaled by 10^18; empty counts as zero."""
    sign, digits = ("-", scaled[1:]) if scaled.startswith("-") else ("", scaled)
    digits = digits.rjust(_PLACES + 1, "0")
    return f"{sign}{digits[:-_PLACES]}.{digits[-_PLACES:]}"


@lru_cache(maxsize=4096)
def _second(seconds: int) -> str:
    return (_EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0")


def _fraction(nanos: int) -> str:
    if not nanos:
        return ""
    digits = f"{nanos:09d}"
    return "." + (digits[:3] if digits.endswith("000000") else digits[:6] if digits.endswith("000") else digits)


def timestamp_text(seconds: int, nanos: int) -> str:
    """RFC 3339 UTC with 0, 3, 6 or 9 fractional digits."""
    try:
        return f"{_second(seconds)}{_fraction(nanos)}Z"
    except OverflowError:
        raise MalformedMessage(f"timestamp out of range: {seconds}", field="timestamp") from None


def duration_text(seconds: int, nanos: int) -> str:
    """Seconds with 0, 3, 6 or 9 fractional digits and an `s`."""
    sign = "-" if seconds < 0 or nanos < 0 else ""
    return f"{sign}{abs(seconds)}{_fraction(abs(nanos))}s"


def _base64(value: bytes) -> str:
    return f'"{b64encode(value).decode()}"'


def _base64_or_null(value: bytes) -> str:
    return f'"{b64encode(value).decode()}"' if value else "null"


def _hex(value: bytes) -> str:
    return f'"{value.hex().upper()}"'


def _inlined(value: bytes) -> str:
    if not value:
        return "null"
    try:
        return compact(value)
    except ValueError as error:
        raise MalformedMessage(f"embedded JSON is malformed: {error}", field="msg") from None


def _digits(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("ascii", "replace")


def _decimal(value: str | bytes) -> str:
    return f'"{decimal_text(_digits(value))}"'


def _integer(value: str | bytes) -> str:
    return f'"{_digits(value)}"' if value else '"0"'


def _timestamp(value: Any) -> str:
    return f'"{timestamp_text(value.seconds, value.nanos)}"'


def _duration(value: Any) -> str:
    return f'"{duration_text(value.seconds, value.nanos)}"'


def _boolean(value: bool) -> str:
    return "true" if value else "false"


def _quoted(value: int) -> str:
    return f'"{value}"'


class JsonEncoder:
    """Encodes messages of one registry; encoders are compiled on first use."""

    def __init__(self, types: Registry) -> None:
        self._types = types
        self._objects: dict[str, Render] = {}
        self._special: dict[str, Render] = {
            "google.protobuf.Timestamp": _timestamp,
            "google.protobuf.Duration": _duration,
            "google.protobuf.Any": self._any,
        }

    def text(self, message: Message) -> str:
        """LCD JSON of a message."""
        try:
            # The characters Go escapes occur only inside strings, so one pass over the whole text is enough.
            return escape(self._message(cast(Descriptor, message.DESCRIPTOR))(message))
        except RecursionError:
            raise MalformedMessage("message is nested too deeply", field="value") from None

    def encode(self, message: Message) -> bytes:
        """LCD JSON of a message as UTF-8."""
        return self.text(message).encode()

    def _message(self, descriptor: Descriptor) -> Render:
        name = descriptor.full_name
        special = self._special.get(name)
        if special is not None:
            return special
        body = self._body(descriptor)
        return lambda message: f"{{{body(message)}}}"

    def _body(self, descriptor: Descriptor) -> Render:
        name = descriptor.full_name
        found = self._objects.get(name)
        if found is None:
            # A type may contain itself: until it is compiled, it is looked up when called.
            self._objects[name] = lambda message: self._objects[name](message)
            found = self._objects[name] = self._compile(descriptor)
        return found

    def _compile(self, descriptor: Descriptor) -> Render:
        steps = [self._step(field) for field in descriptor.fields]
        if any(field.containing_oneof for field in descriptor.fields):
            return lambda message: ",".join([part for step in steps if (part := step(message))])
        return lambda message: ",".join([step(message) for step in steps])

    def _step(self, field: FieldDescriptor) -> Render:
        name, key = field.name, f'"{field.name}":'
        get = attrgetter(name)
        if field.is_repeated:
            return self._repeated(field, key, get)
        render = self._value(field)
        if field.containing_oneof is not None:
            return lambda message: key + render(get(message)) if message.HasField(name) else ""
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            unset = self._unset(field)
            if unset is not None:
                return lambda message: key + (render(get(message)) if message.HasField(name) else unset)
        return lambda message: key + render(get(message))

    def _unset(self, field: FieldDescriptor) -> str | None:
        if self._types.field_traits(field).nullable:
            return "null"
        return _NEVER if message_type(field).full_name == "google.protobuf.Timestamp" else None

    def _repeated(self, field: FieldDescriptor, key: str, get: Callable[[Any], Any]) -> Render:
        if is_map(field):
            render = self._value(message_type(field).fields_by_name["value"])
            return lambda message: (
                key + "{" + ",".join(f"{quote(str(k))}:{render(v)}" for k, v in sorted(get(message).items())) + "}"
            )
        render = self._value(field, element=True)
        return lambda message: f"{key}[{','.join([render(item) for item in get(message)])}]"

    def _value(self, field: FieldDescriptor, *, element: bool = False) -> Render:
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            return self._message(message_type(field))
        if field.type == FieldDescriptor.TYPE_ENUM:
            return self._enum(field)
        if field.type in (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES):
            return self._textual(field, element=element)
        if field.type == FieldDescriptor.TYPE_BOOL:
            return _boolean
        return _quoted if field.cpp_type in _QUOTED_INTEGERS else str

    def _textual(self, field: FieldDescriptor, *, element: bool) -> Render:
        traits = self._types.field_traits(field)
        if traits.customtype:
            render = _decimal if traits.customtype == "LegacyDec" else _integer
            return (lambda value: render(value) if value else "null") if traits.nullable else render
        if field.type == FieldDescriptor.TYPE_STRING:
            return quote
        if traits.casttype in INLINED:
            return _inlined
        if traits.casttype == "HexBytes":
            return _hex
        return _base64 if element else _base64_or_null

    def _enum(self, field: FieldDescriptor) -> Render:
        enum = enum_type(field)
        if enum.full_name == ACCESS_TYPE:
            names = {number: f'"{name}"' for number, name in enumerate(ACCESS_TYPE_NAMES)}
        else:
            # Where a number has two names the first declared is printed.
            names = {value.number: f'"{value.name}"' for value in reversed(enum.values)}
        return lambda number: names.get(number) or str(number)

    def _any(self, packed: Any) -> str:
        if not packed.type_url:
            return "null"
        message = self._types.unpack(packed)
        head = f'{{"@type":{quote(packed.type_url)}'
        special = self._special.get(message.DESCRIPTOR.full_name)
        if special is not None:
            return f'{head},"value":{special(message)}}}'
        body = self._body(message.DESCRIPTOR)(message)
        return f"{head},{body}}}" if body else head + "}"
