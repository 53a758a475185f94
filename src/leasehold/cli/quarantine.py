"""`leasehold quarantine`: what the indexer could not decode, and decoding it again after a fix."""

from __future__ import annotations

import asyncio
from typing import Any

import click

from leasehold.cli import options
from leasehold.cli.service import with_database


@click.group(name="quarantine")
def command() -> None:
    """List what the indexer could not decode, or decode it again.

    \b
    Examples:
      leasehold quarantine list
      leasehold quarantine replay
    """


@command.command(name="list")
@options.shared
@click.option("--limit", default=100, show_default=True, type=click.IntRange(1, 10_000), help="How many at the most.")
@click.pass_context
def list_command(ctx: click.Context, /, limit: int, **given: Any) -> None:
    """Show what was set aside, oldest first, with its bytes and the reason."""
    from leasehold.indexer.quarantine import listed

    invocation = options.invocation(ctx, given)
    with with_database(invocation.load().settings, invocation.home) as settings:
        found = asyncio.run(listed(settings.database.url, limit=limit))
    for one in found:
        click.echo(f"{one.height}/{one.tx} {one.part} {one.ordinal}: {one.reason} [{one.data.hex()[:80]}]")
    click.echo(f"{len(found)} in quarantine")


@command.command(name="replay")
@options.shared
@click.pass_context
def replay_command(ctx: click.Context, /, **given: Any) -> None:
    """Decode everything again with this release and rebuild what follows from it, beside the living tables."""
    from leasehold.indexer.quarantine import replay

    invocation = options.invocation(ctx, given)
    with with_database(invocation.load().settings, invocation.home) as settings:
        done = asyncio.run(replay(settings))
    click.echo(f"{done.before} in quarantine before, {done.after} after")


@command.command(name="rebuild")
@options.shared
@click.pass_context
def rebuild_command(ctx: click.Context, /, **given: Any) -> None:
    """Rebuild every projection from raw blocks beside the living ones, then swap."""
    from leasehold.indexer.rebuild import Rebuild

    invocation = options.invocation(ctx, given)
    with with_database(invocation.load().settings, invocation.home) as settings:
        done = asyncio.run(Rebuild(settings).run())
    click.echo(f"rebuilt {done.blocks} blocks up to height {done.height}, {done.quarantined} in quarantine")
