"""Numbers as clients see them."""

from __future__ import annotations

import re
from fractions import Fraction

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from leasehold.app_api.display import alphabetical, double, fixed, number, shortest

POSITIVE = st.fractions(min_value=Fraction(1, 10**18), max_value=10**18)


@given(POSITIVE)
def test_shortest_is_what_a_double_can_tell(value: Fraction) -> None:
    """The text is plain, and reading it as a double gives the double nearest to the exact value."""
    text = shortest(value)
    assert re.fullmatch(r"\d+(\.\d*[1-9])?", text)
    assert float(text) == value.numerator / value.denominator


def test_shortest_has_no_exponent_and_no_empty_fraction() -> None:
    """Small, large and whole numbers are plain."""
    assert shortest(Fraction(1, 10**7)) == "0.0000001"
    assert shortest(10**21) == "1000000000000000000000"
    assert shortest(Fraction(3)) == "3"
    assert shortest(Fraction(1, 3)) == "0.3333333333333333"
    assert shortest(0) == "0"


@given(st.fractions(min_value=-(10**12), max_value=10**12), st.integers(min_value=1, max_value=8))
def test_fixed_is_the_nearest_with_so_many_places(value: Fraction, places: int) -> None:
    """Exactly so many places, at most half a unit of the last one away."""
    text = fixed(value, places)
    assert len(text.partition(".")[2]) == places
    assert abs(Fraction(text) - value) <= Fraction(1, 2 * 10**places)


def test_fixed_rounds_half_to_even() -> None:
    """A half goes to the even neighbour, below zero too."""
    assert [fixed(Fraction(n, 8), 2) for n in (1, 3, -1, -3)] == ["0.12", "0.38", "-0.12", "-0.38"]


def test_number_reads_decimals_only() -> None:
    """What is no finite decimal is none."""
    assert number("1.50") == Fraction(3, 2)
    assert [number(text) for text in (None, "", "x", "NaN", "Infinity")] == [None] * 5
    assert double(Fraction(85, 10_000_000)) == 8.5e-6


def test_free_json_is_alphabetical_and_always_encodable() -> None:
    """Members are sorted at every depth; whole numbers no encoder takes become doubles, or texts beyond those."""
    found = alphabetical({"b": [{"z": 1, "a": 10**30}], "a": 10**400, "c": -(2**63), "d": True})
    assert msgspec.json.encode(found) == (
        b'{"a":"' + str(10**400).encode() + b'","b":[{"a":1e30,"z":1}],"c":-9223372036854775808,"d":true}'
    )
