"""The query language: texts of errors, and both ways of matching."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.chain.comet.query import Query, QuerySyntaxError, flatten, matches_event, parse

OPERATORS = "<= operator, >= operator, < operator, > operator, = operator, CONTAINS operator or EXISTS operator"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "offset 0: EOF"),
        ("hello", "offset 5: EOF"),
        ("tx.height=", "offset 10: EOF"),
        ("tx.height=5 AND", "offset 15: EOF"),
        ("tx.height=5 OR tx.height=6", "offset 12: got tag, want 6"),
        ("tx.height=5 and tx.height=6", "offset 12: got tag, want 6"),
        ("NOT a.b=5", f"offset 4: got tag, wanted {OPERATORS}"),
        ("a.b=c", "offset 4: got tag, wanted number, timestamp, datestamp or string"),
        ("a.b>'c'", "offset 4: got string, wanted number, timestamp or datestamp"),
        ("a.b CONTAINS 5", "offset 13: got number, wanted string"),
        ("a.b!='c'", "offset 3: invalid input ! at offset 4"),
        ("(a.b=1)", "offset 0: invalid input ( at offset 1"),
        ("a.b>-1", "offset 4: invalid input - at offset 5"),
        ("a.b='it\\'s'", "offset 9: got tag, want 6"),
        ("a.b=1 !", "offset 6: got invalid token, want 6"),
        ("a.b='open", "offset 4: EOF"),
        ("5=5", "offset 0: got number, wanted tag"),
        ("é.b!", "offset 4: invalid input ! at offset 5"),
        ("a.b > DATE 1800-01-01", "offset 6: datestamp year 1800 out of range"),
    ],
)
def test_errors_are_the_originals(text: str, error: str) -> None:
    """Each malformed query is refused with the text and byte offset of the original parser."""
    with pytest.raises(QuerySyntaxError) as caught:
        parse(text)
    assert str(caught.value) == error


@given(st.text(max_size=60))
def test_any_text_is_a_query_or_a_syntax_error(text: str) -> None:
    """Parsing never fails in another way, and a query's normal form parses to itself."""
    try:
        query = parse(text)
    except QuerySyntaxError:
        return
    assert parse(str(query)) == query


def test_normal_form_ignores_spaces() -> None:
    """Two spellings of a query are one subscription; AND needs no space before it."""
    assert str(parse("tm.event='Tx'AND a.b>=5")) == str(parse(" tm.event  = 'Tx' AND a.b >= 5 "))
    assert str(parse("a.b EXISTS AND c.d > TIME 2020-01-01T00:00:00Z")) == (
        "a.b EXISTS AND c.d > TIME 2020-01-01T00:00:00Z"
    )


EVENTS = flatten(
    [
        ("transfer", [("recipient", "alice"), ("amount", "777unls")]),
        ("transfer", [("recipient", "bob"), ("amount", "5unls")]),
        ("mint", [("day", "2024-02-03"), ("at", "2024-02-03T01:00:00+01:00"), ("", "no key")]),
        ("", [("no", "type")]),
        ("tm", [("event", "Tx")]),
    ]
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tm.event='Tx'", True),
        ("tm.event='tx'", False),
        ("transfer.recipient='alice' AND transfer.amount='5unls'", True),
        ("transfer.amount>=777.0 AND transfer.amount<778", True),
        ("transfer.amount>777", False),
        ("transfer.recipient=5", False),
        ("transfer.recipient CONTAINS 'li'", True),
        ("transfer.nothing EXISTS", False),
        ("transfer EXISTS", True),
        ("trans EXISTS", False),
        ("mint.day = DATE 2024-02-03", True),
        ("mint.day < DATE 2024-02-03", False),
        ("mint.at = TIME 2024-02-03T00:00:00Z", True),
        ("mint.at <= TIME 2024-02-02T23:59:59Z", False),
        ("block.height>5", False),
    ],
)
def test_subscriptions_match_across_events(text: str, expected: bool) -> None:
    """A subscription judges each condition on the whole flattened map; numbers by a value's leading number."""
    assert parse(text).matches(EVENTS) is expected


def test_nothing_matches_no_events() -> None:
    """An announcement without events is wanted by nobody."""
    assert not Query(()).matches({})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("transfer.recipient='alice' AND transfer.amount='777unls'", True),
        ("transfer.recipient='alice' AND transfer.amount='5unls'", False),
        ("transfer.amount=777", False),
        ("transfer.amount>1", False),
        ("transfer.count>1 AND transfer.count<=12", True),
        ("transfer.count=12", True),
        ("transfer.count=12.0", False),
        ("transfer.count > DATE 2020-01-01", False),
        ("transfer.amount CONTAINS 'unls' AND transfer.count EXISTS", True),
        ("message.amount EXISTS", False),
    ],
)
def test_searches_match_within_one_event(text: str, expected: bool) -> None:
    """A search wants all conditions in one event and compares numbers only with plain numbers."""
    attributes = [("recipient", "alice"), ("amount", "777unls"), ("count", "12")]
    assert matches_event(parse(text).conditions, "transfer", attributes) is expected
