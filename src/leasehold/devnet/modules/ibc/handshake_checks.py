"""What handshakes of connections and of channels check alike."""

from __future__ import annotations

import re
from typing import Any

from leasehold.devnet.app.errors import ChainError
from leasehold.devnet.modules.ibc import errors
from leasehold.devnet.modules.ibc.identifiers import check

INIT, TRY, OPEN, CLOSED = 1, 2, 3, 4
_NUMBER = re.compile(r"(connection|channel)-(0|[1-9][0-9]{0,19})")


def check_named(kind: str, text: str, what: str) -> None:
    """Refuse what can't be an identifier of a kind, saying what it was meant for."""
    try:
        check(kind, text)
    except ChainError as error:
        raise error.wrap(what) from None


def next_number(names: Any) -> int:
    """The number after all that names end in."""
    numbers = [int(found[2]) for name in names if (found := _NUMBER.fullmatch(name))]
    return max(numbers, default=-1) + 1


def value_name(message: Any, field: str, number: int | None = None) -> str:
    """Name of an enum value, a field's own or another; a number that has none is shown itself."""
    shown = getattr(message, field) if number is None else number
    known = message.DESCRIPTOR.fields_by_name[field].enum_type.values_by_number.get(shown)
    return str(known.name) if known is not None else str(shown)


def state_of(message: Any) -> str:
    """Name of the state a connection or a channel is in."""
    return value_name(message, "state")


def require_some(proof: bytes, text: str) -> None:
    """Refuse an empty proof."""
    if not proof:
        raise errors.INVALID_PROOF(text)


def require_number(text: str, kind: str) -> None:
    """Refuse an identifier that is not its kind and a number."""
    found = _NUMBER.fullmatch(text)
    if found is None or found[1] != kind:
        refusal = errors.WRONG_CONNECTION_ID if kind == "connection" else errors.WRONG_CHANNEL_ID
        raise ChainError(refusal)
