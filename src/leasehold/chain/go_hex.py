"""Hexadecimal text as Go's decoder takes it."""

from __future__ import annotations

import re

from leasehold.core.errors import InvalidInput

_NOT_HEX = re.compile("[^0-9a-fA-F]")


def decode_hex(text: str) -> bytes:
    """Bytes of hex digits in any case; errors carry the texts of Go's decoder."""
    wrong = _NOT_HEX.search(text)
    if wrong is not None:
        char = wrong.group().encode(errors="surrogatepass").decode("latin-1")[0]
        shown = f" '{char}'" if char.isprintable() else ""
        raise InvalidInput(f"encoding/hex: invalid byte: U+{ord(char):04X}{shown}")
    if len(text) % 2:
        raise InvalidInput("encoding/hex: odd length hex string")
    return bytes.fromhex(text)
