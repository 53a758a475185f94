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


def decode_base64(text: str, *, padded: bool = True, url_safe: bool = True) -> bytes:
    """Bytes of a base64 text; `url_safe` allows the other alphabet too, without `padded` padding may be missing."""
    if not padded and not text.endswith("="):
        text += "=" * (-len(text) % 4)
    plain = _LINE_BREAKS.sub("", text)
    fault = _first_fault(plain, _STANDARD)
    if fault is None:
        return base64.b64decode(plain)
    if not url_safe:
        raise InvalidBase64(f"illegal base64 data at input byte {fault}", field="base64")
    fault = _first_fault(plain, _URL_SAFE)
    if fault is None:
        return base64.urlsafe_b64decode(plain)
    raise InvalidBase64(f"illegal base64 data at input byte {fault}", field="base64")


def _first_fault(text: str, alphabet: frozenset[str]) -> int | None:
    position = next((at for at, char in enumerate(text) if char not in alphabet), len(text))
    partial = position % 4
    if position == len(text):
        return None if partial == 0 else position - partial
    if text[position] != "=" or partial < 2:
        return position
    if partial == 2:
        if position + 1 == len(text):
            return len(text)
        if text[position + 1] != "=":
            return position
    end = position + 4 - partial
    return None if end == len(text) else end
