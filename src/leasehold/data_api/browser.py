"""The browsable index at `/`: one page made from the route registry, with search, try-it and copy as curl."""

from __future__ import annotations

import types
from html import escape
from importlib import resources
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from leasehold.serving.pages import by_tag
from leasehold.serving.parameters import Parameter
from leasehold.serving.routes import Registry, Route


def index_page(registry: Registry) -> bytes:
    """The page; without scripts it is still a list of every route."""
    template = (resources.files("leasehold.data_api") / "static" / "browser.html").read_text(encoding="utf-8")
    groups = by_tag(registry)
    words = {
        "title": escape(registry.title),
        "about": escape(registry.description),
        "version": escape(registry.version),
        "count": str(sum(map(len, groups.values()))),
        "tags": "".join(
            f'<a href="#{_mark(tag)}">{escape(tag)}<span>{len(routes)}</span></a>' for tag, routes in groups.items()
        ),
        "routes": "".join(_section(tag, routes) for tag, routes in groups.items()),
    }
    for name, text in words.items():
        template = template.replace("{" + name + "}", text)
    return template.encode()


def _section(tag: str, routes: list[Route]) -> str:
    items = "".join(map(_item, routes))
    return f'<section id="{_mark(tag)}"><h2>{escape(tag)}</h2>{items}</section>'


def _mark(tag: str) -> str:
    return f"tag-{escape(tag.lower())}"


def _item(route: Route) -> str:
    fields = "".join(map(_field, route.parameters))
    form = ""
    if route.method == "GET":
        form = (
            f'<form data-path="{escape(route.openapi_path)}"><div class="fields">{fields}</div>'
            '<button class="go">Try it</button> <button type="button" class="curl">Copy as curl</button>'
            '<p class="told" hidden></p><pre hidden></pre></form>'
        )
    elif fields:
        form = f'<div class="fields">{fields}</div>'
    words = escape(f"{route.path} {route.summary} {' '.join(route.tags)}".lower())
    kind = "" if route.method == "GET" else ' class="write"'
    about = f"<p>{escape(route.description)}</p>" if route.description else ""
    return (
        f'<details id="{route.method}{escape(route.openapi_path)}" data-words="{words}">'
        f"<summary><b{kind}>{route.method}</b><code>{escape(route.openapi_path)}</code>"
        f'<span>{escape(route.summary)}</span></summary><div class="inside">{about}{form}</div></details>'
    )


def _field(parameter: Parameter) -> str:
    name, about = escape(parameter.name), escape(parameter.input.about)
    needed = " <em>*</em>" if parameter.required else ""
    example = str(parameter.input.example) if parameter.required and parameter.input.example is not None else ""
    given = _choices(parameter.type)
    if given:
        default = "" if parameter.default is None else escape(parameter.text(parameter.default))
        options = "".join(f"<option>{escape(choice)}</option>" for choice in given)
        first = "" if parameter.required else f'<option value="">{default and f"{default} (default)"}</option>'
        entry = f'<select name="{name}" data-place="{parameter.place}">{first}{options}</select>'
    else:
        hint = escape("" if parameter.default in (None, "") else f"{parameter.default}")
        entry = f'<input name="{name}" data-place="{parameter.place}" value="{escape(example)}" placeholder="{hint}">'
    return f"<label><code>{name}</code>{needed}{entry}<small>{about}</small></label>"


def _choices(kind: Any) -> list[str]:
    """The few values that a parameter may have, if it is so."""
    if kind is bool:
        return ["true", "false"]
    origin = get_origin(kind)
    if origin is Literal:
        return [str(choice) for choice in get_args(kind)]
    if origin is Annotated:
        return _choices(get_args(kind)[0])
    if origin in (Union, types.UnionType):
        return [choice for part in get_args(kind) for choice in _choices(part)]
    return []
