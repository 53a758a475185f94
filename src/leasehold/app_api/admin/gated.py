"""Admin routes of the gated configuration: what the index knows and what is configured, and changes of it."""

from __future__ import annotations

from typing import Any

import msgspec

from leasehold.app_api.admin.audit import AuditEntry, AuditLog
from leasehold.app_api.admin.gate import AdminRoutes, actor
from leasehold.app_api.admin.store import AREA, ConfigurationStore, rendered
from leasehold.app_api.app import App
from leasehold.app_api.gating import documents
from leasehold.app_api.gating.documents import CosmosNetwork, CurrencyDisplay, GatedConfig, Network
from leasehold.core.errors import InvalidInput, NotFound
from leasehold.serving.routes import NoParams, PlainRequest, Reply, Request

_HIDDEN_NOTES = {
    documents.CURRENCY_DISPLAY: ("Currency display config", "Currency will now be hidden from frontend"),
    documents.NETWORK_CONFIG: ("Network config", "Network and its protocols will now be hidden from frontend"),
}
# What one network's entry may leave out without losing it.
_KEPT = ("swap_venue", "pools")


class KeyParams(msgspec.Struct, frozen=True):
    key: str


class LimitParams(msgspec.Struct, frozen=True):
    limit: int = 100


def enrichment(shown: CurrencyDisplay | None) -> dict[str, Any]:
    """How a currency is displayed, nulls where it is not."""
    names = ("icon", "displayName", "shortName", "color", "coingeckoId")
    found = {name: getattr(shown, name) if shown is not None else None for name in names}
    return {**found, "_configured": shown is not None and shown.configured}


def network_settings(network: Network | None) -> dict[str, Any]:
    """The settings of a network that matter for being shown, nulls where there are none."""
    cosmos = network if isinstance(network, CosmosNetwork) else None
    return {
        "name": network.name if network else None,
        "chain_id": network.chain_id if network else None,
        "rpc": network.rpc if network else None,
        "lcd": cosmos.lcd if cosmos else None,
        "gas_price": cosmos.gas_price if cosmos else None,
        "primary_protocol": cosmos.primaryProtocol if cosmos else None,
        "_configured": network is not None and network.configured,
    }


def currencies(app: App, gated: GatedConfig) -> list[dict[str, Any]]:
    """Active currencies of the index and how each is displayed."""
    return [
        {
            "ticker": one.ticker,
            "denom": one.protocols[0].bank_symbol if one.protocols else "",
            "decimals": one.decimal_digits,
            "_source": "etl",
            "enrichment": enrichment(gated.currencies.get(one.ticker)),
        }
        for one in app.cells.indexed_currencies.value
        if one.is_active
    ]


def protocols(app: App, gated: GatedConfig) -> list[dict[str, Any]]:
    """Active protocols of the index, and what is missing to show each."""
    listed = []
    for one in app.cells.protocols.value.values():
        if not one.is_active:
            continue
        network = gated.network(one.network_key) is not None
        lpn = gated.shown(one.lpn_symbol) is not None
        missing = [
            currency.ticker
            for currency in app.cells.indexed_currencies.value
            if currency.is_active
            and gated.shown(currency.ticker) is None
            and any(mapping.protocol == one.name for mapping in currency.protocols)
        ]
        status: dict[str, Any] = {"network_configured": network, "lpn_configured": lpn}
        if missing:
            status["missing_currencies"] = missing
        status["_ready"] = network and lpn and not missing
        listed.append(
            {
                "protocol": one.name,
                "network": one.network or "",
                "dex": one.dex or "",
                "lpn": one.lpn_symbol,
                "_source": "etl",
                "status": status,
            }
        )
    return listed


def networks(app: App, gated: GatedConfig) -> list[dict[str, Any]]:
    """Networks of active protocols, in the order of the index."""
    found = dict.fromkeys(one.network for one in app.cells.protocols.value.values() if one.is_active and one.network)
    return [
        {"network": name, "_source": "etl", "config": network_settings(gated.networks.get(name.upper()))}
        for name in found
    ]


def unconfigured(app: App, gated: GatedConfig) -> dict[str, list[str]]:
    """What the index knows and nobody sees."""
    return {
        "currencies": [one["ticker"] for one in currencies(app, gated) if not one["enrichment"]["_configured"]],
        "networks": [one["network"] for one in networks(app, gated) if not one["config"]["_configured"]],
        "protocols": [one["protocol"] for one in protocols(app, gated) if not one["status"]["_ready"]],
    }


def expected_version(raw: Any) -> int | None:
    """The version a change is meant for: `If-Match: "3"`, none where the header is absent or `*`."""
    header = raw.headers.get("if-match", "*").strip()
    if header == "*":
        return None
    text = header.removeprefix("W/").strip('"')
    if not text.isdecimal():
        raise InvalidInput("If-Match is the version of the document, in quotes", field="if-match")
    return int(text)


def _reply(version: int, content: Any) -> Reply:
    return Reply(content=content, headers={"etag": f'"{version}"'})


def declare(admin: AdminRoutes, app: App, audit: AuditLog) -> None:
    """The routes of the gated configuration."""
    store = ConfigurationStore(app, audit)
    cells = app.cells

    @admin("GET", "/gated/currencies", "Currencies of the index")
    async def all_currencies(request: PlainRequest) -> list[dict[str, Any]]:
        return currencies(app, cells.gated.value)

    @admin("GET", "/gated/protocols", "Protocols of the index")
    async def all_protocols(request: PlainRequest) -> list[dict[str, Any]]:
        return protocols(app, cells.gated.value)

    @admin("GET", "/gated/networks", "Networks of the index")
    async def all_networks(request: PlainRequest) -> list[dict[str, Any]]:
        return networks(app, cells.gated.value)

    @admin("GET", "/gated/unconfigured", "What nobody sees")
    async def hidden(request: PlainRequest) -> dict[str, list[str]]:
        return unconfigured(app, cells.gated.value)

    @admin("GET", "/gated/audit", "Changes of the configuration, newest first")
    async def changes(request: Request[LimitParams, None]) -> list[AuditEntry]:
        return await audit.newest(app.storage, AREA, limit=max(1, request.params.limit))

    for name in documents.NAMES:
        _declare_document(admin, store, name)
    for name in _HIDDEN_NOTES:
        _declare_entries(admin, store, name)
    _declare_parts(admin, store)


def _declare_document(admin: AdminRoutes, store: ConfigurationStore, name: str) -> None:
    async def read(request: PlainRequest) -> Reply:
        version, typed = await store.read(name)
        return _reply(version, rendered(typed))

    async def write(request: Request[NoParams, dict[str, Any]]) -> Reply:
        version, typed = await store.change(
            name, lambda _: request.body, actor=actor(request.raw), expected=expected_version(request.raw)
        )
        return _reply(version, rendered(typed))

    admin("GET", f"/gated/{name}", f"The document {name}", response=dict[str, Any])(read)
    admin("PUT", f"/gated/{name}", f"Replace the document {name}", response=dict[str, Any])(write)


def _declare_entries(admin: AdminRoutes, store: ConfigurationStore, name: str) -> None:
    title, farewell = _HIDDEN_NOTES[name]

    async def put(request: Request[KeyParams, dict[str, Any]]) -> Reply:
        key = request.params.key

        def edit(content: Any) -> Any:
            before = (content or {}).get(key, {})
            kept = {part: before[part] for part in _KEPT if part in before and part not in request.body}
            return {**(content or {}), key: {**request.body, **kept}}

        version, typed = await store.change(
            name, edit, actor=actor(request.raw), expected=expected_version(request.raw), detail=key
        )
        if name == documents.NETWORK_CONFIG:
            shown: Any = {"network": key, "_source": "config", "config": network_settings(typed[key])}
        else:
            enriched = enrichment(typed[key])
            shown = {"ticker": key, "denom": "", "decimals": 0, "_source": "config", "enrichment": enriched}
        return _reply(version, shown)

    async def delete(request: Request[KeyParams, None]) -> Reply:
        key = request.params.key

        def edit(content: Any) -> Any:
            if key not in (content or {}):
                raise NotFound(f"{title}: {key} not found")
            return {other: one for other, one in content.items() if other != key}

        version, _ = await store.change(
            name, edit, actor=actor(request.raw), action="delete", expected=expected_version(request.raw), detail=key
        )
        return _reply(version, {"deleted": key, "message": farewell})

    admin("PUT", f"/gated/{name}/{{key}}", f"Set one entry of {name}", response=dict[str, Any])(put)
    admin("DELETE", f"/gated/{name}/{{key}}", f"Remove one entry of {name}", response=dict[str, Any])(delete)


def _declare_parts(admin: AdminRoutes, store: ConfigurationStore) -> None:
    """Parts of documents that have a route of their own."""

    async def downpayment(request: Request[KeyParams, dict[str, Any]]) -> Reply:
        protocol = request.params.key

        def edit(content: Any) -> Any:
            ranges = (content or {}).get("downpayment_ranges", {})
            return {**(content or {}), "downpayment_ranges": {**ranges, protocol: request.body}}

        version, _ = await store.change(
            documents.LEASE_RULES,
            edit,
            actor=actor(request.raw),
            expected=expected_version(request.raw),
            detail=f"downpayment/{protocol}",
        )
        return _reply(version, {"message": "Downpayment ranges updated", "protocol": protocol})

    async def hide(request: Request[KeyParams, None]) -> Reply:
        def edit(content: Any) -> Any:
            listed = (content or {}).get("hidden_proposals", [])
            added = listed if request.params.key in listed else [*listed, request.params.key]
            return {**(content or {}), "hidden_proposals": added}

        version, typed = await store.change(
            documents.UI_SETTINGS,
            edit,
            actor=actor(request.raw),
            expected=expected_version(request.raw),
            detail=f"hidden-proposals/{request.params.key}",
        )
        return _reply(version, {"added": request.params.key, "hidden_proposals": list(typed.hidden_proposals)})

    async def unhide(request: Request[KeyParams, None]) -> Reply:
        def edit(content: Any) -> Any:
            listed = (content or {}).get("hidden_proposals", [])
            if request.params.key not in listed:
                raise NotFound(f"Hidden proposal: {request.params.key} not found")
            return {**content, "hidden_proposals": [one for one in listed if one != request.params.key]}

        version, typed = await store.change(
            documents.UI_SETTINGS,
            edit,
            actor=actor(request.raw),
            expected=expected_version(request.raw),
            detail=f"hidden-proposals/{request.params.key}",
        )
        return _reply(version, {"hidden_proposals": list(typed.hidden_proposals), "removed": request.params.key})

    admin("PUT", "/gated/lease-rules/downpayment/{key}", "Set a protocol's down-payments", response=dict[str, Any])(
        downpayment
    )
    admin("POST", "/gated/ui-settings/hidden-proposals/{key}", "Hide a proposal", response=dict[str, Any])(hide)
    admin("DELETE", "/gated/ui-settings/hidden-proposals/{key}", "Show a proposal again", response=dict[str, Any])(
        unhide
    )
