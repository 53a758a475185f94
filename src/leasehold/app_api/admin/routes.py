"""Every admin route, behind one gate."""

from __future__ import annotations

from leasehold.app_api.admin import gated, snapshots, translation_routes
from leasehold.app_api.admin.audit import AuditLog
from leasehold.app_api.admin.gate import AdminRoutes, Gate
from leasehold.app_api.admin.keys import Keyring
from leasehold.app_api.app import App
from leasehold.serving.routes import Registry


def declare(api: Registry, app: App) -> None:
    """Declare all of them; a wrong entry among the keys stops the service here."""
    gate = Gate(Keyring(app.settings.app_api.admin_keys), app.clock.monotonic)
    admin = AdminRoutes(api, gate)
    audit = AuditLog(app.clock)
    snapshots.declare(admin, app)
    gated.declare(admin, app, audit)
    translation_routes.declare(admin, app, audit)
