"""Go's words for malformed JSON."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.devnet.rpc import gojson


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (b"", "unexpected end of JSON input"),
        (b"{", "unexpected end of JSON input"),
        (b'{"a', "unexpected end of JSON input"),
        (b"{bad", "invalid character 'b' looking for beginning of object key string"),
        (b"abc", "invalid character 'a' looking for beginning of value"),
        (b"'x'", "invalid character '\\'' looking for beginning of value"),
        (b"tx.height", "invalid character 'x' in literal true (expecting 'r')"),
        (b"nul!", "invalid character '!' in literal null (expecting 'l')"),
        (b"[1 2]", "invalid character '2' after array element"),
        (b'{"a" 1}', "invalid character '1' after object key"),
        (b'{"a":1 "b"}', "invalid character '\"' after object key:value pair"),
        (b"{}{}", "invalid character '{' after top-level value"),
        (b"007", "invalid character '0' after top-level value"),
        (b"-x", "invalid character 'x' in numeric literal"),
        (b"1.", "unexpected end of JSON input"),
        (b"1.x", "invalid character 'x' after decimal point in numeric literal"),
        (b"1e+", "unexpected end of JSON input"),
        (b"1ex", "invalid character 'x' in exponent of numeric literal"),
        (b'"a\nb"', "invalid character '\\n' in string literal"),
        (b'"\\x"', "invalid character 'x' in string escape code"),
        (b'"\\u12g4"', "invalid character 'g' in \\u hexadecimal character escape"),
        (b"\xff", "invalid character 'ÿ' looking for beginning of value"),
        (b"[" * 10_001, "exceeded max depth"),
    ],
)
def test_syntax_errors_are_gos(text: bytes, error: str) -> None:
    """Each malformed document is refused with the text of Go's decoder."""
    with pytest.raises(gojson.SyntaxFailure) as caught:
        gojson.check(text)
    assert str(caught.value) == error


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(JSON, st.booleans())
def test_json_passes(value: object, ascii_only: bool) -> None:
    """Whatever is JSON is accepted, with blanks around it too."""
    gojson.check(b" \n" + json.dumps(value, ensure_ascii=ascii_only, indent=1).encode() + b"\t")


@given(st.binary(max_size=30) | st.text(alphabet='{}[]",:0123456789.eE+-truefalsn\\u ', max_size=30).map(str.encode))
def test_judgement_agrees_with_pythons(data: bytes) -> None:
    """Bytes are JSON to Go exactly when they are to Python, apart from what only one of them allows."""
    if any(word in data for word in (b"NaN", b"Infinity")) or not data.isascii():
        return
    try:
        json.loads(data)
        valid = True
    except (ValueError, RecursionError):
        valid = False
    try:
        gojson.check(data)
        assert valid
    except gojson.SyntaxFailure:
        assert not valid


@pytest.mark.parametrize(
    ("value", "text", "kind"),
    [
        (True, "true", "bool"),
        ([1, "a", None, 1.5], "[1 a <nil> 1.5]", "[]interface {}"),
        ({"b": 1e21, "a": {}}, "map[a:map[] b:1e+21]", "map[string]interface {}"),
        (123456789012, "123456789012", "float64"),
        (1e-7, "1e-07", "float64"),
        (1e20, "100000000000000000000", "float64"),
    ],
)
def test_values_print_as_in_go(value: object, text: str, kind: str) -> None:
    """Decoded values are shown as %v and %T would."""
    assert gojson.formatted(value) == text
    assert gojson.go_type(value) == kind


def test_quoting_and_conversion() -> None:
    """%q escapes, and floats that don't fit an int become the least one."""
    assert gojson.quoted('a"\\\n\x01é\u200b') == '"a\\"\\\\\\n\\x01é\\u200b"'
    assert gojson.integer_of(1.9) == 1
    assert gojson.integer_of(-1.9) == -1
    assert gojson.integer_of(1e300) == -(1 << 63)


def test_html_characters_are_escaped() -> None:
    """Angles, ampersands and line separators are written as Go writes them."""
    assert gojson.escaped('{"a":"<b> & \u2028"}'.encode()) == b'{"a":"\\u003cb\\u003e \\u0026 \\u2028"}'
