"""Strict JSON as the contracts parse it, with their error texts.

Messages are msgspec structs. The quick way is msgspec's decoder plus a check of what depends on the currencies;
whatever that refuses goes through the reference parser, which accepts the odd spellings the contracts accept (a
sequence for a struct) and otherwise says in their words what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

import msgspec

from leasehold.core.nesting import MAXIMUM, nests_too_deep
from leasehold.protocol.currencies import CurrencySet
from leasehold.protocol.errors import ProtocolError, Refused
from leasehold.protocol.serde.annotations import schema_of
from leasehold.protocol.serde.schema import Check, Schema, TickerSchema
from leasehold.protocol.serde.structures import EnumSchema, StructSchema
from leasehold.protocol.serde.tokens import SerdeFailure, Tokens

T = TypeVar("T")


class SerdeError(ProtocolError):
    """A message that does not parse; `message` is the contract's whole text."""


class Wire(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """A JSON object with exactly these keys in this order; `rust_name` is how error texts call it.

    A subclass may define `check(currencies)`, which raises Refused for values that this build does not know.
    """

    rust_name: ClassVar[str] = ""


class Lax(msgspec.Struct, frozen=True, gc=False):
    """A JSON object whose unknown keys are ignored."""

    rust_name: ClassVar[str] = ""


class OneOf(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """An externally tagged choice: exactly one field is given; a field is named by its variant.

    `newtypes` are variants whose content is a type of its own, `units` those without content, which are bare strings;
    `order` lists all of them as error texts do when that is not units, then fields.
    """

    rust_name: ClassVar[str] = ""
    newtypes: ClassVar[frozenset[str]] = frozenset()
    units: ClassVar[tuple[str, ...]] = ()
    order: ClassVar[tuple[str, ...]] = ()

    @property
    def chosen(self) -> tuple[str, Any]:
        """The variant's name and content."""
        for name in self.__struct_fields__:
            content = getattr(self, name)
            if content is not None:
                return name, content
        raise ValueError("no variant was chosen")


Nothing = tuple[()]
"""Content of a variant that is spelt with an empty array."""


class Empty(Wire, frozen=True):
    """Content of a variant that is spelt with an empty object."""


encode: Callable[[object], bytes] = msgspec.json.Encoder().encode
"""Compact JSON with keys in the declared order."""


class Codec:
    """Decoding under one set of currencies; without one any ticker passes."""

    def __init__(self, currencies: CurrencySet | None = None) -> None:
        self.currencies = currencies
        self._ways: dict[Any, tuple[Callable[[bytes], Any], Check | None]] = {}

    def decode(self, kind: type[T], raw: bytes) -> T:
        """The message, or SerdeError with the contract's words."""
        if nests_too_deep(raw):
            raise SerdeError(f"kind: Serialization, error: recursion limit exceeded at line 1 column {MAXIMUM}")
        way = self._ways.get(kind)
        if way is None:
            way = self._ways[kind] = (msgspec.json.Decoder(kind).decode, self._check(schema_of(kind), {}))
        decode, accept = way
        try:
            value: T = decode(raw)
            # Text longer than its canonical form may repeat a key, which only the reference parser sees.
            if (accept is None or accept(value)) and len(raw) <= len(encode(value)):
                return value
        except (msgspec.MsgspecError, Refused, UnicodeDecodeError):
            pass
        return self.parse(kind, raw)

    def parse(self, kind: type[T], raw: bytes) -> T:
        """The same by the reference parser alone."""
        tokens = Tokens(raw)
        try:
            value: T = schema_of(kind).read(tokens, self.currencies)
            tokens.end()
        except SerdeFailure as failure:
            place = "" if failure.column is None else f" at line 1 column {failure.column}"
            raise SerdeError(f"kind: Serialization, error: {failure.text}{place}") from None
        return value

    def _check(self, schema: Schema, known: dict[int, Check | None]) -> Check | None:
        """What msgspec's decoder can't know: tickers of this build, and that exactly one variant is given."""
        if id(schema) in known:
            return known[id(schema)]
        if isinstance(schema, TickerSchema):
            allowed = None if self.currencies is None else self.currencies.groups.get(schema.group)
            return None if allowed is None else allowed.__contains__
        if isinstance(schema, StructSchema):
            return self._struct_check(schema, known)
        if isinstance(schema, EnumSchema):
            return self._choice_check(schema, known)
        inner = [self._check(part, known) for part in schema.parts]
        return None if all(check is None for check in inner) else schema.each(inner)

    def _parts(self, schema: StructSchema | EnumSchema, known: dict[int, Check | None]) -> list[tuple[str, Check]]:
        found = []
        for field in schema.fields.values():
            check = self._check(field.schema, known)
            if check is not None:
                found.append((field.attribute, check))
        return found

    def _struct_check(self, schema: StructSchema, known: dict[int, Check | None]) -> Check | None:
        parts: list[tuple[str, Check]] = []
        currencies = self.currencies
        by_build = schema.by_build if currencies is not None else None

        def accepts(value: Any) -> bool:
            for name, check in parts:
                if not check(getattr(value, name)):
                    return False
            if by_build is not None and currencies is not None:
                by_build(value, currencies)
            return True

        known[id(schema)] = accepts
        parts += self._parts(schema, known)
        if not parts and by_build is None:
            known[id(schema)] = None
        return known[id(schema)]

    def _choice_check(self, schema: EnumSchema, known: dict[int, Check | None]) -> Check | None:
        parts: dict[str, Check] = {}
        names = tuple(field.attribute for field in schema.fields.values())
        if not names:  # nothing can be chosen, so an empty object is no choice either
            return None if schema.kind is None else lambda value: type(value) is str

        def accepts(value: Any) -> bool:
            if type(value) is str:
                return True
            given = [name for name in names if getattr(value, name) is not None]
            if len(given) != 1:
                return False
            check = parts.get(given[0])
            return check is None or check(getattr(value, given[0]))

        known[id(schema)] = accepts
        parts.update(self._parts(schema, known))
        return accepts
