"""Scenario files: what they may say, and that they play out."""

from __future__ import annotations

from pathlib import Path

import pytest

from leasehold.core.errors import InvalidInput, NotFound
from leasehold.devnet.market.scenario import factor, play, read_scenario, seconds


def _written(folder: Path, text: str) -> Path:
    path = folder / "one.toml"
    path.write_text(text)
    return path


def test_a_bitcoin_crash_liquidates_leases() -> None:
    """BTC loses forty percent in two hours; liquidations come after it began and as many as expected."""
    scenario = read_scenario("bitcoin-crash")
    outcome = play(scenario)
    assert outcome.unmet == []
    before, after = outcome.glimpses[1], outcome.glimpses[6]
    assert after.prices["ALL_BTC"] / before.prices["ALL_BTC"] == pytest.approx(0.6, rel=0.1)
    assert sum(glimpse.events["wasm-ls-liquidation"] for glimpse in outcome.glimpses[:2]) == 0
    assert outcome.events["wasm-ls-liquidation"] >= 8


def test_what_did_not_come_is_said(tmp_path: Path) -> None:
    """A calm market meets no expectation of a crash."""
    path = _written(
        tmp_path,
        'title = "calm"\ndays = 0\nwatch = "1h"\nevery = "1h"\n'
        '[rates]\nopenings = 0\n[[expect]]\nevent = "wasm-ls-liquidation"\n'
        '[[expect]]\nevent = "tx"\nat_least = 0\nat_most = 1\n',
    )
    outcome = play(read_scenario(path))
    assert [text.split(":")[0] for text in outcome.unmet] == ["wasm-ls-liquidation", "tx"]


@pytest.mark.parametrize(
    "text",
    [
        "not toml at all",
        "days = 3",
        'title = "x"\nspeed = 5',
        'title = "x"\nwatch = "a while"',
        'title = "x"\nevery = "0s"',
        'title = "x"\ndays = -1',
        'title = "x"\n[rates]\nfun = 5',
        'title = "x"\n[[move]]\nticker = "ATOM"\nchange = "-140%"',
        'title = "x"\n[[move]]\nticker = "ATOM"\nchange = "down"',
    ],
)
def test_a_file_that_makes_no_sense_is_refused(tmp_path: Path, text: str) -> None:
    """Nothing is simulated for a scenario nobody understands."""
    with pytest.raises(InvalidInput):
        read_scenario(_written(tmp_path, text))


def test_what_is_not_there_is_told_with_what_is(tmp_path: Path) -> None:
    """Unknown names, files and assets are named, with those there are."""
    with pytest.raises(NotFound, match="bitcoin-crash"):
        read_scenario("moon-landing")
    with pytest.raises(NotFound):
        read_scenario(tmp_path / "none.toml")
    path = _written(tmp_path, 'title = "x"\ndays = 0\n[[move]]\nticker = "DOGE"\nchange = "-1%"')
    with pytest.raises(NotFound, match="ALL_BTC"):
        play(read_scenario(path))


@pytest.mark.parametrize(("text", "value"), [("90s", 90), ("30m", 1800), ("2h", 7200), (" 1 d ", 86_400)])
def test_durations(text: str, value: int) -> None:
    """A number and a unit."""
    assert seconds(text) == value


def test_changes() -> None:
    """What is left of a price."""
    assert factor("-40%") == pytest.approx(0.6)
    assert factor("+12.5%") == pytest.approx(1.125)
