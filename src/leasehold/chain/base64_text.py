"""Base64 as Go's decoders take it: the standard alphabet, then the URL-safe one, padding required unless waived."""

from __future__ import annotations

import base64
import re

from leasehold.core.errors import InvalidInput

_STANDARD = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
_URL_SAFE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
_LINE_BREAKS = re.compile(r"[\r\n]")


class InvalidBase64(InvalidInput):
    """A text that is not base64; says at which byte it stops being so."""


def decode_base64(text: str, *, padded: bool = True) -> bytes:
    """Bytes of a base64 text in either alphabet; with `padded` false the padding may be missing."""
    if not padded and not text.endswith("="):
        text += "=" * (-len(text) % 4)
    plain = _LINE_BREAKS.sub("", text)
    if _first_fault(plain, _STANDARD) is None:
        return base64.b64decode(plain)
    fault = _first_fault(plain, _URL_SAFE)
    if fault is None:
        return base64.urlsafe_b64decode(plain)
    raise InvalidBase64(f"illegal base64 data at input byte {fault}", field="base64")


def _first_fault(text: str, alphabet: frozenset[str]) -> int | None:
    length = len(text.rstrip("=")) if text.endswith("=") else len(text)
    for position in range(length):
        if text[position] not in alphabet:
            # Padding in the middle is reported where it stands, once enough characters came before it.
            return position
    padding = len(text) - length
    partial = length % 4
    if padding == 0:
        return None if partial == 0 else length - partial
    if partial < 2:
        return length
    if padding == 4 - partial:
        return None
    return len(text) if padding < 4 - partial else length + 4 - partial
