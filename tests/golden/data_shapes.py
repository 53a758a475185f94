"""Comparing answers with recorded ones by their shape: names, types and formats; our additions may stand beside."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_EXPONENT = re.compile(r"-?\d+(\.\d+)?[eE][+-]?\d+")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_HASH = re.compile(r"[0-9A-F]{64}")
_ADDRESS = re.compile(r"[a-z]{3,}1[02-9ac-hj-np-z]{38,}")


def form(value: Any) -> str:
    """What kind of value this is, as far as a client can tell."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, list):
        return "array"
    if isinstance(value, dict):
        return "object"
    return _text_form(value)


def _text_form(text: str) -> str:
    if _NUMBER.fullmatch(text) or _EXPONENT.fullmatch(text):
        return "amount"
    if match := _TIME.fullmatch(text):
        return "time with Z" if match[2] == "Z" else "time with offset"
    if _HASH.fullmatch(text):
        return "hash"
    return "address" if _ADDRESS.fullmatch(text) else "text"


def _compatible(recorded: str, ours: str) -> bool:
    if "null" in (recorded, ours) or recorded == ours:
        return True
    # A price may be a whole number; an identifier may look like any text.
    return {recorded, ours} in ({"integer", "number"}, {"text", "address"}, {"text", "amount"})


def differences(recorded: Any, ours: Any, place: str = "$") -> Iterator[str]:
    """Where our value lacks something the recorded one has, or has it in another form."""
    kind, found = form(recorded), form(ours)
    if not _compatible(kind, found):
        yield f"{place}: recorded {kind} {json.dumps(recorded)[:60]}, ours {found} {json.dumps(ours)[:60]}"
    elif isinstance(recorded, dict) and isinstance(ours, dict):
        for name in recorded:
            if name not in ours:
                yield f"{place}.{name}: missing"
            else:
                yield from differences(recorded[name], ours[name], f"{place}.{name}")
        if list(recorded) != [name for name in ours if name in recorded]:
            yield f"{place}: members in another order"
    elif isinstance(recorded, list) and isinstance(ours, list):
        if recorded and not ours:
            yield f"{place}: empty, recorded {len(recorded)} or more"
        if ours and not recorded and place == "$":
            yield f"{place}: not empty as recorded"
        for item in ours[:3] if recorded else ():
            yield from differences(recorded[0], item, f"{place}[]")
    elif found == "amount" and isinstance(ours, str) and _EXPONENT.fullmatch(ours):
        yield f"{place}: {ours} is not plain notation"


# Names of shapes.json in our words.
_NAMED = {
    "decimal string": "amount",
    "integer string": "amount",
    "decimal string with exponent": "amount",
    "number with fraction": "number",
    "number (exponent form seen)": "number",
    "integer": "integer",
    "boolean": "boolean",
    "null": "null",
    "array": "array",
    "object": "object",
    "string": "text",
    "empty string": "text",
    "ibc denom": "text",
    "hash, 64 upper hex": "hash",
}


def named_form(name: str) -> str:
    """A type of shapes.json as `form` would say it."""
    if name in _NAMED:
        return _NAMED[name]
    if name.startswith("timestamp"):
        return "time with offset" if "offset" in name else "time with Z"
    if name.startswith("bech32"):
        return "address"
    return "array" if name.startswith("array") else "text"


def values_at(value: Any, path: str) -> Iterator[Any]:
    """Values of a path such as `$.protocols[].name`; a missing member is an error."""
    places = [value]
    for part in re.findall(r"\[\]|\.[^.\[]+", path.removeprefix("$")):
        if part == "[]":
            places = [item for place in places if isinstance(place, list) for item in place]
        else:
            found = []
            for place in places:
                if isinstance(place, dict):
                    if part[1:] not in place:
                        raise KeyError(path)
                    found.append(place[part[1:]])
            places = found
    yield from places


def shape_differences(shape: dict[str, Any], body: Any) -> Iterator[str]:
    """Where an answer does not have the fields and types of a row of shapes.json."""
    for path, told in shape.items():
        allowed = {named_form(name) for name in told["types"]}
        try:
            for value in values_at(body, path):
                if not any(_compatible(name, form(value)) for name in allowed):
                    yield f"{path}: {form(value)} {json.dumps(value)[:60]} is none of {sorted(allowed)}"
                    break
        except KeyError:
            if "absent_seen" not in told:
                yield f"{path}: missing"
