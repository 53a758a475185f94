"""Schemas derived from the annotations of msgspec structs."""

from __future__ import annotations

import types
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from leasehold.protocol.serde.schema import (
    AnySchema,
    ListSchema,
    MapSchema,
    OptionSchema,
    ScalarSchema,
    Schema,
    TickerSchema,
    TupleSchema,
)
from leasehold.protocol.serde.structures import EnumSchema, Field, StructSchema

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
            if "told" in extra:
                return EnumSchema("", None, get_args(base), tuple(extra["told"]))
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
