"""Identifiers of ports, channels, connections and clients, refused with the texts relayers know."""

from __future__ import annotations

import re

from leasehold.devnet.app.errors import ChainError, Kind, Status, StatusError

_ALLOWED = re.compile(r"[a-zA-Z0-9._+\-#\[\]<>]+")
_NUMBERED = re.compile(r"(.+)-(0|[1-9][0-9]{0,19})")
_LENGTHS = {"port": (2, 128), "channel": (8, 64), "connection": (10, 64), "client": (4, 64)}

INVALID_IDENTIFIER = Kind("host", 2, "invalid identifier")


def check(kind: str, text: str) -> None:
    """Refuse what can't be an identifier of a kind."""
    if not text.strip():
        raise INVALID_IDENTIFIER("identifier cannot be blank")
    if "/" in text:
        raise INVALID_IDENTIFIER(f"identifier {text} cannot contain separator '/'")
    least, most = _LENGTHS[kind]
    size = len(text.encode())
    if not least <= size <= most:
        raise INVALID_IDENTIFIER(
            f"identifier {text} has invalid length: {size}, must be between {least}-{most} characters"
        )
    if _ALLOWED.fullmatch(text) is None:
        raise INVALID_IDENTIFIER(
            f"identifier {text} must contain only alphanumeric or the following characters: "
            "'.', '_', '+', '-', '#', '[', ']', '<', '>'"
        )


def check_queried(kind: str, text: str) -> None:
    """The same in a query, where it is an invalid argument."""
    try:
        check(kind, text)
    except ChainError as error:
        raise StatusError(Status.INVALID_ARGUMENT, error.log) from None


def is_numbered_client(text: str) -> bool:
    """Whether a client's name is its kind and a number."""
    return _NUMBERED.fullmatch(text) is not None


def revision(chain_id: str) -> int:
    """Revision number at the end of a chain id; 0 when it has none."""
    match = re.fullmatch(r"[^\n]*[^\n-]-([1-9][0-9]*)", chain_id)
    return int(match[1]) if match else 0
