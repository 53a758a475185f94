"""Shapes of recorded answers: per route, which JSON types each member has, and which members may be absent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_NUMERIC = re.compile(r"-?(\d+\.?\d*|\.\d+)")
_NUMBERS = frozenset(("decimal string", "integer string"))
_PLAIN = frozenset(("object", "map", "array", "null", "boolean"))


class Shape:
    """What was recorded about a route's answers."""

    def __init__(self, members: dict[str, Any]) -> None:
        self._members = members
        self._kinds = {path: {_kind_named(name) for name in one["types"]} for path, one in members.items()}

    def violations(
        self, value: Any, filled: frozenset[str] = frozenset(), more: frozenset[str] = frozenset()
    ) -> list[str]:
        """Where an answer has another shape; names in `filled` may be texts instead of null, those in `more` extra."""
        return sorted(set(self._look(value, "$", filled, more)))

    def _look(self, value: Any, place: str, filled: frozenset[str], more: frozenset[str]) -> Iterator[str]:
        kinds = self._kinds.get(place)
        if kinds is None:
            if _name(place) not in more:
                yield f"{place} was never recorded"
            return
        kind = _kind_of(value)
        if "map" in kinds and kind == "object":
            for one in value.values():
                yield from self._look(one, f"{place}{{*}}", filled, more)
            return
        if kind not in kinds and not (kind == "text" and kinds == {"null"} and _name(place) in filled):
            yield f"{place} is {kind}, recorded {sorted(kinds)}"
        elif isinstance(value, dict):
            yield from self._object(value, place, filled, more)
        elif isinstance(value, list):
            for one in value:
                yield from self._look(one, f"{place}[]", filled, more)
        elif _NUMBERS.issuperset(self._members[place]["types"]) and not _NUMERIC.fullmatch(str(value)):
            yield f"{place} is {value!r}, which is no plain number"

    def _object(self, value: dict[str, Any], place: str, filled: frozenset[str], more: frozenset[str]) -> Iterator[str]:
        for name, one in value.items():
            yield from self._look(one, f"{place}.{name}", filled, more)
        for path, one in self._members.items():
            name = path.removeprefix(f"{place}.")
            direct = path != name and re.fullmatch(r"[^.\[{]+", name)
            if direct and "absent_seen" not in one and name not in value:
                yield f"{path} is absent, and never was"


def _name(place: str) -> str:
    return place.rpartition(".")[2]


def _kind_named(name: str) -> str:
    """The JSON type behind a recorded type's name."""
    name = name.partition(" (")[0]
    if name in _PLAIN:
        return name
    return "number" if name in ("integer", "number with fraction") or name.startswith("number") else "text"


def _kind_of(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return {dict: "object", list: "array"}.get(type(value), "text")
