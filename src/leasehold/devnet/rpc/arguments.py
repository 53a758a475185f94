"""Arguments of RPC methods: how each kind is read from JSON and from a URI, with the original's error texts."""

from __future__ import annotations

import binascii
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from leasehold.chain.go_hex import decode_hex
from leasehold.core.errors import InvalidInput
from leasehold.devnet.rpc import gojson

_INTEGER = re.compile(r"-?[0-9]+", re.ASCII)
_BASE64 = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")


class BadArgument(InvalidInput):
    """An argument can't be converted; the message is the original's."""


@dataclass(frozen=True, slots=True)
class Argument:
    """A declared argument; `go` is the type its errors name, `default` what stands for a missing one."""

    name: str
    go: str
    default: Any

    def from_json(self, raw: bytes) -> Any:
        """Value of a raw JSON member."""
        if raw == b"null":
            return self.default
        return _FROM_JSON[self.go](raw, self)

    def from_uri(self, text: str) -> Any:
        """Value of a URI parameter; an empty one counts as missing."""
        if not text:
            return self.default
        if self.go in _RANGES:
            if _INTEGER.fullmatch(text):
                return self.from_json(f'"{text}"'.encode())
        elif self.go in _TEXTS:
            if text[:2].lower() == "0x":
                data = _hexadecimal(text[2:])
                return data.decode(errors="replace") if self.go == "string" else data
            if self.go != "string" and text[0] == text[-1] == '"':
                return _string(text.encode(errors="surrogateescape"), _TEXT).encode()
        if text[:2].lower() == "0x":
            raise BadArgument(f"got a hex string arg, but expected '{_KINDS.get(self.go, self.go)}'")
        return self.from_json(text.encode(errors="surrogateescape"))

    def is_default(self, value: Any) -> bool:
        return bool(value == self.default and type(value) is type(self.default))


_RANGES = {"int64": (-(1 << 63), (1 << 63) - 1), "int": (-(1 << 63), (1 << 63) - 1), "uint": (0, (1 << 64) - 1)}
_TEXTS = ("string", "[]uint8", "types.Tx", "HexBytes")
_TEXT = Argument("", "string", "")
# What kind of thing a type is, where its name does not tell.
_KINDS = {"types.Evidence": "interface"}


def _checked(raw: bytes) -> None:
    try:
        gojson.check(raw)
    except gojson.SyntaxFailure as error:
        raise BadArgument(str(error)) from None


def _mismatch(raw: bytes, go: str) -> BadArgument:
    return BadArgument(f"json: cannot unmarshal {gojson.kind(raw)} into Go value of type {go}")


def _integer(raw: bytes, argument: Argument) -> int:
    if raw[:1] != b'"' or raw[-1:] != b'"' or len(raw) < 2:
        shown = gojson.quoted(raw.decode(errors="replace"))
        raise BadArgument(f"invalid 64-bit integer encoding {shown}, expected string")
    inner = raw[1:-1]
    _checked(inner)
    digits = inner.strip(b" \t\r\n")
    if digits == b"null":
        return 0
    if gojson.kind(digits) != "number":
        raise _mismatch(digits, argument.go)
    low, high = _RANGES[argument.go]
    if not _INTEGER.fullmatch(digits.decode()) or len(digits) > 30 or not low <= int(digits) <= high:
        raise BadArgument(f"json: cannot unmarshal number {digits.decode()} into Go value of type {argument.go}")
    return int(digits)


def _string(raw: bytes, argument: Argument) -> str:
    _checked(raw)
    if gojson.kind(raw) != "string":
        raise _mismatch(raw, argument.go)
    return gojson.string_of(raw)


def _boolean(raw: bytes, argument: Argument) -> bool:
    _checked(raw)
    if gojson.kind(raw) != "bool":
        raise _mismatch(raw, argument.go)
    return raw.strip(b" \t\r\n") == b"true"


def _bytes(raw: bytes, argument: Argument) -> bytes:
    _checked(raw)
    kind = gojson.kind(raw)
    if kind == "array":
        return _listed_bytes(raw)
    if kind != "string":
        raise _mismatch(raw, argument.go)
    return decode_base64(gojson.string_of(raw))


def _listed_bytes(raw: bytes) -> bytes:
    """Bytes given as a list of numbers, which Go takes as well; of several faults the first is told."""
    found = bytearray()
    fault: BadArgument | None = None
    for entry in msgspec.json.decode(raw, type=list[msgspec.Raw]):
        item = bytes(entry)
        kind = gojson.kind(item)
        if kind == "number" and item.isdigit() and len(item) < 4 and int(item) < 256:
            found.append(int(item))
            continue
        found.append(0)
        if kind != "null" and fault is None:
            shown = f"number {item.decode()}" if kind == "number" else kind
            fault = BadArgument(f"json: cannot unmarshal {shown} into Go value of type uint8")
    if fault is not None:
        raise fault
    return bytes(found)


def _hex_bytes(raw: bytes, argument: Argument) -> bytes:
    if raw[:1] != b'"' or raw[-1:] != b'"' or len(raw) < 2:
        raise BadArgument(f"invalid hex string: {raw.decode(errors='replace')}")
    return _hexadecimal(raw[1:-1].decode("latin-1"))


def _hexadecimal(text: str) -> bytes:
    try:
        return decode_hex(text)
    except InvalidInput as error:
        raise BadArgument(error.message) from None


def _evidence(raw: bytes, argument: Argument) -> bytes:
    _checked(raw)
    if gojson.kind(raw) != "object":
        raise BadArgument(f"json: cannot unmarshal {gojson.kind(raw)} into Go value of type json.interfaceWrapper")
    wrapper = msgspec.json.decode(raw.decode(errors="replace").encode())
    if not wrapper.get("type"):
        raise BadArgument("interface type cannot be empty")
    if "value" not in wrapper:
        raise BadArgument("interface value cannot be empty")
    if wrapper["type"] not in ("tendermint/DuplicateVoteEvidence", "tendermint/LightClientAttackEvidence"):
        raise BadArgument(f"unknown type {gojson.quoted(str(wrapper['type']))}")
    return raw


_FROM_JSON = {
    "int64": _integer,
    "int": _integer,
    "uint": _integer,
    "string": _string,
    "bool": _boolean,
    "[]uint8": _bytes,
    "types.Tx": _bytes,
    "HexBytes": _hex_bytes,
    "types.Evidence": _evidence,
}


def decode_base64(text: str) -> bytes:
    """Standard base64 with padding, line breaks ignored; the error names the first wrong byte as Go does."""
    try:
        return binascii.a2b_base64(text, strict_mode=True)
    except ValueError:
        return _decode_slowly(text.encode())


def _decode_slowly(data: bytes) -> bytes:
    out = bytearray()
    quantum: list[int] = []
    at = 0
    while at < len(data):
        byte = data[at]
        at += 1
        if byte in b"\r\n":
            continue
        if byte in _BASE64:
            quantum.append(byte)
            if len(quantum) == 4:
                out += _quantum(quantum)
                quantum = []
            continue
        if byte != ord("=") or len(quantum) < 2:
            raise BadArgument(f"illegal base64 data at input byte {at - 1}")
        at = _padding(data, at, len(quantum))
        out += _quantum(quantum)
        return bytes(out)
    if quantum:
        raise BadArgument(f"illegal base64 data at input byte {at - len(quantum)}")
    return bytes(out)


def _padding(data: bytes, at: int, filled: int) -> int:
    """Check what follows the first padding character; only line breaks may come after the last."""

    def skipped(position: int) -> int:
        while position < len(data) and data[position] in b"\r\n":
            position += 1
        return position

    at = skipped(at)
    if filled == 2:
        if at >= len(data):
            raise BadArgument(f"illegal base64 data at input byte {len(data)}")
        if data[at] != ord("="):
            raise BadArgument(f"illegal base64 data at input byte {at - 1}")
        at = skipped(at + 1)
    if at < len(data):
        raise BadArgument(f"illegal base64 data at input byte {at}")
    return at


def _quantum(characters: list[int]) -> bytes:
    return binascii.a2b_base64(bytes(characters) + b"=" * (4 - len(characters)))


def from_params(arguments: Sequence[Argument], raw: bytes) -> list[Any]:
    """Values of JSON-RPC params: an object by name, or an array with one entry per declared argument."""
    first = raw.lstrip(b" \t\r\n")[:1]
    if first in (b"{", b"n"):
        named = _members(raw, dict[str, msgspec.Raw] | None) or {}
        return [
            argument.from_json(bytes(named[argument.name])) if argument.name in named else argument.default
            for argument in arguments
        ]
    if first == b"[":
        listed = [bytes(entry) for entry in _members(raw, list[msgspec.Raw])]
        if len(listed) != len(arguments):
            names = " ".join(argument.name for argument in arguments)
            shown = " ".join(f"[{' '.join(str(byte) for byte in entry)}]" for entry in listed)
            raise BadArgument(f"expected {len(arguments)} parameters ([{names}]), got {len(listed)} ([{shown}])")
        return [argument.from_json(entry) for argument, entry in zip(arguments, listed, strict=True)]
    raise BadArgument(
        f"unknown type for JSON params: json: cannot unmarshal {gojson.kind(raw)} into Go value of type "
        "[]json.RawMessage. Expected map or array"
    )


def _members(raw: bytes, shape: Any) -> Any:
    try:
        return msgspec.json.decode(raw, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        _checked(raw)
    try:
        return msgspec.json.decode(raw.decode(errors="replace").encode(), type=shape)
    except (msgspec.DecodeError, RecursionError):
        raise BadArgument("exceeded max depth") from None


def from_query(arguments: Sequence[Argument], parameters: Mapping[str, str]) -> list[Any]:
    """Values of URI parameters."""
    return [argument.from_uri(parameters.get(argument.name, "")) for argument in arguments]
