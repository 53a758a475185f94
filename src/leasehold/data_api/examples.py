"""Example answers of the description, made from the wire types: the same names always show the same kind of value."""

from __future__ import annotations

import re
import types
from typing import Any, Union, get_args, get_origin

import msgspec

ACCOUNT = "chain1qyqszqgpqyqszqgpqyqszqgpqyqszqgp8344xf"
CONTRACT = "chain1qgpqyqszqgpqyqszqgpqyqszqgpqyqszqgpqyqszqgpqyqszqgpqhh205t"
TIME = "2026-11-14T03:00:00.123456Z"
HASH = "8410F5BAEBD3DD876700D468F862B0DAACA2643965D79024127826111F344067"
# The first pattern that a member's name fits says what it holds.
_NAMED: tuple[tuple[str, Any], ...] = (
    (r"tx_?hash|^tx$|^hash$", HASH),
    (r"month$", "2026-11"),
    (r"time|date$|_at$|joined|last_withdrawal", TIME),
    (r"contract_id|lease$|position id|pool_id|^lpp$|leaser|oracle|profit$|reserve", CONTRACT),
    (r"address|user|lender$|owner|^from$|^to$", ACCOUNT),
    (r"validator", "chainvaloper1qyqszqgpqyqszqgpqyqszqgpqyqszqgpqj8gde"),
    (r"protocol|^name$", "OSMOSIS-OSMOSIS-USDC_NOBLE"),
    (r"position_type", "Long"),
    (r"transaction_type|event_type|^type$|^kind$", "repay"),
    (r"symbol|asset|ticker|token$|lpn$|currency$|^pool$", "OSMO"),
    (r"network|dex", "Osmosis"),
    (r"denom", "ulsh"),
    (r"status", "open"),
    (r"loan_closed", "no"),
    (r"version", "1.0.0"),
    (r"memo|additional|strategy|description|label|bucket|category|group|value$", "text"),
)


def example(kind: Any, name: str = "") -> Any:
    """A value of a type, such as its member's name suggests."""
    origin, inside = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return example(next(part for part in inside if part is not type(None)), name)
    if origin is list:
        return [example(inside[0], name)]
    if origin is tuple:
        return [example(part, name) for part in inside]
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return {
            field.encode_name: example(field.type, field.encode_name)
            for field in msgspec.structs.fields(kind)
            if msgspec.UnsetType not in get_args(field.type)
        }
    if kind is str:
        return _text(name)
    return {bool: True, int: 1, float: 12.5}.get(kind, {})


def _text(name: str) -> str:
    for pattern, value in _NAMED:
        if re.search(pattern, name, re.IGNORECASE):
            return str(value)
    return "1254.0298"
