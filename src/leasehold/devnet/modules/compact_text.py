"""The one-line text dump of a message that Go code prints with %v."""

from __future__ import annotations

from typing import Any


def compact_text(message: Any) -> str:
    """Set fields in number order as `name:value `, messages in angle brackets."""
    parts = []
    for field, value in sorted(message.ListFields(), key=lambda pair: pair[0].number):
        for item in value if field.is_repeated else [value]:
            parts.append(f"{field.name}:{_value(field, item)} ")
    return "".join(parts)


def _value(field: Any, value: Any) -> str:
    if field.type == field.TYPE_MESSAGE:
        return f"<{compact_text(value)}>"
    if field.type == field.TYPE_STRING:
        return _quoted(value.encode())
    if field.type == field.TYPE_BYTES:
        return _quoted(value)
    if field.type == field.TYPE_BOOL:
        return "true" if value else "false"
    if field.type == field.TYPE_ENUM:
        named = field.enum_type.values_by_number.get(value)
        return named.name if named is not None else str(value)
    return str(value)


_ESCAPES = {ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t", ord('"'): '\\"', ord("\\"): "\\\\"}


def _quoted(data: bytes) -> str:
    shown = (_ESCAPES.get(byte) or (chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}") for byte in data)
    return '"' + "".join(shown) + '"'
