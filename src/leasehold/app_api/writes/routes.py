"""Every write route of the application API."""

from __future__ import annotations

from leasehold.app_api import messaging
from leasehold.app_api.admin import routes as admin
from leasehold.app_api.app import App
from leasehold.app_api.tracking import routes as tracking
from leasehold.app_api.writes import earn, leases, referral, solana, staking, subscribe, swap, zero_interest
from leasehold.serving.routes import Registry

RESOURCES = (earn, leases, staking, swap, referral, zero_interest, subscribe, messaging, solana, tracking, admin)


def declare(api: Registry, app: App) -> None:
    """Declare all of them."""
    for resource in RESOURCES:
        resource.declare(api, app)
