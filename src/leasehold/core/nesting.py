"""How deep a JSON text is nested, found without recursion: parsers recurse, and a deep text would exhaust the stack."""

from __future__ import annotations

import re

# What contracts accept: their JSON library refuses anything deeper.
MAXIMUM = 128

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"?', re.DOTALL)
_BRACKETS = re.compile(rb"[^\[\]{}]+")


def nests_too_deep(text: bytes, maximum: int = MAXIMUM) -> bool:
    """Whether arrays and objects stand more than `maximum` deep inside each other, in well-formed text or not."""
    if text.count(b"[") + text.count(b"{") <= maximum:
        return False
    depth = 0
    for bracket in _BRACKETS.sub(b"", _STRING.sub(b"", text)):
        if bracket in b"[{":
            depth += 1
            if depth > maximum:
                return True
        else:
            depth -= 1
    return False
