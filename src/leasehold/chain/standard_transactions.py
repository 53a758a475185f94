"""The transaction of before protobuf (StdTx) between its amino JSON and its amino binary, for the two amino routes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from leasehold.chain.amino import AminoEncoder, declared_json
from leasehold.chain.amino_binary import amino_binary, delimited, prefix_bytes, uvarint, wire_fields
from leasehold.chain.base64_text import decode_base64
from leasehold.chain.go_json import syntax_error
from leasehold.chain.json_codec import JsonCodec
from leasehold.chain.json_decoding import InvalidJson
from leasehold.chain.json_encoding import INLINED, message_type
from leasehold.chain.registry import MalformedMessage, Registry
from leasehold.chain.unknown_fields import varint

NAME = "cosmos-sdk/StdTx"
_PREFIX = prefix_bytes(NAME)
_COIN = "cosmos.base.v1beta1.Coin"
_VARINT = 0
_KINDS: dict[type, str] = {str: "string", list: "array", dict: "object"}


class StandardTransactions:
    """Converts StdTx of one registry; errors are worded as a node words them."""

    def __init__(self, types: Registry) -> None:
        self._types = types
        self._binary = amino_binary(types)
        self._encoder = AminoEncoder(types)
        self._json = JsonCodec(types)

    def binary(self, text: str) -> bytes:
        """Amino binary of a StdTx in amino JSON."""
        value = self._value(text)
        fee = _member(value, "fee", {})
        parts = [delimited(1, self._binary.registered(self._message(item))) for item in _member(value, "msg", [])]
        parts.append(_optional(2, self._fee(fee)))
        parts += [delimited(3, self._signature(item)) for item in _member(value, "signatures", [])]
        memo = _member(value, "memo", "")
        if not isinstance(memo, str):
            raise _unfit(memo, "string")
        parts.append(_optional(4, memo.encode()))
        parts.append(_counted(5, _number(value, "timeout_height")))
        return _PREFIX + b"".join(parts)

    def text(self, data: bytes) -> str:
        """Amino JSON of a StdTx in amino binary."""
        if not data:
            raise MalformedMessage("UnmarshalBinaryBare cannot decode empty bytes", field="amino_binary")
        if data[:4] != _PREFIX:
            expected = f"UnmarshalBinaryBare expected to read prefix bytes {_PREFIX.hex().upper()}"
            got = data[:4].hex().upper() + ("..." if len(data) >= len(_PREFIX) else "")
            raise MalformedMessage(f"{expected} (since it is registered concrete) but got {got}", field="amino_binary")
        value: dict[str, Any] = {"msg": [], "fee": {"amount": [], "gas": "0"}, "signatures": [], "memo": ""}
        height = 0
        for number, wire, whole, payload in wire_fields(data[4:]):
            if number == 1:
                value["msg"].append(self._encoder.typed(self._binary.parse_registered(payload)))
            elif number == 2:
                value["fee"] = self._fee_values(payload)
            elif number == 3:
                value["signatures"].append(self._signature_values(payload))
            elif number == 4:
                value["memo"] = payload.decode("utf-8", "replace")
            elif number == 5 and wire == _VARINT:
                height = varint(whole, 1)[0]
        value["signatures"] = value["signatures"] or None
        return declared_json({"type": NAME, "value": {**value, "timeout_height": str(height)}})

    def _value(self, text: str) -> Mapping[str, Any]:
        wrong = syntax_error(text.encode())
        if wrong is not None:
            raise InvalidJson(f"cannot parse disfix JSON wrapper: {wrong}", field="amino_json")
        name, value = _unwrapped(json.loads(text))
        if name != NAME:
            text = f"UnmarshalJSON wants to decode a {NAME} but found a {name}"
            raise InvalidJson(text, field="amino_json")
        if not isinstance(value, dict):
            raise _unfit(value, "map[string]json.RawMessage")
        return value

    def _message(self, item: Any) -> Any:
        name, value = _unwrapped(item)
        full_name = self._binary.names.get(name)
        if full_name is None:
            raise InvalidJson(f"unrecognized concrete type name {name}", field="amino_json")
        kind = self._types.type(full_name)
        plain = self._plain(cast(Descriptor, kind.DESCRIPTOR), value)
        return self._json.decode(kind, json.dumps(plain).encode())

    def _plain(self, descriptor: Descriptor, value: Any) -> Any:
        traits = self._types.message_traits(descriptor)
        if traits.amino_encoding == "key_field":
            return {"key": value}
        if descriptor.full_name == "google.protobuf.Any":
            inner = self._message(value)
            return json.loads(self._json.text(self._types.pack(inner)))
        if descriptor.full_name == "google.protobuf.Duration":
            return _seconds(value)
        if not isinstance(value, dict):
            return value
        names = {self._types.field_traits(field).amino_name or field.name: field for field in descriptor.fields}
        return {names[key].name: self._field(names[key], item) for key, item in value.items() if key in names}

    def _field(self, field: FieldDescriptor, value: Any) -> Any:
        if field.message_type is None or self._types.field_traits(field).casttype in INLINED:
            return value
        if isinstance(value, list):
            return [self._plain(message_type(field), item) for item in value]
        return self._plain(message_type(field), value)

    def _fee(self, fee: Mapping[str, Any]) -> bytes:
        coins = [self._json.decode(_COIN, json.dumps(coin).encode()) for coin in _member(fee, "amount", [])]
        parts = [delimited(1, coin.SerializeToString()) for coin in coins]
        parts.append(_counted(2, _number(fee, "gas")))
        parts += [
            _optional(index, str(_member(fee, key, "")).encode()) for index, key in ((3, "payer"), (4, "granter"))
        ]
        return b"".join(parts)

    def _signature(self, item: Mapping[str, Any]) -> bytes:
        key = _member(item, "pub_key", None)
        encoded = self._binary.registered(self._message(key)) if key else b""
        return _optional(1, encoded) + _optional(2, decode_base64(str(_member(item, "signature", ""))))

    def _fee_values(self, data: bytes) -> dict[str, Any]:
        fee: dict[str, Any] = {"amount": [], "gas": "0"}
        for number, wire, whole, payload in wire_fields(data):
            if number == 1:
                fee["amount"].append(self._encoder.value(cast(Message, self._types.parse(_COIN, payload))))
            elif number == 2 and wire == _VARINT:
                fee["gas"] = str(varint(whole, 1)[0])
            elif number in (3, 4):
                fee["payer" if number == 3 else "granter"] = payload.decode("utf-8", "replace")
        return fee

    def _signature_values(self, data: bytes) -> dict[str, Any]:
        values: dict[str, Any] = {"pub_key": None, "signature": ""}
        for number, _, _, payload in wire_fields(data):
            if number == 1:
                values["pub_key"] = self._encoder.typed(self._binary.parse_registered(payload))
            elif number == 2:
                values["signature"] = self._encoder.text_of_bytes(payload)
        return values


def _unwrapped(item: Any) -> tuple[str, Any]:
    """Name and value of something whose type is written beside it."""
    if not isinstance(item, dict):
        raise InvalidJson(f"cannot parse disfix JSON wrapper: {_unfit(item, 'amino.disfixWrapper').message}")
    name = item.get("type")
    if not isinstance(name, str) or not name:
        raise InvalidJson("JSON encoding of interfaces require non-empty type field.", field="amino_json")
    if "value" not in item:
        raise InvalidJson("interface JSON wrapper should have non-empty value field", field="amino_json")
    return name, item["value"]


def _unfit(value: Any, target: str) -> InvalidJson:
    kind = "bool" if isinstance(value, bool) else _KINDS.get(type(value), "number")
    return InvalidJson(f"json: cannot unmarshal {kind} into Go value of type {target}", field="amino_json")


def _member(value: Mapping[str, Any], key: str, default: Any) -> Any:
    found = value.get(key, default) if isinstance(value, Mapping) else default
    return default if found is None else found


def _number(value: Mapping[str, Any], key: str) -> int:
    given = _member(value, key, "0")
    if not isinstance(given, str):
        text = "Amino:JSON int/int64/uint/uint64 expects quoted values for javascript numeric support, got"
        raise InvalidJson(f"invalid character -- {text}: {json.dumps(given)}.", field=key)
    text = given
    if not text.isascii() or not text.isdigit() or int(text) >> 64:
        raise InvalidJson(f"{key} is not an unsigned integer: {text[:40]}", field=key)
    return int(text)


def _seconds(value: Any) -> str:
    text = str(value)
    if not text.lstrip("-").isdigit():
        raise InvalidJson(f"bad Duration: {text[:40]}", field="duration")
    sign, nanos = ("-" if text.startswith("-") else ""), abs(int(text))
    return f"{sign}{nanos // 1_000_000_000}.{nanos % 1_000_000_000:09d}s"


def _optional(number: int, data: bytes) -> bytes:
    return delimited(number, data) if data else b""


def _counted(number: int, value: int) -> bytes:
    return uvarint(number << 3 | _VARINT) + uvarint(value) if value else b""
