"""The depth of JSON texts."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.core.nesting import MAXIMUM, nests_too_deep


@pytest.mark.parametrize(
    ("text", "deep"),
    [
        (b"[" * MAXIMUM, False),
        (b"[" * (MAXIMUM + 1), True),
        (b'{"a":' * (MAXIMUM + 1), True),
        (b"[" * 1_000_000, True),
        (b"[]" * 10_000, False),
        (b'["' + b"[" * 10_000 + b'"]', False),
        (b'["\\"' + b"[" * 10_000 + b'"]', False),
        (b'"' + b"[" * 10_000, False),
        (b"", False),
    ],
)
def test_only_brackets_outside_strings_count(text: bytes, deep: bool) -> None:
    """Brackets inside strings, closed or not, nest nothing; many beside each other are not deep."""
    assert nests_too_deep(text) is deep


@given(st.recursive(st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_what_is_encoded_is_as_deep_as_it_is(value: object) -> None:
    """The limit is the depth of the value itself."""

    def depth(node: object) -> int:
        if isinstance(node, dict):
            return 1 + max((depth(member) for member in node.values()), default=0)
        if isinstance(node, list):
            return 1 + max((depth(member) for member in node), default=0)
        return 0

    text = json.dumps(value).encode()
    assert not nests_too_deep(text, depth(value))
    assert nests_too_deep(text, depth(value) - 1) is (depth(value) > 0)
