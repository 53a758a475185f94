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


# Members that the sheet marks as nullable and that are null in some recording; and a share of nothing (surprise 29).
NULLABLE = frozenset(
    (
        "LS_liquidation_price_at_open", "LS_opening_price", "additional", "close_timestamp", "fee_denom",
        "liquidation_price", "ls_amnt", "ls_amnt_symbol", "pnl_percent", "price", "returned_amount_lpn_units",
        "returned_lpn", "rewards", "total_liquidated",
    )
)  # fmt: skip


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
    # What the recorded service does not know we may; a message to nobody has no address but an empty text.
    return recorded in (ours, "null") or {recorded, ours} == {"text", "address"}


def differences(recorded: Any, ours: Any, place: str = "$") -> Iterator[str]:
    """Where our value lacks something the recorded one has, or has it in another form."""
    kind, found = form(recorded), form(ours)
    if found == "null" and place.rpartition(".")[2] in NULLABLE:
        return
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
        if recorded and not isinstance(recorded[0], dict | list):
            # A pair, such as an instant and a price: each has its own form.
            for one, other in zip(recorded, ours, strict=False):
                yield from differences(one, other, f"{place}[]")
            return
        for item in ours[:3] if recorded else ():
            yield from differences(recorded[0], item, f"{place}[]")
    elif found == "amount" and isinstance(ours, str) and _EXPONENT.fullmatch(ours):
        yield f"{place}: {ours} is not plain notation"


def cell_differences(columns: list[str], recorded: list[list[str]], ours: list[str]) -> Iterator[str]:
    """Where a row of a table has a cell whose form none of the recorded rows has there."""
    if len(ours) != len(columns):
        yield f"{len(ours)} cells in {columns}"
        return
    for number, (column, cell) in enumerate(zip(columns, ours, strict=True)):
        forms = {_text_form(row[number]) for row in recorded if row[number]}
        if cell and forms and not any(_compatible(known, _text_form(cell)) for known in forms):
            yield f"{column}: {cell!r} is none of {sorted(forms)}"


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
        # What was only ever null we may fill with anything.
        allowed = {named_form(name) for name in told["types"]} - {"null"}
        nullable = "null" in told["types"] or path.rpartition(".")[2] in NULLABLE
        try:
            for value in values_at(body, path):
                if value is None and nullable:
                    continue
                if allowed and not any(_compatible(name, form(value)) for name in allowed):
                    yield f"{path}: {form(value)} {json.dumps(value)[:60]} is none of {sorted(allowed)}"
                    break
        except KeyError:
            if "absent_seen" not in told:
                yield f"{path}: missing"
