"""Schemas of objects: structs with known keys, and externally tagged choices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from leasehold.protocol.currencies import CurrencySet
from leasehold.protocol.serde.schema import OptionSchema, Schema, TupleSchema, invalid_type, placed, refusing
from leasehold.protocol.serde.tokens import SerdeFailure, Tokens


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
            raise invalid_type(tokens, name)
        with placed(tokens):
            tokens.take(opening)
            given = self._by_key(tokens, currencies) if opening == "{" else self._by_order(tokens, currencies, name)
            for key, field in self.fields.items():
                if field.required and key not in given:
                    raise SerdeFailure(f"missing field `{key}`")
        value = refusing(self.kind, **{self.fields[key].attribute: content for key, content in given.items()})
        if self.by_build is not None and currencies is not None:
            refusing(self.by_build, value, currencies)
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
        if variant not in self.order and variant not in self.units:
            raise SerdeFailure(f"unknown variant `{variant}`, {_expected(list(self.order), 'variants')}", tokens.column)
        return variant

    def _unit(self, variant: str, tokens: Tokens) -> str:
        if tokens.peek() != "n":
            raise invalid_type(tokens, "unit")
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
