"""Compares every table of an index, column by column, with the rows it must hold; returns what differs, in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

import msgspec
import psycopg
import zstandard
from psycopg.rows import dict_row

Row = dict[str, Any]
UNIT = 10**18
SCALED = {"liquidation_price_after", "utilization", "lending_rate", "open", "high", "low", "close"}
# Columns that no block determines: surrogate numbers, delivery, and which rebuild made the tables.
APART = {
    "outbox": {"id", "attempts", "next_attempt_at", "delivered_at"},
    "cursor": {"generation"},
    "quarantine": {"resolved_at"},
}
# Marks a row that may also be absent.
OPTIONAL = "row may be absent"


class _Anything:
    """Equal to whatever is there."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0

    def __deepcopy__(self, memo: object) -> _Anything:
        return self


ANYTHING = _Anything()


class PartOf(dict[str, Any]):
    """Equal to every mapping whose entries are among these."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, dict) and other.items() <= self.items()

    __hash__ = None  # type: ignore[assignment]


def differences(url: str, truth: Mapping[str, list[Row]], schema: str = "indexer") -> list[str]:
    """Every table that does not hold exactly what it should; also one without a truth, or with such a column."""
    with psycopg.connect(url, options=f"-c search_path={schema} -c timezone=UTC", row_factory=dict_row) as connection:
        names = connection.execute(
            "SELECT c.relname AS name FROM pg_class c WHERE c.relnamespace = %s::regnamespace"
            " AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relname <> 'migration' ORDER BY 1",
            (schema,),
        ).fetchall()
        found = [f"{name} is no table of the index" for name in truth.keys() - {one["name"] for one in names}]
        for one in names:
            table = one["name"]
            if table not in truth:
                found.append(f"{table} has no truth to compare with")
                continue
            found += compared_rows(connection, table, truth[table])
        return found


def compared_rows(
    connection: psycopg.Connection[Any], table: str, expected: list[Row], unknown: Iterable[str] = ()
) -> list[str]:
    """What differs between a table and its expected rows, apart from columns that are not known."""
    apart = {*APART.get(table, ()), *unknown}
    with connection.cursor(row_factory=dict_row) as cursor:
        found = cursor.execute(
            "SELECT a.attname::text AS name FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid"
            " AND a.attnum = ANY (i.indkey) WHERE i.indrelid = %s::regclass AND i.indisprimary ORDER BY 1",
            (table,),
        )
        key = ["lease", "kind", "height"] if table == "outbox" else [row["name"] for row in found]
        query: Any = f"SELECT * FROM {table}"
        rows = [_plain(row, apart) for row in cursor.execute(query)]
    if table == "balances":
        # The bank forgets a coin of which nothing is left.
        rows = [row for row in rows if row["amount"]]
    kept = [{name: value for name, value in row.items() if name not in apart} for row in expected]
    return _compared(table, key, rows, kept)


def _plain(row: Row, apart: set[str]) -> Row:
    return {name: _value(name, value) for name, value in row.items() if name not in apart}


def _raw_block(content: bytes) -> tuple[Any, ...]:
    """Time, hash, chain, proposer, transactions and the number of events in a stored block."""
    fields = msgspec.msgpack.decode(zstandard.ZstdDecompressor().decompress(content))
    _, time_ns, block_hash, _, chain_id, proposer, txs, results = fields
    told = msgspec.json.decode(results)
    counts = [len(told["finalize_block_events"] or ()), *(len(r["events"] or ()) for r in told["txs_results"] or ())]
    return time_ns, block_hash, chain_id, proposer, txs, counts


def _value(name: str, value: Any) -> Any:
    if name == "content" and isinstance(value, bytes):
        return _raw_block(value)
    if not isinstance(value, Decimal):
        return value
    if not (name in SCALED or name.endswith(("usd", "price"))):
        assert value == value.to_integral_value(), f"{name} is {value}"
        return int(value)
    numerator, denominator = value.as_integer_ratio()
    whole, rest = divmod(numerator * UNIT, denominator)
    assert rest == 0, f"{name} {value} has more than 18 decimals"
    return whole


def _compared(table: str, key: list[str], rows: list[Row], expected: list[Row]) -> list[str]:
    indexed = {tuple(row[name] for name in key): row for row in rows}
    wanted = {tuple(row[name] for name in key): row for row in expected}
    optional = {place for place, row in wanted.items() if row.pop(OPTIONAL, False)}
    found = []
    if len(indexed) != len(rows) or len(wanted) != len(expected):
        found.append(f"{table}: keys are not unique")
    for label, some in (
        ("missing", wanted.keys() - indexed.keys() - optional),
        ("too many", indexed.keys() - wanted.keys()),
    ):
        if some:
            found.append(f"{table}: {len(some)} {label}, e.g. {min(some, key=repr)}")
    wrong: dict[str, list[str]] = {}
    for place in sorted(wanted.keys() & indexed.keys(), key=repr):
        ours, theirs = indexed[place], wanted[place]
        for name in ours.keys() | theirs.keys():
            if name not in ours or name not in theirs or not _same(theirs[name], ours[name]):
                text = f"{place}: {ours.get(name, 'absent')!r} is not {theirs.get(name, 'absent')!r}"
                wrong.setdefault(name, []).append(text)
    found += [f"{table}.{name}: {len(texts)} differ, e.g. {texts[0]}" for name, texts in sorted(wrong.items())]
    return found


def _same(expected: Any, found: Any) -> bool:
    """Whether a value is as expected; the expectation decides, since it may allow more than one."""
    return bool(expected == found)
