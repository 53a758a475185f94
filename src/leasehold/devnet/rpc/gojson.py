"""Go's opinion of JSON: the exact texts with which its decoder refuses a document.

Clients and recordings know those texts, so they are produced here, but only once a fast decoder has already failed.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

import msgspec

MAX_DEPTH = 10_000
_SPACE = b" \t\r\n"
_DIGITS = b"0123456789"
_HEX = b"0123456789abcdefABCDEF"
_LITERALS = {ord("t"): b"true", ord("f"): b"false", ord("n"): b"null"}

# Runs of bytes that need no look at each.
_BLANKS, _PLAIN, _NUMERALS = re.compile(rb"[ \t\r\n]*"), re.compile(rb'[^"\\\x00-\x1f]*'), re.compile(rb"[0-9]*")

END_OF_INPUT = "unexpected end of JSON input"


class SyntaxFailure(ValueError):
    """The text is not JSON; the message is Go's. `at_end` tells that it only stopped too early."""

    def __init__(self, message: str, *, at_end: bool = False) -> None:
        super().__init__(message)
        self.at_end = at_end


def quoted_byte(byte: int) -> str:
    """A byte between single quotes as Go prints it in a syntax error."""
    if byte == ord("'"):
        return "'\\''"
    if byte == ord('"'):
        return "'\"'"
    return f"'{quoted(chr(byte))[1:-1]}'"


_ESCAPES = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}


def quoted(text: str) -> str:
    """Text between double quotes as Go's %q prints it."""
    written = []
    for char in text:
        if char in '"\\':
            written.append("\\" + char)
        elif char in _ESCAPES:
            written.append(_ESCAPES[char])
        elif char.isprintable():
            written.append(char)
        elif ord(char) < 0x80:
            written.append(f"\\x{ord(char):02x}")
        elif ord(char) < 0x10000:
            written.append(f"\\u{ord(char):04x}")
        else:
            written.append(f"\\U{ord(char):08x}")
    return '"' + "".join(written) + '"'


def check(data: bytes) -> None:
    """Raise SyntaxFailure unless `data` is one JSON value."""
    end = scan(data)
    rest = data[end:].lstrip(_SPACE)
    if rest:
        raise SyntaxFailure(f"invalid character {quoted_byte(rest[0])} after top-level value")


def scan(data: bytes) -> int:
    """Position after the first JSON value; SyntaxFailure where Go's scanner would stop."""
    return _Scanner(data).value()


def _run(pattern: re.Pattern[bytes], data: bytes, start: int) -> int:
    found = pattern.match(data, start)
    return found.end() if found else start


class _Scanner:
    """One pass over a document without recursion: `stack` holds the open objects and arrays."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def _fail(self, context: str) -> SyntaxFailure:
        if self._at >= len(self._data):
            return SyntaxFailure(END_OF_INPUT, at_end=True)
        return SyntaxFailure(f"invalid character {quoted_byte(self._data[self._at])} {context}")

    def _peek(self) -> int:
        return self._data[self._at] if self._at < len(self._data) else -1

    def _skip(self) -> int:
        byte = self._peek()
        if byte in (32, 9, 13, 10):
            self._at = _run(_BLANKS, self._data, self._at)
            byte = self._peek()
        return byte

    def value(self) -> int:
        stack: list[int] = []
        while True:
            opened = self._begin(stack)
            if opened:
                continue
            if self._close(stack):
                return self._at

    def _begin(self, stack: list[int]) -> bool:
        """Read the start of a value; True when a container was opened and its first value is next."""
        byte = self._skip()
        if byte in (ord("{"), ord("[")):
            self._at += 1
            if len(stack) >= MAX_DEPTH:
                raise SyntaxFailure("exceeded max depth")
            if self._skip() == byte + 2:
                self._at += 1
                return False
            stack.append(byte)
            if byte == ord("{"):
                self._key()
            return True
        if byte == ord('"'):
            self._string()
        elif byte == ord("-") or (byte >= 0 and byte in _DIGITS):
            self._number()
        elif byte in _LITERALS:
            self._literal(_LITERALS[byte])
        else:
            raise self._fail("looking for beginning of value")
        return False

    def _close(self, stack: list[int]) -> bool:
        """After a value: close containers; True at the end, False when another value follows."""
        while stack:
            byte = self._skip()
            container = stack[-1]
            if byte == ord(","):
                self._at += 1
                if container == ord("{"):
                    self._key()
                return False
            if byte != container + 2:
                raise self._fail("after object key:value pair" if container == ord("{") else "after array element")
            self._at += 1
            stack.pop()
        return True

    def _key(self) -> None:
        if self._skip() != ord('"'):
            raise self._fail("looking for beginning of object key string")
        self._string()
        if self._skip() != ord(":"):
            raise self._fail("after object key")
        self._at += 1

    def _string(self) -> None:
        self._at = _run(_PLAIN, self._data, self._at + 1)
        while (byte := self._peek()) != ord('"'):
            if byte < 0x20:
                raise self._fail("in string literal")
            self._at += 1
            if byte == ord("\\"):
                self._escape()
            self._at = _run(_PLAIN, self._data, self._at)
        self._at += 1

    def _escape(self) -> None:
        byte = self._peek()
        if byte < 0 or byte not in b'bfnrt\\/"u':
            raise self._fail("in string escape code")
        self._at += 1
        if byte == ord("u"):
            for _ in range(4):
                if self._peek() < 0 or self._peek() not in _HEX:
                    raise self._fail("in \\u hexadecimal character escape")
                self._at += 1

    def _digits(self, context: str) -> None:
        if self._peek() < 0 or self._peek() not in _DIGITS:
            raise self._fail(context)
        self._at = _run(_NUMERALS, self._data, self._at)

    def _number(self) -> None:
        if self._peek() == ord("-"):
            self._at += 1
        if self._peek() == ord("0"):
            self._at += 1
        else:
            self._digits("in numeric literal")
        if self._peek() == ord("."):
            self._at += 1
            self._digits("after decimal point in numeric literal")
        if self._peek() in (ord("e"), ord("E")):
            self._at += 1
            if self._peek() in (ord("+"), ord("-")):
                self._at += 1
            self._digits("in exponent of numeric literal")

    def _literal(self, word: bytes) -> None:
        for letter in word:
            if self._peek() != letter:
                raise self._fail(f"in literal {word.decode()} (expecting {quoted_byte(letter)})")
            self._at += 1


def kind(raw: bytes) -> str:
    """What Go calls the kind of a JSON value in a type error."""
    first = raw.lstrip(_SPACE)[:1]
    return {b"{": "object", b"[": "array", b'"': "string", b"t": "bool", b"f": "bool", b"n": "null"}.get(
        first, "number"
    )


def string_of(raw: bytes) -> str:
    """Text of a JSON string that was checked; halves of a character become replacement characters."""
    try:
        return msgspec.json.decode(raw, type=str)
    except (msgspec.DecodeError, UnicodeDecodeError):
        text = str(json.loads(raw.decode(errors="replace"), strict=False))
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def formatted(value: Any) -> str:
    """A decoded JSON value as Go's %v prints it."""
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return _formatted_number(float(value))
    if isinstance(value, list):
        return f"[{' '.join(formatted(item) for item in value)}]"
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{formatted(value[key])}' for key in sorted(value))}]"
    return str(value)


def _formatted_number(value: float) -> str:
    if value == 0 or 1e-4 <= abs(value) < 1e21:
        text = repr(value)
        if "e" in text:
            text = f"{value:.0f}"
        return text.removesuffix(".0")
    mantissa, _, exponent = repr(value).partition("e")
    if not exponent:
        return mantissa
    return f"{mantissa.removesuffix('.0')}e{'-' if int(exponent) < 0 else '+'}{abs(int(exponent)):02d}"


def go_type(value: Any) -> str:
    """The Go type a JSON value is decoded to when none is asked for."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "float64"
    if isinstance(value, list):
        return "[]interface {}"
    return "map[string]interface {}" if isinstance(value, dict) else "string"


def integer_of(value: float) -> int:
    """A float64 as Go converts it to int: cut towards zero, the least int64 when it does not fit."""
    if math.isfinite(value) and -(2.0**63) <= value < 2.0**63:
        return int(value)
    return -(1 << 63)


_ANGLES = {b"<": b"\\u003c", b">": b"\\u003e", b"&": b"\\u0026", "\u2028".encode(): b"\\u2028"}
_ANGLES["\u2029".encode()] = b"\\u2029"


def escaped(document: bytes) -> bytes:
    """Encoded JSON with the characters that Go escapes for HTML written as it does."""
    for plain, written in _ANGLES.items():
        if plain in document:
            document = document.replace(plain, written)
    return document
