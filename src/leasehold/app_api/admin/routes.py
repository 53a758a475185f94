"""Every admin route, behind one gate."""

from __future__ import annotations

from leasehold.app_api.admin import access, gated, snapshots, translation_routes
from leasehold.app_api.admin.audit import AuditLog
from leasehold.app_api.admin.gate import AdminRoutes, Gate
from leasehold.app_api.admin.keystore import Keys
from leasehold.app_api.app import App
from leasehold.serving.routes import Registry


def declare(api: Registry, app: App) -> None:
    """Declare all of them; a wrong entry among the keys stops the service here."""
    audit = AuditLog(app.clock)

    async def refused(client: str, path: str) -> None:
        await access.note_refusal(app, audit, client, path)

    keys = Keys(app.settings.app_api.admin_keys, lambda: app.database, app.clock)
    admin = AdminRoutes(api, Gate(keys, app.clock.monotonic, refused))
    snapshots.declare(admin, app)
    access.declare(admin, app, audit)
    gated.declare(admin, app, audit)
    translation_routes.declare(admin, app, audit)
