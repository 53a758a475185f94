"""`leasehold config`: what the settings are, and why."""

from __future__ import annotations

import json
from typing import Any

import click

from leasehold.cli import options


@click.group(name="config")
@options.shared
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> None:
    """Show settings and profiles.

    \b
    Examples:
      leasehold config show
      leasehold --profile nolus config show --json
      leasehold config profiles
    """
    before = ctx.obj or {}
    merged = {name: value if value not in (None, ()) else before.get(name) for name, value in given.items()}
    merged["assignments"] = (*(before.get("assignments") or ()), *given["assignments"])
    options.remember(ctx, merged)


@command.command()
@options.shared
@click.option("--json", "as_json", is_flag=True, help="One JSON object per setting, in an array.")
@click.pass_context
def show(ctx: click.Context, /, as_json: bool, **given: Any) -> None:
    """Print every setting with its value and where it came from; secrets are masked."""
    rows = list(options.invocation(ctx, given).load().rows())
    if as_json:
        names = ("key", "value", "origin", "about")
        click.echo(json.dumps([dict(zip(names, row, strict=True)) for row in rows], ensure_ascii=False, indent=2))
        return
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    # A long list value must not push the origins of all others off the screen.
    widths[1] = min(widths[1], 40)
    for key, value, origin, about in rows:
        click.echo(f"{key:<{widths[0]}}  {value:<{widths[1]}}  {origin:<{widths[2]}}  {about}")


@command.command()
def profiles() -> None:
    """Print the names of the profiles that come with Leasehold."""
    from leasehold.core import configuration

    for name in configuration.profile_names():
        click.echo(name)
