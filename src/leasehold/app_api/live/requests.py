"""What a client's text says, read as the public service reads it."""

from __future__ import annotations

import json
from typing import Any

import msgspec

# Members that say what a message is; of any other that is repeated the last one counts.
_ONCE = ("type", "topic")


class _Repeating(dict[str, Any]):
    """An object that names one of those twice."""


def read(text: str) -> dict[str, Any] | None:
    """The message, None for what is no object, or does not say once what it is."""
    try:
        found = msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    if not isinstance(found, dict) or (_may_repeat(text) and isinstance(_with_repeats(text), _Repeating)):
        return None
    return found


def _may_repeat(text: str) -> bool:
    """A quick look: hardly any message does, or spells a name with escapes."""
    return "\\" in text or any(text.count(f'"{name}"') > 1 for name in _ONCE)


def _with_repeats(text: str) -> Any:
    def build(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        return _Repeating(pairs) if any(names.count(name) > 1 for name in _ONCE) else dict(pairs)

    try:
        return json.loads(text, object_pairs_hook=build)
    except (ValueError, RecursionError):
        return None
