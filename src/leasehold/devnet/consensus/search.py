"""Searches over indexed transactions and blocks, with the matching rules of CometBFT's indexer.

A searcher has its own connection, so that a long search runs in a thread while blocks are sealed. The index narrows
the candidates (equality by attribute pair, everything else by the set of tags); what several conditions must share is
then checked on the events themselves.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from leasehold.chain.comet.query import EQ, GE, GT, LE, Condition, Query, matches_event, plain_number
from leasehold.chain.go_hex import decode_hex
from leasehold.core.errors import InvalidInput
from leasehold.devnet.app.abci import Event
from leasehold.devnet.consensus.blockstore import BLOCK_TAGS, INDEX_BITS, SQL, TX_TAGS, pair_key, tx_place
from leasehold.devnet.consensus.records import Codec

TX_HASH, TX_HEIGHT, BLOCK_HEIGHT = "tx.hash", "tx.height", "block.height"
_HIGHEST = (1 << 42) - 1


@dataclass(frozen=True, slots=True)
class Heights:
    """What a query says about height: a span, and the conditions that are about something else."""

    low: int
    high: int
    others: tuple[Condition, ...]
    is_constrained: bool


class Searcher:
    """Finds transactions and blocks; one per thread."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._codec = Codec()

    @classmethod
    def open(cls, path: str) -> Searcher:
        """A searcher on a read-only connection of its own, usable from any one thread."""
        # As a URI, because only that can ask for read-only; it also quotes what a path may contain.
        address = Path(path).absolute().as_uri() + "?mode=ro"
        connection = sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False)
        return cls(connection)

    def close(self) -> None:
        self._connection.close()

    def txs(self, query: Query) -> list[int]:
        """Places of the matching transactions in chain order; a hash in the query overrides everything else."""
        for condition in query.conditions:
            if condition.tag == TX_HASH:
                return self._by_hash(condition.operand)
        heights = _heights(query.conditions, TX_HEIGHT)
        low, high = tx_place(heights.low, 0), tx_place(heights.high + 1, 0) - 1
        if not heights.others:
            return self._column(SQL.txs_between, (low, high)) if heights.is_constrained else []
        equal = [condition for condition in heights.others if condition.operator == EQ]
        found: set[int] | None = None
        for condition in equal:
            key = pair_key(condition.tag, condition.operand)
            found = _narrowed(found, self._column(SQL.txs_with_pair, (key, low, high)))
        if len(heights.others) == 1 and found is not None:
            return sorted(found)
        if found is None:
            found = set()
            for tags in self._tag_sets(TX_TAGS, heights.others):
                found.update(self._column(SQL.txs_with_tags, (tags, low, high)))
        return [place for place in sorted(found) if self._tx_matches(place, heights.others)]

    def _by_hash(self, text: str) -> list[int]:
        try:
            digest = decode_hex(text)
        except InvalidInput as error:
            raise InvalidInput(f"error during searching for a hash in the query: {error.message}") from None
        if not digest:
            raise InvalidInput("error while retrieving the result: transaction hash cannot be empty")
        row = self._connection.execute(SQL.tx_by_hash, (digest,)).fetchone()
        return [] if row is None else [row[0]]

    def _tx_matches(self, place: int, conditions: Sequence[Condition]) -> bool:
        row = self._connection.execute(SQL.tx_by_id, (place,)).fetchone()
        # The height is indexed like an event of its own, which no other condition can share.
        height = Event("tx", [("height", str(place >> INDEX_BITS))])
        return _any_event(conditions, [*self._codec.unpack_result(row[2]).events, height])

    def blocks(self, query: Query) -> list[int]:
        """Heights of the matching blocks, ascending."""
        heights = _heights(query.conditions, BLOCK_HEIGHT)
        if not heights.others:
            span = (heights.low, heights.high)
            return self._column(SQL.blocks_between, span) if heights.is_constrained else []
        found: list[int] = []
        for tags in self._tag_sets(BLOCK_TAGS, heights.others):
            rows = self._connection.execute(SQL.blocks_with_tags, (tags, heights.low, heights.high))
            found.extend(
                height for height, events in rows if _any_event(heights.others, self._codec.unpack_events(events))
            )
        return sorted(found)

    def _tag_sets(self, kind: str, conditions: Iterable[Condition]) -> list[int]:
        """Tag sets that have every wanted tag; the height of a transaction is in none of them."""
        wanted = {condition.tag for condition in conditions} - {TX_HEIGHT}
        rows = self._connection.execute(SQL.interned_values, (kind,))
        return [
            identity for identity, value in rows if wanted <= set(bytes(value).decode(errors="replace").split("\n"))
        ]

    def _column(self, statement: str, parameters: tuple[int, ...]) -> list[int]:
        return [row[0] for row in self._connection.execute(statement, parameters)]


def _any_event(conditions: Sequence[Condition], events: Iterable[Event]) -> bool:
    return any(matches_event(conditions, event.type, event.attributes) for event in events)


def _narrowed(found: set[int] | None, hits: list[int]) -> set[int]:
    return set(hits) if found is None else found.intersection(hits)


def _heights(conditions: Sequence[Condition], tag: str) -> Heights:
    """Split off height: ranges win over equalities, of which the first with a number counts."""
    others = [condition for condition in conditions if condition.tag != tag]
    about = [condition for condition in conditions if condition.tag == tag]
    ranges = [condition for condition in about if condition.is_range]
    rest = [condition for condition in about if not condition.is_range and condition.operator != EQ]
    low, high = _span(ranges)
    if ranges or rest:
        return Heights(low, high, (*others, *rest), bool(ranges))
    wanted = next((int(n) for c in about if (n := plain_number(c.operand)) is not None), None)
    if wanted is None:
        return Heights(low, high, tuple(others), False)
    if wanted == 0 and others:
        return Heights(low, high, tuple(others), True)
    wanted = max(0, min(wanted, _HIGHEST))
    return Heights(wanted, wanted, tuple(others), True)


def _span(ranges: Sequence[Condition]) -> tuple[int, int]:
    """First and last height within ranges: of several bounds on one side the last counts, and is met by its equal
    as soon as any of them would be."""
    low, high = Fraction(0), Fraction(_HIGHEST)
    includes_low = includes_high = not ranges
    for condition in ranges:
        number = plain_number(condition.operand)
        if number is None:
            return 1, 0
        if condition.operator in (GT, GE):
            low, includes_low = number, includes_low or condition.operator == GE
        else:
            high, includes_high = number, includes_high or condition.operator == LE
    first = math.ceil(low) if includes_low else math.floor(low) + 1
    last = math.floor(high) if includes_high or high == _HIGHEST else math.ceil(high) - 1
    return min(max(first, 1), _HIGHEST), min(last, _HIGHEST)
