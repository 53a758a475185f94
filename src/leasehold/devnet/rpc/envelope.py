"""JSON-RPC envelopes: requests out of bytes, answers into bytes, errors with their codes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import msgspec

from leasehold.devnet.rpc import gojson
from leasehold.devnet.rpc.rendering import encoded

PARSE_ERROR, INVALID_REQUEST, NOT_FOUND = -32700, -32600, -32601
INVALID_PARAMS, INTERNAL, SERVER = -32602, -32603, -32000
_MESSAGES = {
    PARSE_ERROR: "Parse error. Invalid JSON",
    INVALID_REQUEST: "Invalid Request",
    NOT_FOUND: "Method not found",
    INVALID_PARAMS: "Invalid params",
    INTERNAL: "Internal error",
    SERVER: "Server error",
}

# Requests by URI have no id of their own; the original answers them with this one, and panics too.
URI_ID = b"-1"

_REQUEST_TYPE = (
    'struct { JSONRPC string "json:\\"jsonrpc\\""; ID interface {} "json:\\"id,omitempty\\""; '
    'Method string "json:\\"method\\""; Params json.RawMessage "json:\\"params\\"" }'
)


class Unparsable(ValueError):
    """What was sent is no request; the message is the original's."""


class _Wire(msgspec.Struct):
    jsonrpc: msgspec.Raw = msgspec.Raw(b"null")
    id: msgspec.Raw = msgspec.Raw(b"null")
    method: msgspec.Raw = msgspec.Raw(b"null")
    params: msgspec.Raw = msgspec.Raw(b"")


_one: msgspec.json.Decoder[_Wire | None] = msgspec.json.Decoder(_Wire | None)
_many: msgspec.json.Decoder[list[_Wire | None]] = msgspec.json.Decoder(list[_Wire | None])
_object_of: msgspec.json.Decoder[dict[str, msgspec.Raw]] = msgspec.json.Decoder(dict[str, msgspec.Raw])
_objects: msgspec.json.Decoder[list[dict[str, msgspec.Raw]]] = msgspec.json.Decoder(list[dict[str, msgspec.Raw]])
_NULL = msgspec.Raw(b"null")
_MEMBERS = frozenset(("jsonrpc", "id", "method", "params"))
_OTHER_CASE = re.compile(rb'"(?!(?:jsonrpc|id|method|params)")(?i:jsonrpc|id|method|params)"\s*:')


@dataclass(frozen=True, slots=True)
class Request:
    """A request; `id` is the JSON to echo, None for a notification. `params` is raw JSON, empty when missing."""

    id: bytes | None
    method: str = ""
    params: bytes = b""


def success(identity: bytes, result: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","id":' + identity + b',"result":' + result + b"}"


def failure(identity: bytes | None, code: int, data: str = "") -> bytes:
    error: dict[str, Any] = {"code": code, "message": _MESSAGES[code]}
    if data:
        error["data"] = data
    shown = b"" if identity is None else b'"id":' + identity + b","
    return b'{"jsonrpc":"2.0",' + shown + b'"error":' + encoded(error) + b"}"


def read_batch(body: bytes) -> list[Request]:
    """Requests of a body: those of an array, or the one object; Unparsable tells what is wrong with it."""
    if body.lstrip(b" \t\r\n")[:1] == b"[":
        try:
            return [_request(wire) for wire in _decoded(_many, body)]
        except (Unparsable, msgspec.ValidationError):
            # An array with anything wrong in it is judged as the single request that it is not.
            return [read_one(body)]
    request = read_one(body)
    # A body of `null` is an empty batch, which no more than a notification gets an answer.
    return [request]


def read_one(body: bytes) -> Request:
    """The one request of a body."""
    try:
        return _request(_decoded(_one, body))
    except msgspec.ValidationError:
        raise Unparsable(f"json: cannot unmarshal {gojson.kind(body)} into Go value of type {_REQUEST_TYPE}") from None


def read_frame(frame: bytes) -> Request:
    """The first request of a WebSocket frame; what follows it is not looked at."""
    try:
        return read_one(frame)
    except Unparsable as error:
        if str(error) == gojson.END_OF_INPUT:
            raise Unparsable("unexpected EOF" if frame.strip(b" \t\r\n") else "EOF") from None
        if "after top-level value" not in str(error):
            raise
        return read_one(frame[: gojson.scan(frame)])


def _decoded(decoder: msgspec.json.Decoder[Any], body: bytes) -> Any:
    try:
        # Raw members are taken as they are: where there are escapes, their syntax is still to be looked at.
        if b"\\" not in body:
            found = decoder.decode(body)
            if _has_all(found) or not _OTHER_CASE.search(body):
                return found
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # Go looks at the syntax of the whole before it minds any type.
        pass
    try:
        gojson.check(body)
    except gojson.SyntaxFailure as error:
        raise Unparsable(str(error)) from None
    try:
        # Go replaces what is no UTF-8 and takes the rest, and it takes the names of members in any case.
        return decoder.decode(_lowered(body.decode(errors="replace").encode()))
    except msgspec.ValidationError:
        raise
    except (msgspec.DecodeError, RecursionError):
        raise Unparsable("exceeded max depth") from None


def _has_all(found: Any) -> bool:
    """Whether nothing is missing that could be there under a name in another case."""
    return all(map(_is_whole, found)) if isinstance(found, list) else _is_whole(found)


def _is_whole(wire: _Wire | None) -> bool:
    return wire is not None and bool(wire.params) and wire.id != _NULL and wire.method != _NULL


def _lowered(body: bytes) -> bytes:
    """The same with the names of a request's members in lower case."""
    if not _OTHER_CASE.search(body):
        return body
    try:
        if body.lstrip(b" \t\r\n")[:1] == b"[":
            return b"[" + b",".join(map(_object, _objects.decode(body))) + b"]"
        return _object(_object_of.decode(body))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return body


def _object(members: dict[str, msgspec.Raw]) -> bytes:
    named = {name.lower() if name.lower() in _MEMBERS else name: raw for name, raw in members.items()}
    return b"{" + b",".join(encoded(name) + b":" + bytes(raw) for name, raw in named.items()) + b"}"


def _request(wire: _Wire | None) -> Request:
    if wire is None:
        return Request(None)
    _text("jsonrpc", bytes(wire.jsonrpc))
    method = _text("method", bytes(wire.method))
    return Request(_identity(bytes(wire.id)), method, bytes(wire.params))


def _text(name: str, raw: bytes) -> str:
    kind = gojson.kind(raw)
    if kind == "null":
        return ""
    if kind != "string":
        raise Unparsable(f"json: cannot unmarshal {kind} into Go struct field .{name} of type string")
    return gojson.string_of(raw)


def _identity(raw: bytes) -> bytes | None:
    kind = gojson.kind(raw)
    if kind == "null":
        return None
    if kind == "string":
        return encoded(gojson.string_of(raw))
    if kind == "number":
        number = float(raw)
        if number in (float("inf"), float("-inf")):
            text = raw.decode().strip()
            raise Unparsable(f"json: cannot unmarshal number {text} into Go struct field .id of type float64")
        return str(gojson.integer_of(number)).encode()
    value = msgspec.json.decode(raw)
    raise Unparsable(f"json-rpc ID ({gojson.formatted(value)}) is of unknown type ({gojson.go_type(value)})")
