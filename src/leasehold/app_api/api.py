"""The application API as one registry: every resource's routes, its description, and files for agents."""

from __future__ import annotations

from leasehold.app_api import agents, site
from leasehold.app_api.app import App, Cells
from leasehold.app_api.resources import (
    assets,
    balances,
    config,
    currencies,
    earn,
    etl,
    fees,
    governance,
    health,
    leases,
    locales,
    networks,
    node,
    prices,
    protocols,
    referral,
    solana,
    staking,
    swap,
    transfer,
    zero_interest,
)
from leasehold.app_api.writes import routes as writes
from leasehold.core.clock import Clock
from leasehold.core.settings import Settings
from leasehold.serving.envelopes import ApplicationDialect
from leasehold.serving.pages import publish_description
from leasehold.serving.routes import Cache, Registry
from leasehold.serving.snapshots import SnapshotTable

TITLE = "Application API"
VERSION = "1.0.0"
DOCUMENT = "/api/openapi.json"
_ABOUT = (
    "The backend of a lending protocol's web application: reads shaped for display, and builders of unsigned "
    "transactions. Nothing is signed or broadcast here."
)
RESOURCES = (
    assets,
    balances,
    zero_interest,
    config,
    currencies,
    earn,
    etl,
    fees,
    governance,
    health,
    leases,
    locales,
    networks,
    node,
    prices,
    protocols,
    referral,
    solana,
    staking,
    swap,
    transfer,
)


def assemble(settings: Settings, clock: Clock) -> App:
    """An application API with its routes, not yet connected to anything."""
    registry = Registry(TITLE, version=VERSION, dialect=ApplicationDialect(), description=_ABOUT)
    app = App(settings, clock, Cells(clock), SnapshotTable(), registry, clock.monotonic())
    for resource in RESOURCES:
        resource.declare(registry, app)
    writes.declare(registry, app)
    site.declare(registry, site.files())
    return app


async def describe(app: App) -> None:
    """Publish the web application, the OpenAPI document and the files that point agents at it."""
    await site.publish(app.snapshots, site.files())
    await publish_description(
        app.registry, app.snapshots, document_at=DOCUMENT, text_at="/llms.txt", cache_control=Cache.snapshot(30).header
    )
    await agents.publish(app.registry, app.snapshots, document_at=DOCUMENT)
