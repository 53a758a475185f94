from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.chain.base64_text import InvalidBase64, decode_base64


@given(st.binary(max_size=40))
def test_both_alphabets_are_read(data: bytes) -> None:
    """Standard and URL-safe texts give the bytes back, with line breaks too; without padding only when waived."""
    for text in (base64.b64encode(data).decode(), base64.urlsafe_b64encode(data).decode()):
        assert decode_base64(text) == data
        assert decode_base64(text[:2] + "\r\n" + text[2:]) == data
        assert decode_base64(text.rstrip("="), padded=False) == data


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("!!", 0),
        ("xyz", 0),
        ("AAAAxy", 4),
        ("AAAA=", 4),
        ("AA=A", 2),
        ("A===", 1),
        ("AAA==", 4),
        ("AAA=A", 4),
        ("AA=", 3),
    ],
)
def test_the_first_fault_is_located(text: str, position: int) -> None:
    """The error says at which byte the text stops being base64."""
    with pytest.raises(InvalidBase64, match=f"illegal base64 data at input byte {position}$"):
        decode_base64(text)
