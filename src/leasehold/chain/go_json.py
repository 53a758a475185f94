"""JSON text as Go's encoding/json writes and refuses it: its escapes, its compaction, its syntax errors."""

from __future__ import annotations

import re
from json.encoder import encode_basestring

import msgspec

_HTML = re.compile("[<>&\u2028\u2029]")
_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_ESCAPE_TABLE = str.maketrans(_ESCAPES)
_SPACE = " \t\r\n"
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_LITERALS = {"t": "true", "f": "false", "n": "null"}
_SHOWN = {
    "'": "\\'",
    "\\": "\\\\",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\b": "\\b",
    "\f": "\\f",
    "\v": "\\v",
    "\a": "\\a",
}
_END = "unexpected end of JSON input"


def escape(text: str) -> str:
    """JSON text with `<`, `>`, `&` and the two line separators written as escapes."""
    return text.translate(_ESCAPE_TABLE) if _HTML.search(text) else text


quote = encode_basestring
"""A JSON string literal, before `escape`."""


def compact(data: bytes) -> str:
    """JSON text without white space, numbers and key order untouched, before `escape`; ValueError if malformed."""
    try:
        return msgspec.json.format(data, indent=-1).decode()
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(str(error)) from None


def syntax_error(data: bytes) -> str | None:
    """What Go says is wrong with a JSON text, or None when it is well-formed."""
    text = data.decode("utf-8", "replace")
    try:
        end = _value(text, _skip(text, 0), "looking for beginning of value")
        end = _skip(text, end)
        if end < len(text):
            raise _Wrong(_unexpected(text[end], "after top-level value"))
    except _Wrong as wrong:
        return str(wrong)
    except RecursionError:
        return "exceeded max depth"
    return None


def value_size(data: bytes) -> int | str:
    """How many bytes of a text its first JSON value takes; or what Go's reader of streams says is wrong with it."""
    text = data.decode("utf-8", "surrogateescape")
    try:
        end = _value(text, _skip(text, 0), "looking for beginning of value")
    except _Wrong as wrong:
        return "unexpected EOF" if str(wrong) == _END else str(wrong)
    except RecursionError:
        return "exceeded max depth"
    return len(text[:end].encode("utf-8", "surrogateescape"))


class _Wrong(Exception):
    pass


def _unexpected(char: str, context: str) -> str:
    shown = _SHOWN.get(char) or (f"\\x{ord(char):02x}" if char < " " or char == "\x7f" else char)
    return f"invalid character '{shown}' {context}"


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _char(text: str, at: int) -> str:
    if at >= len(text):
        raise _Wrong(_END)
    return text[at]


def _value(text: str, at: int, context: str) -> int:
    char = _char(text, at)
    if char == "{":
        return _object(text, at + 1)
    if char == "[":
        return _array(text, at + 1)
    if char == '"':
        return _string(text, at + 1)
    if char == "-" or "0" <= char <= "9":
        return _number(text, at)
    if char in _LITERALS:
        return _literal(text, at, _LITERALS[char])
    raise _Wrong(_unexpected(char, context))


def _object(text: str, at: int) -> int:
    at = _skip(text, at)
    if _char(text, at) == "}":
        return at + 1
    while True:
        at = _skip(text, at)
        if _char(text, at) != '"':
            raise _Wrong(_unexpected(text[at], "looking for beginning of object key string"))
        at = _skip(text, _string(text, at + 1))
        if _char(text, at) != ":":
            raise _Wrong(_unexpected(text[at], "after object key"))
        at = _skip(text, _value(text, _skip(text, at + 1), "looking for beginning of value"))
        if _char(text, at) == "}":
            return at + 1
        if text[at] != ",":
            raise _Wrong(_unexpected(text[at], "after object key:value pair"))
        at += 1


def _array(text: str, at: int) -> int:
    at = _skip(text, at)
    if _char(text, at) == "]":
        return at + 1
    while True:
        at = _skip(text, _value(text, _skip(text, at), "looking for beginning of value"))
        if _char(text, at) == "]":
            return at + 1
        if text[at] != ",":
            raise _Wrong(_unexpected(text[at], "after array element"))
        at += 1


def _string(text: str, at: int) -> int:
    while True:
        char = _char(text, at)
        if char == '"':
            return at + 1
        if char < " ":
            raise _Wrong(_unexpected(char, "in string literal"))
        at += 1
        if char != "\\":
            continue
        escaped = _char(text, at)
        at += 1
        if escaped == "u":
            for _ in range(4):
                if _char(text, at) not in "0123456789abcdefABCDEF":
                    raise _Wrong(_unexpected(text[at], "in \\u hexadecimal character escape"))
                at += 1
        elif escaped not in 'bfnrt\\/"':
            raise _Wrong(_unexpected(escaped, "in string escape code"))


def _number(text: str, at: int) -> int:
    found = _NUMBER.match(text, at)
    if found is None:
        raise _Wrong(_unexpected(_char(text, at + 1), "in numeric literal"))
    end = found.end()
    digits = found.group()
    rest = text[end : end + 1]
    if rest == "." and not set(".eE") & set(digits):
        raise _Wrong(_unexpected(_char(text, end + 1), "after decimal point in numeric literal"))
    if rest in ("e", "E") and not set("eE") & set(digits):
        sign = 2 if text[end + 1 : end + 2] in ("+", "-") else 1
        raise _Wrong(_unexpected(_char(text, end + sign), "in exponent of numeric literal"))
    return end


def _literal(text: str, at: int, word: str) -> int:
    for offset in range(1, len(word)):
        char = _char(text, at + offset)
        if char != word[offset]:
            raise _Wrong(_unexpected(char, f"in literal {word} (expecting '{word[offset]}')"))
    return at + len(word)
