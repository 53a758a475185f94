"""What parameters mean, and what is not accepted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.core.clock import EPOCH, ManualClock, from_datetime
from leasehold.data_api.conventions import Window, moment, months_before
from leasehold.data_api.market import bucket_minutes
from leasehold.data_api.wallet import AccountRow, statistics

NOW = datetime(2026, 5, 31, 12, tzinfo=UTC)
CLOCK = ManualClock(from_datetime(NOW))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-01T00:00:00Z", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-01-01T02:00:00+02:00", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-01-01T00:00:00.123456789Z", datetime(2026, 1, 1, microsecond=123456, tzinfo=UTC)),
        ("2026-01-01t00:00:00z", datetime(2026, 1, 1, tzinfo=UTC)),
    ],
)
def test_timestamps(text: str, expected: datetime) -> None:
    """RFC 3339 with a zone, to the microsecond."""
    assert moment(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "", "x", "2026-01-01", "2026-01-01T00:00:00", "1760000000", "2026-01-01 00:00:00Z", "2026-13-01T00:00:00Z",
        "2026-W01-1T00:00:00Z", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "2026-01-01T24:61:00Z",
        "\u0662026-01-01T00:00:00Z", "2026-01-01T00:00:00.1234567890Z",
    ],
)  # fmt: skip
def test_what_is_no_timestamp(text: str) -> None:
    """Anything else is refused, whatever its size or script."""
    with pytest.raises(ValueError, match=r"."):
        moment(text)


@given(st.text(max_size=40))
def test_no_text_breaks_timestamps(text: str) -> None:
    """A text is a timestamp or a ValueError, nothing else."""
    try:
        moment(text)
    except ValueError:
        return


def test_windows() -> None:
    """`from` alone lifts the default period; both together both count; a period's own bound is inclusive."""
    three = datetime(2026, 2, 28, 12, tzinfo=UTC)
    after = datetime(2020, 1, 1, tzinfo=UTC)
    smallest = timedelta(microseconds=1)
    assert Window.of(CLOCK, None, None) == Window(three - smallest, EPOCH)
    assert Window.of(CLOCK, "3m", None) == Window(three - smallest, EPOCH)
    assert Window.of(CLOCK, None, after) == Window(EPOCH, after)
    assert Window.of(CLOCK, "12m", after) == Window(datetime(2025, 5, 31, 12, tzinfo=UTC) - smallest, after)
    assert Window.of(CLOCK, "all", None) == Window()
    assert Window.of(CLOCK, None, None, default="all") == Window()


@given(st.datetimes(timezones=st.just(UTC)).filter(lambda now: 1971 < now.year < 9000), st.sampled_from([3, 6, 12]))
def test_months_before(now: datetime, months: int) -> None:
    """So many months earlier is the same day, or the last of a shorter month."""
    earlier = months_before(now, months)
    assert (now.year * 12 + now.month) - (earlier.year * 12 + earlier.month) == months
    assert earlier.day == now.day or (earlier + timedelta(days=1)).month != earlier.month


def test_widths_of_charts() -> None:
    """A minute up to seven days, five minutes below thirty, an hour beyond."""
    assert [bucket_minutes(days) for days in (1, 7, 8, 29, 30, 100)] == [1, 1, 5, 5, 60, 60]


def test_shares_are_plain_and_rounded() -> None:
    """Shares have no more decimals than they need, at most two."""
    row = AccountRow(closings=3, wins=1, bands=(1, 1, 1, 0, 0))
    assert [band.share_percent for band in statistics(row).bucket] == ["33.33", "33.33", "33.33", "0", "0"]
    row = AccountRow(closings=8, wins=8, bands=(0, 1, 7, 0, 0))
    assert [band.share_percent for band in statistics(row).bucket] == ["0", "12.5", "87.5", "0", "0"]
