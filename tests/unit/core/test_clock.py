"""Time is exact to the nanosecond and moves only as told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.core import clock
from leasehold.core.clock import ManualClock, SystemClock

# From year 1 to 9999, which is what RFC 3339 can say.
INSTANTS = st.integers(-62_135_596_800 * 10**9, 253_402_300_799 * 10**9)


@given(INSTANTS, st.sampled_from(["trimmed", "grouped"]))
def test_an_instant_survives_its_text(nanoseconds: int, digits: str) -> None:
    """Both forms with a fraction keep every nanosecond."""
    assert clock.parse_rfc3339(clock.rfc3339(nanoseconds, digits=digits)) == nanoseconds


@pytest.mark.parametrize(
    ("rest", "trimmed", "grouped"),
    [
        (0, "Z", "Z"),
        (500_000_000, ".5Z", ".500Z"),
        (1_230_000, ".00123Z", ".001230Z"),
        (1, ".000000001Z", ".000000001Z"),
        (120_000_000, ".12Z", ".120Z"),
    ],
)
def test_fractions_are_written_as_their_reader_expects(rest: int, trimmed: str, grouped: str) -> None:
    """CometBFT drops trailing zeros, protobuf JSON keeps groups of three."""
    instant = 1_700_000_000 * 10**9 + rest
    assert clock.rfc3339(instant) == "2023-11-14T22:13:20" + trimmed
    assert clock.rfc3339(instant, digits="grouped") == "2023-11-14T22:13:20" + grouped
    assert clock.rfc3339(instant, digits="seconds") == "2023-11-14T22:13:20Z"


def test_the_zero_time_of_go_is_readable() -> None:
    """Year 1 has four digits, as in the headers of an empty block."""
    assert clock.rfc3339(-62_135_596_800 * 10**9) == "0001-01-01T00:00:00Z"


def test_an_unknown_form_is_refused() -> None:
    """A misspelt form is a mistake, not a default."""
    with pytest.raises(ValueError, match="unknown form"):
        clock.rfc3339(1, digits="trimed")


def test_offsets_are_understood() -> None:
    """An instant with an offset is the same instant in UTC."""
    assert clock.parse_rfc3339("2023-11-15T00:13:20.5+02:00") == 1_700_000_000_500_000_000


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2023-11-14",
        "2023-11-14T22:13:20",
        "2023-11-14T22:13:20.Z",
        "2023-11-14T22:13:20.1234567890Z",
        "2023-11-14T22:13:20.5",
        "2023-13-14T22:13:20Z",
        "yesterday at ten o'clock",
    ],
)
def test_what_is_no_instant_is_refused(text: str) -> None:
    """Without date, time and zone there is no instant."""
    with pytest.raises(ValueError):
        clock.parse_rfc3339(text)


@given(st.datetimes(timezones=st.just(UTC)))
def test_datetimes_convert_exactly(moment: datetime) -> None:
    """No microsecond is lost either way."""
    assert clock.to_datetime(clock.from_datetime(moment)) == moment


def test_only_aware_datetimes_convert() -> None:
    """A naive datetime has no place on the axis; any zone has."""
    with pytest.raises(ValueError, match="naive"):
        clock.from_datetime(datetime(2023, 1, 1))  # noqa: DTZ001
    assert clock.from_datetime(datetime(1970, 1, 1, 1, tzinfo=timezone(timedelta(hours=1)))) == 0


def test_a_manual_clock_moves_only_when_told() -> None:
    """Advancing adds exactly; going back needs `set`."""
    manual = ManualClock(5)
    assert manual.now_ns() == manual.now_ns() == 5
    manual.advance(seconds=2, nanoseconds=1)
    assert manual.now_ns() == 2_000_000_006
    assert manual.monotonic() == pytest.approx(2.000000006)
    with pytest.raises(ValueError):
        manual.advance(seconds=-1)
    manual.set(3)
    assert manual.now_ns() == 3


def test_the_system_clock_is_utc_and_monotonic() -> None:
    """It agrees with the machine and never goes back."""
    system = SystemClock()
    before = datetime.now(UTC)
    assert before <= clock.to_datetime(system.now_ns()) + timedelta(microseconds=1)
    assert system.monotonic() <= system.monotonic()
