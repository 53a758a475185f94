"""Heights that clients ask for, and how those that can't be served are told."""

from __future__ import annotations

import re

from leasehold.devnet.app.errors import INVALID_REQUEST, ChainError

_INTEGER = re.compile(r"[+-]?[0-9]{1,400}")


class HeightError(Exception):
    """The asked height can't be served; the surfaces show it before any handler ran."""

    def __init__(self, error: ChainError) -> None:
        super().__init__(error.log)
        self.error = error


def asked_height(text: str) -> int:
    """The height in a header or in metadata, read as the original reads it."""
    if not _INTEGER.fullmatch(text):
        problem = "invalid syntax"
    elif -(2**63) <= (height := int(text)) < 2**63:
        return height
    else:
        problem = "value out of range"
    where = 'Baseapp.RegisterGRPCServer: invalid height header "x-cosmos-block-height"'
    raise HeightError(INVALID_REQUEST(f'{where}: strconv.ParseInt: parsing "{text}": {problem}'))
