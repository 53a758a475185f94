"""Commands that work on what the application API keeps in PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

from leasehold.cli.service import with_database

if TYPE_CHECKING:
    from leasehold.cli.options import Invocation
    from leasehold.storage.pool import Database

T = TypeVar("T")


def with_app_database(invocation: Invocation, name: str, work: Callable[[Database], Awaitable[T]]) -> T:
    """What some work with the configured database, or that of the home, gives; its schema is brought up to date."""
    from leasehold.app_api.service import SCHEMA
    from leasehold.storage import migrations, pool

    async def run(settings: Any) -> T:
        primary = settings.database.primary_url or settings.database.url
        await migrations.apply(primary, schema=SCHEMA, migrations=migrations.of_package("leasehold.app_api"))
        async with pool.opened(settings.database, service=name) as database:
            return await work(database)

    with with_database(invocation.load().settings, invocation.home) as settings:
        return asyncio.run(run(settings))
