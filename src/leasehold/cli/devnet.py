"""`leasehold devnet`: run the development chain, or tell a running one what to do."""

from __future__ import annotations

import json
from typing import Any

import click

from leasehold.cli import catalogue, options
from leasehold.cli.devnet_client import ControlClient
from leasehold.cli.service import announcer, progress_for, run

Values = dict[str, Any]


@click.group(name="devnet", invoke_without_command=True)
@options.shared
@click.option("--ready-fd", type=int, hidden=True, help="Write the ready line to this file descriptor.")
@click.pass_context
def command(ctx: click.Context, /, ready_fd: int | None, **given: Any) -> None:
    """Run the development chain until SIGTERM or Ctrl-C; with a command, tell a running one what to do.

    \b
    Examples:
      leasehold devnet                       run it
      leasehold devnet accounts              who has what keys
      leasehold devnet fund alice 100LSH     in another terminal
      leasehold devnet price ALL_BTC 40000 --settle
      leasehold devnet snapshot
    """
    before = ctx.obj or {}
    merged = {name: value if value not in (None, ()) else before.get(name) for name, value in given.items()}
    merged["assignments"] = (*(before.get("assignments") or ()), *given["assignments"])
    options.remember(ctx, merged)
    if ctx.invoked_subcommand is None:
        ready, progress = announcer("devnet", ready_fd), progress_for(ready_fd)
        run(catalogue.named("devnet"), options.invocation(ctx, {}), ready, progress)


def _client(ctx: click.Context, given: Values) -> ControlClient:
    return ControlClient(options.invocation(ctx, given).load().settings)


def _show(answer: Any) -> None:
    click.echo(json.dumps(answer, ensure_ascii=False, indent=2))


def _where(answer: Values) -> None:
    click.echo(f"height {answer['height']} at {answer['time']}")


@command.command()
@options.shared
@click.pass_context
def status(ctx: click.Context, /, **given: Any) -> None:
    """Show where the chain stands: height, time, prices, snapshots, dumps, faults."""
    _show(_client(ctx, given).get("status"))


@command.command()
@options.shared
@click.option("--mnemonics", is_flag=True, help="Print the words of each account too.")
@click.pass_context
def accounts(ctx: click.Context, /, mnemonics: bool, **given: Any) -> None:
    """List the development accounts, whose keys everybody knows."""
    for account in _client(ctx, given).get("accounts"):
        click.echo(f"{account['name']:<12} {account['address']}  {account['about']}")
        if mnemonics:
            click.echo(f"{'':<12} {account['mnemonic']}")


@command.command()
@options.shared
@click.pass_context
def tickers(ctx: click.Context, /, **given: Any) -> None:
    """List the currencies and their denoms on this chain."""
    for ticker, denom in _client(ctx, given).get("tickers").items():
        click.echo(f"{ticker:<22} {denom}")


@command.command()
@options.shared
@click.pass_context
def contracts(ctx: click.Context, /, **given: Any) -> None:
    """List the contracts by the names `execute` and `query` take."""
    for name, address in _client(ctx, given).get("contracts").items():
        click.echo(f"{name:<40} {address}")


@command.command()
@options.shared
@click.argument("account")
@click.argument("coins", nargs=-1, required=True)
@click.pass_context
def fund(ctx: click.Context, /, account: str, coins: tuple[str, ...], **given: Any) -> None:
    """Send COINS from the faucet to ACCOUNT, an address or a name: `fund alice 5LSH 100USDC_NOBLE`."""
    done = _client(ctx, given).post("fund", address=account, coins=list(coins))
    click.echo(f"{done['hash']} in block {done['height']}")


@command.command(name="set-balance")
@options.shared
@click.argument("account")
@click.argument("coin")
@click.pass_context
def set_balance(ctx: click.Context, /, account: str, coin: str, **given: Any) -> None:
    """Make ACCOUNT hold exactly COIN of that currency from the next block on."""
    _where(_client(ctx, given).post("balance", address=account, coin=coin))


@command.command()
@options.shared
@click.argument("blocks", type=click.IntRange(min=1), default=1)
@click.option("--every", metavar="DURATION", help="Chain time between blocks, as 5s, 10m, 2h or 1d.")
@click.pass_context
def mine(ctx: click.Context, /, blocks: int, every: str | None, **given: Any) -> None:
    """Seal BLOCKS blocks now."""
    interval = None if every is None else _seconds(every)
    _where(_client(ctx, given).post("mine", blocks=blocks, interval_seconds=interval))


@command.command()
@options.shared
@click.argument("duration", required=False)
@click.option("--to", "moment", metavar="TIME", help="A moment, as 2031-01-31T12:00:00Z.")
@click.pass_context
def warp(ctx: click.Context, /, duration: str | None, moment: str | None, **given: Any) -> None:
    """Travel forward in time by DURATION (90s, 10m, 2h, 30d), or to a moment."""
    if (duration is None) == (moment is None):
        raise click.UsageError("say either how far or to when")
    wish: Values = {"time": moment} if duration is None else {"seconds": _seconds(duration)}
    _where(_client(ctx, given).post("time", **wish))


@command.command()
@options.shared
@click.argument("ticker")
@click.argument("usd", type=float)
@click.option("--settle", is_flag=True, help="Seal blocks ahead until the oracles have taken it over.")
@click.pass_context
def price(ctx: click.Context, /, ticker: str, usd: float, settle: bool, **given: Any) -> None:
    """Make the market's price of TICKER so many dollars; feeders carry it to the oracles."""
    answer = _client(ctx, given).post("price", ticker=ticker, usd=usd, settle=settle)
    click.echo(f"{ticker} is {answer['prices'][ticker]:g} USD at height {answer['height']}")


@command.command()
@options.shared
@click.argument("account")
@click.argument("contract")
@click.argument("message")
@click.argument("coins", nargs=-1)
@click.pass_context
def execute(
    ctx: click.Context, /, account: str, contract: str, message: str, coins: tuple[str, ...], **given: Any
) -> None:
    """Call CONTRACT with a JSON MESSAGE as a development ACCOUNT, sending COINS along."""
    body = {"account": account, "contract": contract, "message": _json(message), "coins": list(coins)}
    done = _client(ctx, given).post("execute", **body)
    click.echo(f"{done['hash']} in block {done['height']}")


@command.command()
@options.shared
@click.argument("contract")
@click.argument("message")
@click.pass_context
def query(ctx: click.Context, /, contract: str, message: str, **given: Any) -> None:
    """Ask CONTRACT with a JSON MESSAGE."""
    _show(_client(ctx, given).post("query", contract=contract, message=_json(message)))


@command.command()
@options.shared
@click.pass_context
def snapshot(ctx: click.Context, /, **given: Any) -> None:
    """Remember this moment; prints the name `revert` takes."""
    click.echo(_client(ctx, given).post("snapshot")["id"])


@command.command()
@options.shared
@click.argument("id_", metavar="ID")
@click.pass_context
def revert(ctx: click.Context, /, id_: str, **given: Any) -> None:
    """Go back to a snapshot: state, blocks, mempool, clock and market; as often as you like."""
    _where(_client(ctx, given).post("revert", id=id_))


@command.command()
@options.shared
@click.argument("id_", metavar="ID")
@click.pass_context
def forget(ctx: click.Context, /, id_: str, **given: Any) -> None:
    """Forget a snapshot."""
    _where(_client(ctx, given).post("forget", id=id_))


@command.command()
@options.shared
@click.argument("name")
@click.pass_context
def dump(ctx: click.Context, /, name: str, **given: Any) -> None:
    """Put the chain aside under NAME, inside its home."""
    done = _client(ctx, given).post("dump", name=name)
    click.echo(f"{done['name']}: {done['bytes']} bytes")


@command.command()
@options.shared
@click.argument("name")
@click.pass_context
def load(ctx: click.Context, /, name: str, **given: Any) -> None:
    """Take up a chain that was put aside under NAME."""
    _where(_client(ctx, given).post("load", name=name))


@command.command()
@options.shared
@click.pass_context
def pause(ctx: click.Context, /, **given: Any) -> None:
    """Seal no blocks until `resume`, except what is asked for here."""
    _where(_client(ctx, given).post("pause"))


@command.command()
@options.shared
@click.pass_context
def resume(ctx: click.Context, /, **given: Any) -> None:
    """Seal blocks again."""
    _where(_client(ctx, given).post("resume"))


@command.command()
@options.shared
@click.option("--slow", "slow_seconds", type=float, metavar="SECONDS", help="Every answer takes this long; 0 ends it.")
@click.option("--pruned-below", type=int, metavar="HEIGHT", help="Lower heights look pruned; 0 ends it.")
@click.option("--stale/--fresh", default=None, help="Stop following the chain, or follow it again.")
@click.option("--drop-subscribers", is_flag=True, help="Cut off every WebSocket client.")
@click.option("--packet", metavar="'KIND OUTCOME'", help="Next transfer or tx to a DEX ends in error or timeout.")
@click.option("--clear", is_flag=True, help="Be well again.")
@click.pass_context
def faults(ctx: click.Context, /, **given: Any) -> None:
    """Let the public endpoints misbehave, for clients to be tested against; without options, show what is wrong."""
    names = ("slow_seconds", "pruned_below", "stale", "packet")
    wish: Values = {name: value for name in names if (value := given.pop(name)) is not None}
    if given.pop("clear"):
        wish = {"slow_seconds": 0, "pruned_below": 0, "stale": False} | wish
    if given.pop("drop_subscribers"):
        wish["drop_subscribers"] = True
    _show(_client(ctx, given).post("faults", **wish)["faults"])


@command.command()
@options.shared
@click.argument("name", metavar="FILE|NAME")
@click.pass_context
def scenario(ctx: click.Context, /, name: str, **given: Any) -> None:
    """Play a scripted market on a chain in memory and say what came of it: `scenario bitcoin-crash`."""
    from leasehold.cli.devnet_scenario import show

    if not show(name, options.invocation(ctx, given).load().settings):
        ctx.exit(1)


def _seconds(duration: str) -> int:
    from leasehold.devnet.market.scenario import seconds

    return seconds(duration)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise click.BadParameter(f"not JSON: {error}", param_hint="MESSAGE") from None
