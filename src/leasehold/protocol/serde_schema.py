"""Schemas of the strict parser, derived from the annotations of msgspec structs."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import msgspec

from leasehold.protocol.currencies import CurrencySet
from leasehold.protocol.errors import Refused
from leasehold.protocol.percent import U16_MAX, U32_MAX, U64_MAX, U128_MAX, checked
from leasehold.protocol.serde_tokens import SerdeFailure, Tokens, described

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
            return _refusing(checked, value) if self.kind == "percent100" else value
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
        raise _invalid_type(tokens, expected)
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


def _refusing(build: Callable[..., Any], *arguments: Any, **fields: Any) -> Any:
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
            raise _invalid_type(tokens, "a sequence")
        tokens.take("[")
        values: list[Any] = []
        with _placed(tokens):
            while tokens.more("]", not values):
                values.append(self.parts[0].read(tokens, currencies))
        return values


class MapSchema(Schema):
    """An object with free keys."""

    def __init__(self, inner: Schema) -> None:
        self.parts = (inner,)

    def read(self, tokens: Tokens, currencies: CurrencySet | None) -> Any:
        if tokens.need_value() != "{":
            raise _invalid_type(tokens, "a map")
        tokens.take("{")
        values: dict[str, Any] = {}
        with _placed(tokens):
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
            raise _invalid_type(tokens, name)
        tokens.take("[")
        values: list[Any] = []
        with _placed(tokens):
            while tokens.more("]", not values):
                if len(values) == len(self.parts):
                    raise SerdeFailure("trailing characters")
                values.append(self.parts[len(values)].read(tokens, currencies))
            if len(values) < len(self.parts):
                raise SerdeFailure(f"invalid length {len(values)}, expected {name}")
        return tuple(values)

    def each(self, checks: list[Check | None]) -> Check:
        return lambda values: all(check is None or check(value) for check, value in zip(checks, values, strict=True))


def _invalid_type(tokens: Tokens, expected: str) -> SerdeFailure:
    character = tokens.need_value()
    unexpected = {"{": "map", "[": "sequence"}.get(character) or described(tokens.scalar())
    return SerdeFailure(f"invalid type: {unexpected}, expected {expected}", tokens.column)


@contextmanager
def _placed(tokens: Tokens) -> Iterator[None]:
    """A failure inside a container gets its place where the container stops reading."""
    try:
        yield
    except SerdeFailure as failure:
        if failure.column is None:
            failure.column = tokens.column
        raise


class Field(NamedTuple):
    """A struct's field: its Python name, its type, and whether it must be given."""

    attribute: str
    schema: Schema
    required: bool


class StructSchema(Schema):
    """An object with known keys, or a sequence of their values in order."""

    def __init__(self, kind: type[msgspec.Struct]) -> None:
        self.kind = kind
        self.name = f"struct {getattr(kind, 'rust_name', '') or kind.__name__}"
        self.strict = kind.__struct_config__.forbid_unknown_fields
        self.by_build: Callable[[Any, CurrencySet], None] | None = getattr(kind, "check", None)
        self.fields: dict[str, Field] = {}

    def read(self, tokens: Tokens, currencies: CurrencySet | None, name: str = "") -> Any:
        name = name or self.name
        opening = tokens.need_value()
        if opening not in "{[":
            raise _invalid_type(tokens, name)
        with _placed(tokens):
            tokens.take(opening)
            given = self._by_key(tokens, currencies) if opening == "{" else self._by_order(tokens, currencies, name)
            for key, field in self.fields.items():
                if field.required and key not in given:
                    raise SerdeFailure(f"missing field `{key}`")
        value = _refusing(self.kind, **{self.fields[key].attribute: content for key, content in given.items()})
        if self.by_build is not None and currencies is not None:
            _refusing(self.by_build, value, currencies)
        return value

    def _by_key(self, tokens: Tokens, currencies: CurrencySet | None) -> dict[str, Any]:
        given: dict[str, Any] = {}
        first = True
        while tokens.more("}", first):
            first = False
            key = tokens.key()
            field = self.fields.get(key)
            if field is None:
                if self.strict:
                    raise SerdeFailure(f"unknown field `{key}`, {_expected(list(self.fields), 'fields')}")
                tokens.skip()
            elif key in given:
                raise SerdeFailure(f"duplicate field `{key}`")
            else:
                given[key] = field.schema.read(tokens, currencies)
        return given

    def _by_order(self, tokens: Tokens, currencies: CurrencySet | None, name: str) -> dict[str, Any]:
        given: dict[str, Any] = {}
        for key, field in self.fields.items():
            if not tokens.more("]", not given):
                if not field.required and not isinstance(field.schema, OptionSchema):
                    return given
                size = len(self.fields)
                raise SerdeFailure(
                    f"invalid length {len(given)}, expected {name} with {size} element{'' if size == 1 else 's'}"
                )
            given[key] = field.schema.read(tokens, currencies)
        if tokens.more("]", not given):
            raise SerdeFailure("trailing characters")
        return given


def _expected(names: list[str], what: str) -> str:
    if not names:
        return f"there are no {what}"
    quoted = [f"`{name}`" for name in names]
    if len(quoted) <= 2:
        return "expected " + " or ".join(quoted)
    return "expected one of " + ", ".join(quoted)


class EnumSchema(Schema):
    """An externally tagged choice: `{"variant":content}`, or the bare name of a variant without content."""

    def __init__(self, name: str, kind: Any, units: tuple[str, ...], order: tuple[str, ...]) -> None:
        self.name = name
        self.kind = kind
        self.units = units
        self.order = order
        self.newtypes: frozenset[str] = getattr(kind, "newtypes", frozenset())
        self.fields: dict[str, Field] = {}

    def read(self, tokens: Tokens, currencies: CurrencySet | None) -> Any:
        opening = tokens.need_value()
        if opening == '"':
            variant = self._variant(tokens)
            if variant not in self.units:
                raise SerdeFailure(f"invalid type: unit variant, expected {self._shape(variant)}")
            return variant
        if opening != "{":
            raise SerdeFailure("expected value", tokens.column + 1)
        tokens.take("{")
        if tokens.peek() != '"':
            raise SerdeFailure("expected value", tokens.column + 1)
        variant = self._variant(tokens)
        if not tokens.take(":"):
            raise SerdeFailure("expected `:`", tokens.column + 1)
        value = self._unit(variant, tokens) if variant in self.units else self._content(variant, tokens, currencies)
        if not tokens.take("}"):
            raise SerdeFailure("expected value", tokens.column + 1)
        return value

    def _variant(self, tokens: Tokens) -> str:
        variant = tokens.string()
        if variant not in self.order:
            raise SerdeFailure(f"unknown variant `{variant}`, {_expected(list(self.order), 'variants')}", tokens.column)
        return variant

    def _unit(self, variant: str, tokens: Tokens) -> str:
        if tokens.peek() != "n":
            raise _invalid_type(tokens, "unit")
        tokens.scalar()
        return variant

    def _content(self, variant: str, tokens: Tokens, currencies: CurrencySet | None) -> Any:
        field = self.fields[variant]
        schema = _present(field.schema)
        shape = self._shape(variant)
        if shape != "newtype variant" and isinstance(schema, TupleSchema | StructSchema):
            title = "".join(word.capitalize() for word in variant.split("_"))
            content = schema.read(tokens, currencies, f"{shape} {self.name}::{title}")
        else:
            content = schema.read(tokens, currencies)
        return self.kind(**{field.attribute: content})

    def _shape(self, variant: str) -> str:
        schema = _present(self.fields[variant].schema)
        if isinstance(schema, TupleSchema) and not schema.parts:
            return "tuple variant"
        if isinstance(schema, StructSchema) and variant not in self.newtypes:
            return "struct variant"
        return "newtype variant"


def _present(schema: Schema) -> Schema:
    return schema.parts[0] if isinstance(schema, OptionSchema) else schema


_SCHEMAS: dict[Any, Schema] = {}


def schema_of(kind: Any) -> Schema:
    """The schema of an annotation; structs are built once and may refer to themselves."""
    schema = _SCHEMAS.get(kind)
    if schema is None:
        schema = _SCHEMAS[kind] = _build(kind, {})
    return schema


def _build(kind: Any, known: dict[Any, Schema]) -> Schema:
    origin = get_origin(kind)
    if origin is Annotated:
        base, *notes = get_args(kind)
        for note in notes:
            extra = note.extra if isinstance(note, msgspec.Meta) and note.extra else {}
            if extra.get("scalar") == "ticker":
                return TickerSchema(extra["group"])
            if "scalar" in extra:
                return ScalarSchema(extra["scalar"])
        return _build(base, known)
    if kind in (str, bool):
        return ScalarSchema("bool" if kind is bool else "string")
    if kind is Any or kind is msgspec.Raw:
        return AnySchema()
    if origin is list:
        return ListSchema(_build(get_args(kind)[0], known))
    if origin is dict:
        return MapSchema(_build(get_args(kind)[1], known))
    if origin is tuple or kind == tuple[()]:
        return TupleSchema(tuple(_build(part, known) for part in get_args(kind)))
    if origin in (Union, types.UnionType):
        return _union(get_args(kind), known)
    if origin is Literal:
        return EnumSchema("", None, get_args(kind), get_args(kind))
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return _struct(kind, known)
    raise TypeError(f"no schema for {kind!r}")


def _union(parts: tuple[Any, ...], known: dict[Any, Schema]) -> Schema:
    inner = [part for part in parts if part is not type(None)]
    literals = [part for part in inner if get_origin(part) is Literal]
    others = [part for part in inner if get_origin(part) is not Literal]
    if literals and others:
        built = _struct(others[0], known)
        assert isinstance(built, EnumSchema)
        schema: Schema = built
    else:
        (single,) = inner
        schema = _build(single, known)
    return OptionSchema(schema) if len(inner) < len(parts) else schema


def _struct(kind: Any, known: dict[Any, Schema]) -> Schema:
    if kind in known:
        return known[kind]
    hints = get_type_hints(kind, include_extras=True)
    required = {field.name for field in msgspec.structs.fields(kind) if field.required}
    schema: StructSchema | EnumSchema
    if hasattr(kind, "newtypes"):
        units = tuple(kind.units)
        order = tuple(getattr(kind, "order", ())) or (*units, *kind.__struct_encode_fields__)
        schema = EnumSchema(kind.rust_name or kind.__name__, kind, units, order)
    else:
        schema = StructSchema(kind)
    known[kind] = schema
    for name, wire in zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True):
        schema.fields[wire] = Field(name, _build(hints[name], known), name in required)
    return schema
