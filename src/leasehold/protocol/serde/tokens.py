"""A reader of JSON text that knows its column and fails in serde_json's words."""

from __future__ import annotations

import json
import re
from typing import Any

_SPACE = re.compile(rb"[ \t\n\r]*")
_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_STRING = re.compile(rb'"(?:[^"\\\x00-\x1f]|\\.)*"')


class SerdeFailure(Exception):
    """What is wrong, without its place unless a column is given."""

    def __init__(self, text: str, column: int | None = None) -> None:
        super().__init__(text)
        self.text = text
        self.column = column


class Float(str):
    """A number that is no integer, as its text."""

    __slots__ = ()


class Tokens:
    """A cursor over JSON text."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._at = 0

    @property
    def column(self) -> int:
        """How many bytes were read."""
        return self._at

    def since(self, start: int) -> bytes:
        """The text read from a column on."""
        return self._raw[start : self._at]

    def peek(self) -> str:
        """The next character that is no space; empty at the end."""
        found = _SPACE.match(self._raw, self._at)
        if found is not None:
            self._at = found.end()
        return chr(self._raw[self._at]) if self._at < len(self._raw) else ""

    def take(self, character: str) -> bool:
        """Read the character if it comes next."""
        if self.peek() != character:
            return False
        self._at += 1
        return True

    def need_value(self) -> str:
        """The first character of a value that must come."""
        character = self.peek()
        if character == "":
            raise SerdeFailure("EOF while parsing a value", self._at)
        if character not in '{["-0123456789tfn':
            raise SerdeFailure("expected value", self._at + 1)
        return character

    def scalar(self) -> Any:
        """A string, integer, Float, boolean or None that comes next; not a container."""
        character = self.need_value()
        if character == '"':
            return self.string()
        for word, value in ((b"true", True), (b"false", False), (b"null", None)):
            if self._raw.startswith(word, self._at):
                self._at += len(word)
                return value
        number = _NUMBER.match(self._raw, self._at)
        if number is None:
            raise SerdeFailure("expected ident" if character in "tfn" else "invalid number", self._at + 1)
        self._at = number.end()
        text = number.group().decode()
        return Float(text) if number.group(1) or number.group(2) else int(text)

    def string(self) -> str:
        """A string that comes next."""
        found = _STRING.match(self._raw, self._at)
        if found is None:
            raise SerdeFailure("EOF while parsing a string" if self.peek() == '"' else "expected value", self._at + 1)
        self._at = found.end()
        try:
            return str(json.loads(found.group()))
        except ValueError:
            raise SerdeFailure("invalid escape") from None

    def key(self) -> str:
        """An object's key with its colon."""
        if self.peek() != '"':
            raise SerdeFailure("key must be a string", self._at + 1)
        name = self.string()
        if not self.take(":"):
            raise SerdeFailure("expected `:`", self._at + 1)
        return name

    def more(self, closing: str, first: bool) -> bool:
        """Whether another element comes; reads the comma, or the closing bracket when none comes."""
        if self.take(closing):
            return False
        if first:
            return True
        if self.peek() == "":
            raise SerdeFailure(f"EOF while parsing {'an object' if closing == '}' else 'a list'}", self._at)
        if not self.take(","):
            raise SerdeFailure(f"expected `,` or `{closing}`", self._at + 1)
        if self.peek() == closing:
            raise SerdeFailure("trailing comma", self._at + 1)
        return True

    def skip(self) -> str:
        """Read any value and return how serde calls its type."""
        character = self.need_value()
        if character == "{":
            self._at += 1
            first = True
            while self.more("}", first):
                first = False
                self.key()
                self.skip()
            return "map"
        if character == "[":
            self._at += 1
            first = True
            while self.more("]", first):
                first = False
                self.skip()
            return "sequence"
        return described(self.scalar())

    def end(self) -> None:
        """Nothing but space may follow."""
        if self.peek() != "":
            raise SerdeFailure("trailing characters", self._at + 1)


def described(value: Any) -> str:
    """How serde names an unexpected scalar."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return f"boolean `{'true' if value else 'false'}`"
    if isinstance(value, Float):
        return f"floating point `{value}`"
    if isinstance(value, int):
        return f"integer `{value}`"
    return f"string {json.dumps(value, ensure_ascii=False)}"
