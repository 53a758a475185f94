"""`leasehold completion`: scripts that let a shell complete commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")


@click.command(name="completion")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print a completion script for SHELL.

    \b
    Examples:
      source <(leasehold completion bash)
      leasehold completion zsh > ~/.zfunc/_leasehold
      leasehold completion fish > ~/.config/fish/completions/leasehold.fish
    """
    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(ctx.find_root().command, {}, "leasehold", "_LEASEHOLD_COMPLETE").source())
