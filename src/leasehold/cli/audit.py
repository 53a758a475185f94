"""`leasehold audit`: what the index says against what the chain says at the same height."""

from __future__ import annotations

import asyncio
from typing import Any

import click

from leasehold.cli import options
from leasehold.cli.service import with_database


@click.command(name="audit")
@options.shared
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> None:
    """Compare the index with the chain at the height indexed last.

    Positions, pools, lenders, prices, contract balances and supply, and a sample of the rows on the hour at their
    heights; exits with 1 if anything differs.

    \b
    Examples:
      leasehold audit
      leasehold audit --home .home
    """
    from leasehold.indexer.audit import audit_configured

    invocation = options.invocation(ctx, given)
    with with_database(invocation.load().settings, invocation.home) as settings:
        report = asyncio.run(audit_configured(settings))
    click.echo(report.table())
    if report.differences:
        raise click.exceptions.Exit(1)
