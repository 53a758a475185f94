"""The browsable index at `/`: one page that reads the OpenAPI document, with search, try-it and copy as curl."""

from __future__ import annotations

from html import escape
from importlib import resources

from leasehold.serving.pages import by_tag
from leasehold.serving.parameters import Parameter
from leasehold.serving.routes import Registry, Route


def index_page(registry: Registry) -> bytes:
    """The page; without scripts it is still a list of every route."""
    template = (resources.files("leasehold.data_api") / "static" / "browser.html").read_text(encoding="utf-8")
    routes = "".join(
        f"<section><h2>{escape(tag)}</h2>{''.join(map(_item, routes))}</section>"
        for tag, routes in by_tag(registry).items()
    )
    page = template.replace("{title}", escape(registry.title)).replace("{about}", escape(registry.description))
    return page.replace("{version}", escape(registry.version)).replace("{routes}", routes).encode()


def _item(route: Route) -> str:
    fields = "".join(map(_field, route.parameters))
    form = (
        f'<form data-path="{escape(route.openapi_path)}">{fields}<button>Try it</button>'
        if route.method == "GET"
        else ""
    )
    curl = '<button type="button" class="curl">Copy as curl</button><pre hidden></pre></form>' if form else ""
    words = escape(f"{route.path} {route.summary} {' '.join(route.tags)}".lower())
    return (
        f'<details data-words="{words}"><summary><b>{route.method}</b> <code>{escape(route.openapi_path)}</code> '
        f"{escape(route.summary)}</summary><p>{escape(route.description)}</p>{form}{curl}</details>"
    )


def _field(parameter: Parameter) -> str:
    example = str(parameter.input.example) if parameter.required and parameter.input.example is not None else ""
    return (
        f"<label>{escape(parameter.name)}{' *' if parameter.required else ''}"
        f'<input name="{escape(parameter.name)}" data-place="{parameter.place}" value="{escape(example)}" '
        f'placeholder="{escape(parameter.input.about)}"></label>'
    )
