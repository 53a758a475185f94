"""Schemas of scalars and containers: how each reads itself from text, in serde's words when it can't."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from leasehold.protocol.currencies import CurrencySet
from leasehold.protocol.errors import Refused
from leasehold.protocol.percent import U16_MAX, U32_MAX, U64_MAX, U128_MAX, checked
from leasehold.protocol.serde.tokens import SerdeFailure, Tokens, described

Check = Callable[[Any], bool]
_WIDTHS = {"u16": U16_MAX, "u32": U32_MAX, "u64": U64_MAX, "percent100": U32_MAX}


class Schema:
    """How one type reads itself from text."""

    parts: tuple[Schema, ...] = ()

    def read(self, tokens: Tokens, currencies: CurrencySet | None) -> Any:
        raise SerdeFailure("a type without a reader")

    def each(self, checks: list[Check | None]) -> Check:
        """A check of a container made of checks of its parts."""
        check = checks[0]
        assert check is not None
        return lambda values: all(check(value) for value in values)


class AnySchema(Schema):
    """Any JSON value, kept as Python's."""

    def read(self, tokens: Tokens, currencies: CurrencySet | None) -> Any:
        start = tokens.column
        tokens.skip()
        return msgspec.json.decode(tokens.since(start))


class ScalarSchema(Schema):
    """Strings, integers and booleans."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def read(self, tokens: Tokens, currencies: CurrencySet | None) -> Any:
        if self.kind in _WIDTHS:
            value = self._integer(tokens, "u32" if self.kind == "percent100" else self.kind, _WIDTHS[self.kind])
            return refusing(checked, value) if self.kind == "percent100" else value
        if self.kind == "bool":
            return _typed(tokens, bool, "a boolean")
        if self.kind == "amount":
            return _digits(_typed(tokens, str, '"<u128>"'), U128_MAX, lambda text, _: _bad_amount(text))
        if self.kind == "text_u64":
            return _digits(_typed(tokens, str, "string-encoded integer"), U64_MAX, _bad_u64)
        return _typed(tokens, str, "a string")

    def _integer(self, tokens: Tokens, name: str, bound: int) -> int:
        value: int = _typed(tokens, int, name)
        if not 0 <= value <= bound:
            raise SerdeFailure(f"invalid value: integer `{value}`, expected {name}", tokens.column)
        return value


def _typed(tokens: Tokens, kind: type, expected: str) -> Any:
    if tokens.need_value() in "{[":
        raise invalid_type(tokens, expected)
    value = tokens.scalar()
    if type(value) is not kind:
        raise SerdeFailure(f"invalid type: {described(value)}, expected {expected}", tokens.column)
    return value


def _bad_amount(text: str) -> str:
    return f'invalid value: {described(text)}, expected "<u128>"'


def _bad_u64(text: str, cause: str) -> str:
    return f"invalid Uint64 '{text}' - {cause}"


def _digits(text: str, bound: int, complain: Callable[[str, str], str]) -> str:
    """The number in its canonical text; Rust's parser allows a plus sign and leading zeros."""
    digits = text.removeprefix("+")
    if not text:
        raise SerdeFailure(complain(text, "cannot parse integer from empty string"))
    if not (digits.isascii() and digits.isdigit()):
        raise SerdeFailure(complain(text, "invalid digit found in string"))
    if int(digits) > bound:
        raise SerdeFailure(complain(text, "number too large to fit in target type"))
    return str(int(digits))


def refusing(build: Callable[..., Any], *arguments: Any, **fields: Any) -> Any:
    """Run a rule; its refusal is a failure of parsing."""
    try:
        return build(*arguments, **fields)
    except Refused as refusal:
        raise SerdeFailure(refusal.message) from None


class TickerSchema(Schema):
    """A ticker of a currency group."""

    def __init__(self, group: str) -> None:
        self.group = group

    def read(self, tokens: Tokens, currencies: CurrencySet | None) -> Any:
        ticker = _typed(tokens, str, "a string")
        allowed = None if currencies is None else currencies.groups.get(self.group)
        if allowed is not None and ticker not in allowed:
            raise SerdeFailure(
                f"[Currency] Found a symbol '{ticker}' pretending to be ticker of a currency pertaining to the"
                f" {self.group} group"
            )
        return ticker


class OptionSchema(Schema):
    """A value or null."""

    def __init__(self, inner: Schema) -> None:
        self.parts = (inner,)

    def read(self, tokens: Tokens, currencies: CurrencySet | None) -> Any:
        if tokens.peek() == "n":
            return tokens.scalar()
        return self.parts[0].read(tokens, currencies)

    def each(self, checks: list[Check | None]) -> Check:
        check = checks[0]
        assert check is not None
        return lambda value: value is None or check(value)


class ListSchema(Schema):
    """A sequence of one type."""

    def __init__(self, inner: Schema) -> None:
        self.parts = (inner,)

    def read(self, tokens: Tokens, currencies: CurrencySet | None) -> Any:
        if tokens.need_value() != "[":
            raise invalid_type(tokens, "a sequence")
        tokens.take("[")
        values: list[Any] = []
        with placed(tokens):
            while tokens.more("]", not values):
                values.append(self.parts[0].read(tokens, currencies))
        return values


class MapSchema(Schema):
    """An object with free keys."""

    def __init__(self, inner: Schema) -> None:
        self.parts = (inner,)

    def read(self, tokens: Tokens, currencies: CurrencySet | None) -> Any:
        if tokens.need_value() != "{":
            raise invalid_type(tokens, "a map")
        tokens.take("{")
        values: dict[str, Any] = {}
        with placed(tokens):
            while tokens.more("}", not values):
                name = tokens.key()
                values[name] = self.parts[0].read(tokens, currencies)
        return values

    def each(self, checks: list[Check | None]) -> Check:
        check = checks[0]
        assert check is not None
        return lambda values: all(check(value) for value in values.values())


class TupleSchema(Schema):
    """A sequence of fixed length."""

    def __init__(self, parts: tuple[Schema, ...]) -> None:
        self.parts = parts

    def read(self, tokens: Tokens, currencies: CurrencySet | None, expected: str = "") -> Any:
        name = expected or f"a tuple of size {len(self.parts)}"
        if tokens.need_value() != "[":
            raise invalid_type(tokens, name)
        tokens.take("[")
        values: list[Any] = []
        with placed(tokens):
            while tokens.more("]", not values):
                if len(values) == len(self.parts):
                    raise SerdeFailure("trailing characters")
                values.append(self.parts[len(values)].read(tokens, currencies))
            if len(values) < len(self.parts):
                raise SerdeFailure(f"invalid length {len(values)}, expected {name}")
        return tuple(values)

    def each(self, checks: list[Check | None]) -> Check:
        return lambda values: all(check is None or check(value) for check, value in zip(checks, values, strict=True))


def invalid_type(tokens: Tokens, expected: str) -> SerdeFailure:
    character = tokens.need_value()
    unexpected = {"{": "map", "[": "sequence"}.get(character) or described(tokens.scalar())
    return SerdeFailure(f"invalid type: {unexpected}, expected {expected}", tokens.column)


@contextmanager
def placed(tokens: Tokens) -> Iterator[None]:
    """A failure inside a container gets its place where the container stops reading."""
    try:
        yield
    except SerdeFailure as failure:
        if failure.column is None:
            failure.column = tokens.column
        raise
