"""`leasehold devnet scenario`: a scripted market, told as it happens."""

from __future__ import annotations

import click

from leasehold.core.settings import Settings
from leasehold.devnet.market.scenario import MARKET, Glimpse, play, read_scenario

_SHOWN = {
    "wasm-ls-open": "opened",
    "wasm-ls-close-position": "closed",
    "wasm-ls-liquidation-warning": "warned",
    "wasm-ls-liquidation": "liquidated",
}


def show(name: str, settings: Settings) -> bool:
    """Play a scenario and print a line per stretch; False when something expected did not come."""
    scenario = read_scenario(name)
    moving = dict.fromkeys(move.ticker for move in scenario.move if move.ticker != MARKET)
    shown = list(moving) or ["ALL_BTC"]
    click.echo(f"{scenario.title} (after {scenario.days} days of market)")
    columns = [*shown, *_SHOWN.values()]
    click.echo(f"{'time':>8}" + "".join(f"{column:>12}" for column in columns))

    def line(glimpse: Glimpse) -> None:
        hours, minutes = divmod(glimpse.seconds // 60, 60)
        prices = "".join(f"{glimpse.prices[ticker]:>12.6g}" for ticker in shown)
        counts = "".join(f"{glimpse.events[event]:>12}" for event in _SHOWN)
        click.echo(f"{hours:>5}:{minutes:02d}" + prices + counts)

    outcome = play(scenario, settings, line)
    for text in outcome.unmet:
        click.echo(f"not as expected: {text}", err=True)
    return not outcome.unmet
