"""Hexadecimal text and Go's words about it."""

from __future__ import annotations

import pytest

from leasehold.chain.go_hex import decode_hex
from leasehold.core.errors import InvalidInput


def test_hex_errors_are_gos() -> None:
    """Odd lengths and wrong digits are told with Go's words."""
    assert decode_hex("aBc0") == b"\xab\xc0"
    with pytest.raises(InvalidInput, match="encoding/hex: odd length hex string"):
        decode_hex("abc")
    with pytest.raises(InvalidInput, match="U\\+004B 'K'"):
        decode_hex("KI")
