from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.chain.go_json import compact, syntax_error

_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "unexpected end of JSON input"),
        ("abc", "invalid character 'a' looking for beginning of value"),
        ("{bad", "invalid character 'b' looking for beginning of object key string"),
        ("[1,]", "invalid character ']' looking for beginning of value"),
        ('{"a":1}x', "invalid character 'x' after top-level value"),
        ('{"a" 1}', "invalid character '1' after object key"),
        ('{"a":1 2}', "invalid character '2' after object key:value pair"),
        ("[1 2]", "invalid character '2' after array element"),
        ("nul1", "invalid character '1' in literal null (expecting 'l')"),
        ("1.x", "invalid character 'x' after decimal point in numeric literal"),
        ('"\n"', "invalid character '\\n' in string literal"),
        ('"\\x"', "invalid character 'x' in string escape code"),
    ],
)
def test_syntax_errors_read_as_in_go(text: str, error: str) -> None:
    """The first fault is reported with Go's words."""
    assert syntax_error(text.encode()) == error


@given(_json)
def test_well_formed_json_has_no_error(value: object) -> None:
    """Everything Python writes passes, and compaction keeps its meaning."""
    text = json.dumps(value, indent=2, ensure_ascii=False).encode("utf-8", "surrogatepass")
    assert syntax_error(text) is None
    assert json.loads(compact(text)) == value


@given(st.binary(max_size=30))
def test_any_bytes_are_judged(data: bytes) -> None:
    """No input crashes the scanner."""
    syntax_error(data)
