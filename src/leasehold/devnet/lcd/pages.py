"""The page under /swagger/: every route of the LCD."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape


def routes_page(routes: Iterable[tuple[str, str]]) -> bytes:
    """A page that lists verbs and templates; those without variables can be followed."""
    rows = "".join(f"<tr><td>{escape(verb)}</td><td>{_link(verb, template)}</td></tr>" for verb, template in routes)
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>REST routes</title></head>'
        f"<body><h1>REST routes</h1><table>{rows}</table></body></html>"
    ).encode()


def _link(verb: str, template: str) -> str:
    shown = escape(template)
    return f'<a href="{shown}">{shown}</a>' if verb == "GET" and "{" not in template else shown
