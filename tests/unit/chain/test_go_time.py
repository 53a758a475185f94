"""Dates and times as Go reads them."""

from __future__ import annotations

import pytest

from leasehold.chain.go_time import DATE_LAYOUT, TIME_LAYOUT, BadTime, parse_go_time


@pytest.mark.parametrize(
    ("text", "layout", "nanoseconds"),
    [
        ("1970-01-02", DATE_LAYOUT, 86_400 * 10**9),
        ("1970-01-01T00:00:01Z", TIME_LAYOUT, 10**9),
        ("1970-01-01T0:00:01Z", TIME_LAYOUT, 10**9),
        ("1970-01-01T02:00:00.5+02:00", TIME_LAYOUT, 5 * 10**8),
        ("2024-02-29T00:00:00Z", TIME_LAYOUT, 1_709_164_800 * 10**9),
    ],
)
def test_instants_are_read(text: str, layout: str, nanoseconds: int) -> None:
    """A text under the layout is the instant it names, zones and fractions included."""
    assert parse_go_time(text, layout)[1] == nanoseconds


@pytest.mark.parametrize(
    ("text", "layout", "refusal"),
    [
        ("", TIME_LAYOUT, f'parsing time "" as "{TIME_LAYOUT}": cannot parse "" as "2006"'),
        ("2020-1-1", DATE_LAYOUT, f'parsing time "2020-1-1" as "{DATE_LAYOUT}": cannot parse "1-1" as "01"'),
        ("2020", DATE_LAYOUT, f'parsing time "2020" as "{DATE_LAYOUT}": cannot parse "" as "-"'),
        ("2020-13-01", DATE_LAYOUT, 'parsing time "2020-13-01": month out of range'),
        ("2021-02-29", DATE_LAYOUT, 'parsing time "2021-02-29": day out of range'),
        ("2021-02-28-", DATE_LAYOUT, 'parsing time "2021-02-28-": extra text: "-"'),
        ("2021-02-28", TIME_LAYOUT, f'parsing time "2021-02-28" as "{TIME_LAYOUT}": cannot parse "" as "T"'),
        ("2021-02-28T24:00:00Z", TIME_LAYOUT, 'parsing time "2021-02-28T24:00:00Z": hour out of range'),
        (
            "2021-02-28T10:00:00",
            TIME_LAYOUT,
            f'parsing time "2021-02-28T10:00:00" as "{TIME_LAYOUT}": cannot parse "" as "Z07:00"',
        ),
    ],
)
def test_refusals_have_gos_words(text: str, layout: str, refusal: str) -> None:
    """What is no instant is refused with the member that did not fit."""
    with pytest.raises(BadTime) as caught:
        parse_go_time(text, layout)
    assert str(caught.value) == refusal
