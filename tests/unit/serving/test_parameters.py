"""Parameters: read alike on every route, with the field named in every refusal."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal
from urllib.parse import quote, quote_plus

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.core.errors import InvalidInput
from leasehold.serving.parameters import Input, canonical_query, declared, decode_component, parse_query, read


def _even(text: str) -> int:
    if int(text) % 2:
        raise InvalidInput("must be even")
    return int(text)


class Everything(msgspec.Struct, frozen=True):
    key: str
    address: Annotated[str, Input(aliases=("owner", "delegator"))]
    skip: Annotated[int, msgspec.Meta(ge=0)] = 0
    limit: Annotated[int, msgspec.Meta(ge=1, le=100), Input(clamp=True)] = 10
    strict: Annotated[int, msgspec.Meta(le=100)] = 1
    period: Literal["3m", "all"] = "3m"
    export: bool = False
    price: Decimal | None = None
    note: str | None = None
    even: Annotated[int | None, Input(parse=_even)] = None
    ids: list[int] = msgspec.field(default_factory=list)


PARAMETERS = declared(Everything, ("key",))


def reading(query: str) -> Any:
    return read(Everything, PARAMETERS, {"key": "k"}, parse_query(query.encode("latin-1")))


@pytest.mark.parametrize(
    ("query", "attribute", "value"),
    [
        ("address=a", "address", "a"),
        ("owner=a", "address", "a"),
        ("delegator=a", "address", "a"),
        ("address=a%20b+c", "address", "a b c"),
        ("address=%C3%A4", "address", "ä"),
        ("address=", "address", ""),
        ("address=a&unknown=1&unknown=2", "address", "a"),
        ("address=a&skip=7", "skip", 7),
        ("address=a&limit=1000", "limit", 100),
        ("address=a&limit=1", "limit", 1),
        ("address=a&period=all", "period", "all"),
        ("address=a&export=true", "export", True),
        ("address=a&price=1.50", "price", Decimal("1.50")),
        ("address=a&note=null", "note", "null"),
        ("address=a&even=4", "even", 4),
        ("address=a&ids=1&ids=2", "ids", [1, 2]),
        ("&&address=a&", "address", "a"),
        ("address=a", "key", "k"),
    ],
)
def test_accepted(query: str, attribute: str, value: Any) -> None:
    """Names and aliases, percent-encoding and plus, clamping, defaults, repeated lists; unknown names don't matter."""
    assert getattr(reading(query), attribute) == value


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("", "address"),
        ("address=a&address=a", "address"),
        ("address=a&owner=b", "address"),
        ("address=%FF", "address"),
        ("address=%zz", "address"),
        ("address=%", "address"),
        ("address=a%00b", "address"),
        ("address=\xff", "address"),
        ("unknown=%zz&address=a", "unknown"),
        ("%zz=1&address=a", None),
        ("address=a&skip=-1", "skip"),
        ("address=a&skip=", "skip"),
        ("address=a&skip=1.0", "skip"),
        ("address=a&skip=1e3", "skip"),
        ("address=a&skip=%2B5", "skip"),
        ("address=a&skip=9999999999999999999999", "skip"),
        ("address=a&limit=0", "limit"),
        ("address=a&strict=101", "strict"),
        ("address=a&period=", "period"),
        ("address=a&period=6M", "period"),
        ("address=a&export=1", "export"),
        ("address=a&export=True", "export"),
        ("address=a&price=x", "price"),
        ("address=a&even=3", "even"),
        ("address=a&even=x", "even"),
        ("address=a&ids=1&ids=x", "ids"),
        ("&".join("x=1" for _ in range(101)), None),
    ],
)
def test_refused(query: str, field: str | None) -> None:
    """What is missing, repeated, out of bounds or badly encoded is a 400 that names the parameter."""
    with pytest.raises(InvalidInput) as refusal:
        reading(query)
    assert refusal.value.field == field


@given(st.text(st.characters(codec="utf-8", exclude_categories=("Cc",)), max_size=20))
def test_what_is_encoded_is_decoded(text: str) -> None:
    """Any text without control characters survives either way of encoding it."""
    assert decode_component(quote(text, safe="").encode()) == text
    assert parse_query(f"a={quote_plus(text)}".encode()) == [("a", text)]


@given(st.binary(max_size=60))
def test_no_bytes_do_worse_than_a_refusal(raw: bytes) -> None:
    """Whatever a query string holds, it is decoded or refused as invalid input."""
    try:
        for name, value in parse_query(raw):
            assert name.isprintable() or name
            assert "\x00" not in value
    except InvalidInput:
        pass


@given(st.integers(0, 50), st.sampled_from(["3m", "all"]), st.booleans(), st.lists(st.integers(0, 9), max_size=3))
def test_a_canonical_query_reads_back(skip: int, period: str, export: bool, ids: list[int]) -> None:
    """The canonical spelling of parameters, defaults left out, reads as the same parameters."""
    made = Everything("k", "a/b &", skip=skip, period=period, export=export, ids=ids)
    query = canonical_query(PARAMETERS, made)
    assert ("skip" in query) == (skip != 0)
    assert reading(query) == made


def test_options_are_named() -> None:
    """Who gives a word that is none of the options reads which there are, and no more than a line of the word."""
    with pytest.raises(InvalidInput) as refused:
        reading("address=a&period=1w")
    assert refused.value.message == "Invalid option period '1w'. Valid options: 3m, all"
    with pytest.raises(InvalidInput) as long:
        reading("address=a&period=" + "x" * 5000)
    assert len(long.value.message) < 150
