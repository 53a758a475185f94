"""Scripted markets: a TOML file says what prices do and what should come of it; a chain in memory plays it.

title = "Bitcoin falls by forty percent"
days = 3                     # market that lives before anything happens
watch = "6h"                 # how long to look on from then
every = "30m"                # how often to report

[rates]                      # what happens a day; only what differs from history
openings = 60

[[move]]
ticker = "ALL_BTC"           # or "market": everything, as far as it follows the market
after = "1h"                 # since the watch began
over = "2h"
change = "-40%"

[[expect]]
event = "wasm-ls-liquidation"
at_least = 10
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec

from leasehold.core.clock import NANOSECONDS
from leasehold.core.errors import InvalidInput, NotFound
from leasehold.core.settings import Settings
from leasehold.devnet.chain import Devnet
from leasehold.devnet.consensus.node import SealedBlock
from leasehold.devnet.market.deeds import Deed
from leasehold.devnet.market.history import simulate
from leasehold.devnet.market.market import Market
from leasehold.devnet.market.prices import DAY_SECONDS, Move
from leasehold.devnet.market.standing import Rates

START = 1_767_225_600  # every scenario begins with the year 2026, so that it is the same each time
MARKET = "market"
_DURATION = re.compile(r"(\d+)\s*([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": DAY_SECONDS}
_CHANGE = re.compile(r"([+-]\d+(?:\.\d+)?)\s*%")


class MoveSpec(msgspec.Struct, forbid_unknown_fields=True):
    ticker: str
    change: str
    after: str = "0s"
    over: str = "0s"


class Expectation(msgspec.Struct, forbid_unknown_fields=True):
    """How often an event should be seen during the watch."""

    event: str
    at_least: int = 1
    at_most: int | None = None


class Scenario(msgspec.Struct, forbid_unknown_fields=True):
    """A scripted market."""

    title: str
    days: int = 2
    watch: str = "6h"
    every: str = "30m"
    seed: int = 1
    rates: dict[str, float] = {}
    move: list[MoveSpec] = []
    expect: list[Expectation] = []


@dataclass(slots=True)
class Glimpse:
    """What a stretch of the watch showed: seconds since it began, prices at its end, events in it."""

    seconds: int
    prices: dict[str, float]
    events: Counter[str]


@dataclass(slots=True)
class Outcome:
    """What came of a scenario."""

    glimpses: list[Glimpse] = field(default_factory=list)
    events: Counter[str] = field(default_factory=Counter)
    unmet: list[str] = field(default_factory=list)


def read_scenario(name: str | Path) -> Scenario:
    """A scenario from a file, or one that comes with Leasehold by its name."""
    text = _text(name)
    try:
        scenario = msgspec.convert(tomllib.loads(text), Scenario)
        parts = [scenario.watch, scenario.every]
        for move in scenario.move:
            parts += [move.after, move.over]
            factor(move.change)
        for part in parts:
            seconds(part)
        if not 0 <= scenario.days <= 365 or seconds(scenario.every) == 0:
            raise InvalidInput("a scenario has 0 to 365 days and reports at an interval", field="days")
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise InvalidInput(f"{name} is no scenario: {error}") from None
    unknown = set(scenario.rates) - {entry.name for entry in fields(Rates)}
    if unknown:
        raise InvalidInput(f"no rate is called {', '.join(sorted(unknown))}", field="rates")
    return scenario


def _text(name: str | Path) -> str:
    path = Path(name)
    if path.suffix == ".toml":
        try:
            return path.read_text()
        except OSError as error:
            raise NotFound(f"can't read {name}: {error.strerror}") from None
    folder = resources.files("leasehold.devnet.scenarios")
    known = sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))
    if str(name) not in known:
        raise NotFound(f"no scenario is called {name}", hint=f"give a .toml file, or one of: {', '.join(known)}")
    return (folder / f"{name}.toml").read_text()


def seconds(text: str) -> int:
    """Seconds of a duration such as 90s, 30m, 2h or 1d."""
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise InvalidInput(f"{text!r} is no duration", hint="as 90s, 30m, 2h or 1d")
    return int(match[1]) * _SECONDS[match[2]]


def factor(change: str) -> float:
    """What is left after a change such as -40%."""
    match = _CHANGE.fullmatch(change.strip())
    if match is None or float(match[1]) <= -100:
        raise InvalidInput(f"{change!r} is no change of a price", hint="as -40% or +15%")
    return 1 + float(match[1]) / 100


def play(
    scenario: Scenario, settings: Settings | None = None, report: Callable[[Glimpse], None] | None = None
) -> Outcome:
    """Live through a scenario on a chain in memory; `report` hears of every stretch as it ends."""
    settings = settings or Settings()
    settings = replace(settings, devnet=replace(settings.devnet, seed=scenario.seed))
    devnet = Devnet.open(settings, None, genesis_time_ns=START * NANOSECONDS)
    try:
        market = Market(devnet, start=START, rates=Rates(**_rates(scenario)))
        begin = START + scenario.days * DAY_SECONDS
        simulate(devnet, market, begin, lively_end=False)
        _script(market, scenario, begin)
        outcome = Outcome()
        for glimpse in _watch(devnet, market, scenario, begin):
            outcome.glimpses.append(glimpse)
            outcome.events += glimpse.events
            if report is not None:
                report(glimpse)
        outcome.unmet = list(_unmet(scenario, outcome.events))
        return outcome
    finally:
        devnet.close()


def _rates(scenario: Scenario) -> dict[str, Any]:
    whole = {entry.name for entry in fields(Rates) if entry.type == "int"}
    return {name: int(value) if name in whole else value for name, value in scenario.rates.items()}


def _script(market: Market, scenario: Scenario, begin: int) -> None:
    for move in scenario.move:
        start, length, left = begin + seconds(move.after), seconds(move.over), factor(move.change)
        if move.ticker == MARKET:
            market.model.script_market(start, length, left)
        elif move.ticker in market.model.tickers:
            market.model.script(Move(move.ticker, start, length, left))
        else:
            raise NotFound(f"no asset is called {move.ticker}", hint=f"there are: {', '.join(market.model.tickers)}")


def _watch(devnet: Devnet, market: Market, scenario: Scenario, begin: int) -> Iterator[Glimpse]:
    seen: Counter[str] = Counter()

    def note(sealed: SealedBlock) -> None:
        seen.update(event.type for result in sealed.results.tx_results for event in result.events)

    devnet.node.add_listener(note)
    step = seconds(scenario.every)
    for moment in range(step, seconds(scenario.watch) + 1, step):
        # While somebody watches, prices are fed every few minutes.
        for minute in range(begin + moment - step, begin + moment, 300):
            market.at(minute, Deed("feed"))
        simulate(devnet, market, begin + moment, lively_end=False)
        yield Glimpse(moment, market.model.prices(), Counter(seen))
        seen.clear()


def _unmet(scenario: Scenario, events: Counter[str]) -> Iterator[str]:
    for expected in scenario.expect:
        count = events[expected.event]
        if count < expected.at_least:
            yield f"{expected.event}: {count}, at least {expected.at_least} were expected"
        if expected.at_most is not None and count > expected.at_most:
            yield f"{expected.event}: {count}, at most {expected.at_most} were expected"
