"""Texts of the application as pure functions: keys in dot notation, and placeholders that a translation must keep."""

from __future__ import annotations

import re
from typing import Any

from leasehold.core.errors import InvalidInput

_PLACEHOLDER = re.compile(r"\{\{\w+\}\}|\{\w+\}|%[sd]")
_KEY = re.compile(r"[^.\s]+(\.[^.\s]+)*")
LONGEST_KEY = 200


def placeholders(text: str) -> list[str]:
    """Placeholders of a text, each once, in their order."""
    return list(dict.fromkeys(_PLACEHOLDER.findall(text)))


def missing(source: str, translation: str) -> list[str]:
    """Placeholders of a source text that a translation lacks."""
    found = set(placeholders(translation))
    return [one for one in placeholders(source) if one not in found]


def flattened(content: Any, prefix: str = "") -> dict[str, str]:
    """The texts of nested objects by key, in their order."""
    found: dict[str, str] = {}
    for name, value in content.items() if isinstance(content, dict) else ():
        key = f"{prefix}{name}"
        if isinstance(value, str):
            found[key] = value
        else:
            found |= flattened(value, f"{key}.")
    return found


def checked_key(key: str) -> str:
    """The key if it is one."""
    if len(key) > LONGEST_KEY or not _KEY.fullmatch(key):
        raise InvalidInput("a key is names joined with dots", field="key")
    return key


def with_text(content: Any, key: str, value: str) -> dict[str, Any]:
    """The texts with one of them set; a key that leads through a text or stops at a group is refused."""
    name, _, rest = checked_key(key).partition(".")
    found = dict(content) if isinstance(content, dict) else {}
    inner = found.get(name)
    if rest:
        if inner is not None and not isinstance(inner, dict):
            raise InvalidInput(f"{name} is a text, not a group of texts", field="key")
        return {**found, name: with_text(inner, rest, value)}
    if isinstance(inner, dict):
        raise InvalidInput(f"{name} is a group of texts, not a text", field="key")
    return {**found, name: value}


def emptied(content: Any) -> Any:
    """The top-level groups without their texts: where a new language begins."""
    return {name: {} for name, value in content.items() if isinstance(value, dict)} if isinstance(content, dict) else {}
