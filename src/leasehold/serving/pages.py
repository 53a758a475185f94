"""Pages for readers, made from the registry: a browsable index and a plain-text overview for agents."""

from __future__ import annotations

from html import escape
from itertools import chain

from leasehold.serving.openapi import document
from leasehold.serving.routes import Registry, Route
from leasehold.serving.snapshots import SnapshotTable

_STYLE = (
    "body{font:16px/1.5 system-ui;max-width:60rem;margin:2rem auto;padding:0 1rem}code{font-size:.95em}"
    "li{margin:.4rem 0}@media(prefers-color-scheme:dark){body{background:#111;color:#eee}a{color:#8bf}}"
)


def by_tag(registry: Registry) -> dict[str, list[Route]]:
    """Public routes under their first tag, in order of declaration."""
    groups: dict[str, list[Route]] = {}
    for route in registry:
        if not route.hidden:
            groups.setdefault(route.tags[0] if route.tags else "Other", []).append(route)
    return groups


async def publish_description(
    registry: Registry,
    snapshots: SnapshotTable,
    *,
    document_at: str,
    index_at: str | None = None,
    text_at: str | None = None,
    cache_control: str = "public, max-age=300",
) -> None:
    """Publish the OpenAPI document, and the index pages where they are wanted, as snapshots."""
    pages: list[tuple[str, object, str]] = [(document_at, document(registry), "application/json")]
    if index_at is not None:
        page = html_index(registry, document_at=document_at)
        pages.append((index_at, page.encode(), "text/html; charset=utf-8"))
    if text_at is not None:
        page = text_index(registry, document_at=document_at)
        pages.append((text_at, page.encode(), "text/plain; charset=utf-8"))
    for target, body, content_type in pages:
        await snapshots.publish(
            target, body, height=0, time_ns=0, content_type=content_type, cache_control=cache_control
        )


def html_index(registry: Registry, *, document_at: str) -> str:
    """A page that lists every public route."""
    sections = (
        f"<h2>{escape(tag)}</h2><ul>{''.join(_item(route) for route in routes)}</ul>"
        for tag, routes in by_tag(registry).items()
    )
    head = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{escape(registry.title)}</title><style>{_STYLE}</style><h1>{escape(registry.title)}</h1>"
        f'<p>{escape(registry.description)} <a href="{escape(document_at)}">OpenAPI document</a>.</p>'
    )
    return "".join(chain((head,), sections)) + "\n"


def text_index(registry: Registry, *, document_at: str) -> str:
    """The same as plain text (`llms.txt`)."""
    lines = [f"# {registry.title}", ""]
    if registry.description:
        lines += [registry.description, ""]
    lines += [f"OpenAPI 3.1: {document_at}", ""]
    if registry.conventions:
        lines += ["## Conventions", "", *(f"- {sentence}" for sentence in registry.conventions), ""]
    for tag, routes in by_tag(registry).items():
        lines += [f"## {tag}", ""]
        lines += [f"- {route.method} {_signature(route)}: {_about(route)}" for route in routes]
        lines.append("")
    return "\n".join(lines)


def _about(route: Route) -> str:
    summary = route.summary or route.name
    return f"{summary}. {route.description}" if route.description else summary


def _signature(route: Route) -> str:
    query = [f"{p.name}" if p.required else f"[{p.name}]" for p in route.parameters if p.place == "query"]
    return route.openapi_path + ("?" + "&".join(query) if query else "")


def _item(route: Route) -> str:
    path = escape(_signature(route))
    plain = route.method == "GET" and not any(parameter.required for parameter in route.parameters)
    name = f'<a href="{escape(route.openapi_path)}"><code>{path}</code></a>' if plain else f"<code>{path}</code>"
    return f"<li>{escape(route.method)} {name}<br>{escape(route.summary or route.name)}</li>"
