"""The `leasehold` command: finds its subcommands without importing them, and turns errors into exit codes."""

from __future__ import annotations

import importlib
import sys

import click

from leasehold.cli import options
from leasehold.cli.entries import ENTRIES, exists


class LazyGroup(click.Group):
    """Subcommands come from the entries whose needs are met; one is imported only when it runs or shows its help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for name, entry in ENTRIES.items() if entry.needs is None or exists(entry.needs)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        entry = ENTRIES[cmd_name]
        module = importlib.import_module(entry.module)
        command: click.Command = module.command_for(cmd_name) if hasattr(module, "command_for") else module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        if name and name not in self.list_commands(ctx):
            near = options.nearest(name, self.list_commands(ctx))
            ctx.fail(f"no command {name!r}; did you mean {near!r}?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, ENTRIES[name].about) for name in self.list_commands(ctx)])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="leasehold", message="%(version)s")
@options.shared
@click.pass_context
def cli(ctx: click.Context, /, **given: object) -> None:
    """The whole backend of a lease-lending and staking protocol, and a chain to run it on.

    \b
    Examples:
      leasehold up                          everything on one machine, Ctrl-C stops it
      leasehold up --home /tmp/b --port-offset 100
                                            a second stack beside the first
      leasehold --profile devnet-nolus up   the same under the public identity
      leasehold config show                 every setting and where it came from

    \b
    Exit codes: 0 done or stopped as asked, 1 unexpected failure, 2 wrong usage or setting,
    3 already running on this home or these ports, 4 a local resource can't be used.
    """
    options.remember(ctx, given)


def main() -> None:
    """Run the command line and end the process with a code that means something."""
    try:
        code = cli.main(prog_name="leasehold", standalone_mode=False)
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    except Exception as error:
        from leasehold.core.errors import LeaseholdError

        if not isinstance(error, LeaseholdError):
            raise
        click.echo(f"leasehold: {error}", err=True)
        sys.exit(error.exit_code)
    sys.exit(code if isinstance(code, int) else 0)


if __name__ == "__main__":
    main()
