"""Results of a block as today's nodes give them, whichever release stored them.

Nodes before ABCI 2.0 tell the events before and after the transactions apart; those before 0.37 write the keys and
values of attributes in base64.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator

from leasehold.chain.client import wire

_NULL = b'"value":null'


def read_results(data: bytes) -> wire.BlockResults:
    """The results in their current form; raises msgspec's errors for anything else."""
    # An empty value is null where attributes are bytes; our types, like today's nodes, have text only.
    results = wire.BLOCK_RESULTS.decode(data.replace(_NULL, b'"value":""') if _NULL in data else data)
    if results.begin_block_events is None and results.end_block_events is None:
        return results
    results.finalize_block_events = [*(results.begin_block_events or ()), *(results.end_block_events or ())]
    results.begin_block_events = results.end_block_events = None
    if _is_encoded(results):
        for event in _events(results):
            for attribute in event.attributes:
                attribute.key, attribute.value = _decoded(attribute.key) or "", _decoded(attribute.value) or ""
    return results


def _events(results: wire.BlockResults) -> Iterator[wire.Event]:
    yield from results.finalize_block_events or ()
    for result in results.txs_results or ():
        yield from result.events or ()


def _is_encoded(results: wire.BlockResults) -> bool:
    """Whether all keys of a block are base64 of a text: one plain key such as `amount` or `spender` is none."""
    keys = {attribute.key for event in _events(results) for attribute in event.attributes}
    return bool(keys) and all(_decoded(key) for key in keys)


def _decoded(text: str) -> str | None:
    """The text behind base64; None when it is not that."""
    try:
        return base64.b64decode(text, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
