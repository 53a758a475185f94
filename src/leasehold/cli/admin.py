"""`leasehold admin`: keys of the admin routes, made, listed, replaced and revoked."""

from __future__ import annotations

import getpass
import secrets
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import click

from leasehold.cli import options
from leasehold.cli.app_database import with_app_database

if TYPE_CHECKING:
    from leasehold.app_api.admin.keystore import KeyStore

T = TypeVar("T")


@click.group(name="admin")
def command() -> None:
    """Manage keys of the application API's admin routes.

    \b
    Examples:
      leasehold admin key create alice
      leasehold admin key list
    """


@command.group(name="key")
def key() -> None:
    """Make, list, replace and revoke keys; the running service follows within seconds.

    A key is shown once, when it is made. Only its hash is stored.

    \b
    Examples:
      leasehold admin key create alice
      leasehold admin key rotate alice --overlap 60
      leasehold admin key revoke alice
    """


@key.command(name="create")
@click.argument("name")
@options.shared
@click.pass_context
def create_command(ctx: click.Context, /, name: str, **given: Any) -> None:
    """Make a key under a name that has none, and show it."""
    _show(_with_store(ctx, given, lambda store: store.create(name)))


@key.command(name="rotate")
@click.argument("name")
@click.option(
    "--overlap",
    metavar="MINUTES",
    default=0,
    show_default=True,
    type=click.IntRange(0, 30 * 24 * 60),
    help="How long the key before stays good.",
)
@options.shared
@click.pass_context
def rotate_command(ctx: click.Context, /, name: str, overlap: int, **given: Any) -> None:
    """Make a new key under a name and let the one before end."""
    _show(_with_store(ctx, given, lambda store: store.rotate(name, timedelta(minutes=overlap))))


@key.command(name="revoke")
@click.argument("name")
@options.shared
@click.pass_context
def revoke_command(ctx: click.Context, /, name: str, **given: Any) -> None:
    """End the keys of a name now."""
    _with_store(ctx, given, lambda store: store.revoke(name))
    click.echo(f"{name} is revoked")


@key.command(name="list")
@options.shared
@click.pass_context
def list_command(ctx: click.Context, /, **given: Any) -> None:
    """Show the names of keys, when they were made and when they end; those of the settings come first."""
    from leasehold.app_api.admin.keys import KeyHash

    for entry in options.invocation(ctx, given).load().settings.app_api.admin_keys:
        click.echo(f"{KeyHash.parse(entry).name:<24} good      setting app_api.admin_keys")

    async def rows(store: KeyStore) -> list[str]:
        now = store.now()
        return [
            f"{one.name:<24} {'good' if one.good(now) else 'ended':<9} made {_instant(one.created_at)}"
            + (f", ends {_instant(one.ends_at)}" if one.ends_at is not None else "")
            for one in await store.listed()
        ]

    for row in _with_store(ctx, given, rows):
        click.echo(row)


@key.command(name="hash")
@click.argument("name")
def hash_command(name: str) -> None:
    """Make a key that no database knows, for the setting app_api.admin_keys; shows both it and its hash."""
    from leasehold.app_api.admin.keys import hashed

    made = secrets.token_urlsafe(32)
    entry = hashed(name, made).text()
    _show(made)
    click.echo(f"setting: {entry}")


def _show(made: str) -> None:
    click.echo(f"key (keep it, it is not shown again): {made}")


def _instant(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def _with_store(ctx: click.Context, given: dict[str, Any], work: Callable[[KeyStore], Awaitable[T]]) -> T:
    """What some work with the stored keys gives."""
    from leasehold.app_api.admin.keystore import KeyStore
    from leasehold.core.clock import SystemClock

    who = f"{getpass.getuser()} at the command line"
    return with_app_database(
        options.invocation(ctx, given), "admin", lambda database: work(KeyStore(database, SystemClock(), who))
    )
