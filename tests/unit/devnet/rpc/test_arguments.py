"""Conversion of arguments, by JSON and by URI."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.devnet.rpc.arguments import Argument, BadArgument, decode_base64, from_params, from_query

HEIGHT = Argument("height", "int64", None)
CHUNK = Argument("chunk", "uint", 0)
TEXT = Argument("query", "string", "")
BYTES = Argument("hash", "[]uint8", b"")
HEX = Argument("data", "HexBytes", b"")
FLAG = Argument("prove", "bool", False)
EVIDENCE = Argument("evidence", "types.Evidence", None)


@pytest.mark.parametrize(
    ("argument", "raw", "value"),
    [
        (HEIGHT, b'"5"', 5),
        (HEIGHT, b'"-5"', -5),
        (HEIGHT, b'" 7 "', 7),
        (HEIGHT, b"null", None),
        (HEIGHT, b'"null"', 0),
        (CHUNK, b'"18446744073709551615"', (1 << 64) - 1),
        (TEXT, b'"a\\u0041\\n"', "aA\n"),
        (TEXT, b'"\\ud800x"', "�x"),
        (BYTES, b'"AQI="', b"\1\2"),
        (BYTES, b'"AQ\\nI="', b"\1\2"),
        (BYTES, b"[1, 255, null]", b"\1\xff\0"),
        (HEX, b'"aBcD"', b"\xab\xcd"),
        (HEX, b'""', b""),
        (FLAG, b"true", True),
        (FLAG, b"null", False),
    ],
)
def test_json_values(argument: Argument, raw: bytes, value: Any) -> None:
    """Integers are strings, bytes base64 or hex, null the default."""
    assert argument.from_json(raw) == value


@pytest.mark.parametrize(
    ("argument", "raw", "error"),
    [
        (HEIGHT, b"3", 'invalid 64-bit integer encoding "3", expected string'),
        (HEIGHT, b"true", 'invalid 64-bit integer encoding "true", expected string'),
        (HEIGHT, b'""', "unexpected end of JSON input"),
        (HEIGHT, b'"abc"', "invalid character 'a' looking for beginning of value"),
        (HEIGHT, b'"1.5"', "json: cannot unmarshal number 1.5 into Go value of type int64"),
        (HEIGHT, b'"1e3"', "json: cannot unmarshal number 1e3 into Go value of type int64"),
        (HEIGHT, b'"true"', "json: cannot unmarshal bool into Go value of type int64"),
        (CHUNK, b'"-1"', "json: cannot unmarshal number -1 into Go value of type uint"),
        (TEXT, b"5", "json: cannot unmarshal number into Go value of type string"),
        (TEXT, b"[1]", "json: cannot unmarshal array into Go value of type string"),
        (BYTES, b"{}", "json: cannot unmarshal object into Go value of type []uint8"),
        (BYTES, b'[1, 256, "x"]', "json: cannot unmarshal number 256 into Go value of type uint8"),
        (BYTES, b'["x"]', "json: cannot unmarshal string into Go value of type uint8"),
        (BYTES, b'"@@"', "illegal base64 data at input byte 0"),
        (HEX, b'"abc"', "encoding/hex: odd length hex string"),
        (HEX, b"5", "invalid hex string: 5"),
        (FLAG, b'"true"', "json: cannot unmarshal string into Go value of type bool"),
        (EVIDENCE, b"5", "json: cannot unmarshal number into Go value of type json.interfaceWrapper"),
        (EVIDENCE, b"{}", "interface type cannot be empty"),
        (EVIDENCE, b'{"type":"x","value":1}', 'unknown type "x"'),
    ],
)
def test_json_errors(argument: Argument, raw: bytes, error: str) -> None:
    """What can't be converted is told with the original's words."""
    with pytest.raises(BadArgument) as caught:
        argument.from_json(raw)
    assert caught.value.message == error


@pytest.mark.parametrize(
    ("argument", "text", "value"),
    [
        (HEIGHT, "", None),
        (HEIGHT, "5", 5),
        (HEIGHT, '"5"', 5),
        (TEXT, '"tx.height=5"', "tx.height=5"),
        (TEXT, "0x6162", "ab"),
        (BYTES, "0xAbCd", b"\xab\xcd"),
        (BYTES, '"raw"', b"raw"),
        (HEX, '"abcd"', b"abcd"),
        (FLAG, "true", True),
    ],
)
def test_uri_values(argument: Argument, text: str, value: Any) -> None:
    """By URI integers may be bare, strings are quoted, bytes hex with 0x or quoted raw."""
    assert argument.from_uri(text) == value


@pytest.mark.parametrize(
    ("argument", "text", "error"),
    [
        (HEIGHT, "abc", 'invalid 64-bit integer encoding "abc", expected string'),
        (HEIGHT, "1.5", 'invalid 64-bit integer encoding "1.5", expected string'),
        (HEIGHT, "0x5", "got a hex string arg, but expected 'int64'"),
        (FLAG, "0x1", "got a hex string arg, but expected 'bool'"),
        (EVIDENCE, "0x1", "got a hex string arg, but expected 'interface'"),
        (FLAG, "maybe", "invalid character 'm' looking for beginning of value"),
        (TEXT, "tx.height=5", "invalid character 'x' in literal true (expecting 'r')"),
        (BYTES, "abc", "invalid character 'a' looking for beginning of value"),
        (BYTES, "0xzz", "encoding/hex: invalid byte: U+007A 'z'"),
    ],
)
def test_uri_errors(argument: Argument, text: str, error: str) -> None:
    """Unquoted strings and misplaced hex are refused with the original's words."""
    with pytest.raises(BadArgument) as caught:
        argument.from_uri(text)
    assert caught.value.message == error


@given(st.binary(max_size=64))
def test_base64_round_trips(data: bytes) -> None:
    """Everything base64 can say is understood, broken over lines too."""
    text = b64encode(data).decode()
    assert decode_base64(text) == decode_base64("\r\n".join(text)) == data


@pytest.mark.parametrize(
    ("text", "byte"), [("A", 0), ("AAAAB", 4), ("AA=", 3), ("AA=A", 2), ("AAA=A", 4), ("=AAA", 0), ("AAAA-", 4)]
)
def test_base64_errors_name_the_byte(text: str, byte: int) -> None:
    """The first byte that can't be is named."""
    with pytest.raises(BadArgument, match=f"illegal base64 data at input byte {byte}$"):
        decode_base64(text)


def test_params_by_name_and_by_place() -> None:
    """Objects may lack and exceed names, arrays must have every argument."""
    arguments = (TEXT, FLAG)
    assert from_params(arguments, b'{"prove":true,"foo":1}') == ["", True]
    assert from_params(arguments, b"null") == ["", False]
    assert from_params(arguments, b' ["x",null]') == ["x", False]
    with pytest.raises(BadArgument) as caught:
        from_params(arguments, b'["x"]')
    assert caught.value.message == "expected 2 parameters ([query prove]), got 1 ([[34 120 34]])"
    with pytest.raises(BadArgument, match="unknown type for JSON params: json: cannot unmarshal string into"):
        from_params(arguments, b'"x"')
    assert from_query(arguments, {"prove": "true"}) == ["", True]
