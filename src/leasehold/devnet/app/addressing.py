"""Addresses in messages and queries, refused with the very words clients know from the SDK."""

from __future__ import annotations

from leasehold.core.addresses import InvalidAddress, checksum_text, decode
from leasehold.devnet.app.errors import PlainError

_SHORTEST, _LONGEST = 8, 1023
_CHARSET = frozenset("qpzry9x8gf2tvdw0s3jn54khce6mua7l")


class WrongPrefix(PlainError):
    """An address of another kind or chain; inside another text it ends with the kind of error it is."""

    def __init__(self, expected: str, found: str) -> None:
        self.mismatch = f"hrp does not match bech32 prefix: expected '{expected}' got '{found}'"
        self.found = found
        super().__init__(f"{self.mismatch}: internal logic error")


def bech32_bytes(text: str, prefix: str) -> bytes:
    """Bytes of a bech32 text under a prefix; PlainError says what is wrong with it."""
    if not text.strip():
        raise PlainError("empty address string is not allowed")
    try:
        found, data = decode(text)
    except InvalidAddress:
        raise PlainError(f"decoding bech32 failed: {fault(text)}") from None
    if found != prefix:
        raise WrongPrefix(prefix, found)
    return data


def plain_bech32_bytes(text: str, prefix: str) -> bytes:
    """The same in the words of the older functions that some modules still read addresses with."""
    try:
        return bech32_bytes(text, prefix)
    except WrongPrefix as error:
        raise PlainError(f"invalid Bech32 prefix; expected {prefix}, got {error.found}") from None


def fault(text: str) -> str:
    """The first thing wrong with a text that is not bech32."""
    size = len(text.encode(errors="replace"))
    if size < _SHORTEST or size > _LONGEST:
        return f"invalid bech32 string length {size}"
    for byte in text.encode(errors="replace"):
        if not 33 <= byte <= 126:
            return f"invalid character in string: '{chr(byte)}'"
    if text.lower() != text and text.upper() != text:
        return "string not all lowercase or all uppercase"
    text = text.lower()
    split = text.rfind("1")
    if split < 1 or split + 7 > len(text):
        return f"invalid separator index {split}"
    for char in text[split + 1 :]:
        if char not in _CHARSET:
            return f"failed converting data to bytes: invalid character not part of charset: {ord(char)}"
    expected = checksum_text(text[:split], text[split + 1 : -6])
    if expected != text[-6:]:
        return f"invalid checksum (expected {expected} got {text[-6:]})"
    return "invalid incomplete group"
