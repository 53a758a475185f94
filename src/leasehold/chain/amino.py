"""Amino JSON: the form of messages that hardware wallets and amino-only signers sign.

A message becomes plain values (dict, list, str, int, bool, None, Double), derived from its descriptor and options; a
sign document is written from them with sorted keys. Numbers of inlined contract JSON are IEEE doubles, as on the chain.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, cast

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from leasehold.chain.go_json import escape, quote
from leasehold.chain.json_encoding import decimal_text, timestamp_text
from leasehold.chain.registry import FieldTraits, MalformedMessage, Registry

_WIDE_INTEGERS = (FieldDescriptor.CPPTYPE_INT64, FieldDescriptor.CPPTYPE_UINT64)
_INDENT = "    "


class Double(float):
    """A JSON number of a contract message."""


def double_text(value: float) -> str:
    """Shortest digits that give the double back, fixed below 1e21 and from 1e-6 on, otherwise with an exponent."""
    if value == 0:
        return "-0" if str(value).startswith("-") else "0"
    exact = Decimal(repr(float(value)))
    if 1e-6 <= abs(value) < 1e21:
        text = format(exact, "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    sign, digits, exponent = exact.normalize().as_tuple()
    power = cast(int, exponent) + len(digits) - 1
    head = "".join(map(str, digits))
    mantissa = head[0] + ("." + head[1:] if len(head) > 1 else "")
    return f"{'-' if sign else ''}{mantissa}e{'+' if power > 0 else '-'}{abs(power):02d}".replace("e-0", "e-")


def sorted_json(value: object) -> str:
    """JSON of plain values without white space, keys sorted at every level, escaped as Go escapes."""
    return escape(_compact(value))


def declared_json(value: object) -> str:
    """The same with keys in the order the definitions declare them."""
    return escape(_compact(value, in_order=list))


def indented_json(value: object) -> str:
    """The same document with four-space indentation."""
    return escape(_indented(value, ""))


def _compact(value: object, in_order: Callable[[Iterable[str]], list[str]] = sorted) -> str:
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{quote(key)}:{_compact(value[key], in_order)}" for key in in_order(value)) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(_compact(item, in_order) for item in value) + "]"
    return _leaf(value)


def _indented(value: object, margin: str) -> str:
    inner = margin + _INDENT
    if isinstance(value, Mapping) and value:
        members = (f"{inner}{quote(key)}: {_indented(value[key], inner)}" for key in sorted(value))
        return "{\n" + ",\n".join(members) + f"\n{margin}}}"
    if isinstance(value, (list, tuple)) and value:
        return "[\n" + ",\n".join(inner + _indented(item, inner) for item in value) + f"\n{margin}]"
    return _compact(value)


def _leaf(value: object) -> str:
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    return double_text(value) if isinstance(value, float) else str(value)


def inlined(data: bytes) -> Any:
    """Plain values of contract JSON, its numbers as doubles; MalformedMessage if it isn't any."""
    try:
        return _mended(json.loads(data, parse_int=_double, parse_float=_double, parse_constant=_refuse))
    except (ValueError, RecursionError) as error:
        raise MalformedMessage(f"embedded JSON is malformed: {error}", field="msg") from None


def _double(text: str) -> Double:
    value = Double(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"number out of range: {text[:40]}")
    return value


def _refuse(text: str) -> None:
    raise ValueError(f"{text} is not JSON")


def _mended(value: Any) -> Any:
    # Go replaces lone surrogates, which Python keeps and can't encode.
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_mended(key): _mended(item) for key, item in value.items()}
    return [_mended(item) for item in value] if isinstance(value, list) else value


class AminoEncoder:
    """Amino values of the messages of one registry."""

    def __init__(self, types: Registry) -> None:
        self._types = types

    def typed(self, message: Message) -> dict[str, Any]:
        """A message under its amino name, or under its type URL when it has none."""
        descriptor = cast(Descriptor, message.DESCRIPTOR)
        name = self._types.message_traits(descriptor).amino_name or "/" + descriptor.full_name
        return {"type": name, "value": self.value(message)}

    def value(self, message: Message) -> Any:
        """A message without its name."""
        descriptor = cast(Descriptor, message.DESCRIPTOR)
        special = _WELL_KNOWN.get(descriptor.full_name)
        if special is not None:
            return special(message)
        if descriptor.full_name == "google.protobuf.Any":
            return self.typed(self._types.unpack(message)) if cast(Any, message).type_url else None
        return self._encoded(message, descriptor, self._types.message_traits(descriptor).amino_encoding)

    @staticmethod
    def text_of_bytes(value: bytes) -> str:
        """Bytes as they stand in amino JSON."""
        return b64encode(value).decode()

    def _encoded(self, message: Message, descriptor: Descriptor, encoding: str) -> Any:
        if encoding == "key_field":
            return b64encode(cast(Any, message).key).decode()
        if encoding == "threshold_string":
            keys = [self.value(key) for key in cast(Any, message).public_keys]
            return {"threshold": str(cast(Any, message).threshold), "pubkeys": keys}
        if encoding == "module_account":
            return self._module_account(message)
        return self._members(message, descriptor)

    def _members(self, message: Message, descriptor: Descriptor) -> dict[str, Any]:
        members: dict[str, Any] = {}
        for field in descriptor.fields:
            traits = self._types.field_traits(field)
            if field.containing_oneof is not None:
                self._oneof(members, message, field, traits)
            elif traits.amino_keep_empty or _is_set(message, field):
                members[traits.amino_name or field.name] = self._field(message, field, traits)
        return members

    def _oneof(self, members: dict[str, Any], message: Message, field: FieldDescriptor, traits: FieldTraits) -> None:
        oneof = field.containing_oneof
        assert oneof is not None
        group = "".join(part.capitalize() for part in oneof.name.split("_"))
        if message.HasField(field.name):
            value = {traits.amino_name or field.name: self._field(message, field, traits)}
            members.update(
                {group: {"type": traits.amino_oneof_name, "value": value}} if traits.amino_oneof_name else value
            )
        elif traits.amino_oneof_name and message.WhichOneof(oneof.name) is None:
            members[group] = None

    def _field(self, message: Message, field: FieldDescriptor, traits: FieldTraits) -> Any:
        value = getattr(message, field.name)
        if not field.is_repeated:
            return self._single(value, field, traits)
        if not value:
            return [] if traits.amino_encoding == "legacy_coins" else None
        return [self._single(item, field, traits) for item in value]

    def _single(self, value: Any, field: FieldDescriptor, traits: FieldTraits) -> Any:
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            return self.value(value)
        if field.type in (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES):
            return _textual(value, traits)
        return str(value) if field.cpp_type in _WIDE_INTEGERS else value

    def _module_account(self, message: Message) -> dict[str, Any]:
        account = cast(Any, message)
        base = account.base_account
        return {
            "address": base.address,
            "public_key": "",
            "account_number": str(base.account_number),
            "sequence": str(base.sequence),
            "name": account.name,
            "permissions": list(account.permissions),
        }


def _is_set(message: Message, field: FieldDescriptor) -> bool:
    if field.is_repeated:
        return bool(getattr(message, field.name))
    if field.type == FieldDescriptor.TYPE_MESSAGE:
        return message.HasField(field.name)
    return bool(getattr(message, field.name))


def _textual(value: str | bytes, traits: FieldTraits) -> Any:
    if traits.amino_encoding == "inline_json":
        return inlined(cast(bytes, value)) if value else None
    if traits.customtype or traits.scalar in ("cosmos.Int", "cosmos.Dec"):
        digits = value if isinstance(value, str) else value.decode("ascii", "replace")
        if not digits:
            return "0"
        return decimal_text(digits) if traits.customtype == "LegacyDec" else digits
    return value if isinstance(value, str) else b64encode(value).decode()


def _timestamp(message: Message) -> str:
    moment = cast(Any, message)
    text = timestamp_text(moment.seconds, moment.nanos)
    return text[:-1].rstrip("0").rstrip(".") + "Z" if "." in text else text


def _duration(message: Message) -> str:
    span = cast(Any, message)
    return str(span.seconds * 1_000_000_000 + span.nanos)


_WELL_KNOWN = {"google.protobuf.Timestamp": _timestamp, "google.protobuf.Duration": _duration}


def sign_document(
    encoder: AminoEncoder,
    *,
    messages: Sequence[Message],
    body: Any,
    fee: Any,
    chain_id: str,
    account_number: int,
    sequence: int,
) -> dict[str, Any]:
    """The document an amino signer signs: what TxBody, Fee and the account say, as plain values."""
    charge: dict[str, Any] = {"amount": [encoder.value(coin) for coin in fee.amount], "gas": str(fee.gas_limit)}
    charge.update({key: getattr(fee, key) for key in ("payer", "granter") if getattr(fee, key)})
    document: dict[str, Any] = {
        "account_number": str(account_number),
        "chain_id": chain_id,
        "fee": charge,
        "memo": body.memo,
        "msgs": [encoder.typed(message) for message in messages],
        "sequence": str(sequence),
    }
    if body.timeout_height:
        document["timeout_height"] = str(body.timeout_height)
    if body.unordered:
        document["unordered"] = True
    if body.HasField("timeout_timestamp"):
        document["timeout_timestamp"] = _timestamp(body.timeout_timestamp)
    return document
