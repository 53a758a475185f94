"""Big integers and decimals travel as text: what is no number is refused while a transaction is decoded."""

from __future__ import annotations

import re
from typing import Any

from leasehold.chain.registry import Registry

_NUMBER = re.compile(r"[+-]?[0-9]+")
_CUSTOM = frozenset({"Int", "LegacyDec", "Dec", "Uint"})
_ANY = "google.protobuf.Any"
# Text longer than this can't be a number of 256 bits with eighteen decimals.
_LONGEST = 100


class NotANumber(ValueError):
    """A numeric field that holds no number."""


class ScalarCheck:
    """Finds numeric fields of messages, once per type."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._plans: dict[str, list[Any]] = {}

    def check(self, message: Any) -> None:
        """Refuse a message with a malformed number, at any depth and inside packed messages."""
        for field in self._plan(message.DESCRIPTOR):
            value = getattr(message, field.name)
            if field.type != field.TYPE_MESSAGE:
                for item in value if field.is_repeated else (value,):
                    _require_number(item)
            elif field.is_repeated:
                for item in value:
                    self._descend(item)
            elif message.HasField(field.name):
                self._descend(value)

    def _descend(self, message: Any) -> None:
        if message.DESCRIPTOR.full_name != _ANY:
            self.check(message)
        elif message.type_url:
            self.check(self._registry.unpack(message))

    def _plan(self, descriptor: Any) -> list[Any]:
        """Fields of a type that are numbers or may lead to some."""
        found = self._plans.get(descriptor.full_name)
        if found is None:
            found = self._plans[descriptor.full_name] = []
            found += [field for field in descriptor.fields if self._concerns(field)]
        return found

    def _concerns(self, field: Any) -> bool:
        if field.type == field.TYPE_MESSAGE:
            inner = field.message_type
            return inner.full_name == _ANY or bool(self._plan(inner))
        if field.type not in (field.TYPE_STRING, field.TYPE_BYTES):
            return False
        return self._registry.field_traits(field).customtype in _CUSTOM


def _require_number(value: str | bytes) -> None:
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    if text and (len(text) > _LONGEST or _NUMBER.fullmatch(text) is None):
        raise NotANumber(f'math/big: cannot unmarshal "{text}" into a *big.Int')
