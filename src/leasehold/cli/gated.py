"""`leasehold gated`: the configuration of what is shown, to and from JSON files."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from leasehold.cli import options
from leasehold.cli.app_database import with_app_database

if TYPE_CHECKING:
    from leasehold.app_api.gating.store import GatedStore

T = TypeVar("T")
_FOLDER = click.Path(file_okay=False, path_type=Path)


@click.group(name="gated")
def command() -> None:
    """Exchange the gated configuration with JSON files; a running service follows within seconds.

    A folder has a file per document (currency-display, lease-rules, network-config, swap-settings, ui-settings) and
    locales/, with languages.json and a file per language. A wrong document is refused with the name of the field, and
    nothing of the folder is taken over.

    \b
    Examples:
      leasehold gated export ./gated
      leasehold gated import ./gated
      leasehold gated check ./gated
    """


@command.command(name="import")
@click.argument("folder", type=_FOLDER)
@options.shared
@click.pass_context
def import_command(ctx: click.Context, /, folder: Path, **given: Any) -> None:
    """Take over what a folder has; documents it does not have stay as they are."""

    async def work(store: GatedStore) -> tuple[list[str], int]:
        return await store.import_folder(folder), await store.version()

    taken, version = _with_store(ctx, given, work)
    if not taken:
        raise click.ClickException(f"{folder} has none of the documents")
    click.echo(f"imported {', '.join(taken)}; the configuration is at version {version}")


@command.command(name="export")
@click.argument("folder", type=_FOLDER)
@options.shared
@click.pass_context
def export_command(ctx: click.Context, /, folder: Path, **given: Any) -> None:
    """Write the documents and languages to a folder; importing it restores them."""
    written = _with_store(ctx, given, lambda store: store.export_folder(folder))
    click.echo(f"exported {', '.join(written)}" if written else "there is no configuration yet")


@command.command(name="check")
@click.argument("folder", type=_FOLDER)
def check_command(folder: Path) -> None:
    """Say whether the documents of a folder are right, without a database."""
    from leasehold.app_api.gating import documents
    from leasehold.app_api.gating.store import read_folder

    found, locales = read_folder(folder)
    for name, content in found.items():
        documents.checked(name, content)
    missing = [name for name in documents.NAMES if name not in found]
    click.echo(f"{len(found)} documents and {len(locales)} languages are right")
    if missing:
        click.echo(f"not in this folder: {', '.join(missing)}")


def _with_store(ctx: click.Context, given: dict[str, Any], work: Callable[[GatedStore], Awaitable[T]]) -> T:
    """What some work with the stored configuration gives."""
    from leasehold.app_api.gating.store import GatedStore

    return with_app_database(options.invocation(ctx, given), "gated", lambda database: work(GatedStore(database)))
